/* Products of float32 where vectors have 512 bits: NumPy's BLAS takes up to a third longer there for matrices that are
 * large enough for packing to pay, and small enough for what is packed to stay in the second cache.
 *
 * The second matrix is packed into panels, the columns of two vectors, of which each row lies side by side; some rows of
 * the first one so, too. Then as many rows meet a panel as there are registers for their sums. Terms are summed in their
 * order, block by block, and the number of terms alone says where blocks end: an element of the result is the same
 * whatever else is computed with it, and however many threads share the work. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "cblas.h"
#include "names.h"

GEMM_OF(gemm, float);
static gemm blas;
static pthread_key_t key;
static int has_key;

/* Whether this processor gains by it. */
EXPORT int lg_gemm_pays(void)
{
#ifdef __AVX512F__
    return 1;
#else
    return 0;
#endif
}

EXPORT void lg_gemm_begin(gemm otherwise)
{
    blas = otherwise;
    has_key = pthread_key_create(&key, free) == 0;
}

typedef float vector __attribute__((vector_size(64)));
typedef float anywhere __attribute__((vector_size(64), aligned(4), may_alias));
#define LOAD(p) (*(const anywhere *)(p))
#define STORE(p, v) (*(anywhere *)(p) = (v))
#define ALL(a) ((a) - (vector){0}) /* exactly a, also if that is -0 */

enum {
    LANES = 16, WIDE = 2 * LANES,
    ROWS = 14,           /* at once, a strip: two registers for each */
    TERMS = 320,         /* of a block, at most: a packed strip stays in the first cache */
    PANELS = 120 * 1024, /* elements of panels that are packed together: half of the second cache, which may be shared */
    KEPT = 120 * 1024,   /* elements of the first matrix, if it is not turned, that are packed once, for all columns */
    STRIPS = 4,          /* that are packed together if it is turned: their rows lie side by side */
    SOME = 4,            /* terms between two jumps */
    FAR = 16,            /* terms that packing fetches early: they lie apart */
    SMALL = 8192,        /* elements of matrices: if both have less, NumPy is called without looking further */
    FEWEST = 24,         /* rows or terms that pay; of columns a panel */
};
static const double LEAST = 1 << 18, MOST = 1 << 30; /* multiplications */

static int is_ours(long m, long n, long k)
{
    const double work = (double)m * (double)n * (double)k;
    return m >= FEWEST && n >= WIDE && k >= FEWEST && (m > n ? m : n) * k >= SMALL && work >= LEAST && work <= MOST;
}

/* The memory that this thread packs matrices in, rows behind panels; NULL if there is none. */
static float *room(void)
{
    float *found = has_key ? pthread_getspecific(key) : NULL;
    const size_t page = 1 << 21, size = page; /* more than PANELS, KEPT, and a vector for each strip */
    if (found || !has_key || (found = aligned_alloc(page, size)) == NULL) return found;
#ifdef MADV_HUGEPAGE
    madvise(found, size, MADV_HUGEPAGE);
#endif
    if (pthread_setspecific(key, found) == 0) return found;
    free(found);
    return NULL;
}

#ifdef __clang__
#define MIXED(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int places __attribute__((vector_size(64)));
#define MIXED(a, b, ...) __builtin_shuffle(a, b, (places){__VA_ARGS__})
#endif

/* The transpose of 16 vectors: their first half is shuffled into the second four times. Vectors behind the last row that
 * there is are anything. */
INLINE void turn(float *to, I to_row, const float *from, I from_row, I rows)
{
    vector one[LANES], two[LANES];
    for (I i = 0; i < LANES; i++) one[i] = LOAD(from + (i < rows ? i : 0) * from_row);
    for (I times = 0; times < 4; times++) {
        for (I i = 0; i < LANES / 2; i++) {
            vector a = one[i], b = one[i + LANES / 2];
            two[2 * i] = MIXED(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            two[2 * i + 1] = MIXED(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        }
        memcpy(one, two, sizeof one);
    }
    for (I i = 0; i < LANES; i++) STORE(to + i * to_row, one[i]);
}

/* A panel: to[p][j] = b[p * down + j * along], zeros behind the last column. */
static void pack_columns(float *to, const float *b, I down, I along, I terms, I columns)
{
    I p = 0;
    if (columns >= WIDE && along == 1)
        for (; p < terms; p++) {
            __builtin_prefetch(b + (p + FAR) * down);
            __builtin_prefetch(b + (p + FAR) * down + LANES);
            STORE(to + p * WIDE, LOAD(b + p * down));
            STORE(to + p * WIDE + LANES, LOAD(b + p * down + LANES));
        }
    else if (columns >= WIDE && down == 1)
        for (; p + LANES <= terms; p += LANES) {
            turn(to + p * WIDE, WIDE, b + p, along, LANES);
            turn(to + p * WIDE + LANES, WIDE, b + p + LANES * along, along, LANES);
        }
    for (; p < terms; p++)
        for (I j = 0; j < WIDE; j++) to[p * WIDE + j] = j < columns ? b[p * down + j * along] : 0;
}

/* All these rows in strips of some, the last perhaps of fewer: to[p][i] = a[i * down + p * along]. A strip is written a
 * vector further, and strips lie that far apart. */
static void pack_rows(float *to, const float *a, I down, I along, I terms, I all, I rows)
{
    const I strip = rows * terms + LANES, rest = all % rows;
    I begin = 0;
    if (along != 1) /* strips together, as memory lies; not for the last term, behind which there may be none */
        for (; begin < terms - 1; begin++) {
            const float *from = a + begin * along;
            float *at = to + begin * rows;
            __builtin_prefetch(from + FAR * along);
            for (I i = all / rows; i; i--, from += rows, at += strip) STORE(at, LOAD(from));
            if (rest) STORE(at - begin * (rows - rest), LOAD(from));
        }
    for (I i = 0; i < all; i += rows, to += strip, a += rows * down) {
        const I some = i + rows <= all ? rows : rest;
        I p = begin;
        if (along == 1)
            for (; p + LANES <= terms; p += LANES) turn(to + p * some, some, a + p, down, some);
        for (; p < terms; p++)
            for (I j = 0; j < some; j++) to[p * some + j] = a[j * down + p * along];
    }
}

/* Where threads share a core, how many instructions there are decides, and otherwise how many loads: so a third of the
 * rows has its factor broadcast twice, within a multiplication each time, and others once, by an instruction more. */
#ifdef __AVX512F__
#define UNROLLED _Pragma("GCC unroll 14")
#define ADD(sum, x, y) __asm__("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y))
#define ADD_ALL(sum, x, at) __asm__("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(x), "m"(*(at)))
#else /* short: nobody calls it but tests */
#define UNROLLED _Pragma("GCC unroll 1")
#define ADD(sum, x, y) ((sum) += (x) * (y))
#define ADD_ALL(sum, x, at) ((sum) += (x) * ALL(*(at)))
#endif
#define EACH_ROW UNROLLED for (I i = 0; i < rows; i++)

INLINE void term(vector *one, vector *two, const float *a, const float *b, const I rows)
{
    const vector first = LOAD(b), second = LOAD(b + LANES);
    EACH_ROW
        if (i % 3 == 1) {
            ADD_ALL(one[i], first, a + i);
            ADD_ALL(two[i], second, a + i);
        } else {
            const vector factor = ALL(a[i]);
            ADD(one[i], first, factor);
            ADD(two[i], second, factor);
        }
}

/* c = the products of packed rows and a panel, added to what is there or not; and a bias, if there is one. */
INLINE void tile(float *c, I c_row, const float *a, const float *b, I terms, int adds, const float *bias, const I rows)
{
    vector one[ROWS], two[ROWS];
    const float *next = c, *const last = c + rows * c_row;
    I p = 0;
    EACH_ROW one[i] = two[i] = (vector){0};
#define SOME_TERMS UNROLLED for (I q = 0; q < SOME; q++, a += rows, b += WIDE) term(one, two, a, b, rows)
    for (; p + SOME <= terms && next < last; p += SOME, next += c_row) { /* all of c at once would hold up b */
        __builtin_prefetch(next, 1);
        __builtin_prefetch(next + LANES, 1);
        SOME_TERMS;
    }
    for (; p + SOME <= terms; p += SOME) SOME_TERMS;
    for (; p < terms; p++, a += rows, b += WIDE) term(one, two, a, b, rows);
    if (adds) EACH_ROW one[i] += LOAD(c + i * c_row), two[i] += LOAD(c + i * c_row + LANES);
    if (bias) EACH_ROW one[i] += LOAD(bias), two[i] += LOAD(bias + LANES);
    EACH_ROW {
        STORE(c + i * c_row, one[i]);
        STORE(c + i * c_row + LANES, two[i]);
    }
}

static void whole(float *c, I c_row, const float *a, const float *b, I terms, int adds, const float *bias, I rows)
{
#define OF(n) case n: tile(c, c_row, a, b, terms, adds, bias, n); break;
    switch (rows) { OF(1) OF(2) OF(3) OF(4) OF(5) OF(6) OF(7) OF(8) OF(9) OF(10) OF(11) OF(12) OF(13) OF(14) }
}

/* The same where so many columns are left, perhaps fewer than a panel has. */
static void tiles(float *c, I c_row, const float *a, const float *b, I terms, I left, int adds, const float *bias,
                  I rows)
{
    if (left >= WIDE) {
        whole(c, c_row, a, b, terms, adds, bias, rows);
        return;
    }
    float edge[ROWS * WIDE], also[WIDE];
    const size_t size = left * sizeof(float);
    for (I i = 0; adds && i < rows; i++) memcpy(edge + i * WIDE, c + i * c_row, size);
    if (bias) bias = memcpy(also, bias, size);
    whole(edge, WIDE, a, b, terms, adds, bias, rows);
    for (I i = 0; i < rows; i++) memcpy(c + i * c_row, edge + i * WIDE, size);
}

/* How large parts are that are at most so large, and alike. */
static I even(I all, I most, I unit)
{
    const I parts = (all + most - 1) / most;
    return ((all + parts - 1) / parts + unit - 1) / unit * unit;
}

/* c = a @ b, or c += a @ b; and a row more to each row, unless it is NULL. 0: it is for the BLAS. */
EXPORT int lg_affine(int turn_a, int turn_b, long m, long n, long k, const float *a, long lda, const float *b, long ldb,
                     int adds, const float *bias, float *c, long ldc)
{
    float *const panels = is_ours(m, n, k) ? room() : NULL;
    if (panels == NULL) return 0;
    const I a_down = turn_a == TURNED ? 1 : lda, a_along = turn_a == TURNED ? lda : 1;
    const I b_down = turn_b == TURNED ? 1 : ldb, b_along = turn_b == TURNED ? ldb : 1;
    const int turned = turn_a == TURNED, kept = !turned && m * k <= KEPT;
    const I rows = even(m, ROWS, 1), terms = even(k, TERMS, 1), group = kept ? m : turned ? STRIPS * rows : rows;
    const I columns = kept ? WIDE : even(n, PANELS / terms / WIDE * WIDE, WIDE);
    for (I j = 0; j < n; j += columns) {
        const I width = n - j < columns ? n - j : columns;
        float *packed = panels + PANELS;
        for (I p = 0; p < k; p += terms) {
            const I depth = k - p < terms ? k - p : terms, strip = rows * depth + LANES;
            const float *const last = bias && p + depth == k ? bias + j : NULL;
            for (I q = 0; q < width; q += WIDE)
                pack_columns(panels + q * depth, b + p * b_down + (j + q) * b_along, b_down, b_along, depth, width - q);
            for (I g = 0; g < m; g += group) {
                const I all = m - g < group ? m - g : group;
                if (!kept || j == 0) pack_rows(packed, a + g * a_down + p * a_along, a_down, a_along, depth, all, rows);
                for (I i = 0; i < all; i += rows)
                    for (I q = 0; q < width; q += WIDE)
                        tiles(c + (g + i) * ldc + j + q, ldc, packed + i / rows * strip, panels + q * depth, depth,
                              width - q, adds || p, last ? last + q : NULL, all - i < rows ? all - i : rows);
            }
            if (kept) packed += (m + rows - 1) / rows * strip;
        }
    }
    return 1;
}

/* As CBLAS has it. */
EXPORT void lg_gemm(int order, int turn_a, int turn_b, long m, long n, long k, float alpha, const float *a, long lda,
                    const float *b, long ldb, float beta, float *c, long ldc)
{
    const int ours = order == BY_ROWS && alpha == 1 && (beta == 0 || beta == 1);
    if (!ours || !lg_affine(turn_a, turn_b, m, n, k, a, lda, b, ldb, beta == 1, NULL, c, ldc))
        blas(order, turn_a, turn_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
