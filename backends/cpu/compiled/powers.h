/* POWER: e to a power that is 0 or less, as in softmax (up to some 40 it is right, above it is not). For float32 it is
 * off by at most 1 ulp, and takes less than lg_expf, which must be right everywhere. Included once for each kind of
 * floats. */
#include "exponential.h"

#undef POWER
#if BITS == 32
#define POWER lg_power

INLINE float lg_power(float x)
{
    const float shift = 12583103.0f;     /* 1.5 * 2^23, where floats are integers, + 127 + 64 */
    const float t = LG_FMAF(x, 1.44269504f, shift), n = t - shift; /* x / log 2, rounded */
    const float r = LG_FMAF(n, -1.42860682e-6f, LG_FMAF(n, -0.693145752f, x));
    union { float value; uint32_t bits; } two = {t};
    two.bits <<= 23;                     /* 2^(n + 64), so that what is small is rounded once, by the last product */
    return x < -104.0f ? 0 : LG_FMAF(lg_rest_of_power(r), two.value, two.value) * 0x1p-64f;
}
#else
#define POWER exp
#endif
