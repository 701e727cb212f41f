// IEEE half precision numbers as their 16 bits.
#pragma once
#include <cstdint>
#include <cstring>

namespace sim {

inline float half_to_float(uint16_t bits) {
    const uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
    if (exponent == 0) {  // zero or subnormal: the fraction counts units of 2^-24, exact in single precision
        const float magnitude = float(fraction) * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    const uint32_t wide = sign | (exponent == 31 ? 255u : exponent + 112) << 23 | fraction << 13;
    float value;
    std::memcpy(&value, &wide, 4);
    return value;
}

// Round to nearest, ties to even, from a double: a double result is rounded once only.
inline uint16_t half_from_double(double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, 8);
    const uint16_t sign = uint16_t(bits >> 48 & 0x8000);
    const int exponent = int(bits >> 52 & 0x7ff) - 1023;
    const uint64_t fraction = bits & 0xfffffffffffffull;
    if (exponent == 1024)
        return sign | 0x7c00 | (fraction ? 0x200 : 0);
    if (exponent >= 16)
        return sign | 0x7c00;
    if (exponent < -25)
        return sign;
    const int drop = exponent >= -14 ? 42 : 42 + (-14 - exponent);  // bits below the last one kept
    const uint64_t whole = fraction | 1ull << 52;
    uint64_t kept = whole >> drop;
    const uint64_t rest = whole & ((1ull << drop) - 1), tie = 1ull << (drop - 1);
    if (rest > tie || (rest == tie && (kept & 1)))
        ++kept;
    // A carry out of the fraction moves into the exponent by itself, up to infinity.
    return sign | uint16_t(exponent >= -14 ? (uint64_t(exponent + 14) << 10) + kept : kept);
}

}  // namespace sim
