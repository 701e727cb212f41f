// cuSPARSE: sorting of entries and conversions between formats. Work areas are never needed; sizes are not zero because
// CuPy would pass a null pointer for those, which asks for the size again.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "sparse.h"

using namespace sim::sparse;

namespace {

constexpr size_t WORK_AREA = 8;

void offsets_of(const int *lines, int count, int line_count, int *offsets, int base) {
    std::fill(offsets, offsets + line_count + 1, 0);
    for (int i = 0; i < count; ++i)
        ++offsets[lines[i] - base + 1];
    std::partial_sum(offsets, offsets + line_count + 1, offsets);
    for (int i = 0; i <= line_count; ++i)
        offsets[i] += base;
}

// Bring `values` into a new order.
template <typename T>
void permute(T *values, const std::vector<int> &order, int first = 0) {
    std::vector<T> sorted(order.size());
    for (size_t i = 0; i < order.size(); ++i)
        sorted[i] = values[first + order[i]];
    std::copy(sorted.begin(), sorted.end(), values + first);
}

int sort_entries(const Handle *handle, const char *name, int count, int *major, int *minor, int *permutation) {
    return submitted(handle, name, [=] {
        std::vector<int> order(static_cast<size_t>(count));
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [=](int a, int b) {
            return major[a] < major[b] || (major[a] == major[b] && minor[a] < minor[b]);
        });
        permute(major, order);
        permute(minor, order);
        if (permutation)
            permute(permutation, order);
        return sim::OK;
    });
}

int sort_lines(const Handle *handle, const char *name, int line_count, int base, const int *offsets, int *indices,
               int *permutation) {
    return submitted(handle, name, [=] {
        for (int line = 0; line < line_count; ++line) {
            const int first = offsets[line] - base;
            std::vector<int> order(static_cast<size_t>(offsets[line + 1] - base - first));
            std::iota(order.begin(), order.end(), 0);
            std::stable_sort(order.begin(), order.end(),
                             [=](int a, int b) { return indices[first + a] < indices[first + b]; });
            permute(indices, order, first);
            if (permutation)
                permute(permutation, order, first);
        }
        return sim::OK;
    });
}

}  // namespace

SIM_API int cusparseXcoo2csr(Handle *handle, const int *rows, int count, int row_count, int *offsets, int base) {
    const sim::Lock lock;
    return submitted(handle, "cusparseXcoo2csr", [=] {
        offsets_of(rows, count, row_count, offsets, base);
        return sim::OK;
    });
}

SIM_API int cusparseXcsr2coo(Handle *handle, const int *offsets, int, int row_count, int *rows, int base) {
    const sim::Lock lock;
    return submitted(handle, "cusparseXcsr2coo", [=] {
        for (int row = 0; row < row_count; ++row)
            std::fill(rows + offsets[row] - base, rows + offsets[row + 1] - base, row + base);
        return sim::OK;
    });
}

SIM_API int cusparseCreateIdentityPermutation(Handle *handle, int count, int *permutation) {
    const sim::Lock lock;
    return submitted(handle, "cusparseCreateIdentityPermutation", [=] {
        std::iota(permutation, permutation + count, 0);
        return sim::OK;
    });
}

SIM_API int cusparseXcoosort_bufferSizeExt(Handle *, int, int, int, const int *, const int *, size_t *size) {
    *size = WORK_AREA;
    return SUCCESS;
}
SIM_API int cusparseXcsrsort_bufferSizeExt(Handle *, int, int, int, const int *, const int *, size_t *size) {
    *size = WORK_AREA;
    return SUCCESS;
}
SIM_API int cusparseXcscsort_bufferSizeExt(Handle *, int, int, int, const int *, const int *, size_t *size) {
    *size = WORK_AREA;
    return SUCCESS;
}
SIM_API int cusparseXcoosortByRow(Handle *handle, int, int, int count, int *rows, int *columns, int *permutation,
                                  void *) {
    const sim::Lock lock;
    return sort_entries(handle, "cusparseXcoosortByRow", count, rows, columns, permutation);
}
SIM_API int cusparseXcoosortByColumn(Handle *handle, int, int, int count, int *rows, int *columns, int *permutation,
                                     void *) {
    const sim::Lock lock;
    return sort_entries(handle, "cusparseXcoosortByColumn", count, columns, rows, permutation);
}
SIM_API int cusparseXcsrsort(Handle *handle, int rows, int, int, const Legacy *descriptor, const int *offsets,
                             int *columns, int *permutation, void *) {
    const sim::Lock lock;
    return sort_lines(handle, "cusparseXcsrsort", rows, descriptor->base, offsets, columns, permutation);
}
SIM_API int cusparseXcscsort(Handle *handle, int, int columns, int, const Legacy *descriptor, const int *offsets,
                             int *rows, int *permutation, void *) {
    const sim::Lock lock;
    return sort_lines(handle, "cusparseXcscsort", columns, descriptor->base, offsets, rows, permutation);
}

SIM_API int cusparseCsr2cscEx2_bufferSize(Handle *, int, int, int, const void *, const int *, const int *, void *,
                                          int *, int *, int, int, int, int, size_t *size) {
    *size = WORK_AREA;
    return SUCCESS;
}
SIM_API int cusparseCsr2cscEx2(Handle *handle, int rows, int columns, int count, const void *values,
                               const int *offsets, const int *indices, void *new_values, int *new_offsets,
                               int *new_indices, int type, int with_values, int base, int, void *) {
    const sim::Lock lock;
    if (!known(type))
        return NOT_SUPPORTED;
    return submitted(handle, "cusparseCsr2cscEx2", [=] {
        offsets_of(indices, count, columns, new_offsets, base);
        std::vector<int> next(new_offsets, new_offsets + columns);
        const Numbers from{const_cast<void *>(values), type}, to{new_values, type};
        for (int row = 0; row < rows; ++row)
            for (int i = offsets[row] - base; i < offsets[row + 1] - base; ++i) {
                const int place = next[indices[i] - base]++ - base;
                new_indices[place] = row + base;
                if (with_values)
                    to.set(place, from[i]);
            }
        return sim::OK;
    });
}

// -- dense matrices --------------------------------------------------------------------------------------------
SIM_API int cusparseSparseToDense_bufferSize(Handle *, SparseMatrix *, DenseMatrix *, int, size_t *size) {
    *size = WORK_AREA;
    return SUCCESS;
}
SIM_API int cusparseSparseToDense(Handle *handle, SparseMatrix *from, DenseMatrix *to, int, void *) {
    const sim::Lock lock;
    const SparseMatrix a = *from;
    const DenseMatrix b = *to;
    return submitted(handle, "cusparseSparseToDense", [=] {
        for (int64_t row = 0; row < b.rows; ++row)
            for (int64_t column = 0; column < b.columns; ++column)
                b.values.set(b.place(row, column), 0);
        a.each([&](int64_t row, int64_t column, int64_t i) { b.values.set(b.place(row, column), a.values[i]); });
        return sim::OK;
    });
}

SIM_API int cusparseDenseToSparse_bufferSize(Handle *, DenseMatrix *, SparseMatrix *, int, size_t *size) {
    *size = WORK_AREA;
    return SUCCESS;
}

// Call use(row, column, value) for what isn't zero, line after line of the sparse format.
template <typename Use>
static void each_entry(const DenseMatrix &dense, Format format, Use &&use) {
    const bool by_columns = format == CSC;
    const int64_t outer = by_columns ? dense.columns : dense.rows, inner = by_columns ? dense.rows : dense.columns;
    for (int64_t line = 0; line < outer; ++line)
        for (int64_t i = 0; i < inner; ++i) {
            const int64_t row = by_columns ? i : line, column = by_columns ? line : i;
            const Number value = dense.values[dense.place(row, column)];
            if (value != 0.0)
                use(row, column, value);
        }
}

SIM_API int cusparseDenseToSparse_analysis(Handle *handle, DenseMatrix *from, SparseMatrix *to, int, void *) {
    const sim::Lock lock;
    int64_t count = 0;
    const int status = submitted_and_waited(handle, "cusparseDenseToSparse_analysis", [=, &count] {
        std::vector<int64_t> lengths(size_t(to->format == CSC ? to->columns : to->rows) + 1, 0);
        each_entry(*from, to->format, [&](int64_t row, int64_t column, Number) {
            ++count;
            ++lengths[size_t(to->format == CSC ? column : row) + 1];
        });
        if (to->format != COO) {
            std::partial_sum(lengths.begin(), lengths.end(), lengths.begin());
            for (size_t line = 0; line < lengths.size(); ++line)
                to->offsets.set(int64_t(line), lengths[line] + to->base);
        }
        return sim::OK;
    });
    to->count = count;
    return status;
}

SIM_API int cusparseDenseToSparse_convert(Handle *handle, DenseMatrix *from, SparseMatrix *to, int, void *) {
    const sim::Lock lock;
    const DenseMatrix a = *from;
    const SparseMatrix b = *to;
    return submitted(handle, "cusparseDenseToSparse_convert", [=] {
        int64_t place = 0;
        each_entry(a, b.format, [&](int64_t row, int64_t column, Number value) {
            if (b.format == COO)
                b.offsets.set(place, row + b.base);
            b.indices.set(place, (b.format == CSC ? row : column) + b.base);
            b.values.set(place++, value);
        });
        return sim::OK;
    });
}

// -- removing small entries ------------------------------------------------------------------------------------
static bool kept(Number value, double tolerance) { return std::abs(value) > tolerance; }

static int count_kept(Handle *handle, int rows, const Legacy *descriptor, Numbers values, const int *offsets,
                      int *lengths, int *total, double tolerance) {
    const sim::Lock lock;
    const int base = descriptor->base;
    const bool on_device = handle->device_scalars;
    auto work = [=] {
        *total = 0;
        for (int row = 0; row < rows; ++row) {
            lengths[row] = 0;
            for (int i = offsets[row] - base; i < offsets[row + 1] - base; ++i)
                lengths[row] += kept(values[i], tolerance);
            *total += lengths[row];
        }
        return sim::OK;
    };
    return on_device ? submitted(handle, "cusparse_nnz_compress", work)
                     : submitted_and_waited(handle, "cusparse_nnz_compress", work);
}

static int compress(Handle *handle, int rows, const Legacy *descriptor, Numbers values, const int *indices,
                    const int *offsets, int *lengths, Numbers new_values, int *new_indices, int *new_offsets,
                    double tolerance) {
    const sim::Lock lock;
    const int base = descriptor->base;
    return submitted(handle, "cusparse_csr2csr_compress", [=] {
        int place = 0;
        for (int row = 0; row < rows; ++row) {
            new_offsets[row] = place + base;
            for (int i = offsets[row] - base; i < offsets[row + 1] - base; ++i)
                if (kept(values[i], tolerance)) {
                    new_indices[place] = indices[i];
                    new_values.set(place++, values[i]);
                }
            lengths[row] = place + base - new_offsets[row];
        }
        new_offsets[rows] = place + base;
        return sim::OK;
    });
}

static double real_part(float value) { return value; }
static double real_part(double value) { return value; }
template <typename Real>
static double real_part(sim::Pair<Real> value) {
    return value.re;
}

#define COMPRESS(letter, number, passed, type)                                                                      \
    SIM_API int cusparse##letter##nnz_compress(Handle *handle, int rows, const Legacy *descriptor,                  \
                                               const number *values, const int *offsets, int *lengths, int *total,  \
                                               passed tolerance) {                                                  \
        return count_kept(handle, rows, descriptor, {const_cast<number *>(values), type}, offsets, lengths, total,  \
                          real_part(tolerance));                                                                    \
    }                                                                                                               \
    SIM_API int cusparse##letter##csr2csr_compress(                                                                 \
        Handle *handle, int rows, int, const Legacy *descriptor, const number *values, const int *indices,          \
        const int *offsets, int, int *lengths, number *new_values, int *new_indices, int *new_offsets,              \
        passed tolerance) {                                                                                         \
        return compress(handle, rows, descriptor, {const_cast<number *>(values), type}, indices, offsets, lengths,  \
                        {new_values, type}, new_indices, new_offsets, real_part(tolerance));                        \
    }
SPARSE_TYPES(COMPRESS)
