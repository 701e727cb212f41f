// cuBLAS: batched LU, and the extensions that BLAS doesn't have (geam, dgmm, packed triangles).
#include "lapack.h"

using namespace sim;
using namespace sim::host;

namespace {

template <class T>
int getrf_batched(void *handle, const char *name, int n, T *const *a, int lda, int *pivots, int *info, int batch) {
    Context *known = context(handle);
    if (!known) return blas_status.not_initialised;
    if (n < 0 || batch < 0 || lda < std::max(1, n)) return refuse(known, name, "invalid size or leading dimension");
    return enqueue(known, name, [=] {
        need_array(a, batch), need_array(info, batch);
        if (pivots) need_array(pivots, Int(n) * batch);
        for (int i = 0; i < batch; ++i) {
            need_matrix(a[i], n, n, lda);
            info[i] = lu<T>(n, n, a[i], lda, pivots ? pivots + Int(i) * n : nullptr);
        }
    });
}

template <class T>
int getrs_batched(void *handle, const char *name, int trans, int n, int count, const T *const *a, int lda,
                  const int *pivots, T *const *b, int ldb, int *info, int batch) {
    Context *known = context(handle);
    if (!known) return blas_status.not_initialised;
    int wrong = trans < 0 || trans > 2 ? -1 : n < 0 ? -2 : count < 0 ? -3 : lda < std::max(1, n) ? -5
                : ldb < std::max(1, n) ? -8 : batch < 0 ? -10 : 0;
    if (info) *info = wrong;  // in host memory: about the arguments only
    if (wrong) return refuse(known, name, "invalid operation, size or leading dimension");
    return enqueue(known, name, [=] {
        need_array(a, batch), need_array(b, batch);
        if (pivots) need_array(pivots, Int(n) * batch);
        for (int i = 0; i < batch; ++i) {
            need_matrix(a[i], n, n, lda), need_matrix(b[i], n, count, ldb);
            lu_solve<T>(operation(trans), n, count, a[i], lda, pivots ? pivots + Int(i) * n : nullptr, b[i], ldb);
        }
    });
}

template <class T>
int getri_batched(void *handle, const char *name, int n, const T *const *a, int lda, const int *pivots, T *const *c,
                  int ldc, int *info, int batch) {
    Context *known = context(handle);
    if (!known) return blas_status.not_initialised;
    if (n < 0 || batch < 0 || lda < std::max(1, n) || ldc < std::max(1, n))
        return refuse(known, name, "invalid size or leading dimension");
    return enqueue(known, name, [=] {
        need_array(a, batch), need_array(c, batch), need_array(info, batch);
        if (pivots) need_array(pivots, Int(n) * batch);
        for (int i = 0; i < batch; ++i) {
            need_matrix(a[i], n, n, lda), need_matrix(c[i], n, n, ldc);
            for (Int j = 0; j < n; ++j) std::copy_n(a[i] + j * lda, n, c[i] + j * ldc);
            Pivots given(n, pivots ? pivots + Int(i) * n : nullptr);
            info[i] = lapack_with_work<T>("getri", n, c[i], ldc, given.data());
        }
    });
}

// C = alpha op(A) + beta op(B); a matrix whose factor is 0 isn't read.
template <class T>
int geam(void *handle, const char *name, int transa, int transb, int m, int n, const T *alpha, const T *a, int lda,
         const T *beta, const T *b, int ldb, T *c, int ldc) {
    Context *known = context(handle);
    if (!known) return blas_status.not_initialised;
    if (transa < 0 || transa > 2 || transb < 0 || transb > 2 || m < 0 || n < 0)
        return refuse(known, name, "invalid operation or size");
    if (lda < std::max(1, transa ? n : m) || ldb < std::max(1, transb ? n : m) || ldc < std::max(1, m))
        return refuse(known, name, "a leading dimension is too small");
    if ((a == c && (transa || lda != ldc)) || (b == c && (transb || ldb != ldc)))
        return refuse(known, name, "in place, a matrix can neither be transposed nor change its leading dimension");
    Scalar<T> scale_a(known, alpha), scale_b(known, beta);
    return enqueue(known, name, [=] {
        T factor_a = scale_a.get(), factor_b = scale_b.get();
        if (factor_a != T(0)) need_matrix(a, transa ? n : m, transa ? m : n, lda);
        if (factor_b != T(0)) need_matrix(b, transb ? n : m, transb ? m : n, ldb);
        need_matrix(c, m, n, ldc);
        auto element = [](int trans, const T *from, Int leading, Int i, Int j) {
            T value = trans ? from[j + i * leading] : from[i + j * leading];
            return trans == 2 ? conjugate(value) : value;
        };
        for (Int j = 0; j < n; ++j)
            for (Int i = 0; i < m; ++i) {
                T sum = 0;
                if (factor_a != T(0)) sum += factor_a * element(transa, a, lda, i, j);
                if (factor_b != T(0)) sum += factor_b * element(transb, b, ldb, i, j);
                c[i + j * ldc] = sum;
            }
    });
}

// C = diag(x) A (side 0) or A diag(x) (side 1).
template <class T>
int dgmm(void *handle, const char *name, int side, int m, int n, const T *a, int lda, const T *x, int step, T *c,
         int ldc) {
    Context *known = context(handle);
    if (!known) return blas_status.not_initialised;
    if (side < 0 || side > 1 || m < 0 || n < 0 || lda < std::max(1, m) || ldc < std::max(1, m))
        return refuse(known, name, "invalid side, size or leading dimension");
    return enqueue(known, name, [=] {
        Int count = side ? n : m;
        if (!m || !n) return;
        need_matrix(a, m, n, lda), need_matrix(c, m, n, ldc), need_vector(x, count, step);
        const T *start = first(x, count, step);
        for (Int j = 0; j < n; ++j)
            for (Int i = 0; i < m; ++i) c[i + j * ldc] = a[i + j * lda] * start[(side ? j : i) * step];
    });
}

// Calls visit(packed index, matrix index) for each element of a triangle, column by column.
template <class Visit> void walk_triangle(int uplo, Int n, Int lda, Visit visit) {
    Int packed = 0;
    for (Int j = 0; j < n; ++j)
        for (Int i = uplo ? 0 : j; i < (uplo ? j + 1 : n); ++i) visit(packed++, i + j * lda);
}

template <class T> int tpttr(void *handle, const char *name, int uplo, int n, const T *packed, T *a, int lda) {
    Context *known = context(handle);
    if (!known) return blas_status.not_initialised;
    if (uplo < 0 || uplo > 1 || n < 0 || lda < std::max(1, n))
        return refuse(known, name, "invalid triangle, size or leading dimension");
    return enqueue(known, name, [=] {
        need_array(packed, Int(n) * (n + 1) / 2), need_matrix(a, n, n, lda);
        walk_triangle(uplo, n, lda, [=](Int from, Int to) { a[to] = packed[from]; });
    });
}

template <class T> int trttp(void *handle, const char *name, int uplo, int n, const T *a, int lda, T *packed) {
    Context *known = context(handle);
    if (!known) return blas_status.not_initialised;
    if (uplo < 0 || uplo > 1 || n < 0 || lda < std::max(1, n))
        return refuse(known, name, "invalid triangle, size or leading dimension");
    return enqueue(known, name, [=] {
        need_array(packed, Int(n) * (n + 1) / 2), need_matrix(a, n, n, lda);
        walk_triangle(uplo, n, lda, [=](Int to, Int from) { packed[to] = a[from]; });
    });
}

}  // namespace

// -- the exported names ---------------------------------------------------------------------------------------------
#define SIM_BATCHED(L, T)                                                                                              \
    SIM_API int cublas##L##getrfBatched(void *handle, int n, T *const *a, int lda, int *pivots, int *info,             \
                                        int batch) {                                                                   \
        return getrf_batched(handle, __func__, n, a, lda, pivots, info, batch);                                        \
    }                                                                                                                  \
    SIM_API int cublas##L##getrsBatched(void *handle, int trans, int n, int count, const T *const *a, int lda,         \
                                        const int *pivots, T *const *b, int ldb, int *info, int batch) {               \
        return getrs_batched(handle, __func__, trans, n, count, a, lda, pivots, b, ldb, info, batch);                  \
    }                                                                                                                  \
    SIM_API int cublas##L##getriBatched(void *handle, int n, const T *const *a, int lda, const int *pivots,            \
                                        T *const *c, int ldc, int *info, int batch) {                                  \
        return getri_batched(handle, __func__, n, a, lda, pivots, c, ldc, info, batch);                                \
    }                                                                                                                  \
    SIM_API int cublas##L##geam(void *handle, int transa, int transb, int m, int n, const T *alpha, const T *a,        \
                                int lda, const T *beta, const T *b, int ldb, T *c, int ldc) {                          \
        return geam(handle, __func__, transa, transb, m, n, alpha, a, lda, beta, b, ldb, c, ldc);                      \
    }                                                                                                                  \
    SIM_API int cublas##L##dgmm(void *handle, int side, int m, int n, const T *a, int lda, const T *x, int step,       \
                                T *c, int ldc) {                                                                       \
        return dgmm(handle, __func__, side, m, n, a, lda, x, step, c, ldc);                                            \
    }                                                                                                                  \
    SIM_API int cublas##L##tpttr(void *handle, int uplo, int n, const T *packed, T *a, int lda) {                      \
        return tpttr(handle, __func__, uplo, n, packed, a, lda);                                                       \
    }                                                                                                                  \
    SIM_API int cublas##L##trttp(void *handle, int uplo, int n, const T *a, int lda, T *packed) {                      \
        return trttp(handle, __func__, uplo, n, a, lda, packed);                                                       \
    }
SIM_FOR_ALL(SIM_BATCHED)
