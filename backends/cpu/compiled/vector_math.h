/* Functions of <math.h> that loops call: where the C library has SIMD versions of them (glibc's libmvec, at most 4 ulp
   off), a vectorised loop uses those. Declared here because glibc's own headers do so only under -ffast-math.
   It includes no header of the system: most of a small kernel's compile time would go there. */
#ifndef LUCIDGRAD_VECTOR_MATH_H
#define LUCIDGRAD_VECTOR_MATH_H

#define EXPORT __attribute__((visibility("default")))
#define LG_NAN __builtin_nan("")
#define LG_INFINITY __builtin_inf()

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && __has_include(<features.h>)
#include <features.h>
#endif
#if defined(__GLIBC__) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#if __GLIBC_PREREQ(2, 22)
#define LG_SIMD22 __attribute__((simd("notinbranch")))
#endif
#if __GLIBC_PREREQ(2, 35)
#define LG_SIMD35 __attribute__((simd("notinbranch")))
#endif
#endif
#ifndef LG_SIMD22
#define LG_SIMD22
#endif
#ifndef LG_SIMD35
#define LG_SIMD35
#endif

#define LG_ONE(name, simd) \
    extern simd float name##f(float); \
    extern simd double name(double);
#define LG_TWO(name, simd) \
    extern simd float name##f(float, float); \
    extern simd double name(double, double);

LG_ONE(exp, LG_SIMD22)
LG_ONE(log, LG_SIMD22)
LG_ONE(sin, LG_SIMD22)
LG_ONE(cos, LG_SIMD22)
LG_TWO(pow, LG_SIMD22)
LG_ONE(acos, LG_SIMD35)
LG_ONE(acosh, LG_SIMD35)
LG_ONE(asin, LG_SIMD35)
LG_ONE(asinh, LG_SIMD35)
LG_ONE(atan, LG_SIMD35)
LG_ONE(atanh, LG_SIMD35)
LG_ONE(cbrt, LG_SIMD35)
LG_ONE(cosh, LG_SIMD35)
LG_ONE(erf, LG_SIMD35)
LG_ONE(erfc, LG_SIMD35)
LG_ONE(exp2, LG_SIMD35)
LG_ONE(expm1, LG_SIMD35)
LG_ONE(log10, LG_SIMD35)
LG_ONE(log1p, LG_SIMD35)
LG_ONE(log2, LG_SIMD35)
LG_ONE(sinh, LG_SIMD35)
LG_ONE(tan, LG_SIMD35)
LG_ONE(tanh, LG_SIMD35)
LG_TWO(atan2, LG_SIMD35)
LG_TWO(hypot, LG_SIMD35)

#undef LG_ONE
#undef LG_TWO
#endif
