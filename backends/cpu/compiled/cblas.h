/* CBLAS's words, and the form of its product of matrices, for one kind of floats. */
#ifndef LUCIDGRAD_CBLAS_H
#define LUCIDGRAD_CBLAS_H

enum { BY_ROWS = 101, AS_IT_IS = 111, TURNED = 112 };

/* (order, turn_a, turn_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) */
#define GEMM_OF(name, real)                                                                                       \
    typedef void (*name)(int, int, int, long, long, long, real, const real *, long, const real *, long, real, real *, \
                         long)

#endif
