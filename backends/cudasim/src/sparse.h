// What the parts of cuSPARSE share: handles, descriptors of matrices, and access to numbers and indices of any type.
#pragma once
#include <complex>
#include <cstdint>
#include <vector>

#include "half.h"
#include "hooks.h"

namespace sim::sparse {

using Number = std::complex<double>;  // everything is computed in this type

enum Status { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 3, EXECUTION_FAILED = 6, ZERO_PIVOT = 9,
              NOT_SUPPORTED = 10 };
enum Format { CSR = 1, CSC = 2, COO = 3 };
enum Operation { NONE = 0, TRANSPOSE = 1, CONJUGATE = 2 };

struct Handle {
    void *stream = nullptr;
    bool device_scalars = false;
};
struct Legacy {  // the old kind of descriptor
    int type = 0, fill = 0, diagonal = 0, base = 0;
};

// Numbers of a cudaDataType: real 0 (float), 1 (double), 2 (half); complex the same plus 4.
inline bool known(int type) { return type >= 0 && type <= 6 && type != 3; }

struct Numbers {
    void *data = nullptr;
    int type = 0;

    Number operator[](int64_t i) const {
        switch (type) {
        case 0: return static_cast<const float *>(data)[i];
        case 1: return static_cast<const double *>(data)[i];
        case 2: return half_to_float(static_cast<const uint16_t *>(data)[i]);
        case 4: return static_cast<const std::complex<float> *>(data)[i];
        case 5: return static_cast<const std::complex<double> *>(data)[i];
        default: {
            const auto *halves = static_cast<const uint16_t *>(data) + 2 * i;
            return {half_to_float(halves[0]), half_to_float(halves[1])};
        }
        }
    }
    void set(int64_t i, Number value) const {
        switch (type) {
        case 0: static_cast<float *>(data)[i] = float(value.real()); break;
        case 1: static_cast<double *>(data)[i] = value.real(); break;
        case 2: static_cast<uint16_t *>(data)[i] = half_from_double(value.real()); break;
        case 4: static_cast<std::complex<float> *>(data)[i] = std::complex<float>(value); break;
        case 5: static_cast<std::complex<double> *>(data)[i] = value; break;
        default: {
            auto *halves = static_cast<uint16_t *>(data) + 2 * i;
            halves[0] = half_from_double(value.real());
            halves[1] = half_from_double(value.imag());
        }
        }
    }
};

// Indices of a cusparseIndexType: 1 (16 bits without sign), 2 (32 bits), 3 (64 bits).
struct Indices {
    void *data = nullptr;
    int type = 2;

    int64_t operator[](int64_t i) const {
        return type == 2   ? static_cast<const int32_t *>(data)[i]
               : type == 3 ? static_cast<const int64_t *>(data)[i]
                           : static_cast<const uint16_t *>(data)[i];
    }
    void set(int64_t i, int64_t value) const {
        if (type == 2)
            static_cast<int32_t *>(data)[i] = int32_t(value);
        else if (type == 3)
            static_cast<int64_t *>(data)[i] = value;
        else
            static_cast<uint16_t *>(data)[i] = uint16_t(value);
    }
};

struct SparseVector {
    int64_t size, count;
    Indices indices;
    Numbers values;
    int base;
};
struct DenseVector {
    int64_t size;
    Numbers values;
};
struct DenseMatrix {
    int64_t rows, columns, leading;
    Numbers values;
    bool by_rows;
    int batch = 1;
    int64_t batch_stride = 0;

    int64_t place(int64_t row, int64_t column, int item = 0) const {
        return item * batch_stride + (by_rows ? row * leading + column : column * leading + row);
    }
};
struct SparseMatrix {
    Format format;
    int64_t rows, columns, count;
    Indices offsets, indices;  // CSR, CSC: where each row (column) begins, and the other index; COO: row and column
    Numbers values;
    int base;
    bool upper = false, unit = false;

    // Call use(row, column, place of the value) for every entry.
    template <typename Use>
    void each(Use &&use) const {
        if (format == COO) {
            for (int64_t i = 0; i < count; ++i)
                use(offsets[i] - base, indices[i] - base, i);
            return;
        }
        const int64_t major = format == CSR ? rows : columns;
        for (int64_t line = 0; line < major; ++line)
            for (int64_t i = offsets[line] - base; i < offsets[line + 1] - base; ++i)
                format == CSR ? use(line, indices[i] - base, i) : use(indices[i] - base, line, i);
    }
};

// A factor such as alpha: on the host it is read by the call, on the device when the work runs.
struct Scalar {
    Numbers device;
    Number host = 0;
    bool on_device;
    Scalar(const Handle *handle, const void *address, int type)
        : device{const_cast<void *>(address), type}, on_device(handle->device_scalars) {
        if (!on_device)
            host = device[0];
    }
    Number value() const { return on_device ? device[0] : host; }
};

inline Number applied(Operation operation, Number value) { return operation == CONJUGATE ? std::conj(value) : value; }

inline int submitted(const Handle *handle, const char *name, Work work) {
    return submit_counted(handle->stream, name, std::move(work)) == OK ? SUCCESS : EXECUTION_FAILED;
}

// For calls whose results the host reads.
inline int submitted_and_waited(const Handle *handle, const char *name, Work work) {
    const int status = submitted(handle, name, std::move(work));
    return status != SUCCESS ? status : synchronise(handle->stream) == OK ? SUCCESS : EXECUTION_FAILED;
}

}  // namespace sim::sparse

// The functions that exist for each of the four types of numbers.
#define SPARSE_TYPES(define)            \
    define(S, float, float, 0)          \
    define(D, double, double, 1)        \
    define(C, std::complex<float>, sim::Pair<float>, 4) \
    define(Z, std::complex<double>, sim::Pair<double>, 5)
