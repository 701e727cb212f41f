/* Weights of attention from scores, in place, and what pulls back through them: each row is read from the cache once.
 * A row has the scores of one query; with `causal`, the place of the first query plus one, only as many count as its
 * place among the queries says. Whole heads go through all steps one by one, so that their weights stay in a cache; a
 * thread has heads of its own.
 */
#ifndef REAL

#include "wide.h"
#include "names.h"
#include "cblas.h"

#define SELF "attention.c"
#include "both_floats.h"

#else

#include "powers.h"

/* How many keys the query of a row looks at. */
static inline I NAME(seen)(I row, I queries, I n, I causal)
{
    I place = row % queries + causal;
    return causal && place < n ? place : n;
}

/* p becomes exp(p * scale - top); rate is one over its sum (1 for an empty one), total the logarithm of the sum. */
typedef struct {
    REAL *p, *rate, *total;
    I queries, n, causal;
    double scale;
} NAME(attention_weights_task);

EXPORT void NAME(attention_weights)(const void *task, long begin, long end)
{
    const NAME(attention_weights_task) *t = task;
    I n = t->n;
    REAL scale = (REAL)t->scale, none = (REAL)-LG_INFINITY;
    for (I row = begin; row < end; row++) {
        REAL *restrict p = t->p + row * n, top = none, sum = 0;
        I count = NAME(seen)(row, t->queries, n, t->causal);
#pragma omp simd reduction(max : top)
        for (I k = 0; k < count; k++) {
            REAL s = p[k] * scale;
            p[k] = s;
            top = s > top ? s : top;
        }
        REAL base = top == none ? 0 : top;
#pragma omp simd reduction(+ : sum)
        for (I k = 0; k < count; k++) {
            REAL e = POWER(p[k] - base);
            p[k] = e;
            sum += e;
        }
        for (I k = count; k < n; k++) p[k] = 0;
        t->rate[row] = sum == 0 ? 1 : 1 / sum;
        t->total[row] = sum == 0 ? none : (REAL)log(sum) + base;
    }
}

/* p becomes exp(p * scale - total), the weights; s becomes (s - rest) * p * factor, the cotangent of the scores. */
typedef struct {
    REAL *p, *s;
    const REAL *total, *rest;
    I queries, n, causal;
    double scale, factor;
} NAME(attention_slopes_task);

EXPORT void NAME(attention_slopes)(const void *task, long begin, long end)
{
    const NAME(attention_slopes_task) *t = task;
    I n = t->n;
    REAL scale = (REAL)t->scale, factor = (REAL)t->factor;
    for (I row = begin; row < end; row++) {
        REAL *restrict p = t->p + row * n, *restrict s = t->s + row * n, total = t->total[row], rest = t->rest[row];
        I count = NAME(seen)(row, t->queries, n, t->causal);
#pragma omp simd
        for (I k = 0; k < count; k++) {
            REAL w = POWER(p[k] * scale - total);
            p[k] = w;
            s[k] = (s[k] - rest) * w * factor;
        }
        for (I k = count; k < n; k++) p[k] = s[k] = 0;
    }
}

/* A matrix for each head: heads lie on two axes, of which the second has `inner`, and a matrix has rows. */
typedef struct { REAL *at; I far, near, row; } NAME(heads);
GEMM_OF(NAME(gemm), REAL);

static inline REAL *NAME(of_head)(const NAME(heads) *x, I head, I inner)
{
    return x->at + head / inner * x->far + head % inner * x->near;
}

/* y = weights @ v of heads; a portion of `grain` heads has its own room for weights and rates. */
typedef struct {
    NAME(gemm) gemm;
    NAME(heads) q, k, v, y;
    REAL *total, *room;
    I inner, rows, columns, width, values, causal, grain;
    double scale;
} NAME(attend_task);

EXPORT void NAME(attend)(const void *task, long begin, long end)
{
    const NAME(attend_task) *t = task;
    const I rows = t->rows, columns = t->columns, inner = t->inner;
    REAL *const p = t->room + begin / t->grain * rows * (columns + 1), *const rate = p + rows * columns;
    for (I head = begin; head < end; head++) {
        REAL *const y = NAME(of_head)(&t->y, head, inner);
        t->gemm(BY_ROWS, AS_IT_IS, TURNED, rows, columns, t->width, 1, NAME(of_head)(&t->q, head, inner), t->q.row,
                NAME(of_head)(&t->k, head, inner), t->k.row, 0, p, columns);
        NAME(attention_weights)(&(NAME(attention_weights_task)){p, rate, t->total + head * rows, rows, columns,
                                                                t->causal, t->scale}, 0, rows);
        t->gemm(BY_ROWS, AS_IT_IS, AS_IT_IS, rows, t->values, columns, 1, p, columns,
                NAME(of_head)(&t->v, head, inner), t->v.row, 0, y, t->y.row);
        for (I row = 0; row < rows; row++)
            for (I k = 0; k < t->values; k++) y[row * t->y.row + k] *= rate[row];
    }
}

/* The cotangents of q, k and v; `rest` is what each row of weights has in common. */
typedef struct {
    NAME(gemm) gemm;
    NAME(heads) h, q, k, v, to_q, to_k, to_v;
    const REAL *total, *rest;
    REAL *room;
    I inner, rows, columns, width, values, causal, grain;
    double scale;
} NAME(attend_pull_task);

EXPORT void NAME(attend_pull)(const void *task, long begin, long end)
{
    const NAME(attend_pull_task) *t = task;
    const I rows = t->rows, columns = t->columns, inner = t->inner, width = t->width, values = t->values;
    REAL *const p = t->room + begin / t->grain * rows * columns * 2, *const s = p + rows * columns;
    for (I head = begin; head < end; head++) {
        const REAL *const h = NAME(of_head)(&t->h, head, inner), *const q = NAME(of_head)(&t->q, head, inner);
        const REAL *const k = NAME(of_head)(&t->k, head, inner), *const v = NAME(of_head)(&t->v, head, inner);
        t->gemm(BY_ROWS, AS_IT_IS, TURNED, rows, columns, width, 1, q, t->q.row, k, t->k.row, 0, p, columns);
        t->gemm(BY_ROWS, AS_IT_IS, TURNED, rows, columns, values, 1, h, t->h.row, v, t->v.row, 0, s, columns);
        NAME(attention_slopes)(&(NAME(attention_slopes_task)){p, s, t->total + head * rows, t->rest + head * rows, rows,
                                                              columns, t->causal, t->scale, t->scale}, 0, rows);
        t->gemm(BY_ROWS, AS_IT_IS, AS_IT_IS, rows, width, columns, 1, s, columns, k, t->k.row, 0,
                NAME(of_head)(&t->to_q, head, inner), t->to_q.row);
        t->gemm(BY_ROWS, TURNED, AS_IT_IS, columns, values, rows, 1, p, columns, h, t->h.row, 0,
                NAME(of_head)(&t->to_v, head, inner), t->to_v.row);
        t->gemm(BY_ROWS, TURNED, AS_IT_IS, columns, width, rows, 1, s, columns, q, t->q.row, 0,
                NAME(of_head)(&t->to_k, head, inner), t->to_k.row);
    }
}

#endif
