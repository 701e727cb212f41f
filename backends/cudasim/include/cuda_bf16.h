// bfloat16: the upper half of a float.
#ifndef CUDASIM_BF16_H
#define CUDASIM_BF16_H

#include "cudasim_prelude.h"
#include "cuda_fp16.h"

#define __CUDA_BF16_TYPES_EXIST__

namespace cudasim {
static inline unsigned short bfloat_from_float(float value) {
    unsigned f = __float_as_uint(value);
    if ((f & 0x7fffffffu) > 0x7f800000u) return (unsigned short)0x7fffu;
    return (unsigned short)((f + 0x7fffu + (f >> 16 & 1u)) >> 16);
}
}  // namespace cudasim

struct __nv_bfloat16_raw {
    unsigned short x;
};

struct __align__(2) __nv_bfloat16 {
protected:
    unsigned short __x;

public:
    __nv_bfloat16() = default;
    constexpr __nv_bfloat16(const __nv_bfloat16_raw &r) : __x(r.x) {}
    __nv_bfloat16(float f) : __x(cudasim::bfloat_from_float(f)) {}
    __nv_bfloat16(double d) : __x(cudasim::bfloat_from_float(cudasim::odd_float(d))) {}
    __nv_bfloat16(short v) : __nv_bfloat16((double)v) {}
    __nv_bfloat16(unsigned short v) : __nv_bfloat16((double)v) {}
    __nv_bfloat16(int v) : __nv_bfloat16((double)v) {}
    __nv_bfloat16(unsigned v) : __nv_bfloat16((double)v) {}
    __nv_bfloat16(long v) : __nv_bfloat16((double)v) {}
    __nv_bfloat16(unsigned long v) : __nv_bfloat16((double)v) {}
    __nv_bfloat16(long long v) : __nv_bfloat16((double)v) {}
    __nv_bfloat16(unsigned long long v) : __nv_bfloat16((double)v) {}
    explicit __nv_bfloat16(__half h) : __nv_bfloat16((float)h) {}
    operator __nv_bfloat16_raw() const { return __nv_bfloat16_raw{__x}; }
    operator float() const { return __uint_as_float((unsigned)__x << 16); }
    explicit operator bool() const { return (__x & 0x7fffu) != 0; }
    explicit operator int() const { return (int)(float)*this; }
    explicit operator long long() const { return (long long)(float)*this; }
    __nv_bfloat16 &operator=(const __nv_bfloat16_raw &r) { __x = r.x; return *this; }
    __nv_bfloat16 &operator=(float f) { return *this = __nv_bfloat16(f); }
    __nv_bfloat16 &operator=(double d) { return *this = __nv_bfloat16(d); }
    __nv_bfloat16 &operator=(int v) { return *this = __nv_bfloat16(v); }
};
typedef __nv_bfloat16 nv_bfloat16;

struct __align__(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
    __nv_bfloat162() = default;
    __nv_bfloat162(const __nv_bfloat16 &a, const __nv_bfloat16 &b) : x(a), y(b) {}
};
typedef __nv_bfloat162 nv_bfloat162;

static inline float __bfloat162float(__nv_bfloat16 v) { return (float)v; }
static inline __nv_bfloat16 __float2bfloat16(float f) { return __nv_bfloat16(f); }
static inline __nv_bfloat16 __float2bfloat16_rn(float f) { return __nv_bfloat16(f); }
static inline __nv_bfloat16 __double2bfloat16(double d) { return __nv_bfloat16(d); }
static inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short v) { return __nv_bfloat16(__nv_bfloat16_raw{v}); }
static inline __nv_bfloat16 __short_as_bfloat16(short v) { return __ushort_as_bfloat16((unsigned short)v); }
static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 v) { return __nv_bfloat16_raw(v).x; }
static inline short __bfloat16_as_short(__nv_bfloat16 v) { return (short)__nv_bfloat16_raw(v).x; }
static inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
static inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
static inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b) {
    return __nv_bfloat162(__nv_bfloat16(a), __nv_bfloat16(b));
}
static inline float2 __bfloat1622float2(__nv_bfloat162 v) { return make_float2((float)v.x, (float)v.y); }
static inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
static inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }

CUDASIM_HALF_OPERATIONS(__nv_bfloat16, __nv_bfloat162)

static inline int __hisinf(__nv_bfloat16 a) {
    unsigned short b = __nv_bfloat16_raw(a).x;
    return b == 0x7f80u ? 1 : b == 0xff80u ? -1 : 0;
}

#endif
