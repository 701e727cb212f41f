// For the libraries and for the host functions of CuPy's own modules that we replace: element types and work.
#pragma once
#include <cstdint>
#include <utility>

#include "half.h"
#include "sim.h"

namespace sim {

// Give a library's work to a stream and count it by name, again for each launch of a graph that captured it.
inline int submit_counted(void *stream, const char *name, Work work) {
    return submit(stream, name, std::move(work), [name] { count_library(name); });
}

struct Half {
    uint16_t bits;
};
template <typename Real>
struct Pair {  // a complex number
    Real re, im;
};
struct Truth {  // a boolean as its byte, which may hold any value
    uint8_t byte;
};

// Call `use(T())` with the type that CuPy's number for a dtype means; false if there is none.
template <typename Use>
bool with_dtype(int dtype, Use &&use) {
    switch (dtype) {
    case 0: use(int8_t()); return true;
    case 1: use(uint8_t()); return true;
    case 2: use(int16_t()); return true;
    case 3: use(uint16_t()); return true;
    case 4: use(int32_t()); return true;
    case 5: use(uint32_t()); return true;
    case 6: use(int64_t()); return true;
    case 7: use(uint64_t()); return true;
    case 8: use(Half()); return true;
    case 9: use(float()); return true;
    case 10: use(double()); return true;
    case 11: use(Pair<float>()); return true;
    case 12: use(Pair<double>()); return true;
    case 13: use(Truth()); return true;
    default: return false;
    }
}

// What to compute and compare with for each element type, and the way back.
template <typename T>
T widened(T value) {
    return value;
}
inline float widened(Half value) { return half_to_float(value.bits); }
inline bool widened(Truth value) { return value.byte != 0; }

template <typename T>
bool has_nan(T value) {
    return value != value;
}
template <typename Real>
bool has_nan(Pair<Real> value) {
    return value.re != value.re || value.im != value.im;
}

}  // namespace sim
