/* The standard normal distribution in float32: its density, off by at most 2 ulp, and the share of it that lies below x,
 * off by at most 4. Both are made of the same exponential of x * x / 2, so that a loop that asks for both computes it
 * once, and x enters exactly: a square that was rounded, or x by the root of 2, would cost digits far from zero. And the
 * complementary error function, off by at most 4 ulp, made in the same way: the C library's takes up to twice as long.
 * What they give does not depend on how a loop is vectorised. */
#ifndef LUCIDGRAD_NORMAL_H
#define LUCIDGRAD_NORMAL_H

#include "exponential.h"

/* e to the power of -a * b is (1 + rest) * power / 2^64: what is small is rounded once, by the last product. */
typedef struct { float rest, power; } lg_bellf;

static inline lg_bellf lg_bell_of(float a, float b)
{
    const float shift = 12583103.0f; /* 1.5 * 2^23, where floats are integers, + 127 + 64 */
    const float s = a * b;
    const float t = LG_FMAF(s, -1.44269504f, shift), n = t - shift; /* -s / log 2, rounded */
    float r = LG_FMAF(n, -0.693145752f, -s);
    r = LG_FMAF(n, -1.42860682e-6f, r) - LG_LOSTF(a, b, s); /* the rest of log 2, and of s */
    union { float value; unsigned bits; } two = {t};
    two.bits <<= 23;
    return (lg_bellf){lg_rest_of_power(r), two.value};
}

static inline float lg_normal_densityf(float x)
{
    const float a = __builtin_fabsf(x);
    const lg_bellf bell = lg_bell_of(a * 0.5f, a);
    return lg_up_tof(14.5f, a, LG_FMAF(bell.rest, 0.39894228f, 0.39894228f) * bell.power * 0x1p-64f);
}

/* Beyond a, the share is the bell times v = 1 / (1 + 5/16 a) and a polynomial of a * v, fitted on [0, 14.3] to 2.5e-8. */
static inline float lg_normal_sharef(float x)
{
    const float a = __builtin_fabsf(x), v = 1 / LG_FMAF(a, 0.3125f, 1.0f), z = LG_FMAF(a, v, -1.375f);
    const lg_bellf bell = lg_bell_of(a * 0.5f, a);
    float q = 5.38536256e-07f;
    q = LG_FMAF(q, z, -5.6828577e-07f);
    q = LG_FMAF(q, z, -1.25980387e-05f);
    q = LG_FMAF(q, z, 6.87162628e-06f);
    q = LG_FMAF(q, z, 0.000250693673f);
    q = LG_FMAF(q, z, -0.000359633385f);
    q = LG_FMAF(q, z, -0.00545184873f);
    q = LG_FMAF(q, z, 0.0362118594f);
    q = LG_FMAF(q, z, -0.119712822f);
    q = LG_FMAF(q, z, 0.255129993f);
    const float beyond = lg_up_tof(14.5f, a, LG_FMAF(q, bell.rest, q) * (v * bell.power) * 0x1p-64f);
    return x < 0 ? beyond : 1 - beyond;
}

/* The same with v = 1 / (1 + a / 2), fitted on [0, 10.1] to 2.7e-8. */
static inline float lg_erfcf(float x)
{
    const float a = __builtin_fabsf(x), v = 1 / LG_FMAF(a, 0.5f, 1.0f), z = LG_FMAF(a, v, -1.0f);
    const lg_bellf bell = lg_bell_of(a, a);
    float q = -2.34112558e-05f;
    q = LG_FMAF(q, z, -0.000264575705f);
    q = LG_FMAF(q, z, -0.000363201805f);
    q = LG_FMAF(q, z, 0.00152142206f);
    q = LG_FMAF(q, z, 0.00321762054f);
    q = LG_FMAF(q, z, -0.010751334f);
    q = LG_FMAF(q, z, -0.0182179585f);
    q = LG_FMAF(q, z, 0.139735714f);
    q = LG_FMAF(q, z, -0.343580455f);
    q = LG_FMAF(q, z, 0.510791361f);
    const float beyond = lg_up_tof(10.1f, a, LG_FMAF(q, bell.rest, q) * (v * bell.power) * 0x1p-64f);
    return x < 0 ? 2 - beyond : beyond;
}

#endif
