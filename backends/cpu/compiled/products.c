/* Products of the BLAS, divided among the threads of all other loops.
 *
 * A BLAS with threads of its own lets them wait busily for its next product, while those of loops want the processors.
 * So while a program runs, the BLAS has one thread, and large products are parts of matrices, which it is given. */
#ifndef REAL

#include <pthread.h>
#include "cblas.h"
#include "parallel.h"
#include "names.h"

static lg_parallel_for parallel;
static int (*get_threads)(void);
static void (*set_threads)(int);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int running, before; /* programs, and threads that the BLAS had */

/* A program begins (1) or ends (0). */
EXPORT void lg_alone(int begins)
{
    pthread_mutex_lock(&lock);
    if (begins) {
        if (!running++) {
            before = get_threads();
            set_threads(1);
        }
    } else if (!--running)
        set_threads(before);
    pthread_mutex_unlock(&lock);
}

/* How many threads the BLAS is to have from now on, or when the last program has ended. */
EXPORT void lg_blas_threads(int n)
{
    pthread_mutex_lock(&lock);
    if (running)
        before = n;
    else
        set_threads(n);
    pthread_mutex_unlock(&lock);
}

/* In a child no program runs: the thread that forked was in Python. */
static void forked(void)
{
    pthread_mutex_init(&lock, NULL);
    if (running) set_threads(before);
    running = 0;
}

EXPORT void lg_products_begin(lg_parallel_for p, int (*get)(void), void (*set)(int))
{
    parallel = p, get_threads = get, set_threads = set;
    pthread_atfork(NULL, NULL, forked);
}

/* Rows or columns that stay together, since edges cost: a panel of `gemm.c`, or fewer for the BLAS. And portions for
 * each thread: each repeats what is done for the other side, but threads do not always begin together. */
#define BLOCK (sizeof(REAL) == sizeof(float) ? 32 : 16)
#define EACH (sizeof(REAL) == sizeof(float) ? 1 : 2)

#define SELF "products.c"
#include "both_floats.h"

#else

GEMM_OF(NAME(gemm), REAL);
typedef int (*NAME(affine))(int, int, long, long, long, const REAL *, long, const REAL *, long, int, const REAL *,
                            REAL *, long);
typedef struct {
    NAME(gemm) gemm;
    NAME(affine) affine;         /* adds the bias on the way, if it can; or NULL */
    int turn_a, turn_b, by_rows; /* divided: rows of the result, or its columns */
    long portions;               /* of how many */
    long m, n, k;
    const REAL *a, *b, *bias;
    REAL *c, beta;
    long lda, ldb, ldc;
} NAME(task);

/* One portion at a time, whoever does it: how the BLAS adds up depends on what it is given. */
static void NAME(part)(void *task, long begin, long end)
{
    const NAME(task) *t = task;
    const long all = t->by_rows ? t->m : t->n, blocks = (all + BLOCK - 1) / BLOCK;
    for (; begin < end; begin++) {
        const long from = blocks * begin / t->portions * BLOCK, to = blocks * (begin + 1) / t->portions * BLOCK;
        const long some = (to < all ? to : all) - from;
        const long m = t->by_rows ? some : t->m, n = t->by_rows ? t->n : some;
        const REAL *a = t->a, *b = t->b, *bias = t->bias;
        REAL *c = t->c;
        if (t->by_rows)
            a += from * (t->turn_a == TURNED ? 1 : t->lda), c += from * t->ldc;
        else
            b += from * (t->turn_b == TURNED ? t->ldb : 1), c += from, bias += bias ? from : 0;
        if (bias && t->affine && t->affine(t->turn_a, t->turn_b, m, n, t->k, a, t->lda, b, t->ldb, 0, bias, c, t->ldc))
            continue;
        t->gemm(BY_ROWS, t->turn_a, t->turn_b, m, n, t->k, 1, a, t->lda, b, t->ldb, t->beta, c, t->ldc);
        for (long i = 0; bias && i < m; i++)
            for (long j = 0; j < n; j++) c[i * t->ldc + j] += bias[j];
    }
}

/* By at most so many threads: of the larger side, since each repeats what is done for the other. */
static void NAME(divide)(NAME(task) t, int threads)
{
    const long blocks = ((t.m > t.n ? t.m : t.n) + BLOCK - 1) / BLOCK, most = threads < 2 ? 1 : EACH * threads;
    t.by_rows = t.m > t.n;
    t.portions = blocks < most ? blocks : most;
    parallel(NAME(part), &t, t.portions, 1, threads);
}

/* c = a @ b + beta c */
EXPORT void NAME(lg_products)(NAME(gemm) gemm, int turn_a, int turn_b, long m, long n, long k, const REAL *a, long lda,
                              const REAL *b, long ldb, REAL beta, REAL *c, long ldc, int threads)
{
    NAME(divide)((NAME(task)){gemm, NULL, turn_a, turn_b, 0, 0, m, n, k, a, b, NULL, c, beta, lda, ldb, ldc}, threads);
}

/* c = a @ b + bias, which may be NULL */
EXPORT void NAME(lg_affine_products)(NAME(gemm) gemm, NAME(affine) affine, int turn_a, int turn_b, long m, long n, long k,
                                     const REAL *a, long lda, const REAL *b, long ldb, const REAL *bias, REAL *c,
                                     long ldc, int threads)
{
    NAME(divide)((NAME(task)){gemm, affine, turn_a, turn_b, 0, 0, m, n, k, a, b, bias, c, 0, lda, ldb, ldc}, threads);
}

/* Products of matrices that lie a step apart: each is one portion, so that all are as one thread makes them. */
typedef struct {
    NAME(gemm) gemm;
    int turn_a, turn_b;
    long m, n, k;
    const REAL *a, *b;
    REAL *c;
    long lda, ldb, ldc, step_a, step_b, step_c;
} NAME(stack);

static void NAME(some)(void *task, long begin, long end)
{
    const NAME(stack) *t = task;
    for (; begin < end; begin++)
        t->gemm(BY_ROWS, t->turn_a, t->turn_b, t->m, t->n, t->k, 1, t->a + begin * t->step_a, t->lda,
                t->b + begin * t->step_b, t->ldb, 0, t->c + begin * t->step_c, t->ldc);
}

EXPORT void NAME(lg_stack)(NAME(gemm) gemm, int turn_a, int turn_b, long m, long n, long k, const REAL *a, long lda,
                           long step_a, const REAL *b, long ldb, long step_b, REAL *c, long ldc, long step_c,
                           long count, int threads)
{
    NAME(stack) t = {gemm, turn_a, turn_b, m, n, k, a, b, c, lda, ldb, ldc, step_a, step_b, step_c};
    parallel(NAME(some), &t, count, (count + 4 * threads - 1) / (4 * threads), threads);
}

#endif
