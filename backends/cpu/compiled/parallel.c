/* Threads that help with loops.

   A loop's units are taken in portions by whoever is there. The caller never waits for a helper that has not begun:
   where other programs use the processors, helpers come late or not at all, and the caller does all of the work
   instead of waiting for its share to be done. Helpers sleep between loops. */
#include <pthread.h>
#include <signal.h>
#include "parallel.h"
#include "vector_math.h"

static pthread_mutex_t owner = PTHREAD_MUTEX_INITIALIZER; /* one loop at a time has helpers */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  /* for everything below */
static pthread_cond_t begun = PTHREAD_COND_INITIALIZER, ended = PTHREAD_COND_INITIALIZER;
static int helpers, seats, inside; /* how many there are, may still join, and are at work */
static lg_body body;
static void *task;
static long count, portion, taken;

static void work(void) {
    long at;
    while ((at = __atomic_fetch_add(&taken, portion, __ATOMIC_RELAXED)) < count)
        body(task, at, count - at < portion ? count : at + portion);
}

static void *help(void *ignored) {
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!seats) pthread_cond_wait(&begun, &lock);
        seats--;
        inside++;
        pthread_mutex_unlock(&lock);
        work();
        pthread_mutex_lock(&lock);
        if (!--inside) pthread_cond_signal(&ended);
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
    pthread_mutex_lock(&lock);
    if (helpers < threads - 1) hire(threads - 1);
    body = b, task = t, count = n, portion = grain, taken = 0;
    const long portions = (n + grain - 1) / grain;
    seats = portions < threads ? (int)portions - 1 : threads - 1;
    pthread_cond_broadcast(&begun);
    pthread_mutex_unlock(&lock);
    work();
    for (int patience = 2000; patience && __atomic_load_n(&inside, __ATOMIC_RELAXED); patience--)
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    pthread_mutex_lock(&lock);
    seats = 0;
    while (inside) pthread_cond_wait(&ended, &lock);
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&owner);
}

/* The helpers do not survive a fork; the child begins afresh. */
static void forked(void) {
    pthread_mutex_init(&owner, NULL);
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&begun, NULL);
    pthread_cond_init(&ended, NULL);
    helpers = seats = inside = 0;
}

__attribute__((constructor)) static void prepare(void) { pthread_atfork(NULL, NULL, forked); }
