/* Loops shared among threads: what kernels are given as their first argument. */
#ifndef LUCIDGRAD_PARALLEL_H
#define LUCIDGRAD_PARALLEL_H

/* Work on the units from begin up to end. */
typedef void (*lg_body)(void *task, long begin, long end);
/* Run a body on units 0 to n, `grain` of them at a time, by at most `threads` threads. */
typedef void (*lg_parallel_for)(lg_body body, void *task, long n, long grain, int threads);

#endif
