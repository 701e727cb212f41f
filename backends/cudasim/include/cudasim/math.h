// Mathematical functions that CUDA has in addition to the C library's, and its list of min and max.
#ifndef CUDASIM_MATH_H
#define CUDASIM_MATH_H

#define CUDASIM_MINMAX(R, A, B)                                             \
    static inline R min(A a, B b) { return (R)a < (R)b ? (R)a : (R)b; }     \
    static inline R max(A a, B b) { return (R)a > (R)b ? (R)a : (R)b; }
CUDASIM_MINMAX(int, int, int)
CUDASIM_MINMAX(unsigned, unsigned, unsigned)
CUDASIM_MINMAX(unsigned, int, unsigned)
CUDASIM_MINMAX(unsigned, unsigned, int)
CUDASIM_MINMAX(long, long, long)
CUDASIM_MINMAX(unsigned long, unsigned long, unsigned long)
CUDASIM_MINMAX(unsigned long, long, unsigned long)
CUDASIM_MINMAX(unsigned long, unsigned long, long)
CUDASIM_MINMAX(long long, long long, long long)
CUDASIM_MINMAX(unsigned long long, unsigned long long, unsigned long long)
CUDASIM_MINMAX(unsigned long long, long long, unsigned long long)
CUDASIM_MINMAX(unsigned long long, unsigned long long, long long)
#define CUDASIM_FMINMAX(R, A, B)                                            \
    static inline R min(A a, B b) { return (R)::fmin((R)a, (R)b); }         \
    static inline R max(A a, B b) { return (R)::fmax((R)a, (R)b); }
CUDASIM_FMINMAX(float, float, float)
CUDASIM_FMINMAX(double, double, double)
CUDASIM_FMINMAX(double, float, double)
CUDASIM_FMINMAX(double, double, float)
static inline int umin(unsigned a, unsigned b) { return (int)min(a, b); }
static inline int umax(unsigned a, unsigned b) { return (int)max(a, b); }
static inline long long llmin(long long a, long long b) { return min(a, b); }
static inline long long llmax(long long a, long long b) { return max(a, b); }

// Each is written for double; the float version rounds its result, which is within CUDA's error bounds.
#define CUDASIM_BOTH1(name, expression)                                     \
    static inline double name(double x) { return expression; }              \
    static inline float name##f(float v) { return (float)name((double)v); } \
    static inline float name(float v) { return (float)name((double)v); }
#define CUDASIM_TWIN1(name)                                                 \
    static inline float name##f(float v) { return (float)name((double)v); } \
    static inline float name(float v) { return (float)name((double)v); }

CUDASIM_BOTH1(rsqrt, 1.0 / ::sqrt(x))
CUDASIM_BOTH1(rcbrt, 1.0 / ::cbrt(x))
static inline double sinpi(double x) {
    if (!__builtin_isfinite(x)) return x - x;
    double r = ::fmod(x, 2.0), a = ::fabs(r);
    if (a == 0 || a == 1) return ::copysign(0.0, x);
    if (a > 1.5) a -= 2;
    else if (a > 0.5) a = 1 - a;
    double s = ::sin(3.141592653589793238462643 * a);
    return r < 0 ? -s : s;
}
static inline double cospi(double x) {
    if (!__builtin_isfinite(x)) return x - x;
    double a = ::fabs(::fmod(x, 2.0));
    if (a == 0.5 || a == 1.5) return 0.0;
    return a < 0.25 || a > 1.75 ? ::cos(3.141592653589793238462643 * a) : sinpi(0.5 - a);
}
CUDASIM_TWIN1(sinpi)
CUDASIM_TWIN1(cospi)
static inline void sincospi(double x, double *s, double *c) { *s = sinpi(x); *c = cospi(x); }
static inline void sincospif(float x, float *s, float *c) { *s = sinpif(x); *c = cospif(x); }
static inline void sincospi(float x, float *s, float *c) { sincospif(x, s, c); }
static inline void sincos(float x, float *s, float *c) { ::sincosf(x, s, c); }
static inline float exp10(float x) { return ::exp10f(x); }

CUDASIM_BOTH1(normcdf, 0.5 * ::erfc(-x * 0.70710678118654752440))
namespace cudasim {
// Acklam's rational approximation, then two steps of Halley's method: full double precision.
static inline double normal_quantile(double p) {
    if (!(p >= 0 && p <= 1)) return __builtin_nan("");
    if (p == 0) return -__builtin_inf();
    if (p == 1) return __builtin_inf();
    const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02, -2.759285104469687e+02,
                        1.383577518672690e+02, -3.066479806614716e+01, 2.506628277459239e+00};
    const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                        6.680131188771972e+01, -1.328068155288572e+01};
    const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                        -2.549732539343734e+00, 4.374664141464968e+00, 2.938163982698783e+00};
    const double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00};
    double x;
    if (p < 0.02425 || p > 1 - 0.02425) {
        double q = ::sqrt(-2 * ::log(p < 0.5 ? p : 1 - p));
        x = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
            ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
        if (p > 0.5) x = -x;
    } else {
        double q = p - 0.5, r = q * q;
        x = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
            (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
    }
    for (int i = 0; i < 2; ++i) {
        double e = 0.5 * ::erfc(-x * 0.70710678118654752440) - p;
        double u = e * 2.50662827463100050242 * ::exp(x * x / 2);
        x -= u / (1 + x * u / 2);
    }
    return x;
}
static inline double erf_inverse(double y) {
    if (!(y >= -1 && y <= 1)) return __builtin_nan("");
    if (y == 0 || y == 1 || y == -1) return y == 0 ? y : y * __builtin_inf();
    double a = ::fabs(y), x = -normal_quantile((1 - a) / 2) * 0.70710678118654752440;
    for (int i = 0; i < 2; ++i) {  // near zero the quantile has lost digits
        double u = (::erf(x) - a) / (1.12837916709551257390 * ::exp(-x * x));
        if (a > 0.5) u = -(::erfc(x) - (1 - a)) / (1.12837916709551257390 * ::exp(-x * x));
        x -= u / (1 + x * u);
    }
    return y < 0 ? -x : x;
}
static inline double erfc_scaled(double x) {
    if (x < 25) return ::exp(x * x) * ::erfc(x);
    double z = 1 / (x * x);
    return 0.56418958354775628695 / x * (1 - z * (0.5 - z * (0.75 - z * 1.875)));
}
static inline double bessel_i(int n, double x) {
    double h = x / 2, term = n ? h : 1, sum = term;
    if (::fabs(x) > 60) {  // asymptotic series
        double mu = 4.0 * n * n, t = 1, s = 1, ax = ::fabs(x);
        for (int k = 1; k < 30; ++k) s += t *= -(mu - (2 * k - 1) * (2 * k - 1)) / (k * 8 * ax);
        double r = ::exp(ax) / ::sqrt(6.28318530717958647692 * ax) * s;
        return n && x < 0 ? -r : r;
    }
    for (int k = 1; k < 200; ++k) {
        sum += term *= h * h / ((double)k * (k + n));
        if (::fabs(term) < 1e-17 * ::fabs(sum)) break;
    }
    return sum;
}
}  // namespace cudasim
CUDASIM_BOTH1(normcdfinv, cudasim::normal_quantile(x))
CUDASIM_BOTH1(erfinv, cudasim::erf_inverse(x))
CUDASIM_BOTH1(erfcinv, x > 0.5 ? cudasim::erf_inverse(1 - x) : -cudasim::normal_quantile(x / 2) * 0.70710678118654752440)
CUDASIM_BOTH1(erfcx, cudasim::erfc_scaled(x))
CUDASIM_BOTH1(cyl_bessel_i0, cudasim::bessel_i(0, x))
CUDASIM_BOTH1(cyl_bessel_i1, cudasim::bessel_i(1, x))

static inline double rhypot(double x, double y) { return 1.0 / ::hypot(x, y); }
static inline float rhypotf(float x, float y) { return (float)rhypot((double)x, (double)y); }
static inline double norm3d(double a, double b, double c) { return ::sqrt(a * a + b * b + c * c); }
static inline float norm3df(float a, float b, float c) { return (float)norm3d(a, b, c); }
static inline double rnorm3d(double a, double b, double c) { return 1.0 / norm3d(a, b, c); }
static inline float rnorm3df(float a, float b, float c) { return (float)rnorm3d(a, b, c); }
static inline double norm4d(double a, double b, double c, double d) { return ::sqrt(a * a + b * b + c * c + d * d); }
static inline float norm4df(float a, float b, float c, float d) { return (float)norm4d(a, b, c, d); }
static inline float fdividef(float a, float b) { return a / b; }
static inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }

// Fast and explicitly rounded variants; the directed roundings are not emulated: they are left out.
// The C library has its own functions of these names, hence macros.
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __sincosf sincosf
#define __expf expf
#define __exp10f exp10f
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __powf powf
#define __tanhf tanhf
static inline float __fdividef(float x, float y) { return x / y; }
static inline float __fadd_rn(float x, float y) { return x + y; }
static inline float __fsub_rn(float x, float y) { return x - y; }
static inline float __fmul_rn(float x, float y) { return x * y; }
static inline float __fdiv_rn(float x, float y) { return x / y; }
static inline float __fmaf_rn(float x, float y, float z) { return ::fmaf(x, y, z); }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline float __fsqrt_rn(float x) { return ::sqrtf(x); }
static inline float __frsqrt_rn(float x) { return rsqrtf(x); }
static inline double __dadd_rn(double x, double y) { return x + y; }
static inline double __dsub_rn(double x, double y) { return x - y; }
static inline double __dmul_rn(double x, double y) { return x * y; }
static inline double __ddiv_rn(double x, double y) { return x / y; }
static inline double __fma_rn(double x, double y, double z) { return ::fma(x, y, z); }
static inline double __drcp_rn(double x) { return 1.0 / x; }
static inline double __dsqrt_rn(double x) { return ::sqrt(x); }

#endif
