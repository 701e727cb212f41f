/* One step of recurrent layers after its matrix product, and of what pulls back through them: each unit of a row is
 * read once. Rows are the examples of a batch; `*_row` is how far apart they lie.
 */
#ifndef REAL

#include "names.h"

#define SELF "recurrence.c"
#include "both_floats.h"

#else

static inline void NAME(sigmoid)(REAL *s, I n)
{
#pragma omp simd
    for (I k = 0; k < n; k++) s[k] = 1 / (1 + EXP(-s[k]));
}

/* inner: the four gates and the new cell state; bias may be NULL. */
typedef struct {
    const REAL *a, *x, *bias, *c;
    REAL *inner, *hidden;
    I n, x_row, c_row;
} NAME(lstm_step_task);

EXPORT void NAME(lstm_step)(const void *task, long begin, long end)
{
    const NAME(lstm_step_task) *t = task;
    I n = t->n;
    for (I row = begin; row < end; row++) {
        const REAL *a = t->a + row * 4 * n, *x = t->x + row * t->x_row, *c = t->c + row * t->c_row, *b = t->bias;
        REAL *restrict s = t->inner + row * 5 * n, *restrict h = t->hidden + row * n;
        if (b)
#pragma omp simd
            for (I k = 0; k < 4 * n; k++) s[k] = a[k] + x[k] + b[k];
        else
#pragma omp simd
            for (I k = 0; k < 4 * n; k++) s[k] = a[k] + x[k];
        /* one function for each loop: a call to a vector function leaves no register as it was */
        NAME(sigmoid)(s, 2 * n);
        NAME(sigmoid)(s + 3 * n, n);
#pragma omp simd
        for (I k = 2 * n; k < 3 * n; k++) s[k] = TANH(s[k]);
#pragma omp simd
        for (I k = 0; k < n; k++) s[k + 4 * n] = s[k + n] * c[k] + s[k] * s[k + 2 * n];
#pragma omp simd
        for (I k = 0; k < n; k++) h[k] = s[k + 3 * n] * TANH(s[k + 4 * n]);
    }
}

/* gh and gc: cotangents from later steps; gc becomes that of the cell state before. to_c may be NULL. */
typedef struct {
    const REAL *gy, *gh, *to_c, *inner, *c;
    REAL *gc, *out;
    I n, gy_row, to_c_row, c_row;
} NAME(lstm_step_pull_task);

EXPORT void NAME(lstm_step_pull)(const void *task, long begin, long end)
{
    const NAME(lstm_step_pull_task) *t = task;
    I n = t->n;
    for (I row = begin; row < end; row++) {
        const REAL *gy = t->gy + row * t->gy_row, *gh = t->gh + row * n, *c = t->c + row * t->c_row;
        const REAL *s = t->inner + row * 5 * n, *to_c = t->to_c ? t->to_c + row * t->to_c_row : 0;
        REAL *restrict gc = t->gc + row * n, *restrict out = t->out + row * 4 * n;
        if (to_c)
            for (I k = 0; k < n; k++) gc[k] += to_c[k];
#pragma omp simd
        for (I k = 0; k < n; k++) out[k + 3 * n] = TANH(s[k + 4 * n]);
#pragma omp simd
        for (I k = 0; k < n; k++) {
            REAL i = s[k], f = s[k + n], g = s[k + 2 * n], o = s[k + 3 * n], now = out[k + 3 * n];
            REAL to_h = gh[k] + gy[k], to_now = gc[k] + to_h * o * (1 - now * now);
            out[k] = to_now * g * i * (1 - i);
            out[k + n] = to_now * c[k] * f * (1 - f);
            out[k + 2 * n] = to_now * i * (1 - g * g);
            out[k + 3 * n] = to_h * now * o * (1 - o);
            gc[k] = to_now * f;
        }
    }
}

/* inner: the three gates, and the state's part of the new one; bias may be NULL. */
typedef struct {
    const REAL *a, *x, *bias, *h;
    REAL *inner, *hidden;
    I n, x_row, h_row;
} NAME(gru_step_task);

EXPORT void NAME(gru_step)(const void *task, long begin, long end)
{
    const NAME(gru_step_task) *t = task;
    I n = t->n;
    for (I row = begin; row < end; row++) {
        const REAL *a = t->a + row * 3 * n, *x = t->x + row * t->x_row, *h = t->h + row * t->h_row, *b = t->bias;
        REAL *restrict s = t->inner + row * 4 * n, *restrict hidden = t->hidden + row * n;
        if (b)
#pragma omp simd
            for (I k = 0; k < 3 * n; k++) s[k + n] = a[k] + b[k];
        else
#pragma omp simd
            for (I k = 0; k < 3 * n; k++) s[k + n] = a[k];
#pragma omp simd
        for (I k = 0; k < n; k++) s[k] = x[k] + s[k + n];
#pragma omp simd
        for (I k = n; k < 2 * n; k++) s[k] = x[k] + s[k + n];
        NAME(sigmoid)(s, 2 * n);
#pragma omp simd
        for (I k = 0; k < n; k++) s[k + 2 * n] = TANH(x[k + 2 * n] + s[k] * s[k + 3 * n]);
#pragma omp simd
        for (I k = 0; k < n; k++) hidden[k] = s[k + 2 * n] + s[k + n] * (h[k] - s[k + 2 * n]);
    }
}

/* gh: the cotangent that later states passed on directly, product: through their gates; gh becomes the next one. */
typedef struct {
    const REAL *gy, *product, *inner, *h;
    REAL *gh, *to_x, *to_a;
    I n, gy_row, h_row;
} NAME(gru_step_pull_task);

EXPORT void NAME(gru_step_pull)(const void *task, long begin, long end)
{
    const NAME(gru_step_pull_task) *t = task;
    I n = t->n;
    for (I row = begin; row < end; row++) {
        const REAL *gy = t->gy + row * t->gy_row, *product = t->product + row * n, *h = t->h + row * t->h_row;
        const REAL *s = t->inner + row * 4 * n;
        REAL *restrict gh = t->gh + row * n, *restrict x = t->to_x + row * 3 * n, *restrict a = t->to_a + row * 3 * n;
#pragma omp simd
        for (I k = 0; k < n; k++) {
            REAL r = s[k], z = s[k + n], new = s[k + 2 * n], to_h = gh[k] + product[k] + gy[k];
            REAL to_new = to_h * (1 - z) * (1 - new * new), to_r = to_new * s[k + 3 * n] * r * (1 - r);
            REAL to_z = to_h * (h[k] - new) * z * (1 - z);
            x[k] = to_r;
            x[k + n] = to_z;
            x[k + 2 * n] = to_new;
            a[k] = to_r;
            a[k + n] = to_z;
            a[k + 2 * n] = to_new * r;
            gh[k] = to_h * z;
        }
    }
}

#endif
