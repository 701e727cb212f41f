/* Weights of attention from scores, in place, and what pulls back through them: each row is read from the cache once.
 * A row has the scores of one query; with `causal`, the place of the first query plus one, only as many count as its
 * place among the queries says.
 */
#ifndef REAL

#include "names.h"

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

#endif
