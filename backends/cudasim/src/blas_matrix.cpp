// cuBLAS: levels 2 and 3 (matrices) for the four types that the host's BLAS knows.
#include "lapack.h"

using namespace sim;
using namespace sim::host;

namespace {

// With beta == 0 the old values must not be read (they may be NaN); not all versions of OpenBLAS keep to that.
template <class T> void clear_vector(Int count, T *y, Int step) {
    T *start = first(y, count, step);
    for (Int i = 0; i < count; ++i) start[i * step] = T(0);
}

// -- level 2 --------------------------------------------------------------------------------------------------------
template <class T>
int gemv(void *handle, const char *name, int trans, int m, int n, const T *alpha, const T *a, int lda, const T *x,
         int step_x, const T *beta, T *y, int step_y) {
    Context *known = context(handle);
    if (!known) return blas_status.not_initialised;
    if (m < 0 || n < 0 || lda < std::max(1, m) || !step_x || !step_y || trans < 0 || trans > 2)
        return refuse(known, name, "invalid size, leading dimension, step or operation");
    Scalar<T> scale(known, alpha), keep(known, beta);
    return enqueue(known, name, [=] {
        Int count_x = trans ? m : n, count_y = trans ? n : m;
        need_matrix(a, m, n, lda), need_vector(x, count_x, step_x), need_vector(y, count_y, step_y);
        if (!m || !n) return;
        if (keep.get() == T(0)) clear_vector(count_y, y, step_y);
        call<T>("gemv", operation(trans), m, n, scale.get(), a, lda, x, step_x, keep.get(), y, step_y);
    });
}

template <class T>
int ger(void *handle, const char *name, const char *stem, int m, int n, const T *alpha, const T *x, int step_x,
        const T *y, int step_y, T *a, int lda) {
    Context *known = context(handle);
    if (!known) return blas_status.not_initialised;
    if (m < 0 || n < 0 || lda < std::max(1, m) || !step_x || !step_y)
        return refuse(known, name, "invalid size, leading dimension or step");
    Scalar<T> scale(known, alpha);
    return enqueue(known, name, [=] {
        need_matrix(a, m, n, lda), need_vector(x, m, step_x), need_vector(y, n, step_y);
        if (m && n) call<T>(stem, m, n, scale.get(), x, step_x, y, step_y, a, lda);
    });
}

template <class T>
int sbmv(void *handle, const char *name, int uplo, int n, int k, const T *alpha, const T *a, int lda, const T *x,
         int step_x, const T *beta, T *y, int step_y) {
    Context *known = context(handle);
    if (!known) return blas_status.not_initialised;
    if (n < 0 || k < 0 || lda < k + 1 || !step_x || !step_y || uplo < 0 || uplo > 1)
        return refuse(known, name, "invalid size, leading dimension, step or triangle");
    Scalar<T> scale(known, alpha), keep(known, beta);
    return enqueue(known, name, [=] {
        need_matrix(a, k + 1, n, lda), need_vector(x, n, step_x), need_vector(y, n, step_y);
        if (!n) return;
        if (keep.get() == T(0)) clear_vector<T>(n, y, step_y);
        call<T>("sbmv", triangle(uplo), n, k, scale.get(), a, lda, x, step_x, keep.get(), y, step_y);
    });
}

// -- level 3 --------------------------------------------------------------------------------------------------------
struct Product {  // the shape of op(A) op(B)
    int transa, transb, m, n, k, lda, ldb, ldc;
    const char *problem() const {
        if (transa < 0 || transa > 2 || transb < 0 || transb > 2) return "invalid operation";
        if (m < 0 || n < 0 || k < 0) return "negative size";
        if (lda < std::max(1, transa ? k : m)) return "the leading dimension of A is too small";
        if (ldb < std::max(1, transb ? n : k)) return "the leading dimension of B is too small";
        if (ldc < std::max(1, m)) return "the leading dimension of C is too small";
        return nullptr;
    }
    template <class T> void run(T alpha, const T *a, const T *b, T beta, T *c) const {
        if (!m || !n) return;
        if (k && alpha != T(0)) {
            need_matrix(a, transa ? k : m, transa ? m : k, lda);
            need_matrix(b, transb ? n : k, transb ? k : n, ldb);
        }
        need_matrix(c, m, n, ldc);
        call<T>("gemm", operation(transa), operation(transb), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    }
};

template <class T>
int gemm(void *handle, const char *name, Product shape, const T *alpha, const T *a, const T *b, const T *beta, T *c) {
    Context *known = context(handle);
    if (!known) return blas_status.not_initialised;
    if (const char *problem = shape.problem()) return refuse(known, name, problem);
    Scalar<T> scale(known, alpha), keep(known, beta);
    return enqueue(known, name, [=] { shape.run(scale.get(), a, b, keep.get(), c); });
}

template <class T>
int gemm_batched(void *handle, const char *name, Product shape, const T *alpha, const T *const *a, const T *const *b,
                 const T *beta, T *const *c, int batch) {
    Context *known = context(handle);
    if (!known) return blas_status.not_initialised;
    if (const char *problem = batch < 0 ? "negative number of matrices" : shape.problem())
        return refuse(known, name, problem);
    Scalar<T> scale(known, alpha), keep(known, beta);
    return enqueue(known, name, [=] {
        need_array(a, batch), need_array(b, batch), need_array(c, batch);
        for (int i = 0; i < batch; ++i) shape.run(scale.get(), a[i], b[i], keep.get(), c[i]);
    });
}

template <class T>
int gemm_strided(void *handle, const char *name, Product shape, const T *alpha, const T *a, long long stride_a,
                 const T *b, long long stride_b, const T *beta, T *c, long long stride_c, int batch) {
    Context *known = context(handle);
    if (!known) return blas_status.not_initialised;
    if (const char *problem = batch < 0 ? "negative number of matrices" : shape.problem())
        return refuse(known, name, problem);
    Scalar<T> scale(known, alpha), keep(known, beta);
    return enqueue(known, name, [=] {
        for (int i = 0; i < batch; ++i)
            shape.run(scale.get(), a + i * stride_a, b + i * stride_b, keep.get(), c + i * stride_c);
    });
}

struct Triangular {
    int side, uplo, trans, diag, m, n, lda, ldb;
    const char *problem() const {
        if (side < 0 || side > 1 || uplo < 0 || uplo > 1 || trans < 0 || trans > 2 || diag < 0 || diag > 1)
            return "invalid side, triangle, operation or diagonal";
        if (m < 0 || n < 0) return "negative size";
        if (lda < std::max(1, side ? n : m) || ldb < std::max(1, m)) return "a leading dimension is too small";
        return nullptr;
    }
    template <class T> void run(T alpha, const T *a, T *b) const {
        if (!m || !n) return;
        Int order = side ? n : m;
        need_matrix(a, order, order, lda), need_matrix(b, m, n, ldb);
        call<T>("trsm", side_of(side), triangle(uplo), operation(trans), diagonal(diag), m, n, alpha, a, lda, b, ldb);
    }
};

template <class T> int trsm(void *handle, const char *name, Triangular shape, const T *alpha, const T *a, T *b) {
    Context *known = context(handle);
    if (!known) return blas_status.not_initialised;
    if (const char *problem = shape.problem()) return refuse(known, name, problem);
    Scalar<T> scale(known, alpha);
    return enqueue(known, name, [=] { shape.run(scale.get(), a, b); });
}

template <class T>
int trsm_batched(void *handle, const char *name, Triangular shape, const T *alpha, const T *const *a, T *const *b,
                 int batch) {
    Context *known = context(handle);
    if (!known) return blas_status.not_initialised;
    if (const char *problem = batch < 0 ? "negative number of matrices" : shape.problem())
        return refuse(known, name, problem);
    Scalar<T> scale(known, alpha);
    return enqueue(known, name, [=] {
        need_array(a, batch), need_array(b, batch);
        for (int i = 0; i < batch; ++i) shape.run(scale.get(), a[i], b[i]);
    });
}

template <class T>
int syrk(void *handle, const char *name, int uplo, int trans, int n, int k, const T *alpha, const T *a, int lda,
         const T *beta, T *c, int ldc) {
    Context *known = context(handle);
    if (!known) return blas_status.not_initialised;
    if (is_complex<T> && trans == 2) return refuse(known, name, "the adjoint needs herk, not syrk");
    if (n < 0 || k < 0 || uplo < 0 || uplo > 1 || trans < 0 || trans > 2 || lda < std::max(1, trans ? k : n) ||
        ldc < std::max(1, n))
        return refuse(known, name, "invalid size, leading dimension, triangle or operation");
    Scalar<T> scale(known, alpha), keep(known, beta);
    return enqueue(known, name, [=] {
        if (!n) return;
        need_matrix(a, trans ? k : n, trans ? n : k, lda), need_matrix(c, n, n, ldc);
        call<T>("syrk", triangle(uplo), operation(trans), n, k, scale.get(), a, lda, keep.get(), c, ldc);
    });
}

}  // namespace

// -- the exported names ---------------------------------------------------------------------------------------------
#define SIM_LEVEL_2_3(L, T)                                                                                            \
    SIM_API int cublas##L##gemv_v2(void *handle, int trans, int m, int n, const T *alpha, const T *a, int lda,         \
                                   const T *x, int step_x, const T *beta, T *y, int step_y) {                          \
        return gemv(handle, __func__, trans, m, n, alpha, a, lda, x, step_x, beta, y, step_y);                         \
    }                                                                                                                  \
    SIM_API int cublas##L##gemm_v2(void *handle, int ta, int tb, int m, int n, int k, const T *alpha, const T *a,      \
                                   int lda, const T *b, int ldb, const T *beta, T *c, int ldc) {                       \
        return gemm(handle, __func__, {ta, tb, m, n, k, lda, ldb, ldc}, alpha, a, b, beta, c);                         \
    }                                                                                                                  \
    SIM_API int cublas##L##gemmBatched(void *handle, int ta, int tb, int m, int n, int k, const T *alpha,              \
                                       const T *const *a, int lda, const T *const *b, int ldb, const T *beta,          \
                                       T *const *c, int ldc, int batch) {                                              \
        return gemm_batched(handle, __func__, {ta, tb, m, n, k, lda, ldb, ldc}, alpha, a, b, beta, c, batch);          \
    }                                                                                                                  \
    SIM_API int cublas##L##gemmStridedBatched(void *handle, int ta, int tb, int m, int n, int k, const T *alpha,       \
                                              const T *a, int lda, long long stride_a, const T *b, int ldb,            \
                                              long long stride_b, const T *beta, T *c, int ldc, long long stride_c,    \
                                              int batch) {                                                             \
        return gemm_strided(handle, __func__, {ta, tb, m, n, k, lda, ldb, ldc}, alpha, a, stride_a, b, stride_b, beta, \
                            c, stride_c, batch);                                                                       \
    }                                                                                                                  \
    SIM_API int cublas##L##trsm_v2(void *handle, int side, int uplo, int trans, int diag, int m, int n,                \
                                   const T *alpha, const T *a, int lda, T *b, int ldb) {                               \
        return trsm(handle, __func__, {side, uplo, trans, diag, m, n, lda, ldb}, alpha, a, b);                         \
    }                                                                                                                  \
    SIM_API int cublas##L##trsmBatched(void *handle, int side, int uplo, int trans, int diag, int m, int n,            \
                                       const T *alpha, const T *const *a, int lda, T *const *b, int ldb, int batch) {  \
        return trsm_batched(handle, __func__, {side, uplo, trans, diag, m, n, lda, ldb}, alpha, a, b, batch);          \
    }                                                                                                                  \
    SIM_API int cublas##L##syrk_v2(void *handle, int uplo, int trans, int n, int k, const T *alpha, const T *a,        \
                                   int lda, const T *beta, T *c, int ldc) {                                            \
        return syrk(handle, __func__, uplo, trans, n, k, alpha, a, lda, beta, c, ldc);                                 \
    }
SIM_FOR_ALL(SIM_LEVEL_2_3)

#define SIM_GER(name, T, stem)                                                                                         \
    SIM_API int cublas##name##_v2(void *handle, int m, int n, const T *alpha, const T *x, int step_x, const T *y,      \
                                  int step_y, T *a, int lda) {                                                         \
        return ger(handle, __func__, stem, m, n, alpha, x, step_x, y, step_y, a, lda);                                 \
    }
SIM_GER(Sger, float, "ger")
SIM_GER(Dger, double, "ger")
SIM_GER(Cgeru, c32, "geru")
SIM_GER(Cgerc, c32, "gerc")
SIM_GER(Zgeru, c64, "geru")
SIM_GER(Zgerc, c64, "gerc")

#define SIM_SBMV(L, T)                                                                                                 \
    SIM_API int cublas##L##sbmv_v2(void *handle, int uplo, int n, int k, const T *alpha, const T *a, int lda,          \
                                   const T *x, int step_x, const T *beta, T *y, int step_y) {                          \
        return sbmv(handle, __func__, uplo, n, k, alpha, a, lda, x, step_x, beta, y, step_y);                          \
    }
SIM_FOR_REAL(SIM_SBMV)
