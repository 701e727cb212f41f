/* The exponential function and the hyperbolic tangent in float32, off by at most 1 and 3 ulp: inlined in a loop they take
 * two thirds of the C library's calls, and what they give does not depend on how it is vectorised. */
#ifndef LUCIDGRAD_EXPONENTIAL_H
#define LUCIDGRAD_EXPONENTIAL_H

#include "fused.h"

/* y, or 0 from `end` on, where it has come to its limit; no condition, which would be carried into all that follows. */
static inline float lg_up_tof(float end, float a, float y)
{
    union { float value; unsigned bits; } kept = {y};
    kept.bits &= -(unsigned)!(a > end);
    return kept.value;
}

/* e to the power of r, less 1, for r at most half of log 2 away from 0. */
static inline float lg_rest_of_power(float r)
{
    float p = 1.37805939e-3f;
    p = LG_FMAF(p, r, 8.37312452e-3f);
    p = LG_FMAF(p, r, 4.16695364e-2f);
    p = LG_FMAF(p, r, 1.66664720e-1f);
    p = LG_FMAF(p, r, 4.99999851e-1f);
    return LG_FMAF(p * r, r, r);
}

static inline float lg_expf(float x)
{
    const int above = x > 0; /* of -|x| this is known, and what depends on it */
    /* 1.5 * 2^23, where floats are integers, + 127, and 64 that keep the power of 2 among those that floats have. */
    const float shift = above ? 12582975.0f : 12583103.0f;
    const float t = LG_FMAF(x, 1.44269504f, shift), n = t - shift; /* x / log 2, rounded */
    const float r = LG_FMAF(n, -1.42860682e-6f, LG_FMAF(n, -0.693145752f, x));
    union { float value; unsigned bits; } two = {t};
    two.bits <<= 23;
    const float y = LG_FMAF(lg_rest_of_power(r), two.value, two.value) * (above ? 0x1p64f : 0x1p-64f);
    return above & (x > 89.0f) ? (float)LG_INFINITY : lg_up_tof(104.0f, -x, y);
}

/* (e^2a - 1) / (e^2a + 1) of the distance a from 0, where e^2a - 1 is as precise. */
static inline float lg_tanhf(float x)
{
    const float shift = 12583039.0f, a = __builtin_fabsf(x); /* 1.5 * 2^23 + 127 */
    const float t = LG_FMAF(a, 2.88539008f, shift), n = t - shift;
    const float r = LG_FMAF(n, -1.42860682e-6f, LG_FMAF(n, -0.693145752f, a + a));
    union { float value; unsigned bits; } two = {t};
    two.bits <<= 23;
    const float less = LG_FMAF(lg_rest_of_power(r), two.value, two.value - 1), y = less / (less + 2);
    return __builtin_copysignf(a > 9.1f ? 1 : y, x);
}

#endif
