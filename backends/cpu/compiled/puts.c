/* Rows at places, taken or added up. To add up, each unit of work does the places of one stretch, in the order of the
 * rows, so that sums do not depend on the number of threads. */
#ifndef REAL

#include <stdlib.h>

#include "names.h"
#include "streams.h"

/* Bytes of a row, and of all: lists of shorter ones cost as much as the rows, and a small result stays in a cache. */
enum { SHORTEST = 64, LEAST = 1 << 20 };
enum { SOON = 8 }; /* rows */

/* The rows that go to the places from first to last: heads[place - first] is the first of them plus one, next[row] the
 * one after it plus one, 0 none. NULL if there is no memory for that, or numbers are too large; to be freed. */
static int *rows_by_place(const I *i, I n, I first, I last, int **next)
{
    const I places = last - first;
    int *heads = n >= INT32_MAX ? NULL : calloc((size_t)(places + n), sizeof(int));
    if (!heads) return NULL;
    *next = heads + places;
    for (I k = n - 1; k >= 0; k--)
        if (i[k] >= first && i[k] < last) {
            (*next)[k] = heads[i[k] - first];
            heads[i[k] - first] = (int)k + 1;
        }
    return heads;
}

#define SELF "puts.c"
#include "both_floats.h"

#else

/* y (n, m): the rows of x at the places i. They lie anywhere, so some are asked for early. */
typedef struct { const REAL *x; const I *i; REAL *y; I n, m; } NAME(take_rows_task);

EXPORT void NAME(take_rows)(const void *task, long begin, long end)
{
    const NAME(take_rows_task) *t = task;
    const size_t row = (size_t)t->m * sizeof(REAL);
    for (I k = begin; k < end; k++) {
        if (k + SOON < t->n) fetch(t->x + t->i[k + SOON] * t->m, row, 0);
        memcpy(t->y + k * t->m, t->x + t->i[k] * t->m, row);
    }
}

/* y (size, m): zeros, plus g (n, m) at the rows i; those from unit * stretch up to the next unit's. */
typedef struct { const REAL *g; const I *i; REAL *y; I n, m, size, stretch; } NAME(put_rows_task);

static void NAME(add_stretch)(const NAME(put_rows_task) *t, I first, I last)
{
    const REAL *restrict g = t->g;
    const I *restrict i = t->i;
    const I m = t->m, n = t->n;
    REAL *restrict y = t->y;
    if (m == 1) {
        for (I k = 0; k < n; k++)
            if (i[k] >= first && i[k] < last) y[i[k]] += g[k];
        return;
    }
    for (I k = 0; k < n; k++) {
        if (i[k] < first || i[k] >= last) continue;
        const REAL *restrict from = g + k * m;
        REAL *restrict to = y + i[k] * m;
        for (I j = 0; j < m; j++) to[j] += from[j];
    }
}

/* A large y in one pass, place by place, most of which nothing comes to; 0 if there is no memory for the lists. */
static int NAME(write_stretch)(const NAME(put_rows_task) *t, I first, I last, const int streamed)
{
    int *next, *heads = rows_by_place(t->i, t->n, first, last, &next);
    if (!heads) return 0;
    const I m = t->m;
    for (I place = first; place < last; place++) {
        const I empty = place;
        while (place < last && !heads[place - first]) place++;
        if (place < last) { /* these come while zeros are written */
            fetch(t->y + place * m, (size_t)m * sizeof(REAL), 1);
            fetch(t->g + (heads[place - first] - 1) * m, (size_t)m * sizeof(REAL), 0);
        }
        write_zeros(t->y + empty * m, (size_t)((place - empty) * m) * sizeof(REAL), streamed);
        if (place == last) break;
        REAL *restrict to = t->y + place * m;
        int row = heads[place - first] - 1;
        for (I j = 0; j < m; j++) to[j] = 0 + t->g[row * m + j]; /* -0 becomes 0, as in any sum */
        while ((row = next[row] - 1) >= 0)
            for (I j = 0; j < m; j++) to[j] += t->g[row * m + j];
    }
    STREAMED_ALL();
    free(heads);
    return 1;
}

EXPORT void NAME(put_rows)(const void *task, long begin, long end)
{
    const NAME(put_rows_task) *t = task;
    const I first = begin * t->stretch, last = end * t->stretch < t->size ? end * t->stretch : t->size;
    if (first >= last) return;
    const size_t row = (size_t)t->m * sizeof(REAL), all = row * (size_t)t->size;
    if (row >= SHORTEST && all >= LEAST && NAME(write_stretch)(t, first, last, all >= STREAMED)) return;
    memset(t->y + first * t->m, 0, (size_t)(last - first) * row);
    NAME(add_stretch)(t, first, last);
}

/* The same, added to what y holds. */
EXPORT void NAME(add_rows)(const void *task, long begin, long end)
{
    const NAME(put_rows_task) *t = task;
    const I first = begin * t->stretch, last = end * t->stretch < t->size ? end * t->stretch : t->size;
    if (first < last) NAME(add_stretch)(t, first, last);
}

#endif
