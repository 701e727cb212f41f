/* Products and sums of float32 that are rounded once, where the processor has them. */
#ifndef LUCIDGRAD_FUSED_H
#define LUCIDGRAD_FUSED_H

/* a * b + c, rounded once where that takes no longer, and what the product ab of a and b lost when it was rounded. */
#ifdef __FP_FAST_FMAF
#define LG_FMAF(a, b, c) __builtin_fmaf(a, b, c)
#define LG_LOSTF(a, b, ab) __builtin_fmaf(a, b, -(ab))
#else
#define LG_FMAF(a, b, c) ((a) * (b) + (c))
#define LG_LOSTF(a, b, ab) lg_lostf(a, b, ab)

static inline float lg_headf(float x)
{
    union { float value; unsigned bits; } head = {x};
    head.bits &= 0xfffff000u; /* products of two such are exact */
    return head.value;
}

static inline float lg_lostf(float a, float b, float ab)
{
    const float p = lg_headf(a), q = lg_headf(b);
    return p * q - ab + p * (b - q) + (a - p) * b;
}
#endif

#endif
