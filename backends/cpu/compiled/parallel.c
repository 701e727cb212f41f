/* Threads that help with loops.

   A loop's units are taken in portions by whoever is there. The caller never waits for a helper that has not begun:
   where other programs use the processors, helpers come late or not at all, and the caller does all of the work
   instead of waiting for its share to be done.

   Waking a thread takes longer than many a loop, on virtual machines a hundred microseconds, and loop often follows
   loop. So who waits, a helper for the next loop or the caller for the last portion, looks for a moment before it
   sleeps. Neither takes a lock for that: a helper says that it is inside before it takes a seat, the caller takes the
   seats away before it asks who is inside.

   A thread that was asleep often begins on its waker's processor, where the two would take turns until the system
   notices, many loops later. So a helper leaves the processor of who called. */
#define _GNU_SOURCE /* for processors */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include "parallel.h"
#include "vector_math.h"

static pthread_mutex_t owner = PTHREAD_MUTEX_INITIALIZER; /* one loop at a time has helpers */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  /* of those who sleep */
static pthread_cond_t begun = PTHREAD_COND_INITIALIZER, ended = PTHREAD_COND_INITIALIZER;
static int helpers;         /* how many there are */
static int seats, inside;   /* how many may still join, and are at work */
static int asleep, waiting; /* how many sleep, and whether the caller does */
static lg_body body;
static void *task;
static long count, portion, taken;
static int calling; /* the processor of who called, -1 if nobody knows */

#define LOAD(x) __atomic_load_n(&(x), __ATOMIC_SEQ_CST)
#define STORE(x, value) __atomic_store_n(&(x), value, __ATOMIC_SEQ_CST)
#define ADD(x, n) __atomic_add_fetch(&(x), n, __ATOMIC_SEQ_CST)

/* How often somebody looks before going to sleep: ten to fifty nanoseconds each. For work about a millisecond, what comes
   between two products of a step, cold caches included. */
enum { FOR_WORK = 20000, FOR_THE_END = 10000 };

static inline void moment(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void work(void) {
    long at;
    while ((at = __atomic_fetch_add(&taken, portion, __ATOMIC_RELAXED)) < count)
        body(task, at, count - at < portion ? count : at + portion);
}

#ifdef __linux__
static int processor(void) { return sched_getcpu(); }

/* Be on another processor; afterwards the system may put this thread anywhere again. */
static void leave(int taken_one) {
    cpu_set_t all, others;
    if (sched_getaffinity(0, sizeof all, &all)) return; /* more processors than a set has */
    others = all;
    CPU_CLR(taken_one, &others);
    if (CPU_COUNT(&others) && !sched_setaffinity(0, sizeof others, &others)) sched_setaffinity(0, sizeof all, &all);
}
#else
static int processor(void) { return -1; }
static void leave(int taken_one) { (void)taken_one; }
#endif

static int take_seat(void) {
    int free = LOAD(seats);
    while (free > 0)
        if (__atomic_compare_exchange_n(&seats, &free, free - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return 1;
    return 0;
}

static void *help(void *ignored) {
    for (;;) {
        for (int k = FOR_WORK; k && !LOAD(seats); k--) moment();
        if (!LOAD(seats)) {
            pthread_mutex_lock(&lock);
            ADD(asleep, 1);
            while (!LOAD(seats)) pthread_cond_wait(&begun, &lock);
            ADD(asleep, -1);
            pthread_mutex_unlock(&lock);
        }
        ADD(inside, 1);
        if (take_seat()) {
            const int avoided = LOAD(calling);
            if (avoided >= 0 && processor() == avoided) leave(avoided);
            work();
        }
        if (!ADD(inside, -1) && LOAD(waiting)) {
            pthread_mutex_lock(&lock);
            pthread_cond_signal(&ended);
            pthread_mutex_unlock(&lock);
        }
    }
    return ignored;
}

static void hire(int wanted) {
    sigset_t all, before;
    sigfillset(&all); /* signals are for the program's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; helpers < wanted; helpers++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, help, NULL)) break;
        pthread_detach(thread);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

EXPORT void lg_parallel(lg_body b, void *t, long n, long grain, int threads) {
    if (threads < 2 || n <= grain || pthread_mutex_trylock(&owner)) {
        b(t, 0, n);
        return;
    }
    if (helpers < threads - 1) hire(threads - 1);
    body = b, task = t, count = n, portion = grain, taken = 0;
    STORE(calling, processor());
    const long portions = (n + grain - 1) / grain;
    STORE(seats, portions < threads ? (int)portions - 1 : threads - 1);
    if (LOAD(asleep)) {
        pthread_mutex_lock(&lock);
        pthread_cond_broadcast(&begun);
        pthread_mutex_unlock(&lock);
    }
    work();
    STORE(seats, 0);
    for (int k = FOR_THE_END; k && LOAD(inside); k--) moment();
    if (LOAD(inside)) {
        pthread_mutex_lock(&lock);
        STORE(waiting, 1);
        while (LOAD(inside)) pthread_cond_wait(&ended, &lock);
        STORE(waiting, 0);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_unlock(&owner);
}

/* The helpers do not survive a fork; the child begins afresh. */
static void forked(void) {
    pthread_mutex_init(&owner, NULL);
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&begun, NULL);
    pthread_cond_init(&ended, NULL);
    helpers = seats = inside = asleep = waiting = 0;
}

__attribute__((constructor)) static void prepare(void) { pthread_atfork(NULL, NULL, forked); }
