// cuSPARSE: products with sparse matrices, sums of them, and triangular systems.
#include <algorithm>

#include "sparse.h"

using namespace sim::sparse;

namespace {

constexpr size_t WORK_AREA = 8;  // not zero: CuPy would pass a null pointer, which asks for the size again

// Entries by row of a matrix after an operation.
struct Entry {
    int64_t column;
    Number value;
};
std::vector<std::vector<Entry>> rows_of(const SparseMatrix &a, Operation operation) {
    std::vector<std::vector<Entry>> rows(size_t(operation == NONE ? a.rows : a.columns));
    a.each([&](int64_t row, int64_t column, int64_t i) {
        if (operation != NONE)
            std::swap(row, column);
        rows[size_t(row)].push_back({column, applied(operation, a.values[i])});
    });
    return rows;
}

// What is stored in place of `old` values: they are not read where the factor is zero, because they may be garbage.
void accumulate(const Numbers &values, int64_t place, Number alpha, Number sum, Number beta) {
    values.set(place, alpha * sum + (beta == 0.0 ? Number(0) : beta * values[place]));
}

}  // namespace

// -- sparse by dense -------------------------------------------------------------------------------------------
SIM_API int cusparseSpMV_bufferSize(Handle *, int, void *, SparseMatrix *, DenseVector *, void *, DenseVector *, int,
                                    int, size_t *size) {
    *size = WORK_AREA;
    return SUCCESS;
}
SIM_API int cusparseSpMV(Handle *handle, int operation, void *alpha, SparseMatrix *matrix, DenseVector *x, void *beta,
                         DenseVector *y, int type, int, void *) {
    const sim::Lock lock;
    if (!known(type))
        return NOT_SUPPORTED;
    const auto op = Operation(operation);
    if (x->size != (op == NONE ? matrix->columns : matrix->rows) ||
        y->size != (op == NONE ? matrix->rows : matrix->columns))
        return INVALID_VALUE;
    const Scalar a(handle, alpha, type), b(handle, beta, type);
    return submitted(handle, "cusparseSpMV", [=, m = *matrix, from = *x, to = *y] {
        std::vector<Number> sums(size_t(to.size), 0);
        m.each([&](int64_t row, int64_t column, int64_t i) {
            if (op != NONE)
                std::swap(row, column);
            sums[size_t(row)] += applied(op, m.values[i]) * from.values[column];
        });
        for (int64_t i = 0; i < to.size; ++i)
            accumulate(to.values, i, a.value(), sums[size_t(i)], b.value());
        return sim::OK;
    });
}

SIM_API int cusparseSpMM_bufferSize(Handle *, int, int, void *, SparseMatrix *, DenseMatrix *, void *, DenseMatrix *,
                                    int, int, size_t *size) {
    *size = WORK_AREA;
    return SUCCESS;
}
SIM_API int cusparseSpMM(Handle *handle, int operation_a, int operation_b, void *alpha, SparseMatrix *a,
                         DenseMatrix *b, void *beta, DenseMatrix *c, int type, int, void *) {
    const sim::Lock lock;
    if (!known(type))
        return NOT_SUPPORTED;
    const auto op_a = Operation(operation_a), op_b = Operation(operation_b);
    const int64_t inner = op_a == NONE ? a->columns : a->rows, rows = op_a == NONE ? a->rows : a->columns;
    if ((op_b == NONE ? b->rows : b->columns) != inner || (op_b == NONE ? b->columns : b->rows) != c->columns ||
        c->rows != rows)
        return INVALID_VALUE;
    const Scalar factor(handle, alpha, type), old(handle, beta, type);
    return submitted(handle, "cusparseSpMM", [=, a = *a, b = *b, c = *c] {
        const auto lines = rows_of(a, op_a);
        for (int item = 0; item < c.batch; ++item)
            for (int64_t row = 0; row < c.rows; ++row)
                for (int64_t column = 0; column < c.columns; ++column) {
                    Number sum = 0;
                    for (const Entry &entry : lines[size_t(row)]) {
                        const int64_t place = op_b == NONE ? b.place(entry.column, column, item)
                                                           : b.place(column, entry.column, item);
                        sum += entry.value * applied(op_b, b.values[place]);
                    }
                    accumulate(c.values, c.place(row, column, item), factor.value(), sum, old.value());
                }
        return sim::OK;
    });
}

SIM_API int cusparseSpVV_bufferSize(Handle *, int, SparseVector *, DenseVector *, void *, int, size_t *size) {
    *size = WORK_AREA;
    return SUCCESS;
}
SIM_API int cusparseSpVV(Handle *handle, int operation, SparseVector *x, DenseVector *y, void *result, int type,
                         void *) {
    const sim::Lock lock;
    auto work = [=, x = *x, y = *y] {
        Number sum = 0;
        for (int64_t i = 0; i < x.count; ++i)
            sum += applied(Operation(operation), x.values[i]) * y.values[x.indices[i] - x.base];
        Numbers{result, type}.set(0, sum);
        return sim::OK;
    };
    return handle->device_scalars ? submitted(handle, "cusparseSpVV", work)
                                  : submitted_and_waited(handle, "cusparseSpVV", work);
}

SIM_API int cusparseGather(Handle *handle, DenseVector *from, SparseVector *to) {
    const sim::Lock lock;
    return submitted(handle, "cusparseGather", [from = *from, to = *to] {
        for (int64_t i = 0; i < to.count; ++i)
            to.values.set(i, from.values[to.indices[i] - to.base]);
        return sim::OK;
    });
}

// -- sparse by sparse ------------------------------------------------------------------------------------------
namespace {
struct Product {
    std::vector<std::vector<Entry>> rows;
};
}  // namespace

SIM_API int cusparseSpGEMM_createDescr(Product **product) {
    *product = new Product;
    return SUCCESS;
}
SIM_API int cusparseSpGEMM_destroyDescr(Product *product) {
    delete product;
    return SUCCESS;
}
SIM_API int cusparseSpGEMM_workEstimation(Handle *, int, int, const void *, SparseMatrix *, SparseMatrix *,
                                          const void *, SparseMatrix *, int, int, Product *, size_t *size, void *) {
    *size = WORK_AREA;
    return SUCCESS;
}
// The number of entries is needed by the host, so this waits; the product stays on the host until it is copied.
SIM_API int cusparseSpGEMM_compute(Handle *handle, int operation_a, int operation_b, const void *alpha,
                                   SparseMatrix *a, SparseMatrix *b, const void *beta, SparseMatrix *c, int type, int,
                                   Product *product, size_t *size, void *area) {
    const sim::Lock lock;
    if (!area) {
        *size = WORK_AREA;
        return SUCCESS;
    }
    const Scalar factor(handle, alpha, type), old(handle, beta, type);
    if (!known(type) || a->format != CSR || b->format != CSR || c->format != CSR || old.on_device || old.host != 0.0) {
        sim::unsupported("cusparseSpGEMM except for CSR matrices, scalars on the host and beta zero");
        return NOT_SUPPORTED;
    }
    const int status = submitted_and_waited(handle, "cusparseSpGEMM_compute", [=] {
        const auto left = rows_of(*a, Operation(operation_a)), right = rows_of(*b, Operation(operation_b));
        product->rows.assign(left.size(), {});
        std::vector<Number> sums(size_t(c->columns), 0);
        std::vector<char> used(size_t(c->columns), 0);
        for (size_t row = 0; row < left.size(); ++row) {
            std::vector<int64_t> columns;
            for (const Entry &outer : left[row])
                for (const Entry &inner : right[size_t(outer.column)]) {
                    const auto column = size_t(inner.column);
                    if (!used[column]) {
                        used[column] = 1;
                        columns.push_back(inner.column);
                    }
                    sums[column] += outer.value * inner.value;
                }
            std::sort(columns.begin(), columns.end());
            for (const int64_t column : columns) {
                product->rows[row].push_back({column, factor.host * sums[size_t(column)]});
                sums[size_t(column)] = 0;
                used[size_t(column)] = 0;
            }
        }
        return sim::OK;
    });
    c->count = 0;
    for (const auto &row : product->rows)
        c->count += int64_t(row.size());
    return status;
}
SIM_API int cusparseSpGEMM_copy(Handle *handle, int, int, const void *, SparseMatrix *, SparseMatrix *, const void *,
                                SparseMatrix *c, int, int, Product *product) {
    const sim::Lock lock;
    return submitted(handle, "cusparseSpGEMM_copy", [c = *c, product = *product] {
        int64_t place = 0;
        c.offsets.set(0, c.base);
        for (size_t row = 0; row < product.rows.size(); ++row) {
            for (const Entry &entry : product.rows[row]) {
                c.indices.set(place, entry.column + c.base);
                c.values.set(place++, entry.value);
            }
            c.offsets.set(int64_t(row) + 1, place + c.base);
        }
        return sim::OK;
    });
}

// -- sums ------------------------------------------------------------------------------------------------------
// Walk through two sorted rows at once: use(column, place in a or -1, place in b or -1).
template <typename Use>
static void merge_rows(int row, const int *a_offsets, const int *a_columns, int a_base, const int *b_offsets,
                       const int *b_columns, int b_base, Use &&use) {
    int i = a_offsets[row] - a_base, j = b_offsets[row] - b_base;
    const int a_end = a_offsets[row + 1] - a_base, b_end = b_offsets[row + 1] - b_base;
    while (i < a_end || j < b_end) {
        const int p = i < a_end ? a_columns[i] - a_base : INT32_MAX, q = j < b_end ? b_columns[j] - b_base : INT32_MAX;
        use(std::min(p, q), p <= q ? i : -1, q <= p ? j : -1);
        i += p <= q;
        j += q <= p;
    }
}

SIM_API int cusparseXcsrgeam2Nnz(Handle *handle, int rows, int, const Legacy *a, int, const int *a_offsets,
                                 const int *a_columns, const Legacy *b, int, const int *b_offsets,
                                 const int *b_columns, const Legacy *c, int *offsets, int *total, void *) {
    const sim::Lock lock;
    auto work = [=, a_base = a->base, b_base = b->base, base = c->base] {
        int count = 0;
        offsets[0] = base;
        for (int row = 0; row < rows; ++row) {
            merge_rows(row, a_offsets, a_columns, a_base, b_offsets, b_columns, b_base,
                       [&](int, int, int) { ++count; });
            offsets[row + 1] = count + base;
        }
        *total = count;
        return sim::OK;
    };
    return handle->device_scalars ? submitted(handle, "cusparseXcsrgeam2Nnz", work)
                                  : submitted_and_waited(handle, "cusparseXcsrgeam2Nnz", work);
}

static int add(Handle *handle, int rows, int type, const void *alpha, const Legacy *a, const void *a_values,
               const int *a_offsets, const int *a_columns, const void *beta, const Legacy *b, const void *b_values,
               const int *b_offsets, const int *b_columns, const Legacy *c, void *values, int *offsets, int *columns) {
    const sim::Lock lock;
    const Scalar p(handle, alpha, type), q(handle, beta, type);
    const Numbers left{const_cast<void *>(a_values), type}, right{const_cast<void *>(b_values), type};
    return submitted(handle, "cusparse_csrgeam2", [=, a_base = a->base, b_base = b->base, base = c->base] {
        int place = 0;
        for (int row = 0; row < rows; ++row) {
            offsets[row] = place + base;
            merge_rows(row, a_offsets, a_columns, a_base, b_offsets, b_columns, b_base, [&](int column, int i, int j) {
                columns[place] = column + base;
                Numbers{values, type}.set(place++, (i < 0 ? Number(0) : p.value() * left[i]) +
                                                       (j < 0 ? Number(0) : q.value() * right[j]));
            });
        }
        offsets[rows] = place + base;
        return sim::OK;
    });
}

#define ADD(letter, number, passed, type)                                                                            \
    SIM_API int cusparse##letter##csrgeam2_bufferSizeExt(                                                            \
        Handle *, int, int, const void *, const Legacy *, int, const void *, const int *, const int *, const void *, \
        const Legacy *, int, const void *, const int *, const int *, const Legacy *, const void *, const int *,      \
        const int *, size_t *size) {                                                                                 \
        *size = WORK_AREA;                                                                                           \
        return SUCCESS;                                                                                              \
    }                                                                                                                \
    SIM_API int cusparse##letter##csrgeam2(                                                                          \
        Handle *handle, int rows, int, const void *alpha, const Legacy *a, int, const void *a_values,                \
        const int *a_offsets, const int *a_columns, const void *beta, const Legacy *b, int, const void *b_values,    \
        const int *b_offsets, const int *b_columns, const Legacy *c, void *values, int *offsets, int *columns,       \
        void *) {                                                                                                    \
        return add(handle, rows, type, alpha, a, a_values, a_offsets, a_columns, beta, b, b_values, b_offsets,       \
                   b_columns, c, values, offsets, columns);                                                          \
    }
SPARSE_TYPES(ADD)

// -- triangular systems ----------------------------------------------------------------------------------------
SIM_API int cusparseSpSM_createDescr(void **descriptor) {
    *descriptor = new char;
    return SUCCESS;
}
SIM_API int cusparseSpSM_destroyDescr(void *descriptor) {
    delete static_cast<char *>(descriptor);
    return SUCCESS;
}
SIM_API int cusparseSpSM_bufferSize(Handle *, int, int, const void *, SparseMatrix *, DenseMatrix *, DenseMatrix *,
                                    int, int, void *, size_t *size) {
    *size = WORK_AREA;
    return SUCCESS;
}
SIM_API int cusparseSpSM_analysis(Handle *, int, int, const void *, SparseMatrix *, DenseMatrix *, DenseMatrix *, int,
                                  int, void *, void *) {
    return SUCCESS;
}
// Solve op(a) c = alpha op(b): entries outside of the chosen triangle don't count.
SIM_API int cusparseSpSM_solve(Handle *handle, int operation_a, int operation_b, const void *alpha, SparseMatrix *a,
                               DenseMatrix *b, DenseMatrix *c, int type, int, void *) {
    const sim::Lock lock;
    if (!known(type))
        return NOT_SUPPORTED;
    const auto op_a = Operation(operation_a), op_b = Operation(operation_b);
    const Scalar factor(handle, alpha, type);
    return submitted(handle, "cusparseSpSM_solve", [=, a = *a, b = *b, c = *c] {
        const auto lines = rows_of(a, op_a);
        const bool upper = a.upper != (op_a != NONE);
        for (int64_t column = 0; column < c.columns; ++column)
            for (int64_t step = 0; step < c.rows; ++step) {
                const int64_t row = upper ? c.rows - 1 - step : step;
                Number diagonal = a.unit ? 1 : 0;
                Number sum = factor.value() *
                             applied(op_b, b.values[op_b == NONE ? b.place(row, column) : b.place(column, row)]);
                for (const Entry &entry : lines[size_t(row)])
                    if (upper ? entry.column > row : entry.column < row)
                        sum -= entry.value * c.values[c.place(entry.column, column)];
                    else if (entry.column == row && !a.unit)
                        diagonal = entry.value;
                c.values.set(c.place(row, column), sum / diagonal);
            }
        return sim::OK;
    });
}
