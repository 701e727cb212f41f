/* Reductions of one row, for one type REAL: included once for each. */

#ifndef LUCIDGRAD_ABREAST
#define LUCIDGRAD_ABREAST
enum { ABREAST = 32 }; /* elements that are taken at once, each into a sum of its own: one sum would wait for itself */

/* What comes a page after element k of a row that is read, or written. */
#define EARLY(x, k) lg_early((x) + (k), ABREAST * sizeof(REAL), 0)
#define EARLY_TO(y, k) lg_early((y) + (k), ABREAST * sizeof(REAL), 1)

/* The sum of terms for k from 0 to n, in the order of memory; `early` asks for what comes a page later. */
#define SUM_OF(term, early)                                               \
    double all = 0;                                                       \
    for (I from = 0; from < n; from += PART) {                            \
        const I to = from + PART < n ? from + PART : n;                   \
        const I even = to - (to - from) % ABREAST;                        \
        REAL s[ABREAST] = {0}, a = 0;                                     \
        for (I k = from; k < even; k += ABREAST) {                        \
            early(k);                                                     \
            for (int j = 0; j < ABREAST; j++) s[j] += term(k + j);        \
        }                                                                 \
        _Pragma("omp simd reduction(+ : a)")                              \
        for (I k = even; k < to; k++) a += term(k);                       \
        _Pragma("GCC unroll 5")                                           \
        for (int w = ABREAST / 2; w; w /= 2)                              \
            for (int j = 0; j < w; j++) s[j] += s[j + w];                 \
        all += s[0] + a;                                                  \
    }                                                                     \
    return all;
#endif

typedef REAL NAME(some) __attribute__((vector_size(LINE), aligned(sizeof(REAL)), may_alias));

/* The largest element; NaN does not count, whoever asks meets it again. */
static inline REAL NAME(top)(const REAL *x, I n)
{
    const I even = n - n % ABREAST;
    REAL s[ABREAST], a = (REAL)-LG_INFINITY;
    for (int j = 0; j < ABREAST; j++) s[j] = a;
    for (I k = 0; k < even; k += ABREAST) {
        EARLY(x, k);
        for (int j = 0; j < ABREAST; j++) s[j] = x[k + j] > s[j] ? x[k + j] : s[j];
    }
#pragma omp simd reduction(max : a)
    for (I k = even; k < n; k++) a = x[k] > a ? x[k] : a;
#pragma GCC unroll 5
    for (int w = ABREAST / 2; w; w /= 2)
        for (int j = 0; j < w; j++) s[j] = s[j + w] > s[j] ? s[j + w] : s[j];
    return s[0] > a ? s[0] : a;
}

static inline REAL NAME(finite)(REAL top) { return top - top == 0 ? top : 0; }

static inline double NAME(total)(const REAL *x, I n)
{
#define TERM(k) x[k]
#define NEXT(k) EARLY(x, k)
    SUM_OF(TERM, NEXT)
#undef TERM
#undef NEXT
}

static inline double NAME(dot)(const REAL *x, const REAL *y, I n)
{
#define TERM(k) (x[k] * y[k])
#define NEXT(k) EARLY(x, k); EARLY(y, k)
    SUM_OF(TERM, NEXT)
#undef TERM
#undef NEXT
}

/* The sum of squared distances from a mean, for which the row was read before. */
static inline double NAME(squares)(const REAL *x, I n, REAL mean)
{
#define TERM(k) ((x[k] - mean) * (x[k] - mean))
#define NEXT(k) (void)0
    SUM_OF(TERM, NEXT)
#undef TERM
#undef NEXT
}
