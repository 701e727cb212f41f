// The device-wide algorithms of cupy.cuda.cub, replaced as a whole: reductions, segmented reductions, running sums and
// products, histograms. The first call of each pair asks for the size of a work area; none is needed, but a size of
// zero would make CuPy pass a null pointer, which means "tell me the size" to these functions.
#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "hooks.h"

namespace {

using sim::has_nan;
using sim::Half;
using sim::Pair;
using sim::Truth;
using sim::widened;

enum Operation { SUM = 0, MIN = 1, MAX = 2, ARGMIN = 3, ARGMAX = 4, CUMSUM = 5, CUMPROD = 6, PROD = 7 };

template <typename T>
using Wide = decltype(widened(T()));  // the type to compute with

void narrow(Half &to, float value) { to.bits = sim::half_from_double(value); }
void narrow(Truth &to, bool value) { to.byte = value; }
template <typename T>
void narrow(T &to, T value) {
    to = value;
}

// -- arithmetic: whole numbers wrap around as on the device --------------------------------------------------------
template <typename T>
using enable_whole = std::enable_if_t<std::is_integral<T>::value && !std::is_same<T, bool>::value, T>;
template <typename T>
using enable_float = std::enable_if_t<std::is_floating_point<T>::value, T>;

template <typename T>
enable_whole<T> add(T a, T b) {
    return T(uint64_t(a) + uint64_t(b));
}
template <typename T>
enable_float<T> add(T a, T b) {
    return a + b;
}
bool add(bool a, bool b) { return a || b; }
template <typename Real>
Pair<Real> add(Pair<Real> a, Pair<Real> b) {
    return {a.re + b.re, a.im + b.im};
}

template <typename T>
enable_whole<T> multiply(T a, T b) {
    return T(uint64_t(a) * uint64_t(b));
}
template <typename T>
enable_float<T> multiply(T a, T b) {
    return a * b;
}
bool multiply(bool a, bool b) { return a && b; }
template <typename Real>
Pair<Real> multiply(Pair<Real> a, Pair<Real> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

template <typename T>
bool less(T a, T b) {
    return a < b;
}
template <typename Real>
bool less(Pair<Real> a, Pair<Real> b) {
    return a.re < b.re || (a.re == b.re && a.im < b.im);
}

// What a reduction of nothing gives.
template <typename T>
struct Limits {
    using numbers = std::numeric_limits<T>;
    static T one() { return T(1); }
    static T highest() { return numbers::has_infinity ? numbers::infinity() : numbers::max(); }
    static T lowest() { return numbers::has_infinity ? -numbers::infinity() : numbers::lowest(); }
};
template <typename Real>
struct Limits<Pair<Real>> {
    using numbers = std::numeric_limits<Real>;
    static Pair<Real> one() { return {1, 0}; }
    static Pair<Real> highest() { return {numbers::infinity(), numbers::infinity()}; }
    static Pair<Real> lowest() { return {-numbers::infinity(), -numbers::infinity()}; }
};

// -- reductions --------------------------------------------------------------------------------------------------
// Pairwise, like the tree of a real reduction: the error of a long sum stays small.
template <typename T>
Wide<T> sum(const T *data, size_t count) {
    if (count <= 32) {
        Wide<T> total{};
        for (size_t i = 0; i < count; ++i)
            total = i ? add(total, widened(data[i])) : widened(data[i]);
        return total;
    }
    const size_t half = count / 2;
    return add(sum(data, half), sum(data + half, count - half));
}

template <typename T>
Wide<T> product(const T *data, size_t count) {
    Wide<T> total = Limits<Wide<T>>::one();
    for (size_t i = 0; i < count; ++i)
        total = multiply(total, widened(data[i]));
    return total;
}

// The place of the smallest (or largest) element, the first of equals; a NaN wins, the first one.
template <typename T>
size_t place_of_extreme(const T *data, size_t count, bool largest) {
    size_t best = 0;
    for (size_t i = 0; i < count; ++i) {
        const Wide<T> a = widened(data[best]), b = widened(data[i]);
        if (has_nan(a))
            break;
        if (has_nan(b) || (largest ? less(a, b) : less(b, a)))
            best = i;
    }
    return best;
}

template <typename T>
void reduce(const T *data, size_t count, Operation operation, void *result) {
    T value{};
    if (operation == SUM) {
        narrow(value, sum(data, count));
    } else if (operation == PROD) {
        narrow(value, product(data, count));
    } else if (count == 0) {
        const bool highest = operation == MIN || operation == ARGMIN;
        narrow(value, highest ? Limits<Wide<T>>::highest() : Limits<Wide<T>>::lowest());
    } else {
        value = data[place_of_extreme(data, count, operation == MAX || operation == ARGMAX)];
    }
    if (operation == ARGMIN || operation == ARGMAX) {
        // A pair of a 32-bit place and the value, at the value's alignment (a complex number's is its size).
        const int32_t place = count ? int32_t(place_of_extreme(data, count, operation == ARGMAX)) : 1;
        std::memcpy(result, &place, 4);
        result = static_cast<char *>(result) + std::max<size_t>(4, sizeof(T));
    }
    std::memcpy(result, &value, sizeof(T));
}

template <typename T>
void scan(const T *data, T *result, size_t count, bool multiplied) {
    T running{};
    for (size_t i = 0; i < count; ++i) {
        if (i == 0)
            running = data[0];
        else if (multiplied)
            narrow(running, multiply(widened(running), widened(data[i])));
        else
            narrow(running, add(widened(running), widened(data[i])));
        result[i] = running;
    }
}

// -- histograms --------------------------------------------------------------------------------------------------
// Bin i holds the samples in [level i, level i + 1); levels have the samples' type, or double for whole numbers.
template <typename T>
void histogram(const T *samples, size_t count, const void *levels, int level_count, int64_t *bins) {
    using Level = std::conditional_t<std::is_integral<Wide<T>>::value, double, T>;
    const Level *first = static_cast<const Level *>(levels), *last = first + level_count;
    std::fill(bins, bins + level_count - 1, 0);
    for (size_t i = 0; i < count; ++i) {
        const auto sample = widened(samples[i]);
        const auto bin = std::upper_bound(first, last, sample, [](auto value, Level level) {
            return value < widened(level);
        }) - first;
        if (bin > 0 && bin < level_count)
            ++bins[bin - 1];
    }
}

template <typename T>
void even_histogram(const T *samples, size_t count, int64_t lower, int64_t upper, int64_t bin_count, int64_t *bins) {
    std::fill(bins, bins + bin_count, 0);
    for (size_t i = 0; i < count; ++i) {
        const T sample = samples[i];
        if ((sample < 0 && int64_t(sample) < lower) || (sample >= 0 && lower > 0 && uint64_t(sample) < uint64_t(lower)))
            continue;
        if (sample >= 0 && (upper <= 0 || uint64_t(sample) >= uint64_t(upper)))
            continue;
        if (sample < 0 && int64_t(sample) >= upper)
            continue;
        ++bins[(int64_t(sample) - lower) * bin_count / (upper - lower)];
    }
}

// Nobody looks at a result of these functions, so that failures are remembered for the next call that is checked.
void submit(void *stream, const char *name, int dtype, sim::Work work) {
    const sim::Lock lock;
    if (!sim::with_dtype(dtype, [](auto) {}))
        sim::fail(sim::INVALID_VALUE, "%s: unknown dtype number %d", name, dtype);
    else
        sim::submit_counted(stream, name, std::move(work));
}

constexpr size_t WORK_AREA = 1;

}  // namespace

SIM_API void cudasim_hook_cub_device_reduce(void *work, size_t &size, void *x, void *y, int count, void *stream,
                                            int operation, int dtype) {
    if (!work) {
        size = WORK_AREA;
        return;
    }
    submit(stream, "cub_device_reduce", dtype, [=] {
        sim::with_dtype(dtype, [&](auto kind) {
            reduce(static_cast<const decltype(kind) *>(x), size_t(count), Operation(operation), y);
        });
        return sim::OK;
    });
}

SIM_API void cudasim_hook_cub_device_segmented_reduce(void *work, size_t &size, void *x, void *y, int segments,
                                                      int length, void *stream, int operation, int dtype) {
    if (!work) {
        size = WORK_AREA;
        return;
    }
    submit(stream, "cub_device_segmented_reduce", dtype, [=] {
        sim::with_dtype(dtype, [&](auto kind) {
            using T = decltype(kind);
            for (size_t i = 0; i < size_t(segments); ++i)
                reduce(static_cast<const T *>(x) + i * length, size_t(length), Operation(operation),
                       static_cast<T *>(y) + i);
        });
        return sim::OK;
    });
}

SIM_API void cudasim_hook_cub_device_scan(void *work, size_t &size, void *x, void *y, int count, void *stream,
                                          int operation, int dtype) {
    if (!work) {
        size = WORK_AREA;
        return;
    }
    submit(stream, "cub_device_scan", dtype, [=] {
        sim::with_dtype(dtype, [&](auto kind) {
            using T = decltype(kind);
            scan(static_cast<const T *>(x), static_cast<T *>(y), size_t(count), operation == CUMPROD);
        });
        return sim::OK;
    });
}

SIM_API void cudasim_hook_cub_device_histogram_range(void *work, size_t &size, void *x, void *y, int levels,
                                                     void *level, size_t count, void *stream, int dtype) {
    if (!work) {
        size = WORK_AREA;
        return;
    }
    submit(stream, "cub_device_histogram_range", dtype, [=] {
        int code = sim::OK;
        sim::with_dtype(dtype, [&](auto kind) {
            using T = decltype(kind);
            if constexpr (std::is_arithmetic<Wide<T>>::value)
                histogram(static_cast<const T *>(x), count, level, levels, static_cast<int64_t *>(y));
            else
                code = sim::fail(sim::NOT_SUPPORTED, "a histogram of complex numbers");
        });
        return code;
    });
}

SIM_API void cudasim_hook_cub_device_histogram_even(void *work, size_t &size, void *x, void *y, int levels, int lower,
                                                    int upper, size_t count, void *stream, int dtype) {
    if (!work) {
        size = WORK_AREA;
        return;
    }
    submit(stream, "cub_device_histogram_even", dtype, [=] {
        int code = sim::OK;
        auto *bins = static_cast<int64_t *>(y);
        sim::with_dtype(dtype, [&](auto kind) {
            using T = decltype(kind);
            if constexpr (std::is_same<T, Truth>::value)
                even_histogram(static_cast<const uint8_t *>(x), count, lower, upper, levels - 1, bins);
            else if constexpr (std::is_integral<T>::value)
                even_histogram(static_cast<const T *>(x), count, lower, upper, levels - 1, bins);
            else
                code = sim::fail(sim::NOT_SUPPORTED, "an even histogram of numbers that aren't whole");
        });
        return code;
    });
}

SIM_API size_t cudasim_hook_cub_device_reduce_get_workspace_size(void *, void *, int, void *, int, int) {
    return WORK_AREA;
}
SIM_API size_t cudasim_hook_cub_device_segmented_reduce_get_workspace_size(void *, void *, int, int, void *, int,
                                                                           int) {
    return WORK_AREA;
}
SIM_API size_t cudasim_hook_cub_device_scan_get_workspace_size(void *, void *, int, void *, int, int) {
    return WORK_AREA;
}
SIM_API size_t cudasim_hook_cub_device_histogram_range_get_workspace_size(void *, void *, int, void *, size_t, void *,
                                                                          int) {
    return WORK_AREA;
}
SIM_API size_t cudasim_hook_cub_device_histogram_even_get_workspace_size(void *, void *, int, int, int, size_t, void *,
                                                                         int) {
    return WORK_AREA;
}
