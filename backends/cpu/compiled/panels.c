/* Products with a matrix that is used many times: it is packed once into panels, the columns of two vectors, of which
 * each row lies side by side. And products of matrices that are transposed and as long as can be, which are read as they
 * lie. A sum is taken in the order of its terms. */
#ifndef REAL

#include "names.h"

#ifdef __AVX512F__
enum { MOST = 12, MANY = 8 }; /* rows at once: as many as there are registers for, and if fewer are left */
#else
enum { MOST = 6, MANY = 4 };
#endif

enum {
    BLOCK = 64,    /* rows of long matrices that stay in the caches while they are multiplied */
    COLUMNS = 256, /* whose sums over a block are made together */
    TILE = 12,     /* rows of a transposed product that are a unit of work */
};

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

/* A row of a panel, of which so many columns are left. */
INLINE void NAME(put)(REAL *to, V s, V r, I left)
{
    if (left >= WIDE) {
        STORE(to, s);
        STORE(to + LANES, r);
    } else
        for (I c = 0; c < left; c++) to[c] = c < LANES ? s[c] : r[c - LANES];
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
    for (I i = 0; i < count; i++) NAME(put)(y + i * y_row, s[i], r[i], left);
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
            if (rest >= MOST && rest != 8) /* which is twice four where MOST is less */
                NAME(rows)(to, y_row, of, a_row, w, width, left, some = MOST);
            else if (rest >= MANY)
                NAME(rows)(to, y_row, of, a_row, w, width, left, some = MANY);
            else if (rest >= 4)
                NAME(rows)(to, y_row, of, a_row, w, width, left, some = 4);
            else if (rest >= 2)
                NAME(rows)(to, y_row, of, a_row, w, width, left, some = 2);
            else
                NAME(rows)(to, y_row, of, a_row, w, width, left, some = 1);
        }
    }
}

/* Some rows of y in one panel, with what a block of rows adds to them. */
INLINE void NAME(tile)(
    REAL *y, I y_row, const REAL *a, I a_row, const REAL *b, I b_row, I rows, I left, int adds, const I count)
{
    V s[MOST], r[MOST];
    for (I i = 0; i < count; i++) {
        const REAL *from = y + i * y_row;
        s[i] = r[i] = (V){0};
        if (adds && left >= WIDE) s[i] = LOAD(from), r[i] = LOAD(from + LANES);
        else if (adds)
            for (I c = 0; c < left; c++) c < LANES ? (s[i][c] = from[c]) : (r[i][c - LANES] = from[c]);
    }
    for (I k = 0; k < rows; k++, a += a_row, b += b_row) {
        V one = LOAD(b), two = LOAD(b + LANES);
        for (I i = 0; i < count; i++) {
            V u = ALL(a[i]);
            s[i] += u * one, r[i] += u * two;
        }
    }
    for (I i = 0; i < count; i++) NAME(put)(y + i * y_row, s[i], r[i], left);
}

/* The sums of columns from `from` up to `to`: a block's own ones first, so that rounding does not add up as terms do. */
static void NAME(add_columns)(REAL *sums, const REAL *a, I a_row, I rows, I from, I to)
{
    for (I first = from; first < to; first += COLUMNS) {
        REAL part[COLUMNS] = {0};
        I count = to - first < COLUMNS ? to - first : COLUMNS;
        for (I k = 0; k < rows; k++)
            for (I c = 0; c < count; c++) part[c] += a[k * a_row + first + c];
        for (I c = 0; c < count; c++) sums[first + c] += part[c];
    }
}

/* y (width, columns) = a.T @ b for a (rows, width) and b (rows, columns), and the sums of a's columns; with `adds`, both
 * are added to what is there. Units are TILE rows of y. */
typedef struct {
    const REAL *a, *b;
    REAL *y, *sums;
    I rows, width, columns, adds;
} NAME(turned_product_task);

EXPORT void NAME(turned_product)(const void *task, long begin, long end)
{
    const NAME(turned_product_task) *t = task;
    I width = t->width, columns = t->columns, whole = columns - columns % WIDE;
    I from = begin * TILE, to = end * TILE < width ? end * TILE : width;
    REAL last[BLOCK * WIDE] = {0}; /* the last columns of b, if they are no panel, with zeros behind */
    if (!t->adds)
        for (I c = from; c < to; c++) t->sums[c] = 0;
    for (I k = 0; k < t->rows; k += BLOCK) {
        const REAL *a = t->a + k * width, *b = t->b + k * columns;
        I rows = t->rows - k < BLOCK ? t->rows - k : BLOCK;
        int adds = k || t->adds;
        for (I r = 0; r < rows; r++)
            for (I c = whole; c < columns; c++) last[r * WIDE + c - whole] = b[r * columns + c];
        for (I i = from, some; i < to; i += some)
            for (I c = 0; c < columns; c += WIDE) {
                const REAL *panel = c < whole ? b + c : last;
                REAL *y = t->y + i * columns + c;
                I b_row = c < whole ? columns : WIDE, left = columns - c;
                if (to - i >= MOST)
                    NAME(tile)(y, columns, a + i, width, panel, b_row, rows, left, adds, some = MOST);
                else if (to - i >= MANY)
                    NAME(tile)(y, columns, a + i, width, panel, b_row, rows, left, adds, some = MANY);
                else if (to - i >= 4)
                    NAME(tile)(y, columns, a + i, width, panel, b_row, rows, left, adds, some = 4);
                else
                    NAME(tile)(y, columns, a + i, width, panel, b_row, rows, left, adds, some = 1);
            }
        NAME(add_columns)(t->sums, a, width, rows, from, to);
    }
}

#endif
