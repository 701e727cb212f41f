/* Convolution without columns, for windows along any number of axes.
 *
 * An example's channels are copied into padded planes; there, the values that one element of the window meets at
 * neighbouring places lie side by side (a stride along the last axis splits a row into as many phases). So a
 * convolution is a sum over taps (channel, element of the window), each a fixed distance into the planes, and the
 * tables of distances come from the caller. Blocks of 4 outputs by 3 vectors of places stay in registers.
 *
 * Sums are taken in an order that depends on the sizes only, not on the number of threads.
 */
#ifndef REAL

#include <stdlib.h>
#include <string.h>

#include "names.h"

enum { VECTORS = 48 }; /* of places that are computed for all outputs before the next ones */

/* Memory that a thread keeps from call to call, cleared. */
static __thread void *kept = NULL;
static __thread size_t kept_bytes = 0;

static void *scratch(size_t bytes)
{
    bytes = (bytes + 4095) / 4096 * 4096;
    if (bytes > kept_bytes) {
        free(kept);
        kept = aligned_alloc(64, bytes);
        kept_bytes = kept ? bytes : 0;
    }
    if (kept) memset(kept, 0, bytes);
    return kept;
}

/* Where rows of an input lie in its planes. */
typedef struct {
    I rows, first, last, shift, phases, pitch; /* elements first to last of a row go to place + shift */
    I from, to;                                /* size of a plane of the input, and of a padded one */
} Layout;

#define SELF "windows.c"
#include "both_floats.h"

#else

#define UNIT LANES
#include "vectors.h"

static void NAME(fill)(REAL *to, const REAL *from, I channels, const Layout *a, const I *source, const I *target)
{
    for (I c = 0; c < channels; c++, from += a->from, to += a->to)
        for (I r = 0; r < a->rows; r++) {
            const REAL *row = from + source[r];
            REAL *line = to + target[r];
            if (a->phases == 1)
                memcpy(line + a->first + a->shift, row + a->first, (size_t)(a->last - a->first) * sizeof(REAL));
            else
                for (I i = a->first; i < a->last; i++) {
                    I at = i + a->shift;
                    line[at % a->phases * a->pitch + at / a->phases] = row[i];
                }
        }
}

/* Sums over taps for 4 outputs at 3 vectors of places. */
static inline void NAME(block)(V *s, const REAL *planes, const REAL *w, const I *taps, I count, I p0, I p1, I p2)
{
    V a0 = {0}, a1 = {0}, a2 = {0}, b0 = {0}, b1 = {0}, b2 = {0};
    V c0 = {0}, c1 = {0}, c2 = {0}, d0 = {0}, d1 = {0}, d2 = {0};
    for (I k = 0; k < count; k++, w += 4) {
        const REAL *at = planes + taps[k];
        V x0 = LOAD(at + p0), x1 = LOAD(at + p1), x2 = LOAD(at + p2);
        V u = ALL(w[0]);
        a0 += u * x0, a1 += u * x1, a2 += u * x2;
        u = ALL(w[1]);
        b0 += u * x0, b1 += u * x1, b2 += u * x2;
        u = ALL(w[2]);
        c0 += u * x0, c1 += u * x1, c2 += u * x2;
        u = ALL(w[3]);
        d0 += u * x0, d1 += u * x1, d2 += u * x2;
    }
    s[0] = a0, s[1] = a1, s[2] = a2, s[3] = b0, s[4] = b1, s[5] = b2;
    s[6] = c0, s[7] = c1, s[8] = c2, s[9] = d0, s[10] = d1, s[11] = d2;
}

/* Values of all outputs at some vectors of places (a multiple of 3) of one example. */
static void NAME(places)(REAL *y, const REAL *planes, const REAL *w, const I *taps, I count, I outputs, I plane,
                         const I *in, const I *out, I vectors, I step, I width)
{
    for (I o = 0; o < outputs; o += 4, w += 4 * count) {
        I some = outputs - o < 4 ? outputs - o : 4;
        for (I v = 0; v < vectors; v += 3) {
            V s[12];
            NAME(block)(s, planes, w, taps, count, in[v], in[v + 1], in[v + 2]);
            for (I i = 0; i < some; i++)
                for (I j = 0; j < 3; j++) {
                    REAL *to = y + (o + i) * plane + out[v + j];
                    if (step == 1 && width == LANES)
                        STORE(to, s[3 * i + j]);
                    else
                        for (I l = 0; l < width; l++)
                            to[l * step] = s[3 * i + j][l];
                }
        }
    }
}

/* Weights (groups, outputs, taps) with those of 4 outputs side by side; zeros where there are no more outputs. */
typedef struct { const REAL *w; REAL *packed; I outputs, count; } NAME(pack_task);

EXPORT void NAME(pack)(const void *task, long begin, long end)
{
    const NAME(pack_task) *t = task;
    I outputs = t->outputs, count = t->count;
    for (I g = begin; g < end; g++) {
        const REAL *w = t->w + g * outputs * count;
        REAL *to = t->packed + g * ((outputs + 3) / 4 * 4) * count;
        for (I o = 0; o < outputs; o += 4)
            for (I k = 0; k < count; k++)
                for (I i = 0; i < 4; i++)
                    *to++ = o + i < outputs ? w[(o + i) * count + k] : 0;
    }
}

/* y[n, g, o, out] = sum over taps of w[g, o, tap] * planes(x[n, g])[in + tap].
 * Units are examples and groups, or, if parts > 1, parts of their places. */
typedef struct {
    const REAL *x, *packed;
    REAL *y;
    I groups, channels, outputs, count, plane, vectors, parts, step, width;
    const I *taps, *in, *out;
    const Layout *layout;
    const I *source, *target;
    I *failed;
} NAME(convolve_task);

EXPORT void NAME(convolve)(const void *task, long begin, long end)
{
    const NAME(convolve_task) *t = task;
    I channels = t->channels, outputs = t->outputs, parts = t->parts;
    I per = ((t->vectors + parts - 1) / parts + 2) / 3 * 3, filled = -1;
    REAL *planes = scratch((size_t)(channels * t->layout->to + 2 * LANES) * sizeof(REAL));
    if (!planes) {
        *t->failed = 1;
        return;
    }
    for (I unit = begin; unit < end; unit++) {
        I e = unit / parts, g = e % t->groups, first = unit % parts * per;
        I last = first + per < t->vectors ? first + per : t->vectors;
        if (filled != e)
            NAME(fill)(planes, t->x + e * channels * t->layout->from, channels, t->layout, t->source, t->target);
        filled = e;
        for (I v = first; v < last; v += VECTORS)
            NAME(places)(t->y + e * outputs * t->plane, planes, t->packed + g * ((outputs + 3) / 4 * 4) * t->count,
                         t->taps, t->count, outputs, t->plane, t->in + v, t->out + v,
                         last - v < VECTORS ? last - v : VECTORS, t->step, t->width);
    }
}

/* Adds, for 4 outputs and 3 taps, the products at all vectors of places to sums that are vectors. */
static inline void NAME(outer)(V *s0, V *s1, V *s2, V *s3, const REAL *h, I line, I h_size, const REAL *planes,
                               I x_size, I examples, const I *taps, const I *in, I vectors)
{
    V a0 = s0[0], a1 = s0[1], a2 = s0[2], b0 = s1[0], b1 = s1[1], b2 = s1[2];
    V c0 = s2[0], c1 = s2[1], c2 = s2[2], d0 = s3[0], d1 = s3[1], d2 = s3[2];
    for (I e = 0; e < examples; e++, h += h_size, planes += x_size) {
        const REAL *t0 = planes + taps[0], *t1 = planes + taps[1], *t2 = planes + taps[2];
        const REAL *h0 = h, *h1 = h + line, *h2 = h1 + line, *h3 = h2 + line;
        for (I v = 0; v < vectors; v++) {
            I p = in[v];
            V x0 = LOAD(t0 + p), x1 = LOAD(t1 + p), x2 = LOAD(t2 + p);
            V u = LOAD(h0 + v * LANES);
            a0 += u * x0, a1 += u * x1, a2 += u * x2;
            u = LOAD(h1 + v * LANES);
            b0 += u * x0, b1 += u * x1, b2 += u * x2;
            u = LOAD(h2 + v * LANES);
            c0 += u * x0, c1 += u * x1, c2 += u * x2;
            u = LOAD(h3 + v * LANES);
            d0 += u * x0, d1 += u * x1, d2 += u * x2;
        }
    }
    s0[0] = a0, s0[1] = a1, s0[2] = a2, s1[0] = b0, s1[1] = b1, s1[2] = b2;
    s2[0] = c0, s2[1] = c1, s2[2] = c2, s3[0] = d0, s3[1] = d1, s3[2] = d2;
}

/* sums[part, g, o, tap] = sum over the part's examples and places of h[n, g, o] * planes(x[n, g])[in + tap].
 * There are 3 * triples taps in the table, of which `count` are wanted; lines of h are `width` long. Units are parts
 * and groups. */
typedef struct {
    const REAL *x, *h;
    REAL *sums;
    I n, groups, channels, outputs, count, triples, parts, at_once, lines, width;
    const I *taps, *in;
    const Layout *layout;
    const I *source, *target;
    I *failed;
} NAME(correlate_task);

EXPORT void NAME(correlate)(const void *task, long begin, long end)
{
    const NAME(correlate_task) *t = task;
    I outputs = t->outputs, count = t->count, triples = t->triples, lines = t->lines, width = t->width;
    I quads = (outputs + 3) / 4, per = (width + LANES - 1) / LANES, vectors = lines * per;
    I x_size = (t->channels * t->layout->to + 3 * LANES - 1) / LANES * LANES;
    I h_line = vectors * LANES, h_size = quads * 4 * h_line, number = quads * 4 * triples * 3;
    REAL *memory = scratch((size_t)(number * LANES + t->at_once * (x_size + h_size)) * sizeof(REAL));
    if (!memory) {
        *t->failed = 1;
        return;
    }
    V *s = (V *)memory;
    REAL *planes = memory + number * LANES, *values = planes + t->at_once * x_size;
    for (I unit = begin; unit < end; unit++) {
        I part = unit / t->groups, g = unit % t->groups;
        memset(s, 0, (size_t)number * sizeof(V));
        for (I first = part * t->n / t->parts, last = (part + 1) * t->n / t->parts; first < last; first += t->at_once) {
            I some = last - first < t->at_once ? last - first : t->at_once;
            for (I e = 0; e < some; e++) {
                I example = (first + e) * t->groups + g;
                NAME(fill)(planes + e * x_size, t->x + example * t->channels * t->layout->from, t->channels, t->layout,
                           t->source, t->target);
                for (I o = 0; o < outputs; o++)
                    for (I l = 0; l < lines; l++)
                        memcpy(values + e * h_size + o * h_line + l * per * LANES,
                               t->h + ((example * outputs + o) * lines + l) * width, (size_t)width * sizeof(REAL));
            }
            for (I k = 0; k < triples; k++)
                for (I q = 0; q < quads; q++) {
                    V *to = s + q * 12 * triples + 3 * k;
                    NAME(outer)(to, to + 3 * triples, to + 6 * triples, to + 9 * triples, values + q * 4 * h_line,
                                h_line, h_size, planes, x_size, some, t->taps + 3 * k, t->in, vectors);
                }
        }
        REAL *to = t->sums + unit * outputs * count;
        for (I o = 0; o < outputs; o++)
            for (I k = 0; k < count; k++) {
                REAL total = 0;
                for (int l = 0; l < LANES; l++) total += s[o * 3 * triples + k][l];
                *to++ = total;
            }
    }
}

#endif
