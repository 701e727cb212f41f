// Complex numbers as pairs, with the functions of C code.
#ifndef CUDASIM_CUCOMPLEX_H
#define CUDASIM_CUCOMPLEX_H

#include "cudasim_prelude.h"

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define CUDASIM_COMPLEX(C, R, suffix, root)                                                            \
    static inline R cuCreal##suffix(C a) { return a.x; }                                               \
    static inline R cuCimag##suffix(C a) { return a.y; }                                               \
    static inline C cuConj##suffix(C a) { C r = {a.x, -a.y}; return r; }                               \
    static inline C cuCadd##suffix(C a, C b) { C r = {a.x + b.x, a.y + b.y}; return r; }               \
    static inline C cuCsub##suffix(C a, C b) { C r = {a.x - b.x, a.y - b.y}; return r; }               \
    static inline C cuCmul##suffix(C a, C b) {                                                         \
        C r = {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};                                          \
        return r;                                                                                      \
    }                                                                                                  \
    static inline C cuCdiv##suffix(C a, C b) {                                                         \
        R s = (R)1 / (::fabs(b.x) + ::fabs(b.y)), p = a.x * s, q = a.y * s, u = b.x * s, v = b.y * s;  \
        R n = (R)1 / (u * u + v * v);                                                                  \
        C r = {(p * u + q * v) * n, (q * u - p * v) * n};                                              \
        return r;                                                                                      \
    }                                                                                                  \
    static inline R cuCabs##suffix(C a) { return (R)::hypot(a.x, a.y); }                               \
    static inline C cuCfma##suffix(C a, C b, C c) { return cuCadd##suffix(cuCmul##suffix(a, b), c); }
CUDASIM_COMPLEX(cuFloatComplex, float, f, ::sqrtf)
CUDASIM_COMPLEX(cuDoubleComplex, double, , ::sqrt)
static inline cuFloatComplex make_cuFloatComplex(float x, float y) { return make_float2(x, y); }
static inline cuDoubleComplex make_cuDoubleComplex(double x, double y) { return make_double2(x, y); }
static inline cuComplex make_cuComplex(float x, float y) { return make_float2(x, y); }
static inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex c) { return make_double2(c.x, c.y); }
static inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex c) {
    return make_float2((float)c.x, (float)c.y);
}

#endif
