/* Pooling over up to three axes, planes shared among threads; each result as NumPy would round it. */
#ifndef REAL

#include <stdlib.h>
#include <string.h>

#include "names.h"

/* Axes that are not there have the size 1. */
typedef struct {
    I sizes[3], out[3], window[3], stride[3], padding[3], dilation[3];
} Pool;

static inline I up(I a, I b) { return a <= 0 ? 0 : (a + b - 1) / b; }

/* Places first to last of the last axis at which an element of the window, at `offset`, lies inside. */
static inline void reach(const Pool *p, I offset, I *first, I *last)
{
    I s = p->stride[2];
    *first = up(-offset, s);
    *last = up(p->sizes[2] - offset, s);
    if (*last > p->out[2]) *last = p->out[2];
    if (*first > *last) *first = *last;
}

/* The line of a plane that an element (a, b) of the window meets at the outer places (i, j); -1 outside. */
static inline I line(const Pool *p, I i, I j, I a, I b)
{
    I y = i * p->stride[0] + a * p->dilation[0] - p->padding[0];
    I x = j * p->stride[1] + b * p->dilation[1] - p->padding[1];
    if (y < 0 || y >= p->sizes[0] || x < 0 || x >= p->sizes[1]) return -1;
    return (y * p->sizes[1] + x) * p->sizes[2];
}

static inline I inside(I at, I size) { return at < 0 ? 0 : at >= size ? size - 1 : at; }

/* How many elements a window counts along one axis. */
static inline I extent(const Pool *p, int axis, I place, int include)
{
    I start = place * p->stride[axis] - p->padding[axis], end = start + p->window[axis];
    I most = p->sizes[axis] + p->padding[axis];
    if (end > most) end = most;
    if (!include) {
        if (start < 0) start = 0;
        if (end > p->sizes[axis]) end = p->sizes[axis];
    }
    return end - start;
}

/* Whether windows are 2 by 2 beside each other, and all of them inside. */
static int is_square(const Pool *p)
{
    for (int a = 1; a < 3; a++)
        if (p->window[a] != 2 || p->stride[a] != 2 || p->padding[a] || p->dilation[a] != 1
            || 2 * p->out[a] > p->sizes[a])
            return 0;
    return p->sizes[0] == 1 && p->window[0] == 1 && !p->padding[0];
}

#define SELF "pools.c"
#include "both_floats.h"

#else

/* Larger values of a line take the places of smaller ones; the first NaN stays. */
static inline void NAME(larger)(REAL *y, int32_t *at, const REAL *x, int32_t base, I n, I s)
{
    for (I k = 0; k < n; k++) {
        REAL v = x[k * s], old = y[k];
        int better = (v > old) | ((v != v) & (old == old));
        y[k] = better ? v : old;
        at[k] = better ? base + (int32_t)(k * s) : at[k];
    }
}

/* Windows of 2 by 2 beside each other with a NaN somewhere, the first of which stays. */
static void NAME(odd_squares)(REAL *restrict y, I *restrict places, const REAL *restrict x, I base, I pitch, I n)
{
#define BETTER(v, old) ((v > old) | ((v != v) & (old == old)))
    for (I k = 0; k < n; k++) {
        REAL a = x[2 * k], b = x[2 * k + 1], c = x[2 * k + pitch], d = x[2 * k + 1 + pitch];
        int right = BETTER(b, a), below = BETTER(d, c);
        REAL high = right ? b : a, low = below ? d : c;
        int lower = BETTER(low, high);
        y[k] = lower ? low : high;
        places[k] = base + 2 * k + (lower ? pitch + below : right);
    }
#undef BETTER
}

/* So many windows of 2 by 2, without NaN; where that is a constant, these are a few vectors. */
static inline __attribute__((always_inline)) void NAME(some_squares)(
    REAL *restrict y, I *restrict places, const REAL *restrict up, I base, I pitch, const I some)
{
#if BITS == 32
    typedef int32_t whole; /* of the width of elements: only so are there loops of vectors */
#else
    typedef int64_t whole;
#endif
    const REAL *restrict low = up + pitch;
    const whole down = (whole)pitch;
    whole at[16];
    for (I k = 0; k < some; k++) {
        REAL a = up[2 * k], b = up[2 * k + 1], c = low[2 * k], d = low[2 * k + 1], top = a;
        top = b > top ? b : top;
        top = c > top ? c : top;
        top = d > top ? d : top;
        whole place = down + 1;
        place = c == top ? down : place;
        place = b == top ? 1 : place;
        place = a == top ? 0 : place;
        y[k] = top;
        at[k] = place;
    }
    for (I k = 0; k < some; k++) places[k] = base + 2 * k + at[k];
}

/* Windows of 2 by 2 beside each other, the usual ones; the last vector of a row is laid over the one before. */
static inline void NAME(squares)(REAL *restrict y, I *restrict places, const REAL *restrict x, I base, I pitch, I n)
{
    int odd = 0;
    for (I k = 0; k < 2 * n; k++) odd |= (x[k] != x[k]) | (x[k + pitch] != x[k + pitch]);
    if (odd) {
        NAME(odd_squares)(y, places, x, base, pitch, n);
        return;
    }
#define ROW(count)                                                                                      \
    for (I k = 0; k < n; k += count) {                                                                  \
        I at = k + count <= n ? k : n - count;                                                          \
        NAME(some_squares)(y + at, places + at, x + 2 * at, base + 2 * at, pitch, count);               \
    }
    if (n >= 16)
        ROW(16)
    else if (n >= 8)
        ROW(8)
    else if (n >= 4)
        ROW(4)
    else
        ROW(1)
#undef ROW
}

typedef struct { const REAL *x; REAL *y; I *places; const Pool *p; I *failed; } NAME(max_pool_task);

EXPORT void NAME(max_pool)(const void *task, long begin, long end)
{
    const NAME(max_pool_task) *t = task;
    const REAL *x = t->x;
    REAL *y = t->y;
    I *places = t->places;
    const Pool *p = t->p;
    I in = p->sizes[0] * p->sizes[1] * p->sizes[2], out = p->out[0] * p->out[1] * p->out[2], width = p->out[2];
    I s = p->stride[2], pitch = p->sizes[2];
    if (is_square(p)) {
        for (I plane = begin; plane < end; plane++)
            for (I j = 0; j < p->out[1]; j++)
                NAME(squares)(y + plane * out + j * width, places + plane * out + j * width,
                              x + plane * in + 2 * j * pitch, 2 * j * pitch, pitch, width);
        return;
    }
    /* Places of a line, and for each element of the window along it where it begins and how often it is inside. */
    I *firsts = malloc((size_t)(2 * p->window[2] + width) * sizeof(I)), *counts = firsts + p->window[2];
    if (!firsts) {
        *t->failed = 1;
        return;
    }
    int32_t *at = (int32_t *)(counts + p->window[2]);
    for (I c = 0; c < p->window[2]; c++) {
        reach(p, c * p->dilation[2] - p->padding[2], firsts + c, counts + c);
        counts[c] -= firsts[c];
    }
    for (I plane = begin; plane < end; plane++) {
        const REAL *from = x + plane * in;
        for (I i = 0; i < p->out[0]; i++)
            for (I j = 0; j < p->out[1]; j++) {
                REAL *to = y + plane * out + (i * p->out[1] + j) * width;
                I *put = places + (to - y);
                I base = inside(i * p->stride[0] - p->padding[0], p->sizes[0]) * p->sizes[1];
                base = (base + inside(j * p->stride[1] - p->padding[1], p->sizes[1])) * p->sizes[2];
                for (I k = 0; k < width; k++) {
                    to[k] = (REAL)-LG_INFINITY;
                    at[k] = (int32_t)(base + inside(k * s - p->padding[2], p->sizes[2]));
                }
                for (I a = 0; a < p->window[0]; a++)
                    for (I b = 0; b < p->window[1]; b++) {
                        I row = line(p, i, j, a, b);
                        if (row < 0) continue;
                        for (I c = 0; c < p->window[2]; c++) {
                            I first = firsts[c], n = counts[c];
                            I start = row + first * s + c * p->dilation[2] - p->padding[2];
                            if (s == 1)
                                NAME(larger)(to + first, at + first, from + start, (int32_t)start, n, 1);
                            else if (s == 2)
                                NAME(larger)(to + first, at + first, from + start, (int32_t)start, n, 2);
                            else
                                NAME(larger)(to + first, at + first, from + start, (int32_t)start, n, s);
                        }
                    }
                for (I k = 0; k < width; k++) put[k] = at[k];
            }
    }
    free(firsts);
}

typedef struct { const REAL *h; const I *places; REAL *y; I out, in, *failed; } NAME(pool_put_task);

EXPORT void NAME(pool_put)(const void *task, long begin, long end)
{
    const NAME(pool_put_task) *t = task;
    const REAL *h = t->h;
    const I *places = t->places;
    REAL *y = t->y;
    I out = t->out, in = t->in;
    for (I plane = begin; plane < end; plane++) {
        REAL *to = y + plane * in;
        const REAL *from = h + plane * out;
        const I *at = places + plane * out;
        memset(to, 0, (size_t)in * sizeof(REAL));
        for (I k = 0; k < out; k++) {
            if (at[k] < 0 || at[k] >= in) {
                *t->failed = 1;
                break;
            }
            to[at[k]] += from[k];
        }
    }
}

static inline void NAME(gather)(REAL *y, const REAL *x, I n, I s)
{
    for (I k = 0; k < n; k++) y[k] += x[k * s];
}

static inline void NAME(spread)(REAL *y, const REAL *h, I n, I s)
{
    for (I k = 0; k < n; k++) y[k * s] += h[k];
}

/* A divisor of 0 means the number of elements that a window counts. */
static void NAME(shares)(REAL *to, const Pool *p, int include, double divisor)
{
    for (I i = 0; i < p->out[0]; i++)
        for (I j = 0; j < p->out[1]; j++)
            for (I k = 0; k < p->out[2]; k++)
            {
                I all = extent(p, 0, i, include) * extent(p, 1, j, include) * extent(p, 2, k, include);
                *to++ = (REAL)(divisor ? divisor : (double)all);
            }
}

typedef struct {
    const REAL *x;
    REAL *y;
    const Pool *p;
    I include;
    double divisor;
    I *failed;
} NAME(avg_pool_task);

EXPORT void NAME(avg_pool)(const void *task, long begin, long end)
{
    const NAME(avg_pool_task) *t = task;
    const REAL *x = t->x;
    REAL *y = t->y;
    const Pool *p = t->p;
    I include = t->include;
    double divisor = t->divisor;
    I in = p->sizes[0] * p->sizes[1] * p->sizes[2], out = p->out[0] * p->out[1] * p->out[2], s = p->stride[2];
    REAL *count = malloc((size_t)out * sizeof(REAL));
    if (!count) {
        *t->failed = 1;
        return;
    }
    NAME(shares)(count, p, (int)include, divisor);
    for (I plane = begin; plane < end; plane++) {
        const REAL *from = x + plane * in;
        REAL *to = y + plane * out;
        for (I i = 0; i < p->out[0]; i++)
            for (I j = 0; j < p->out[1]; j++) {
                REAL *row = to + (i * p->out[1] + j) * p->out[2];
                for (I k = 0; k < p->out[2]; k++) row[k] = 0;
                for (I a = 0; a < p->window[0]; a++)
                    for (I b = 0; b < p->window[1]; b++) {
                        I at = line(p, i, j, a, b), first, last;
                        if (at < 0) continue;
                        for (I c = 0; c < p->window[2]; c++) {
                            I offset = c - p->padding[2];
                            reach(p, offset, &first, &last);
                            const REAL *start = from + at + first * s + offset;
                            if (s == 1)
                                NAME(gather)(row + first, start, last - first, 1);
                            else if (s == 2)
                                NAME(gather)(row + first, start, last - first, 2);
                            else
                                NAME(gather)(row + first, start, last - first, s);
                        }
                    }
            }
        for (I k = 0; k < out; k++) to[k] /= count[k];
    }
    free(count);
}

typedef struct {
    const REAL *h;
    REAL *y;
    const Pool *p;
    I include;
    double divisor;
    I *failed;
} NAME(avg_pool_put_task);

EXPORT void NAME(avg_pool_put)(const void *task, long begin, long end)
{
    const NAME(avg_pool_put_task) *t = task;
    const REAL *h = t->h;
    REAL *y = t->y;
    const Pool *p = t->p;
    I include = t->include;
    double divisor = t->divisor;
    I in = p->sizes[0] * p->sizes[1] * p->sizes[2], out = p->out[0] * p->out[1] * p->out[2], s = p->stride[2];
    REAL *count = malloc(2 * (size_t)out * sizeof(REAL)), *part = count + out;
    if (!count) {
        *t->failed = 1;
        return;
    }
    NAME(shares)(count, p, (int)include, divisor);
    for (I plane = begin; plane < end; plane++) {
        const REAL *from = h + plane * out;
        REAL *to = y + plane * in;
        for (I k = 0; k < out; k++) part[k] = from[k] / count[k];
        memset(to, 0, (size_t)in * sizeof(REAL));
        for (I a = 0; a < p->window[0]; a++)
            for (I b = 0; b < p->window[1]; b++)
                for (I c = 0; c < p->window[2]; c++) {
                    I offset = c - p->padding[2], first, last;
                    reach(p, offset, &first, &last);
                    for (I i = 0; i < p->out[0]; i++)
                        for (I j = 0; j < p->out[1]; j++) {
                            I at = line(p, i, j, a, b);
                            if (at < 0) continue;
                            REAL *start = to + at + first * s + offset;
                            const REAL *row = part + (i * p->out[1] + j) * p->out[2] + first;
                            if (s == 1)
                                NAME(spread)(start, row, last - first, 1);
                            else
                                NAME(spread)(start, row, last - first, s);
                        }
                }
    }
    free(count);
}

#endif
