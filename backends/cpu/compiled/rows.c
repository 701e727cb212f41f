/* Softmax, cross-entropy and sums of rows. Rows, columns or channels are units of work, never parts of a sum. */
#ifndef REAL

#include "wide.h"
#include "rows.h"

#define SELF "rows.c"
#include "both_floats.h"

#else

#include "powers.h"
#include "row_sums.h"

/* The sum of exp(x - shift), of a row that was read before. */
static inline double NAME(powers)(const REAL *x, I n, REAL shift)
{
#define TERM(k) POWER(x[k] - shift)
#define NEXT(k) (void)0
    SUM_OF(TERM, NEXT)
#undef TERM
#undef NEXT
}

/* The same, and the powers in y. */
static inline double NAME(keep_powers)(REAL *restrict y, const REAL *restrict x, I n, REAL shift)
{
#define TERM(k) (y[k] = POWER(x[k] - shift))
#define NEXT(k) EARLY_TO(y, k)
    SUM_OF(TERM, NEXT)
#undef TERM
#undef NEXT
}

/* A row that is shorter than ABREAST: whole vectors of it, behind the last element what adds nothing to its powers. Not
 * of float64, for which the C library's exp takes long if there are infinities. */
#undef IS_SHORT
#define IS_SHORT(n) (BITS == 32 && (n) < ABREAST)

INLINE void NAME(fill_up)(REAL *whole, const REAL *x, I n)
{
    for (int k = 0; k < ABREAST; k++) whole[k] = k < (int)n ? x[k] : (REAL)-LG_INFINITY;
}

INLINE double NAME(log_powers_of)(const REAL *x, I n)
{
    REAL top = NAME(top)(x, n), shift = NAME(finite)(top);
    if (top <= shift) return log(NAME(powers)(x, n, shift)) + shift;
    double all = 0; /* infinite, or not a number */
    for (I k = 0; k < n; k++) all += exp(x[k]);
    return log(all);
}

/* The logarithm of the sum of exp(x). */
static inline double NAME(log_powers)(const REAL *x, I n)
{
    if (!IS_SHORT(n)) return NAME(log_powers_of)(x, n);
    REAL whole[ABREAST];
    NAME(fill_up)(whole, x, n);
    return NAME(log_powers_of)(whole, ABREAST);
}

/* y = softmax(x) * scale */
INLINE void NAME(shares)(REAL *restrict y, const REAL *restrict x, I n, REAL scale)
{
    if (!IS_SHORT(n)) {
        const REAL rate = (REAL)(1 / NAME(keep_powers)(y, x, n, NAME(top)(x, n)));
        for (I k = 0; k < n; k++) y[k] = y[k] * rate * scale;
    } else {
        REAL whole[ABREAST], powers[ABREAST];
        NAME(fill_up)(whole, x, n);
        const REAL rate = (REAL)(1 / NAME(keep_powers)(powers, whole, ABREAST, NAME(top)(whole, ABREAST)));
        for (int k = 0; k < ABREAST; k++)
            if (k < (int)n) y[k] = powers[k] * rate * scale;
    }
}

/* -- softmax ------------------------------------------------------------------------------------ */
typedef struct { const REAL *x; REAL *y; I n; } NAME(softmax_task);

EXPORT void NAME(softmax)(const void *task, long begin, long end)
{
    const NAME(softmax_task) *t = task;
    const REAL *x = t->x;
    REAL *y = t->y;
    I n = t->n;
    for (I row = begin; row < end; row++) {
        NAME(shares)(y + row * n, x + row * n, n, 1);
    }
}

typedef struct { const REAL *h, *s; REAL *y; I n; } NAME(softmax_pull_task);

INLINE void NAME(softmax_pull_rows)(const void *task, long begin, long end, const int streamed)
{
    const NAME(softmax_pull_task) *t = task;
    const REAL *h = t->h, *s = t->s;
    REAL *y = t->y;
    I n = t->n;
    for (I row = begin; row < end; row++) {
        const REAL *a = h + row * n, *b = s + row * n;
        REAL *to = y + row * n;
        REAL inner = (REAL)NAME(dot)(a, b, n);
#define PULLED(AT) ((AT(a, k) - inner) * AT(b, k))
        WRITE_ROW(to, n, streamed, PULLED);
#undef PULLED
    }
}

BOTH_WAYS(softmax_pull)

typedef struct { const REAL *x; REAL *y; I n; } NAME(log_softmax_task);

EXPORT void NAME(log_softmax)(const void *task, long begin, long end)
{
    const NAME(log_softmax_task) *t = task;
    const REAL *x = t->x;
    REAL *y = t->y;
    I n = t->n;
    for (I row = begin; row < end; row++) {
        const REAL *from = x + row * n;
        REAL *to = y + row * n;
        REAL top = NAME(top)(from, n), size = (REAL)log(NAME(powers)(from, n, top));
#define SHIFTED(AT) (AT(from, k) - top - size)
        PLAIN_ROW(to, n, SHIFTED);
#undef SHIFTED
    }
}

typedef struct { const REAL *h, *s; REAL *y; I n; } NAME(log_softmax_pull_task);

EXPORT void NAME(log_softmax_pull)(const void *task, long begin, long end)
{
    const NAME(log_softmax_pull_task) *t = task;
    const REAL *h = t->h, *s = t->s;
    REAL *y = t->y;
    I n = t->n;
    for (I row = begin; row < end; row++) {
        const REAL *a = h + row * n, *b = s + row * n;
        REAL *to = y + row * n;
        REAL all = (REAL)NAME(total)(a, n);
#define PULLED(AT) (AT(a, k) - POWER(AT(b, k)) * all)
        PLAIN_ROW(to, n, PULLED);
#undef PULLED
    }
}

typedef struct { const REAL *x; REAL *y; I n; } NAME(logsumexp_task);

EXPORT void NAME(logsumexp)(const void *task, long begin, long end)
{
    const NAME(logsumexp_task) *t = task;
    const REAL *x = t->x;
    REAL *y = t->y;
    I n = t->n;
    for (I row = begin; row < end; row++) {
        y[row] = (REAL)NAME(log_powers)(x + row * n, n);
    }
}

typedef struct { const REAL *h, *s, *x; REAL *y; I n; } NAME(logsumexp_pull_task);

EXPORT void NAME(logsumexp_pull)(const void *task, long begin, long end)
{
    const NAME(logsumexp_pull_task) *t = task;
    const REAL *h = t->h, *s = t->s, *x = t->x;
    REAL *y = t->y;
    I n = t->n;
    for (I row = begin; row < end; row++) {
        const REAL *from = x + row * n;
        REAL *to = y + row * n;
        REAL scale = h[row], shift = s[row] == (REAL)-LG_INFINITY ? 0 : s[row];
#define PULLED(AT) (POWER(AT(from, k) - shift) * scale)
        PLAIN_ROW(to, n, PULLED);
#undef PULLED
    }
}

/* -- extremes ----------------------------------------------------------------------------------- */
/* y = h over the number of elements of x that are the row's extreme s, at these. */
typedef struct { const REAL *h, *s, *x; REAL *y; I n; } NAME(extreme_pull_task);

EXPORT void NAME(extreme_pull)(const void *task, long begin, long end)
{
    const NAME(extreme_pull_task) *t = task;
    I n = t->n;
    for (I row = begin; row < end; row++) {
        const REAL *from = t->x + row * n, extreme = t->s[row];
        REAL *to = t->y + row * n, count = 0;
        for (I first = 0; first < n; first += PART) {
            const I last = first + PART < n ? first + PART : n;
            REAL some = 0;
#pragma omp simd reduction(+ : some)
            for (I k = first; k < last; k++) some += from[k] == extreme ? 1 : 0;
            count += some;
        }
        const REAL share = t->h[row] / count;
#define SHARED(AT) ((AT(from, k) == extreme ? 1 : 0) * share) /* NaN where there is no extreme */
        PLAIN_ROW(to, n, SHARED);
#undef SHARED
    }
}

/* Whether a row has an element that is not zero: a byte each. */
typedef struct { const REAL *x; char *y; I n; } NAME(any_rows_task);

EXPORT void NAME(any_rows)(const void *task, long begin, long end)
{
    const NAME(any_rows_task) *t = task;
    enum { AT_ONCE = 64 };
    for (I row = begin; row < end; row++) {
        const REAL *from = t->x + row * t->n;
        int found = 0;
        I k = 0;
        for (; k + AT_ONCE <= t->n && !found; k += AT_ONCE)
            for (int j = 0; j < AT_ONCE; j++) found |= from[k + j] != 0;
        for (; k < t->n && !found; k++) found = from[k] != 0;
        t->y[row] = (char)found;
    }
}

/* -- cross-entropy ------------------------------------------------------------------------------ */
#ifndef CLASSES
#define CLASSES
/* The class of a row, 0 where it is ignored; -1 if there is no such class. */
static inline I class_of(I given, I ignored, I n)
{
    if (given == ignored) return 0;
    if (given < 0) given += n;
    return given < 0 || given >= n ? -1 : given;
}
#endif

typedef struct { const REAL *x; const I *i; REAL *y; I *wrong, n, ignored; } NAME(cross_entropy_rows_task);

EXPORT void NAME(cross_entropy_rows)(const void *task, long begin, long end)
{
    const NAME(cross_entropy_rows_task) *t = task;
    const REAL *x = t->x;
    const I *i = t->i;
    REAL *y = t->y;
    I *wrong = t->wrong, n = t->n, ignored = t->ignored;
    for (I row = begin; row < end; row++) {
        const REAL *from = x + row * n;
        I target = class_of(i[row], ignored, n);
        if (target < 0) *wrong = 1;
        if (target < 0 || i[row] == ignored) {
            y[row] = 0;
            continue;
        }
        y[row] = (REAL)(NAME(log_powers)(from, n) - from[target]);
    }
}

typedef struct {
    const REAL *x;
    const I *i;
    const REAL *h;
    REAL *y;
    I *wrong, n, ignored;
} NAME(cross_entropy_pull_task);

EXPORT void NAME(cross_entropy_pull)(const void *task, long begin, long end)
{
    const NAME(cross_entropy_pull_task) *t = task;
    const REAL *x = t->x;
    const I *i = t->i;
    const REAL *h = t->h;
    REAL *y = t->y;
    I *wrong = t->wrong, n = t->n, ignored = t->ignored;
    for (I row = begin; row < end; row++) {
        const REAL *from = x + row * n;
        REAL *to = y + row * n, scale = i[row] == ignored ? 0 : h[row];
        I target = class_of(i[row], ignored, n);
        if (target < 0) {
            *wrong = 1;
            continue;
        }
        NAME(shares)(to, from, n, scale);
        to[target] -= scale;
    }
}

/* -- sums ---------------------------------------------------------------------------------------- */
/* y[channel] = sum over n and places of x (n, channels, places). */
typedef struct { const REAL *x; REAL *y; I n, channels, places; } NAME(channel_sums_task);

EXPORT void NAME(channel_sums)(const void *task, long begin, long end)
{
    const NAME(channel_sums_task) *t = task;
    const REAL *x = t->x;
    REAL *y = t->y;
    I n = t->n, channels = t->channels, places = t->places;
    for (I c = begin; c < end; c++) {
        double s = 0;
        for (I e = 0; e < n; e++) s += NAME(total)(x + (e * channels + c) * places, places);
        y[c] = (REAL)s;
    }
}

/* y[column] = sum over rows of x (rows, n), in parts of ROWS rows; a unit is `wide` columns, at most WIDEST. */
typedef struct { const REAL *x; REAL *y; I rows, n, wide; } NAME(column_sums_task);

EXPORT void NAME(column_sums)(const void *task, long begin, long end)
{
    const NAME(column_sums_task) *t = task;
    const I rows = t->rows, n = t->n;
    enum { WIDEST = 256, AT_A_TIME = 4, AHEAD = 8 }; /* rows that are added to sums in registers, and asked for early */
    for (I block = begin; block < end; block++) {
        const I first = block * t->wide, width = n - first < t->wide ? n - first : t->wide;
        const REAL *const x = t->x + first;
        double all[WIDEST] = {0};
        for (I from = 0; from < rows; from += ROWS) {
            const I to = from + ROWS < rows ? from + ROWS : rows;
            REAL s[WIDEST] = {0};
            I row = from;
            for (; row + AT_A_TIME <= to; row += AT_A_TIME) {
                const REAL *const a = x + row * n, *const b = a + n, *const c = b + n, *const d = c + n;
                for (I k = 0; k < width; k += (I)(64 / sizeof(REAL)))
                    for (I j = AHEAD; j < AHEAD + AT_A_TIME; j++) __builtin_prefetch(a + j * n + k);
                for (I k = 0; k < width; k++) s[k] = s[k] + a[k] + b[k] + c[k] + d[k];
            }
            for (; row < to; row++)
                for (I k = 0; k < width; k++) s[k] += x[row * n + k];
            for (I k = 0; k < width; k++) all[k] += s[k];
        }
        for (I k = 0; k < width; k++) t->y[first + k] = (REAL)all[k];
    }
}

/* y[part] = sum of the part's elements of x, all but the last `size` of them. */
typedef struct { const REAL *x; double *y; I n, size; } NAME(part_sums_task);

EXPORT void NAME(part_sums)(const void *task, long begin, long end)
{
    const NAME(part_sums_task) *t = task;
    const REAL *x = t->x;
    double *y = t->y;
    I n = t->n, size = t->size;
    for (I part = begin; part < end; part++)
        y[part] = NAME(total)(x + part * size, n - part * size < size ? n - part * size : size);
}

/* y[row] = sum of squared distances from the row's mean, over `left`; its root if rooted. */
typedef struct { const REAL *x; REAL *y; I n, rooted; double left; } NAME(variances_task);

EXPORT void NAME(variances)(const void *task, long begin, long end)
{
    const NAME(variances_task) *t = task;
    const REAL *x = t->x;
    REAL *y = t->y;
    I n = t->n, rooted = t->rooted;
    double left = t->left;
    for (I row = begin; row < end; row++) {
        double q = NAME(squares)(x + row * n, n, (REAL)(NAME(total)(x + row * n, n) / n)) / left;
        y[row] = (REAL)(rooted ? sqrt(q) : q);
    }
}

/* y = h * (x - the row's mean). */
typedef struct { const REAL *h, *x; REAL *y; I n; } NAME(scaled_distance_task);

INLINE void NAME(scaled_distance_rows)(const void *task, long begin, long end, const int streamed)
{
    const NAME(scaled_distance_task) *t = task;
    const REAL *h = t->h, *x = t->x;
    REAL *y = t->y;
    I n = t->n;
    for (I row = begin; row < end; row++) {
        const REAL *from = x + row * n;
        REAL *to = y + row * n, scale = h[row], mean = (REAL)(NAME(total)(from, n) / n);
#define SCALED(AT) ((AT(from, k) - mean) * scale)
        WRITE_ROW(to, n, streamed, SCALED);
#undef SCALED
    }
}

BOTH_WAYS(scaled_distance)

#endif
