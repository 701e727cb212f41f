/* POWER: e to a power that is 0 or less, as in softmax (up to some 40 it is right, above it is not). For float32 it is
 * off by at most 1 ulp, and inlined it takes two thirds of a call of the C library's, which must be right everywhere.
 * Included once for each kind of floats. */
#undef POWER
#if BITS == 32
#define POWER lg_power

INLINE float lg_power(float x)
{
    const float shift = 12583103.0f;     /* 1.5 * 2^23, where floats are integers, + 127 + 64 */
    const float t = x * 1.44269504f + shift, n = t - shift; /* x / log 2, rounded */
    float r = x - n * 0.693145752f;
    r -= n * 1.42860677e-6f;             /* the rest of log 2 */
    float p = 1.37805939e-3f;
    p = p * r + 8.37312452e-3f;
    p = p * r + 4.16695364e-2f;
    p = p * r + 1.66664720e-1f;
    p = p * r + 4.99999851e-1f;
    p = p * r * r + r + 1.0f;
    union { float value; uint32_t bits; } two = {t};
    two.bits <<= 23;                     /* 2^(n + 64), so that what is small is rounded once, by the last product */
    return x < -104.0f ? 0 : p * two.value * 0x1p-64f;
}
#else
#define POWER exp
#endif
