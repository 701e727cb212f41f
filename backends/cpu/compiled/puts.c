/* Rows added up at places: each unit of work does the places of one stretch, in the order of the rows, so that sums do
 * not depend on the number of threads. */
#ifndef REAL

#include <string.h>

#include "names.h"

#define SELF "puts.c"
#include "both_floats.h"

#else

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

EXPORT void NAME(put_rows)(const void *task, long begin, long end)
{
    const NAME(put_rows_task) *t = task;
    const I first = begin * t->stretch, last = end * t->stretch < t->size ? end * t->stretch : t->size;
    if (first >= last) return;
    memset(t->y + first * t->m, 0, (size_t)((last - first) * t->m) * sizeof(REAL));
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
