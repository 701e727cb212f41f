// Integer, bit and conversion intrinsics; loads and stores with cache hints.
#ifndef CUDASIM_INTRINSICS_H
#define CUDASIM_INTRINSICS_H

#define CUDASIM_CAST(name, To, From)                                    \
    static inline To name(From v) {                                     \
        To r;                                                           \
        __builtin_memcpy(&r, &v, sizeof r);                             \
        return r;                                                       \
    }
CUDASIM_CAST(__float_as_int, int, float)
CUDASIM_CAST(__float_as_uint, unsigned int, float)
CUDASIM_CAST(__int_as_float, float, int)
CUDASIM_CAST(__uint_as_float, float, unsigned int)
CUDASIM_CAST(__double_as_longlong, long long, double)
CUDASIM_CAST(__longlong_as_double, double, long long)
static inline int __double2hiint(double v) { return (int)(__double_as_longlong(v) >> 32); }
static inline int __double2loint(double v) { return (int)__double_as_longlong(v); }
static inline double __hiloint2double(int hi, int lo) {
    return __longlong_as_double((long long)(((unsigned long long)(unsigned)hi << 32) | (unsigned)lo));
}

static inline int __clz(int v) { return v ? __builtin_clz((unsigned)v) : 32; }
static inline int __clzll(long long v) { return v ? __builtin_clzll((unsigned long long)v) : 64; }
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline int __ffsll(long long v) { return __builtin_ffsll(v); }
static inline int __popc(unsigned v) { return __builtin_popcount(v); }
static inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
static inline unsigned __brev(unsigned v) {
    v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
    v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
    v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(v);
}
static inline unsigned long long __brevll(unsigned long long v) {
    return (unsigned long long)__brev((unsigned)v) << 32 | __brev((unsigned)(v >> 32));
}
static inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    unsigned long long both = (unsigned long long)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        unsigned s = selector >> (4 * i) & 15, byte = (unsigned)(both >> (8 * (s & 7))) & 255;
        if (s & 8) byte = byte & 128 ? 255 : 0;
        result |= byte << (8 * i);
    }
    return result;
}
static inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) {
    return (unsigned)((((unsigned long long)hi << 32 | lo) << (n & 31)) >> 32);
}
static inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) {
    return (unsigned)(((unsigned long long)hi << 32 | lo) >> (n & 31));
}
static inline unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned n) {
    return n >= 32 ? lo : __funnelshift_l(lo, hi, n);
}
static inline unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned n) {
    return n >= 32 ? hi : __funnelshift_r(lo, hi, n);
}
static inline int __mul24(int a, int b) { return (int)((long long)(a << 8 >> 8) * (b << 8 >> 8)); }
static inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
static inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
static inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
static inline int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
static inline unsigned __uhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b) >> 1); }
static inline unsigned __urhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b + 1) >> 1); }
static inline unsigned __sad(int a, int b, unsigned c) { return (a < b ? (unsigned)b - a : (unsigned)a - b) + c; }
static inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a < b ? b - a : a - b) + c; }
static inline int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 4; ++i) c += (int)(signed char)(a >> (8 * i)) * (signed char)(b >> (8 * i));
    return c;
}
static inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 4; ++i) c += (a >> (8 * i) & 255) * (b >> (8 * i) & 255);
    return c;
}

// Conversions saturate and send NaN to zero, as the hardware does.
namespace cudasim {
enum Rounding { nearest, down, up, zero };
template <class F> static inline F round_to(F v, Rounding r) {
    return r == nearest ? __builtin_rint((double)v) : r == down ? __builtin_floor((double)v)
           : r == up    ? __builtin_ceil((double)v) : __builtin_trunc((double)v);
}
template <class I, class F> static inline I to_integer(F v, Rounding r) {
    constexpr bool is_signed = I(-1) < I(0);
    constexpr int bits = sizeof(I) * 8;
    constexpr double limit = bits == 64 ? (is_signed ? 0x1p63 : 0x1p64) : (is_signed ? 0x1p31 : 0x1p32);
    constexpr I most = is_signed ? (I)((((unsigned long long)1 << (bits - 1)) - 1)) : (I)~0ull;
    if (v != v) return bits == 64 ? (I)((unsigned long long)1 << 63) : 0;
    double w = round_to((double)v, r);
    if (w >= limit) return most;
    if (w < (is_signed ? -limit : 0.0)) return is_signed ? (I)~most : 0;
    return (I)w;
}
}  // namespace cudasim
#define CUDASIM_CONVERT_(F, f, I, i, suffix, mode)                                                         \
    static inline I __##f##2##i##_##suffix(F v) { return cudasim::to_integer<I>(v, cudasim::mode); }
#define CUDASIM_CONVERT(F, f, I, i)                                                                         \
    CUDASIM_CONVERT_(F, f, I, i, rn, nearest) CUDASIM_CONVERT_(F, f, I, i, rd, down)                        \
    CUDASIM_CONVERT_(F, f, I, i, ru, up) CUDASIM_CONVERT_(F, f, I, i, rz, zero)
CUDASIM_CONVERT(float, float, int, int)
CUDASIM_CONVERT(float, float, unsigned, uint)
CUDASIM_CONVERT(float, float, long long, ll)
CUDASIM_CONVERT(float, float, unsigned long long, ull)
CUDASIM_CONVERT(double, double, int, int)
CUDASIM_CONVERT(double, double, unsigned, uint)
CUDASIM_CONVERT(double, double, long long, ll)
CUDASIM_CONVERT(double, double, unsigned long long, ull)
static inline float __int2float_rn(int v) { return (float)v; }
static inline float __uint2float_rn(unsigned v) { return (float)v; }
static inline float __ll2float_rn(long long v) { return (float)v; }
static inline float __ull2float_rn(unsigned long long v) { return (float)v; }
static inline double __int2double_rn(int v) { return (double)v; }
static inline double __uint2double_rn(unsigned v) { return (double)v; }
static inline double __ll2double_rn(long long v) { return (double)v; }
static inline double __ull2double_rn(unsigned long long v) { return (double)v; }
static inline float __double2float_rn(double v) { return (float)v; }

#define CUDASIM_LOAD(name) template <class T> static inline T name(const T *p) { return *p; }
CUDASIM_LOAD(__ldg)
CUDASIM_LOAD(__ldca)
CUDASIM_LOAD(__ldcg)
CUDASIM_LOAD(__ldcs)
CUDASIM_LOAD(__ldlu)
CUDASIM_LOAD(__ldcv)
#define CUDASIM_STORE(name) template <class T> static inline void name(T *p, T v) { *p = v; }
CUDASIM_STORE(__stwb)
CUDASIM_STORE(__stcg)
CUDASIM_STORE(__stcs)
CUDASIM_STORE(__stwt)
static inline unsigned __isShared(const void *) { return 0; }
static inline unsigned __isGlobal(const void *) { return 1; }
static inline size_t __cvta_generic_to_shared(const void *p) { return (size_t)p; }
static inline size_t __cvta_generic_to_global(const void *p) { return (size_t)p; }

#endif
