// Arithmetic of the emulated NCCL.
#include <cmath>
#include <type_traits>

#include "half.h"
#include "nccl.h"

namespace sim::nccl {

namespace {

struct Half {
    uint16_t bits;
};
struct Brain {  // the upper half of a single precision number
    uint16_t bits;
};

float wide(Half value) { return half_to_float(value.bits); }
float wide(Brain value) {
    const uint32_t bits = uint32_t(value.bits) << 16;
    float result;
    std::memcpy(&result, &bits, 4);
    return result;
}
template <typename T>
T wide(T value) {
    return value;
}

void narrow(float value, Half &out) { out.bits = half_from_double(value); }
void narrow(float value, Brain &out) {  // to nearest, ties to even
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    out.bits = value != value ? uint16_t(bits >> 16 | 0x40) : uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
template <typename T>
void narrow(T value, T &out) {
    out = value;
}

template <typename T>
constexpr bool whole = std::is_integral_v<T>;

template <typename W>
W combine(int reduction, W a, W b) {
    if constexpr (whole<W>) {
        using Bits = std::make_unsigned_t<W>;  // overflow wraps
        switch (reduction) {
        case PROD: return W(uint64_t(Bits(a)) * uint64_t(Bits(b)));
        case MAX: return a < b ? b : a;
        case MIN: return b < a ? b : a;
        default: return W(Bits(Bits(a) + Bits(b)));
        }
    } else {
        switch (reduction) {
        case PROD: return a * b;
        case MAX: return std::fmax(a, b);
        case MIN: return std::fmin(a, b);
        default: return a + b;
        }
    }
}

template <typename T>
void reduce_as(int reduction, const std::vector<const char *> &parts, size_t count, char *out) {
    using W = decltype(wide(T()));
    const size_t n = parts.size();
    auto load = [&](size_t part, size_t i) {
        T value;
        std::memcpy(&value, parts[part] + i * sizeof(T), sizeof(T));
        if constexpr (!whole<T>)
            if (reduction == AVG) narrow(W(wide(value) * (W(1) / W(n))), value);
        return value;
    };
    for (size_t i = 0; i < count; ++i) {
        T sum = load(0, i);
        for (size_t part = 1; part < n; ++part)
            narrow(combine<W>(reduction, wide(sum), wide(load(part, i))), sum);
        if constexpr (whole<T>)
            if (reduction == AVG) sum = std::is_signed_v<T> ? T(int64_t(sum) / int64_t(n)) : T(uint64_t(sum) / n);
        std::memcpy(out + i * sizeof(T), &sum, sizeof(T));
    }
}

}  // namespace

size_t width(int type) {
    static const size_t widths[TYPES] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
    return widths[type];
}

const char *type_name(int type) {
    static const char *const names[TYPES] = {"int8",   "uint8",   "int32",   "uint32",  "int64",
                                             "uint64", "float16", "float32", "float64", "bfloat16"};
    return names[type];
}

const char *reduction_name(int reduction) {
    static const char *const names[REDUCTIONS] = {"sum", "prod", "max", "min", "avg"};
    return names[reduction];
}

void reduce(int type, int reduction, const std::vector<const char *> &parts, size_t count, char *out) {
    switch (type) {
    case INT8: return reduce_as<int8_t>(reduction, parts, count, out);
    case UINT8: return reduce_as<uint8_t>(reduction, parts, count, out);
    case INT32: return reduce_as<int32_t>(reduction, parts, count, out);
    case UINT32: return reduce_as<uint32_t>(reduction, parts, count, out);
    case INT64: return reduce_as<int64_t>(reduction, parts, count, out);
    case UINT64: return reduce_as<uint64_t>(reduction, parts, count, out);
    case FLOAT16: return reduce_as<Half>(reduction, parts, count, out);
    case FLOAT32: return reduce_as<float>(reduction, parts, count, out);
    case FLOAT64: return reduce_as<double>(reduction, parts, count, out);
    case BFLOAT16: return reduce_as<Brain>(reduction, parts, count, out);
    }
}

}  // namespace sim::nccl
