// The sorting functions of cupy.cuda.thrust, replaced as a whole. All are stable and put NaN last, as NumPy does.
#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "hooks.h"

namespace {

using sim::has_nan;
using sim::widened;

template <typename T>
bool before(T a, T b) {  // of real numbers: NaN comes after everything
    return a < b || (has_nan(b) && !has_nan(a));
}

// Complex numbers by real part, then imaginary part; those with NaN come last, in the order of NumPy:
// (number, NaN), (NaN, number), (NaN, NaN).
template <typename Real>
bool before(sim::Pair<Real> a, sim::Pair<Real> b) {
    const int a_class = 2 * has_nan(a.re) + has_nan(a.im), b_class = 2 * has_nan(b.re) + has_nan(b.im);
    if (a_class != b_class)
        return a_class < b_class;
    return a.re < b.re || ((a.re == b.re || has_nan(a.re)) && a.im < b.im);
}

template <typename T>
struct Before {
    bool operator()(T a, T b) const { return before(widened(a), widened(b)); }
};

template <typename T>
void sort_rows(T *data, size_t rows, size_t length) {
    for (size_t row = 0; row < rows; ++row)
        std::stable_sort(data + row * length, data + (row + 1) * length, Before<T>());
}

template <typename T>
void argsort_rows(const T *data, size_t *index, size_t rows, size_t length) {
    for (size_t row = 0; row < rows; ++row, data += length, index += length) {
        std::iota(index, index + length, size_t(0));
        std::stable_sort(index, index + length, [data](size_t a, size_t b) { return Before<T>()(data[a], data[b]); });
    }
}

// The last key is the most important one, so sort by the first key first and keep ties in order.
template <typename T>
void lexsort(const T *keys, size_t *index, size_t count, size_t length) {
    std::iota(index, index + length, size_t(0));
    for (size_t key = 0; key < count; ++key, keys += length)
        std::stable_sort(index, index + length, [keys](size_t a, size_t b) { return Before<T>()(keys[a], keys[b]); });
}

// The shape as a number of rows to be sorted and their length.
struct Rows {
    size_t count = 1, length = 1;
    explicit Rows(const std::vector<ptrdiff_t> &shape) {
        for (size_t axis = 0; axis < shape.size(); ++axis)
            (axis + 1 == shape.size() ? length : count) *= size_t(shape[axis]);
    }
};

// These functions have no result, and CuPy turns an exception into a Python one.
void submit(void *stream, const char *name, int dtype, sim::Work work) {
    if (!sim::with_dtype(dtype, [](auto) {}))
        throw std::runtime_error(std::string(name) + ": unknown dtype number " + std::to_string(dtype));
    const sim::Lock lock;
    if (const int code = sim::submit_counted(stream, name, std::move(work)))
        throw std::runtime_error(std::string(name) + " failed with CUDA error " + std::to_string(code));
}

}  // namespace

SIM_API void cudasim_hook_thrust_sort(int dtype, void *data, size_t *, const std::vector<ptrdiff_t> &shape,
                                      intptr_t stream, void *) {
    const Rows rows(shape);
    submit((void *)stream, "thrust_sort", dtype, [=] {
        sim::with_dtype(dtype, [&](auto kind) {
            sort_rows(static_cast<decltype(kind) *>(data), rows.count, rows.length);
        });
        return sim::OK;
    });
}

SIM_API void cudasim_hook_thrust_argsort(int dtype, size_t *index, void *data, void *,
                                         const std::vector<ptrdiff_t> &shape, intptr_t stream, void *) {
    const Rows rows(shape);
    submit((void *)stream, "thrust_argsort", dtype, [=] {
        sim::with_dtype(dtype, [&](auto kind) {
            argsort_rows(static_cast<const decltype(kind) *>(data), index, rows.count, rows.length);
        });
        return sim::OK;
    });
}

SIM_API void cudasim_hook_thrust_lexsort(int dtype, size_t *index, void *keys, size_t count, size_t length,
                                         intptr_t stream, void *) {
    submit((void *)stream, "thrust_lexsort", dtype, [=] {
        sim::with_dtype(dtype, [&](auto kind) {
            lexsort(static_cast<const decltype(kind) *>(keys), index, count, length);
        });
        return sim::OK;
    });
}
