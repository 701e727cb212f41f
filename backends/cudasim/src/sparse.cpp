// cuSPARSE: handles and descriptors.
#include "sparse.h"

using namespace sim::sparse;

// -- handles ---------------------------------------------------------------------------------------------------
SIM_API int cusparseCreate(Handle **handle) {
    *handle = new Handle;
    return SUCCESS;
}
SIM_API int cusparseDestroy(Handle *handle) {
    delete handle;
    return SUCCESS;
}
SIM_API int cusparseGetVersion(Handle *, int *version) {
    *version = 12510;
    return SUCCESS;
}
SIM_API int cusparseSetStream(Handle *handle, void *stream) {
    if (!handle)
        return NOT_INITIALIZED;
    handle->stream = stream;
    return SUCCESS;
}
SIM_API int cusparseGetStream(Handle *handle, void **stream) {
    if (!handle)
        return NOT_INITIALIZED;
    *stream = handle->stream;
    return SUCCESS;
}
SIM_API int cusparseSetPointerMode(Handle *handle, int mode) {
    if (!handle)
        return NOT_INITIALIZED;
    handle->device_scalars = mode == 1;
    return SUCCESS;
}

static const char *const STATUS_NAMES[] = {
    "CUSPARSE_STATUS_SUCCESS", "CUSPARSE_STATUS_NOT_INITIALIZED", "CUSPARSE_STATUS_ALLOC_FAILED",
    "CUSPARSE_STATUS_INVALID_VALUE", "CUSPARSE_STATUS_ARCH_MISMATCH", "CUSPARSE_STATUS_MAPPING_ERROR",
    "CUSPARSE_STATUS_EXECUTION_FAILED", "CUSPARSE_STATUS_INTERNAL_ERROR",
    "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED", "CUSPARSE_STATUS_ZERO_PIVOT", "CUSPARSE_STATUS_NOT_SUPPORTED",
    "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES"};
static const char *const STATUS_TEXTS[] = {
    "success", "initialization error", "out of memory", "invalid value", "architecture mismatch", "mapping error",
    "execution failed", "internal error", "matrix type not supported", "zero pivot", "operation not supported",
    "insufficient resources"};

SIM_API const char *cusparseGetErrorName(int status) {
    return status >= 0 && status < 12 ? STATUS_NAMES[status] : "unknown error";
}
SIM_API const char *cusparseGetErrorString(int status) {
    return status >= 0 && status < 12 ? STATUS_TEXTS[status] : "unknown error";
}

// -- descriptors -----------------------------------------------------------------------------------------------
SIM_API int cusparseCreateMatDescr(Legacy **descriptor) {
    *descriptor = new Legacy;
    return SUCCESS;
}
SIM_API int cusparseDestroyMatDescr(Legacy *descriptor) {
    delete descriptor;
    return SUCCESS;
}
SIM_API int cusparseSetMatIndexBase(Legacy *descriptor, int base) {
    descriptor->base = base;
    return SUCCESS;
}
SIM_API int cusparseSetMatType(Legacy *descriptor, int type) {
    descriptor->type = type;
    return SUCCESS;
}
SIM_API int cusparseSetMatFillMode(Legacy *descriptor, int fill) {
    descriptor->fill = fill;
    return SUCCESS;
}
SIM_API int cusparseSetMatDiagType(Legacy *descriptor, int diagonal) {
    descriptor->diagonal = diagonal;
    return SUCCESS;
}

static int created(SparseMatrix **matrix, SparseMatrix value) {
    if (!known(value.values.type)) {
        sim::unsupported("cuSPARSE with numbers that are neither half, single, double precision nor complex");
        return NOT_SUPPORTED;
    }
    *matrix = new SparseMatrix(value);
    return SUCCESS;
}
SIM_API int cusparseCreateCsr(SparseMatrix **matrix, int64_t rows, int64_t columns, int64_t count, void *offsets,
                              void *indices, void *values, int offset_type, int index_type, int base, int type) {
    return created(matrix, {CSR, rows, columns, count, {offsets, offset_type}, {indices, index_type}, {values, type},
                            base});
}
SIM_API int cusparseCreateCsc(SparseMatrix **matrix, int64_t rows, int64_t columns, int64_t count, void *offsets,
                              void *indices, void *values, int offset_type, int index_type, int base, int type) {
    return created(matrix, {CSC, rows, columns, count, {offsets, offset_type}, {indices, index_type}, {values, type},
                            base});
}
SIM_API int cusparseCreateCoo(SparseMatrix **matrix, int64_t rows, int64_t columns, int64_t count, void *row_indices,
                              void *column_indices, void *values, int index_type, int base, int type) {
    return created(matrix, {COO, rows, columns, count, {row_indices, index_type}, {column_indices, index_type},
                            {values, type}, base});
}
SIM_API int cusparseDestroySpMat(SparseMatrix *matrix) {
    delete matrix;
    return SUCCESS;
}
SIM_API int cusparseCsrSetPointers(SparseMatrix *matrix, void *offsets, void *indices, void *values) {
    matrix->offsets.data = offsets;
    matrix->indices.data = indices;
    matrix->values.data = values;
    return SUCCESS;
}
SIM_API int cusparseCscSetPointers(SparseMatrix *matrix, void *offsets, void *indices, void *values) {
    return cusparseCsrSetPointers(matrix, offsets, indices, values);
}
SIM_API int cusparseCooSetPointers(SparseMatrix *matrix, void *rows, void *columns, void *values) {
    return cusparseCsrSetPointers(matrix, rows, columns, values);
}
SIM_API int cusparseSpMatGetSize(SparseMatrix *matrix, int64_t *rows, int64_t *columns, int64_t *count) {
    *rows = matrix->rows;
    *columns = matrix->columns;
    *count = matrix->count;
    return SUCCESS;
}
SIM_API int cusparseCsrGet(SparseMatrix *matrix, int64_t *rows, int64_t *columns, int64_t *count, void **offsets,
                           void **indices, void **values, int *offset_type, int *index_type, int *base, int *type) {
    cusparseSpMatGetSize(matrix, rows, columns, count);
    *offsets = matrix->offsets.data;
    *indices = matrix->indices.data;
    *values = matrix->values.data;
    *offset_type = matrix->offsets.type;
    *index_type = matrix->indices.type;
    *base = matrix->base;
    *type = matrix->values.type;
    return SUCCESS;
}
SIM_API int cusparseCooGet(SparseMatrix *matrix, int64_t *rows, int64_t *columns, int64_t *count, void **row_indices,
                           void **column_indices, void **values, int *index_type, int *base, int *type) {
    int ignored;
    return cusparseCsrGet(matrix, rows, columns, count, row_indices, column_indices, values, &ignored, index_type,
                          base, type);
}
SIM_API int cusparseSpMatGetFormat(SparseMatrix *matrix, int *format) {
    *format = matrix->format;
    return SUCCESS;
}
SIM_API int cusparseSpMatGetIndexBase(SparseMatrix *matrix, int *base) {
    *base = matrix->base;
    return SUCCESS;
}
SIM_API int cusparseSpMatGetValues(SparseMatrix *matrix, void **values) {
    *values = matrix->values.data;
    return SUCCESS;
}
SIM_API int cusparseSpMatSetValues(SparseMatrix *matrix, void *values) {
    matrix->values.data = values;
    return SUCCESS;
}
SIM_API int cusparseSpMatGetStridedBatch(SparseMatrix *, int *count) {
    *count = 1;
    return SUCCESS;
}
SIM_API int cusparseSpMatSetAttribute(SparseMatrix *matrix, int attribute, const void *data, size_t) {
    (attribute == 0 ? matrix->upper : matrix->unit) = *static_cast<const int *>(data) == 1;
    return SUCCESS;
}

SIM_API int cusparseCreateSpVec(SparseVector **vector, int64_t size, int64_t count, void *indices, void *values,
                                int index_type, int base, int type) {
    *vector = new SparseVector{size, count, {indices, index_type}, {values, type}, base};
    return SUCCESS;
}
SIM_API int cusparseDestroySpVec(SparseVector *vector) {
    delete vector;
    return SUCCESS;
}
SIM_API int cusparseSpVecGet(SparseVector *vector, int64_t *size, int64_t *count, void **indices, void **values,
                             int *index_type, int *base, int *type) {
    *size = vector->size;
    *count = vector->count;
    *indices = vector->indices.data;
    *values = vector->values.data;
    *index_type = vector->indices.type;
    *base = vector->base;
    *type = vector->values.type;
    return SUCCESS;
}
SIM_API int cusparseSpVecGetIndexBase(SparseVector *vector, int *base) {
    *base = vector->base;
    return SUCCESS;
}
SIM_API int cusparseSpVecGetValues(SparseVector *vector, void **values) {
    *values = vector->values.data;
    return SUCCESS;
}
SIM_API int cusparseSpVecSetValues(SparseVector *vector, void *values) {
    vector->values.data = values;
    return SUCCESS;
}

SIM_API int cusparseCreateDnVec(DenseVector **vector, int64_t size, void *values, int type) {
    *vector = new DenseVector{size, {values, type}};
    return SUCCESS;
}
SIM_API int cusparseDestroyDnVec(DenseVector *vector) {
    delete vector;
    return SUCCESS;
}
SIM_API int cusparseDnVecGet(DenseVector *vector, int64_t *size, void **values, int *type) {
    *size = vector->size;
    *values = vector->values.data;
    *type = vector->values.type;
    return SUCCESS;
}
SIM_API int cusparseDnVecGetValues(DenseVector *vector, void **values) {
    *values = vector->values.data;
    return SUCCESS;
}
SIM_API int cusparseDnVecSetValues(DenseVector *vector, void *values) {
    vector->values.data = values;
    return SUCCESS;
}

SIM_API int cusparseCreateDnMat(DenseMatrix **matrix, int64_t rows, int64_t columns, int64_t leading, void *values,
                                int type, int order) {
    *matrix = new DenseMatrix{rows, columns, leading, {values, type}, order == 2};
    return SUCCESS;
}
SIM_API int cusparseDestroyDnMat(DenseMatrix *matrix) {
    delete matrix;
    return SUCCESS;
}
SIM_API int cusparseDnMatGet(DenseMatrix *matrix, int64_t *rows, int64_t *columns, int64_t *leading, void **values,
                             int *type, int *order) {
    *rows = matrix->rows;
    *columns = matrix->columns;
    *leading = matrix->leading;
    *values = matrix->values.data;
    *type = matrix->values.type;
    *order = matrix->by_rows ? 2 : 1;
    return SUCCESS;
}
SIM_API int cusparseDnMatGetValues(DenseMatrix *matrix, void **values) {
    *values = matrix->values.data;
    return SUCCESS;
}
SIM_API int cusparseDnMatSetValues(DenseMatrix *matrix, void *values) {
    matrix->values.data = values;
    return SUCCESS;
}
SIM_API int cusparseDnMatGetStridedBatch(DenseMatrix *matrix, int *count, int64_t *stride) {
    *count = matrix->batch;
    *stride = matrix->batch_stride;
    return SUCCESS;
}
SIM_API int cusparseDnMatSetStridedBatch(DenseMatrix *matrix, int count, int64_t stride) {
    matrix->batch = count;
    matrix->batch_stride = stride;
    return SUCCESS;
}
