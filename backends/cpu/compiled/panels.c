/* Products with a matrix that is used many times: it is packed once into panels, the columns of two vectors, of which
 * each row lies side by side. A sum is taken in the order of its terms. */
#ifndef REAL

#include "names.h"

#ifdef __AVX512F__
enum { MOST = 12 }; /* rows at once: as many as there are registers for */
#else
enum { MOST = 6 };
#endif

#define SELF "panels.c"
#include "both_floats.h"

#else

#define WIDE (2 * LANES)
#define UNIT WIDE
#include "vectors.h"

/* w (width, columns) with steps along both; zeros behind the last column. Units are panels. */
typedef struct { const REAL *w; REAL *packed; I width, columns, down, along; } NAME(pack_panels_task);

EXPORT void NAME(pack_panels)(const void *task, long begin, long end)
{
    const NAME(pack_panels_task) *t = task;
    for (I p = begin; p < end; p++) {
        REAL *to = t->packed + p * t->width * WIDE;
        for (I k = 0; k < t->width; k++)
            for (I c = p * WIDE; c < (p + 1) * WIDE; c++)
                *to++ = c < t->columns ? t->w[k * t->down + c * t->along] : 0;
    }
}

/* Some rows of one panel. */
INLINE void NAME(rows)(
    REAL *y, I y_row, const REAL *a, I a_row, const REAL *w, I width, I left, const I count)
{
    V s[MOST], r[MOST];
    for (I i = 0; i < count; i++) s[i] = r[i] = (V){0};
    for (I k = 0; k < width; k++, w += WIDE) {
        V one = LOAD(w), two = LOAD(w + LANES);
        for (I i = 0; i < count; i++) {
            V u = ALL(a[i * a_row + k]);
            s[i] += u * one, r[i] += u * two;
        }
    }
    for (I i = 0; i < count; i++) {
        REAL *to = y + i * y_row;
        if (left >= WIDE) {
            STORE(to, s[i]);
            STORE(to + LANES, r[i]);
        } else
            for (I c = 0; c < left; c++) to[c] = c < LANES ? s[i][c] : r[i][c - LANES];
    }
}

/* y (rows, columns) = a (rows, width) @ w. Units are panels. */
typedef struct { const REAL *a, *packed; REAL *y; I rows, width, columns, a_row, y_row; } NAME(panel_product_task);

EXPORT void NAME(panel_product)(const void *task, long begin, long end)
{
    const NAME(panel_product_task) *t = task;
    I width = t->width, a_row = t->a_row, y_row = t->y_row;
    for (I p = begin; p < end; p++) {
        const REAL *a = t->a, *w = t->packed + p * width * WIDE;
        REAL *y = t->y + p * WIDE;
        I left = t->columns - p * WIDE, row = 0;
        for (I rest, some; (rest = t->rows - row) > 0; row += some) {
            REAL *to = y + row * y_row;
            const REAL *of = a + row * a_row;
            if (rest >= MOST && rest != 8) /* which is twice four */
                NAME(rows)(to, y_row, of, a_row, w, width, left, some = MOST);
            else if (rest >= 4)
                NAME(rows)(to, y_row, of, a_row, w, width, left, some = 4);
            else
                NAME(rows)(to, y_row, of, a_row, w, width, left, some = 1);
        }
    }
}

#endif
