/* Reductions of one row, for one type REAL: included once for each. */

/* The largest element; NaN does not count, whoever asks meets it again. */
static inline REAL NAME(top)(const REAL *x, I n)
{
    I q = n / 4;
    REAL a = (REAL)-LG_INFINITY, b = a, c = a, d = a;
#pragma omp simd reduction(max : a, b, c, d)
    for (I k = 0; k < q; k++) {
        a = x[k] > a ? x[k] : a;
        b = x[k + q] > b ? x[k + q] : b;
        c = x[k + 2 * q] > c ? x[k + 2 * q] : c;
        d = x[k + 3 * q] > d ? x[k + 3 * q] : d;
    }
    for (I k = 4 * q; k < n; k++) a = x[k] > a ? x[k] : a;
    a = b > a ? b : a;
    c = d > c ? d : c;
    return c > a ? c : a;
}

static inline REAL NAME(finite)(REAL top) { return top - top == 0 ? top : 0; }

/* The sum of terms for k from 0 to n. Four quarters of a part at once: one sum would wait for itself. */
#define SUM_OF(term)                                              \
    double all = 0;                                               \
    for (I from = 0; from < n; from += PART) {                    \
        I q = (n - from < PART ? n - from : PART) / 4;            \
        I to = from + PART < n ? from + PART : n;                 \
        REAL a = 0, b = 0, c = 0, d = 0;                          \
        _Pragma("omp simd reduction(+ : a, b, c, d)")             \
        for (I k = from; k < from + q; k++) {                     \
            a += term(k), b += term(k + q);                       \
            c += term(k + 2 * q), d += term(k + 3 * q);           \
        }                                                         \
        for (I k = from + 4 * q; k < to; k++) a += term(k);       \
        all += (a + b) + (c + d);                                 \
    }                                                             \
    return all;

static inline double NAME(total)(const REAL *x, I n)
{
#define TERM(k) x[k]
    SUM_OF(TERM)
#undef TERM
}

static inline double NAME(dot)(const REAL *x, const REAL *y, I n)
{
#define TERM(k) (x[k] * y[k])
    SUM_OF(TERM)
#undef TERM
}

/* The sum of squared distances from a mean. */
static inline double NAME(squares)(const REAL *x, I n, REAL mean)
{
#define TERM(k) ((x[k] - mean) * (x[k] - mean))
    SUM_OF(TERM)
#undef TERM
}
#undef SUM_OF
