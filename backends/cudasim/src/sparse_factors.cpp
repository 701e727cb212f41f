// cuSPARSE: incomplete factorisation into triangles, without any new entries.
#include <memory>

#include "sparse.h"

using namespace sim::sparse;

namespace {

struct State {
    int missing = -1;  // the first row without an entry on the diagonal, or with a zero there
};
using Factorisation = std::shared_ptr<State>;  // work that is waiting holds it too

// The place of an entry of a row, or -1.
int place_of(const int *offsets, const int *columns, int base, int row, int column) {
    for (int i = offsets[row] - base; i < offsets[row + 1] - base; ++i)
        if (columns[i] - base == column)
            return i;
    return -1;
}

int analyse(Handle *handle, int rows, const Legacy *descriptor, const int *offsets, const int *columns,
            const Factorisation &factorisation) {
    const sim::Lock lock;
    return submitted(handle, "cusparse_csrilu02_analysis", [=, base = descriptor->base] {
        factorisation->missing = -1;
        for (int row = 0; row < rows && factorisation->missing < 0; ++row)
            if (place_of(offsets, columns, base, row, row) < 0)
                factorisation->missing = row + base;
        return sim::OK;
    });
}

int factorise(Handle *handle, int rows, const Legacy *descriptor, Numbers values, const int *offsets,
              const int *columns, const Factorisation &factorisation) {
    const sim::Lock lock;
    return submitted(handle, "cusparse_csrilu02", [=, base = descriptor->base] {
        for (int row = 0; row < rows; ++row) {
            const int end = offsets[row + 1] - base;
            for (int i = offsets[row] - base; i < end && columns[i] - base < row; ++i) {
                const int above = columns[i] - base, pivot = place_of(offsets, columns, base, above, above);
                const Number factor = values[i] / (pivot < 0 ? Number(1) : values[pivot]);
                values.set(i, factor);
                for (int j = i + 1; j < end; ++j) {
                    const int other = place_of(offsets, columns, base, above, columns[j] - base);
                    if (other >= 0)
                        values.set(j, values[j] - factor * values[other]);
                }
            }
            const int diagonal = place_of(offsets, columns, base, row, row);
            if (factorisation->missing < 0 && (diagonal < 0 || values[diagonal] == 0.0))
                factorisation->missing = row + base;
        }
        return sim::OK;
    });
}

}  // namespace

SIM_API int cusparseCreateCsrilu02Info(Factorisation **factorisation) {
    *factorisation = new Factorisation(new State);
    return SUCCESS;
}
SIM_API int cusparseDestroyCsrilu02Info(Factorisation *factorisation) {
    delete factorisation;
    return SUCCESS;
}
SIM_API int cusparseXcsrilu02_zeroPivot(Handle *handle, Factorisation *factorisation, int *position) {
    const sim::Lock lock;
    sim::synchronise(handle->stream);
    *position = (*factorisation)->missing;
    return *position < 0 ? SUCCESS : ZERO_PIVOT;
}

#define FACTORISE(letter, number, passed, type)                                                                      \
    SIM_API int cusparse##letter##csrilu02_bufferSize(Handle *, int, int, const Legacy *, number *, const int *,     \
                                                      const int *, Factorisation *, int *size) {                     \
        *size = 8;                                                                                                   \
        return SUCCESS;                                                                                              \
    }                                                                                                                \
    SIM_API int cusparse##letter##csrilu02_analysis(Handle *handle, int rows, int, const Legacy *descriptor,         \
                                                    const number *, const int *offsets, const int *columns,          \
                                                    Factorisation *factorisation, int, void *) {                     \
        return analyse(handle, rows, descriptor, offsets, columns, *factorisation);                                  \
    }                                                                                                                \
    SIM_API int cusparse##letter##csrilu02(Handle *handle, int rows, int, const Legacy *descriptor, number *values,  \
                                           const int *offsets, const int *columns, Factorisation *factorisation,     \
                                           int, void *) {                                                            \
        return factorise(handle, rows, descriptor, {values, type}, offsets, columns, *factorisation);                \
    }
SPARSE_TYPES(FACTORISE)
