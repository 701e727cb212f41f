/* Products of the BLAS, divided among the threads of all other loops.
 *
 * A BLAS with threads of its own lets them wait busily for its next product, while those of loops want the processors.
 * So while a program runs, the BLAS has one thread, and large products are parts of matrices, which it is given. */
#ifndef REAL

#include <pthread.h>
#include "arrays.h"
#include "cblas.h"
#include "parallel.h"
#include "names.h"

static lg_parallel_for parallel;
static int (*get_threads)(void);
static void (*set_threads)(int);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int running, before; /* programs, and threads that the BLAS had */
static long fields;         /* where array objects keep what is theirs */

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

EXPORT void lg_products_begin(lg_parallel_for p, int (*get)(void), void (*set)(int), long offset)
{
    parallel = p, get_threads = get, set_threads = set, fields = offset;
    pthread_atfork(NULL, NULL, forked);
}

/* Matrices of one size, a step apart, and their rows (or columns, if TURNED); in elements. */
typedef struct {
    void *data;
    long rows, columns, apart, count, step;
    int turn;
} matrices;

/* How a matrix lies, or those of a stack, of elements of so many bytes; 0: neither by rows nor by columns, or unevenly. */
static int laid(matrices *m, const void *object, const long width)
{
    const array_fields *x = (const void *)((const char *)object + fields);
    const int last = x->rank - 1;
    if (last < 1) return 0;
    const long rows = x->sizes[last - 1], columns = x->sizes[last];
    const long down = x->strides[last - 1], along = x->strides[last];
    long apart = 0, step = 0, count = 1;
    int turn = AS_IT_IS;
    if ((along == width || columns == 1) && (down >= columns * width || rows == 1))
        apart = rows == 1 ? columns * width : down; /* NumPy says anything of an axis with one element */
    else if ((down == width || rows == 1) && (along >= rows * width || columns == 1))
        apart = columns == 1 ? rows * width : along, turn = TURNED;
    for (int axis = last - 2; axis >= 0; axis--) {
        if (x->sizes[axis] == 1) continue;
        if (count == 1)
            step = x->strides[axis];
        else if (x->strides[axis] != step * count)
            return 0;
        count *= x->sizes[axis];
    }
    *m = (matrices){x->data, rows, columns, apart / width, count, step / width, turn};
    return apart > 0 && apart % width == 0 && step >= 0 && step % width == 0 && (size_t)x->data % width == 0;
}

/* Whether there is c = a @ b, and it lies by rows. */
static int fit(const matrices *a, const matrices *b, const matrices *c)
{
    return a->columns == b->rows && a->rows == c->rows && b->columns == c->columns && c->turn == AS_IT_IS &&
           a->count == c->count && b->count == c->count;
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

/* c = a @ b + bias, which may be NULL: array objects. 0: they do not lie as they should. */
EXPORT int NAME(lg_product)(NAME(gemm) gemm, NAME(affine) affine, const void *a, const void *b, const void *bias,
                            const void *c, int threads)
{
    matrices one, two, to;
    const REAL *row = NULL;
    if (!laid(&one, a, sizeof(REAL)) || !laid(&two, b, sizeof(REAL)) || !laid(&to, c, sizeof(REAL))) return 0;
    if (!fit(&one, &two, &to) || to.count != 1) return 0;
    if (bias) {
        const array_fields *x = (const void *)((const char *)bias + fields);
        if (x->rank != 1 || x->sizes[0] != to.columns || x->strides[0] != sizeof(REAL)) return 0;
        row = (const REAL *)x->data;
        if ((size_t)row % sizeof(REAL)) return 0;
    }
    lg_alone(1);
    NAME(divide)((NAME(task)){gemm, affine, one.turn, two.turn, 0, 0, to.rows, to.columns, one.columns, one.data, two.data,
                              row, to.data, 0, one.apart, two.apart, to.apart}, threads);
    lg_alone(0);
    return 1;
}

/* Products of stacks of matrices: each is one portion, so that all are as one thread makes them. */
typedef struct {
    NAME(gemm) gemm;
    matrices a, b, c;
} NAME(stack);

static void NAME(some)(void *task, long begin, long end)
{
    const NAME(stack) *t = task;
    const matrices *const a = &t->a, *const b = &t->b, *const c = &t->c;
    for (; begin < end; begin++)
        t->gemm(BY_ROWS, a->turn, b->turn, c->rows, c->columns, a->columns, 1, (REAL *)a->data + begin * a->step, a->apart,
                (REAL *)b->data + begin * b->step, b->apart, 0, (REAL *)c->data + begin * c->step, c->apart);
}

/* The same for stacks of matrices, without a bias. */
EXPORT int NAME(lg_stack)(NAME(gemm) gemm, const void *a, const void *b, const void *c, int threads)
{
    NAME(stack) t = {.gemm = gemm};
    if (!laid(&t.a, a, sizeof(REAL)) || !laid(&t.b, b, sizeof(REAL)) || !laid(&t.c, c, sizeof(REAL))) return 0;
    if (!fit(&t.a, &t.b, &t.c)) return 0;
    lg_alone(1);
    parallel(NAME(some), &t, t.c.count, (t.c.count + 4 * threads - 1) / (4 * threads), threads);
    lg_alone(0);
    return 1;
}

#endif
