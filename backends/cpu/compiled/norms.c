/* Normalisation of rows and of channels. Rows, blocks of rows or channels are units of work. */
#ifndef REAL

#include "wide.h"
#include "rows.h"

#define SELF "norms.c"
#include "both_floats.h"

#else

#include "row_sums.h"

/* -- normalisation ------------------------------------------------------------------------------ */
/* The mean of a row, 0 unless it is to be taken away, and one over the deviation. */
static inline void NAME(moments)(const REAL *x, I n, double eps, I centre, REAL *mean, REAL *rate)
{
    *mean = centre ? (REAL)(NAME(total)(x, n) / n) : 0;
    *rate = (REAL)(1 / sqrt(NAME(squares)(x, n, *mean) / n + eps));
}

/* Weights and bias may be NULL. */
typedef struct { const REAL *x, *w, *b; REAL *y; I n, centre; double eps; } NAME(layer_norm_task);

INLINE void NAME(layer_norm_rows)(const void *task, long begin, long end, const int streamed)
{
    const NAME(layer_norm_task) *t = task;
    const REAL *x = t->x, *w = t->w, *b = t->b;
    REAL *y = t->y;
    I n = t->n, centre = t->centre;
    double eps = t->eps;
    for (I row = begin; row < end; row++) {
        const REAL *from = x + row * n;
        REAL *to = y + row * n, mean, rate;
        NAME(moments)(from, n, eps, centre, &mean, &rate);
#define BARE(AT) ((AT(from, k) - mean) * rate)
#define WEIGHTED(AT) (BARE(AT) * AT(w, k))
#define SHIFTED(AT) (WEIGHTED(AT) + AT(b, k))
        if (!w) {
            WRITE_ROW(to, n, streamed, BARE);
        } else if (!b) {
            WRITE_ROW(to, n, streamed, WEIGHTED);
        } else {
            WRITE_ROW(to, n, streamed, SHIFTED);
        }
#undef BARE
#undef WEIGHTED
#undef SHIFTED
    }
}

BOTH_WAYS(layer_norm)

typedef struct { const REAL *h, *x; REAL *y; I n, centre; double eps; } NAME(standardise_pull_task);

EXPORT void NAME(standardise_pull)(const void *task, long begin, long end)
{
    const NAME(standardise_pull_task) *t = task;
    const REAL *h = t->h, *x = t->x;
    REAL *y = t->y;
    I n = t->n, centre = t->centre;
    double eps = t->eps;
    for (I row = begin; row < end; row++) {
        const REAL *from = x + row * n, *a = h + row * n;
        REAL *to = y + row * n, mean, rate;
        NAME(moments)(from, n, eps, centre, &mean, &rate);
        for (I k = 0; k < n; k++) to[k] = (from[k] - mean) * rate;
        REAL along = (REAL)(NAME(dot)(a, to, n) / n), level = centre ? (REAL)(NAME(total)(a, n) / n) : 0;
        for (I k = 0; k < n; k++) to[k] = (a[k] - level - to[k] * along) * rate;
    }
}

/* Also the sums over rows that w and b get, in blocks of ROWS rows: parts is (blocks, 2, n), and zero. */
typedef struct {
    const REAL *h, *x, *w;
    REAL *y, *parts;
    I rows, n, centre;
    double eps;
} NAME(layer_norm_pull_task);

EXPORT void NAME(layer_norm_pull)(const void *task, long begin, long end)
{
    const NAME(layer_norm_pull_task) *t = task;
    const REAL *h = t->h, *x = t->x, *w = t->w;
    REAL *y = t->y, *parts = t->parts;
    I rows = t->rows, n = t->n, centre = t->centre;
    double eps = t->eps;
    for (I block = begin; block < end; block++) {
        REAL *sum_w = parts + block * 2 * n, *sum_b = sum_w + n;
        I last_row = (block + 1) * ROWS < rows ? (block + 1) * ROWS : rows;
        for (I row = block * ROWS; row < last_row; row++) {
            const REAL *from = x + row * n, *a = h + row * n;
            REAL *to = y + row * n, mean, rate;
            NAME(moments)(from, n, eps, centre, &mean, &rate);
            if (row + 1 < rows) fetch(a + n, (size_t)n * sizeof(REAL), 0);
            double along = 0, level = 0;
            for (I first = 0; first < n; first += PART) {
                I last = first + PART < n ? first + PART : n;
                REAL p = 0, q = 0;
#pragma omp simd reduction(+ : p, q)
                for (I k = first; k < last; k++) {
                    REAL s = (from[k] - mean) * rate, u = a[k] * w[k];
                    sum_w[k] += a[k] * s;
                    sum_b[k] += a[k];
                    p += u * s;
                    q += u;
                }
                along += p;
                level += q;
            }
            REAL slope = (REAL)(along / n), shift = centre ? (REAL)(level / n) : 0;
#define PULLED(AT) ((AT(a, k) * AT(w, k) - shift - (AT(from, k) - mean) * rate * slope) * rate)
            PLAIN_ROW(to, n, PULLED); /* past the caches 16 and 64 MB took a fifth longer */
#undef PULLED
        }
    }
}

/* Those sums: of each stretch of PART columns, over all blocks. */
typedef struct { const REAL *parts; REAL *to_w, *to_b; I blocks, n; } NAME(layer_norm_sums_task);

EXPORT void NAME(layer_norm_sums)(const void *task, long begin, long end)
{
    const NAME(layer_norm_sums_task) *t = task;
    I n = t->n;
    for (I stretch = begin; stretch < end; stretch++) {
        I from = stretch * PART, to = from + PART < n ? from + PART : n;
        double s[2][PART] = {{0}};
        for (I block = 0; block < t->blocks; block++)
            for (I k = from; k < to; k++) {
                s[0][k - from] += t->parts[2 * block * n + k];
                s[1][k - from] += t->parts[(2 * block + 1) * n + k];
            }
        for (I k = from; k < to; k++) {
            t->to_w[k] = (REAL)s[0][k - from];
            t->to_b[k] = (REAL)s[1][k - from];
        }
    }
}

/* -- channels: x is (n, channels, places) -------------------------------------------------------- */
typedef struct {
    const REAL *x, *w, *b;
    REAL *y, *means, *variances;
    I n, channels, places;
    double eps;
} NAME(batch_norm_task);

EXPORT void NAME(batch_norm)(const void *task, long begin, long end)
{
    const NAME(batch_norm_task) *t = task;
    const REAL *x = t->x, *w = t->w, *b = t->b;
    REAL *y = t->y, *means = t->means, *variances = t->variances;
    I n = t->n, channels = t->channels, places = t->places;
    double eps = t->eps;
    double count = (double)(n * places);
    for (I c = begin; c < end; c++) {
        double s = 0, q = 0;
        for (I e = 0; e < n; e++) s += NAME(total)(x + (e * channels + c) * places, places);
        REAL mean = (REAL)(s / count);
        for (I e = 0; e < n; e++) q += NAME(squares)(x + (e * channels + c) * places, places, mean);
        REAL rate = (REAL)(w[c] / sqrt(q / count + eps)), shift = b[c];
        for (I e = 0; e < n; e++) {
            const REAL *from = x + (e * channels + c) * places;
            REAL *to = y + (e * channels + c) * places;
            for (I k = 0; k < places; k++) to[k] = (from[k] - mean) * rate + shift;
        }
        means[c] = mean;
        variances[c] = (REAL)(q / count);
    }
}

typedef struct {
    const REAL *h, *x, *w, *m, *v;
    REAL *y, *to_w, *to_b;
    I n, channels, places;
    double eps;
} NAME(batch_norm_pull_task);

EXPORT void NAME(batch_norm_pull)(const void *task, long begin, long end)
{
    const NAME(batch_norm_pull_task) *t = task;
    const REAL *h = t->h, *x = t->x, *w = t->w, *m = t->m, *v = t->v;
    REAL *y = t->y, *to_w = t->to_w, *to_b = t->to_b;
    I n = t->n, channels = t->channels, places = t->places;
    double eps = t->eps;
    double count = (double)(n * places);
    for (I c = begin; c < end; c++) {
        double s = 0, squares = 0, along = 0, level = 0;
        for (I e = 0; e < n; e++) s += NAME(total)(x + (e * channels + c) * places, places);
        REAL mean = (REAL)(s / count);
        for (I e = 0; e < n; e++) {
            const REAL *from = x + (e * channels + c) * places, *a = h + (e * channels + c) * places;
            for (I first = 0; first < places; first += PART) {
                I last = first + PART < places ? first + PART : places;
                REAL p = 0, q = 0, r = 0;
#pragma omp simd reduction(+ : p, q, r)
                for (I k = first; k < last; k++) {
                    REAL d = from[k] - mean;
                    p += d * d;
                    q += a[k] * d;
                    r += a[k];
                }
                squares += p, along += q, level += r;
            }
        }
        double rate = 1 / sqrt(squares / count + eps);
        to_w[c] = (REAL)(along * rate);
        to_b[c] = (REAL)level;
        REAL of_d = (REAL)((2 * (double)v[c] - w[c] * rate * rate * rate * along) / count);
        REAL of_h = (REAL)(w[c] * rate), shift = (REAL)((m[c] - w[c] * rate * level) / count);
        for (I e = 0; e < n; e++) {
            const REAL *from = x + (e * channels + c) * places, *a = h + (e * channels + c) * places;
            REAL *to = y + (e * channels + c) * places;
            for (I k = 0; k < places; k++) to[k] = (from[k] - mean) * of_d + a[k] * of_h + shift;
        }
    }
}

#endif
