/* Recurrent layers over whole sequences, and what pulls back through them. Units of work are the examples of a batch,
 * rows here: they do not know of each other, so that a thread goes through all steps with its own. `*_step` and `*_row`
 * are how far apart steps and rows lie where that is not known.
 *
 * A step's product is made by a function of panels.c from weights that are packed once for all steps. Without packed
 * weights there is one step, and the product is made before it, or after it by those who pull back.
 */
#ifndef REAL

#include "wide.h"

#include "names.h"

#define SELF "recurrence.c"
#include "both_floats.h"

#else

/* Weights (width, columns) in panels, and `panel_product` for them; NULL if there are none. */
typedef struct {
    const REAL *packed;
    void (*product)(const void *, long, long);
    I width, columns, panels;
} NAME(weights);

/* y = a @ w for some rows, all side by side. */
static inline void NAME(multiply)(const NAME(weights) *w, const REAL *a, REAL *y, I rows)
{
    struct { const REAL *a, *packed; REAL *y; I rows, width, columns, a_row, y_row; } given = {
        a, w->packed, y, rows, w->width, w->columns, w->width, w->columns};
    if (w->packed) w->product(&given, 0, w->panels);
}

/* Functions get loops of their own: a call to a vector function leaves no register as it was. */
static inline void NAME(sigmoid)(REAL *s, I n)
{
#pragma omp simd
    for (I k = 0; k < n; k++) s[k] = 1 / (1 + EXP(-s[k]));
}

static inline void NAME(tanh)(REAL *to, const REAL *s, I n)
{
#pragma omp simd
    for (I k = 0; k < n; k++) to[k] = TANH(s[k]);
}

/* -- LSTM: inner has the four gates and the new cell state; bias may be NULL; a is what the products give ------------ */
typedef struct {
    NAME(weights) w;
    const REAL *x, *h, *c, *bias;
    REAL *a, *inner, *hidden;
    I steps, batch, n, x_step, x_row;
} NAME(lstm_sequence_task);

INLINE void NAME(lstm_cell)(
    const REAL *a, const REAL *x, const REAL *b, const REAL *c, REAL *restrict s, REAL *restrict h, I n)
{
    if (b)
#pragma omp simd
        for (I k = 0; k < 4 * n; k++) s[k] = a[k] + x[k] + b[k];
    else
#pragma omp simd
        for (I k = 0; k < 4 * n; k++) s[k] = a[k] + x[k];
    NAME(sigmoid)(s, 2 * n);
    NAME(tanh)(s + 2 * n, s + 2 * n, n);
    NAME(sigmoid)(s + 3 * n, n);
#pragma omp simd
    for (I k = 0; k < n; k++) s[k + 4 * n] = s[k + n] * c[k] + s[k] * s[k + 2 * n];
#pragma omp simd
    for (I k = 0; k < n; k++) h[k] = s[k + 3 * n] * TANH(s[k + 4 * n]);
}

EXPORT void NAME(lstm_sequence)(const void *task, long begin, long end)
{
    const NAME(lstm_sequence_task) *t = task;
    I n = t->n, size = t->batch * n;
    for (I step = 0; step < t->steps; step++) {
        const REAL *x = t->x + step * t->x_step, *h = step ? t->hidden + (step - 1) * size : t->h;
        const REAL *c = step ? t->inner + (step - 1) * 5 * size + 4 * n : t->c;
        REAL *s = t->inner + step * 5 * size, *hidden = t->hidden + step * size;
        I c_row = step ? 5 * n : n;
        NAME(multiply)(&t->w, h + begin * n, t->a + begin * 4 * n, end - begin);
        for (I r = begin; r < end; r++)
            NAME(lstm_cell)(
                t->a + r * 4 * n, x + r * t->x_row, t->bias, c + r * c_row, s + r * 5 * n, hidden + r * n, n);
    }
}

/* gh and gc become the cotangents of the states at the start, out has those of the gates; to_c, those of cell states,
 * may be NULL. */
typedef struct {
    NAME(weights) w;
    const REAL *gy, *to_c, *inner, *c;
    REAL *gh, *gc, *out;
    I steps, batch, n, gy_step, gy_row, to_c_step, to_c_row;
} NAME(lstm_sequence_pull_task);

INLINE void NAME(lstm_cell_pull)(
    const REAL *gy, const REAL *to_c, const REAL *s, const REAL *c, const REAL *gh, REAL *restrict gc,
    REAL *restrict out, I n)
{
    if (to_c)
        for (I k = 0; k < n; k++) gc[k] += to_c[k];
    NAME(tanh)(out + 3 * n, s + 4 * n, n);
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

EXPORT void NAME(lstm_sequence_pull)(const void *task, long begin, long end)
{
    const NAME(lstm_sequence_pull_task) *t = task;
    I n = t->n, size = t->batch * n;
    for (I k = begin * n; k < end * n; k++) t->gh[k] = t->gc[k] = 0;
    for (I step = t->steps - 1; step >= 0; step--) {
        const REAL *gy = t->gy + step * t->gy_step, *to_c = t->to_c ? t->to_c + step * t->to_c_step : 0;
        const REAL *s = t->inner + step * 5 * size, *c = step ? s - 5 * size + 4 * n : t->c;
        REAL *out = t->out + step * 4 * size;
        I c_row = step ? 5 * n : n;
        for (I r = begin; r < end; r++)
            NAME(lstm_cell_pull)(
                gy + r * t->gy_row, to_c ? to_c + r * t->to_c_row : 0, s + r * 5 * n, c + r * c_row, t->gh + r * n,
                t->gc + r * n, out + r * 4 * n, n);
        NAME(multiply)(&t->w, out + begin * 4 * n, t->gh + begin * n, end - begin);
    }
}

/* -- GRU: inner has the three gates, and the state's part of the new one; bias may be NULL --------------------------- */
typedef struct {
    NAME(weights) w;
    const REAL *x, *h, *bias;
    REAL *a, *inner, *hidden;
    I steps, batch, n, x_step, x_row;
} NAME(gru_sequence_task);

INLINE void NAME(gru_cell)(
    const REAL *a, const REAL *x, const REAL *b, const REAL *h, REAL *restrict s, REAL *restrict hidden, I n)
{
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
    for (I k = 0; k < n; k++) s[k + 2 * n] = x[k + 2 * n] + s[k] * s[k + 3 * n];
    NAME(tanh)(s + 2 * n, s + 2 * n, n);
#pragma omp simd
    for (I k = 0; k < n; k++) hidden[k] = s[k + 2 * n] + s[k + n] * (h[k] - s[k + 2 * n]);
}

EXPORT void NAME(gru_sequence)(const void *task, long begin, long end)
{
    const NAME(gru_sequence_task) *t = task;
    I n = t->n, size = t->batch * n;
    for (I step = 0; step < t->steps; step++) {
        const REAL *x = t->x + step * t->x_step, *h = step ? t->hidden + (step - 1) * size : t->h;
        REAL *s = t->inner + step * 4 * size, *hidden = t->hidden + step * size;
        NAME(multiply)(&t->w, h + begin * n, t->a + begin * 3 * n, end - begin);
        for (I r = begin; r < end; r++)
            NAME(gru_cell)(
                t->a + r * 3 * n, x + r * t->x_row, t->bias, h + r * n, s + r * 4 * n, hidden + r * n, n);
    }
}

/* gh: the cotangent that later states passed on directly, product: through their gates. Both begin as zeros, and what
 * they end as adds up to that of the state at the start. */
typedef struct {
    NAME(weights) w;
    const REAL *gy, *inner, *h, *hidden;
    REAL *gh, *product, *to_x, *to_a;
    I steps, batch, n, gy_step, gy_row;
} NAME(gru_sequence_pull_task);

INLINE void NAME(gru_cell_pull)(
    const REAL *gy, const REAL *product, const REAL *s, const REAL *h, REAL *restrict gh, REAL *restrict x,
    REAL *restrict a, I n)
{
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

EXPORT void NAME(gru_sequence_pull)(const void *task, long begin, long end)
{
    const NAME(gru_sequence_pull_task) *t = task;
    I n = t->n, size = t->batch * n;
    for (I k = begin * n; k < end * n; k++) t->gh[k] = t->product[k] = 0;
    for (I step = t->steps - 1; step >= 0; step--) {
        const REAL *gy = t->gy + step * t->gy_step, *s = t->inner + step * 4 * size;
        const REAL *h = step ? t->hidden + (step - 1) * size : t->h;
        REAL *to_x = t->to_x + step * 3 * size, *to_a = t->to_a + step * 3 * size;
        for (I r = begin; r < end; r++)
            NAME(gru_cell_pull)(
                gy + r * t->gy_row, t->product + r * n, s + r * 4 * n, h + r * n, t->gh + r * n, to_x + r * 3 * n,
                to_a + r * 3 * n, n);
        NAME(multiply)(&t->w, to_a + begin * 3 * n, t->product + begin * n, end - begin);
    }
}

/* -- plain recurrence: of tanh, or else of relu; bias may be NULL. Products are made in hidden ----------------------- */
typedef struct {
    NAME(weights) w;
    const REAL *x, *h, *bias;
    REAL *hidden;
    I steps, batch, n, x_step, x_row, tanh;
} NAME(rnn_sequence_task);

EXPORT void NAME(rnn_sequence)(const void *task, long begin, long end)
{
    const NAME(rnn_sequence_task) *t = task;
    const REAL *b = t->bias;
    I n = t->n, size = t->batch * n;
    for (I step = 0; step < t->steps; step++) {
        const REAL *h = step ? t->hidden + (step - 1) * size : t->h;
        REAL *hidden = t->hidden + step * size;
        NAME(multiply)(&t->w, h + begin * n, hidden + begin * n, end - begin);
        for (I r = begin; r < end; r++) {
            const REAL *x = t->x + step * t->x_step + r * t->x_row;
            REAL *restrict y = hidden + r * n;
            if (b)
#pragma omp simd
                for (I k = 0; k < n; k++) y[k] = y[k] + x[k] + b[k];
            else
#pragma omp simd
                for (I k = 0; k < n; k++) y[k] = y[k] + x[k];
            if (t->tanh) NAME(tanh)(y, y, n);
            else
#pragma omp simd
                for (I k = 0; k < n; k++) y[k] = y[k] > 0 || y[k] != y[k] ? y[k] : 0;
        }
    }
}

/* gh becomes the cotangent of the state at the start, out has those of what tanh or relu was taken of. */
typedef struct {
    NAME(weights) w;
    const REAL *gy, *hidden;
    REAL *gh, *out;
    I steps, batch, n, gy_step, gy_row, tanh;
} NAME(rnn_sequence_pull_task);

EXPORT void NAME(rnn_sequence_pull)(const void *task, long begin, long end)
{
    const NAME(rnn_sequence_pull_task) *t = task;
    I n = t->n, size = t->batch * n;
    for (I k = begin * n; k < end * n; k++) t->gh[k] = 0;
    for (I step = t->steps - 1; step >= 0; step--) {
        REAL *out = t->out + step * size;
        for (I r = begin; r < end; r++) {
            const REAL *gy = t->gy + step * t->gy_step + r * t->gy_row, *y = t->hidden + step * size + r * n;
            const REAL *gh = t->gh + r * n;
            REAL *restrict to = out + r * n;
            if (t->tanh)
#pragma omp simd
                for (I k = 0; k < n; k++) to[k] = (1 - y[k] * y[k]) * (gh[k] + gy[k]);
            else
#pragma omp simd
                for (I k = 0; k < n; k++) to[k] = y[k] > 0 ? gh[k] + gy[k] : 0;
        }
        NAME(multiply)(&t->w, out + begin * n, t->gh + begin * n, end - begin);
    }
}

#endif
