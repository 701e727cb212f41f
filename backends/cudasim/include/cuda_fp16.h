// Half precision: stored in 16 bits, computed in float, each operation rounded once.
#ifndef CUDASIM_FP16_H
#define CUDASIM_FP16_H

#include "cudasim_prelude.h"

#define __CUDA_FP16_TYPES_EXIST__

namespace cudasim {

static inline unsigned short half_from_float(float value) {
    unsigned f = __float_as_uint(value), sign = f >> 16 & 0x8000u;
    f &= 0x7fffffffu;
    if (f > 0x7f800000u) return (unsigned short)0x7fffu;
    if (f >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
    if (f >= 0x38800000u)  // normal: round to nearest even
        return (unsigned short)(sign | ((f - 0x38000000u + 0xfffu + (f >> 13 & 1u)) >> 13));
    // Subnormal: adding this constant lets the hardware round at the right bit.
    float shifted = __uint_as_float(f) + 0.5f;
    return (unsigned short)(sign | (__float_as_uint(shifted) - 0x3f000000u));
}
static inline float half_to_float(unsigned short h) {
    unsigned sign = (unsigned)(h & 0x8000u) << 16, e = h >> 10 & 31u, m = h & 0x3ffu;
    if (e == 31) return __uint_as_float(sign | 0x7f800000u | m << 13);
    if (e == 0) {
        float v = (float)m * 5.9604644775390625e-8f;
        return sign ? -v : v;
    }
    return __uint_as_float(sign | (e + 112u) << 23 | m << 13);
}
// A double is rounded once: to odd at float's precision first.
static inline float odd_float(double d) {
    float f = (float)d;
    if ((double)f == d || d != d || __builtin_isinf(f)) return f;
    unsigned u = __float_as_uint(f);
    bool away = __builtin_fabs((double)f) > __builtin_fabs(d);
    if (away) u -= 1;
    return __uint_as_float(u | 1u);
}

}  // namespace cudasim

struct __half_raw {
    unsigned short x;
};
struct __align__(4) __half2_raw {
    unsigned short x, y;
};

struct __align__(2) __half {
protected:
    unsigned short __x;

public:
    __half() = default;
    constexpr __half(const __half_raw &r) : __x(r.x) {}
    __half(float f) : __x(cudasim::half_from_float(f)) {}
    __half(double d) : __x(cudasim::half_from_float(cudasim::odd_float(d))) {}
    __half(short v) : __half((float)v) {}
    __half(unsigned short v) : __half((float)v) {}
    __half(int v) : __half((double)v) {}
    __half(unsigned v) : __half((double)v) {}
    __half(long v) : __half((double)v) {}
    __half(unsigned long v) : __half((double)v) {}
    __half(long long v) : __half((double)v) {}
    __half(unsigned long long v) : __half((double)v) {}
    operator __half_raw() const { return __half_raw{__x}; }
    operator __half_raw() const volatile { return __half_raw{__x}; }
    operator float() const { return cudasim::half_to_float(__x); }
    explicit operator bool() const { return (__x & 0x7fffu) != 0; }
    explicit operator int() const { return (int)(float)*this; }
    explicit operator unsigned() const { return (unsigned)(float)*this; }
    explicit operator long long() const { return (long long)(float)*this; }
    explicit operator unsigned long long() const { return (unsigned long long)(float)*this; }
    __half &operator=(const __half_raw &r) { __x = r.x; return *this; }
    __half &operator=(float f) { return *this = __half(f); }
    __half &operator=(double d) { return *this = __half(d); }
    __half &operator=(int v) { return *this = __half(v); }
};
typedef __half half;
typedef __half nv_half;

struct __align__(4) __half2 {
    __half x, y;
    __half2() = default;
    __half2(const __half &a, const __half &b) : x(a), y(b) {}
    __half2(const __half2_raw &r) : x(__half_raw{r.x}), y(__half_raw{r.y}) {}
    operator __half2_raw() const { return __half2_raw{__half_raw(x).x, __half_raw(y).x}; }
};
typedef __half2 half2;

static inline float __half2float(__half h) { return (float)h; }
static inline __half __float2half(float f) { return __half(f); }
static inline __half __float2half_rn(float f) { return __half(f); }
static inline __half __double2half(double d) { return __half(d); }
static inline __half __ushort_as_half(unsigned short v) { return __half(__half_raw{v}); }
static inline __half __short_as_half(short v) { return __half(__half_raw{(unsigned short)v}); }
static inline unsigned short __half_as_ushort(__half h) { return __half_raw(h).x; }
static inline short __half_as_short(__half h) { return (short)__half_raw(h).x; }
static inline __half __int2half_rn(int v) { return __half(v); }
static inline __half __uint2half_rn(unsigned v) { return __half(v); }
static inline __half __ll2half_rn(long long v) { return __half(v); }
static inline int __half2int_rz(__half h) { return __float2int_rz((float)h); }
static inline int __half2int_rn(__half h) { return __float2int_rn((float)h); }
static inline __half2 __halves2half2(__half a, __half b) { return __half2(a, b); }
static inline __half2 make_half2(__half a, __half b) { return __half2(a, b); }
static inline __half2 __half2half2(__half a) { return __half2(a, a); }
static inline __half2 __float2half2_rn(float a) { return __half2(__half(a), __half(a)); }
static inline __half2 __floats2half2_rn(float a, float b) { return __half2(__half(a), __half(b)); }
static inline __half2 __float22half2_rn(float2 v) { return __half2(__half(v.x), __half(v.y)); }
static inline float2 __half22float2(__half2 v) { return make_float2((float)v.x, (float)v.y); }
static inline __half __low2half(__half2 v) { return v.x; }
static inline __half __high2half(__half2 v) { return v.y; }
static inline float __low2float(__half2 v) { return (float)v.x; }
static inline float __high2float(__half2 v) { return (float)v.y; }

#include "cudasim/half_operations.h"
CUDASIM_HALF_OPERATIONS(__half, __half2)

static inline int __hisinf(__half a) {
    unsigned short b = __half_raw(a).x;
    return b == 0x7c00u ? 1 : b == 0xfc00u ? -1 : 0;
}
#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7c00u)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7fffu)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7bffu)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3c00u)

#endif
