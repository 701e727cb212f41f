// What half and bfloat16 have in common: each operation is done in float and rounded.
#ifndef CUDASIM_HALF_OPERATIONS_H
#define CUDASIM_HALF_OPERATIONS_H

#define CUDASIM_HALF_MATH(T, name, expression) \
    static inline T name(T a) { float x = (float)a; return T((float)(expression)); }

#define CUDASIM_HALF_COMPARE(T, T2, name, op)                                                                  \
    static inline bool __h##name(T a, T b) { return (float)a op (float)b; }                                    \
    static inline bool __h##name##u(T a, T b) { return (float)a op (float)b || a != a || b != b; }             \
    static inline T2 __h##name##2(T2 a, T2 b) {                                                                \
        return T2(T(float((float)a.x op (float)b.x)), T(float((float)a.y op (float)b.y)));                     \
    }                                                                                                          \
    static inline bool __hb##name##2(T2 a, T2 b) { return (float)a.x op (float)b.x && (float)a.y op (float)b.y; }

#define CUDASIM_HALF_OPERATOR(T, op)                                                                           \
    static inline T operator op(const T &a, const T &b) { return T((float)a op (float)b); }                    \
    static inline T &operator op##=(T &a, const T &b) { return a = a op b; }

#define CUDASIM_HALF_RELATION(T, op) \
    static inline bool operator op(const T &a, const T &b) { return (float)a op (float)b; }

#define CUDASIM_HALF_PAIR(T2, name, one) static inline T2 name(T2 a, T2 b) { return T2(one(a.x, b.x), one(a.y, b.y)); }

#define CUDASIM_HALF_OPERATIONS(T, T2)                                                                         \
    CUDASIM_HALF_OPERATOR(T, +) CUDASIM_HALF_OPERATOR(T, -)                                                    \
    CUDASIM_HALF_OPERATOR(T, *) CUDASIM_HALF_OPERATOR(T, /)                                                    \
    CUDASIM_HALF_RELATION(T, ==) CUDASIM_HALF_RELATION(T, !=) CUDASIM_HALF_RELATION(T, <)                      \
    CUDASIM_HALF_RELATION(T, >) CUDASIM_HALF_RELATION(T, <=) CUDASIM_HALF_RELATION(T, >=)                      \
    static inline T operator-(const T &a) { return T(-(float)a); }                                             \
    static inline T operator+(const T &a) { return a; }                                                        \
    static inline T &operator++(T &a) { return a = T((float)a + 1); }                                          \
    static inline T &operator--(T &a) { return a = T((float)a - 1); }                                          \
    static inline T operator++(T &a, int) { T b = a; ++a; return b; }                                          \
    static inline T operator--(T &a, int) { T b = a; --a; return b; }                                          \
    static inline T __hadd(T a, T b) { return a + b; }                                                         \
    static inline T __hadd_rn(T a, T b) { return a + b; }                                                      \
    static inline T __hsub(T a, T b) { return a - b; }                                                         \
    static inline T __hsub_rn(T a, T b) { return a - b; }                                                      \
    static inline T __hmul(T a, T b) { return a * b; }                                                         \
    static inline T __hmul_rn(T a, T b) { return a * b; }                                                      \
    static inline T __hdiv(T a, T b) { return a / b; }                                                         \
    static inline T __hneg(T a) { return -a; }                                                                 \
    static inline T __habs(T a) { return T(::fabsf((float)a)); }                                               \
    static inline T __hfma(T a, T b, T c) { return T((double)(float)a * (double)(float)b + (double)(float)c); } \
    static inline T __hmax(T a, T b) { return T(::fmaxf((float)a, (float)b)); }                                \
    static inline T __hmin(T a, T b) { return T(::fminf((float)a, (float)b)); }                                \
    static inline T __hadd_sat(T a, T b) { return T(__saturatef((float)a + (float)b)); }                       \
    static inline T __hsub_sat(T a, T b) { return T(__saturatef((float)a - (float)b)); }                       \
    static inline T __hmul_sat(T a, T b) { return T(__saturatef((float)a * (float)b)); }                       \
    static inline bool __hisnan(T a) { return (float)a != (float)a; }                                          \
    CUDASIM_HALF_COMPARE(T, T2, eq, ==) CUDASIM_HALF_COMPARE(T, T2, ne, !=) CUDASIM_HALF_COMPARE(T, T2, lt, <) \
    CUDASIM_HALF_COMPARE(T, T2, gt, >) CUDASIM_HALF_COMPARE(T, T2, le, <=) CUDASIM_HALF_COMPARE(T, T2, ge, >=) \
    CUDASIM_HALF_MATH(T, hceil, ::ceilf(x)) CUDASIM_HALF_MATH(T, hfloor, ::floorf(x))                          \
    CUDASIM_HALF_MATH(T, htrunc, ::truncf(x)) CUDASIM_HALF_MATH(T, hrint, ::rintf(x))                          \
    CUDASIM_HALF_MATH(T, hsqrt, ::sqrtf(x)) CUDASIM_HALF_MATH(T, hrsqrt, 1 / ::sqrt((double)x))                \
    CUDASIM_HALF_MATH(T, hrcp, 1 / x) CUDASIM_HALF_MATH(T, hexp, ::expf(x)) CUDASIM_HALF_MATH(T, hexp2, ::exp2f(x)) \
    CUDASIM_HALF_MATH(T, hexp10, ::exp10f(x)) CUDASIM_HALF_MATH(T, hlog, ::logf(x))                            \
    CUDASIM_HALF_MATH(T, hlog2, ::log2f(x)) CUDASIM_HALF_MATH(T, hlog10, ::log10f(x))                          \
    CUDASIM_HALF_MATH(T, hsin, ::sinf(x)) CUDASIM_HALF_MATH(T, hcos, ::cosf(x))                                \
    CUDASIM_HALF_MATH(T, htanh, ::tanhf(x)) CUDASIM_HALF_MATH(T, htanh_approx, ::tanhf(x))                     \
    CUDASIM_HALF_PAIR(T2, __hadd2, __hadd) CUDASIM_HALF_PAIR(T2, __hsub2, __hsub)                              \
    CUDASIM_HALF_PAIR(T2, __hmul2, __hmul) CUDASIM_HALF_PAIR(T2, __h2div, __hdiv)                              \
    CUDASIM_HALF_PAIR(T2, __hmax2, __hmax) CUDASIM_HALF_PAIR(T2, __hmin2, __hmin)                              \
    CUDASIM_HALF_PAIR(T2, operator+, __hadd) CUDASIM_HALF_PAIR(T2, operator-, __hsub)                          \
    CUDASIM_HALF_PAIR(T2, operator*, __hmul) CUDASIM_HALF_PAIR(T2, operator/, __hdiv)                          \
    static inline T2 __hfma2(T2 a, T2 b, T2 c) { return T2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)); }    \
    static inline T2 __hneg2(T2 a) { return T2(-a.x, -a.y); }                                                  \
    static inline T2 __habs2(T2 a) { return T2(__habs(a.x), __habs(a.y)); }                                    \
    static inline T2 __lows2(T2 a, T2 b) { return T2(a.x, b.x); }                                              \
    static inline T __ldg(const T *p) { return *p; }                                                           \
    static inline T atomicAdd(T *p, T v) { T old = *p; *p = old + v; return old; }                             \
    static inline T2 atomicAdd(T2 *p, T2 v) { T2 old = *p; *p = old + v; return old; }                         \
    CUDASIM_SHUFFLES(T) CUDASIM_SHUFFLES(T2)

#endif
