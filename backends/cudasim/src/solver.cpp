// cuSOLVER: handles, LU, Cholesky, L D L^T, and the solvers with iterative refinement.
#include "lapack.h"

using namespace sim;
using namespace sim::host;

// -- handles --------------------------------------------------------------------------------------------------------
SIM_API int cusolverDnCreate(void **handle) { return create_context(handle, &solver_status); }
SIM_API int cusolverDnDestroy(void *handle) { return destroy_context(handle, &solver_status); }
SIM_API int cusolverSpCreate(void **handle) { return create_context(handle, &solver_status); }
SIM_API int cusolverSpDestroy(void *handle) { return destroy_context(handle, &solver_status); }

static int set_stream(void *handle, void *stream) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    known->stream = stream;
    return 0;
}
static int get_stream(void *handle, void **stream) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    if (!stream) return solver_status.invalid;
    *stream = known->stream;
    return 0;
}
SIM_API int cusolverDnSetStream(void *handle, void *stream) { return set_stream(handle, stream); }
SIM_API int cusolverSpSetStream(void *handle, void *stream) { return set_stream(handle, stream); }
SIM_API int cusolverDnGetStream(void *handle, void **stream) { return get_stream(handle, stream); }
SIM_API int cusolverSpGetStream(void *handle, void **stream) { return get_stream(handle, stream); }

// Parameters of the 64-bit functions choose between algorithms; here there is only one.
SIM_API int cusolverDnCreateParams(void **params) {
    if (!params) return solver_status.invalid;
    *params = new int(0);
    return 0;
}
SIM_API int cusolverDnDestroyParams(void *params) {
    delete static_cast<int *>(params);
    return 0;
}

SIM_API int cusolverGetVersion(int *version) {
    *version = 11705;
    return 0;
}
SIM_API int cusolverGetProperty(int which, int *value) {
    constexpr int parts[] = {11, 7, 5};
    if (which < 0 || which > 2 || !value) return solver_status.invalid;
    *value = parts[which];
    return 0;
}

namespace {

// -- Cholesky -------------------------------------------------------------------------------------------------------
template <class T> int potrf(void *handle, const char *name, int uplo, int n, T *a, int lda, int *info) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    if (n < 0 || lda < std::max(1, n) || uplo < 0 || uplo > 1)
        return refuse(known, name, "invalid size, leading dimension or triangle");
    return enqueue(known, name, [=] {
        need_matrix(a, n, n, lda), need_array(info, 1);
        *info = lapack<T>("potrf", triangle(uplo), n, a, lda);
    });
}

template <class T>
int potrs(void *handle, const char *name, int uplo, int n, int count, const T *a, int lda, T *b, int ldb, int *info) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    if (n < 0 || count < 0 || lda < std::max(1, n) || ldb < std::max(1, n) || uplo < 0 || uplo > 1)
        return refuse(known, name, "invalid size, leading dimension or triangle");
    return enqueue(known, name, [=] {
        need_matrix(a, n, n, lda), need_matrix(b, n, count, ldb), need_array(info, 1);
        *info = lapack<T>("potrs", triangle(uplo), n, count, a, lda, b, ldb);
    });
}

template <class T>
int potrf_batched(void *handle, const char *name, int uplo, int n, T *const *a, int lda, int *info, int batch) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    if (n < 0 || batch < 0 || lda < std::max(1, n) || uplo < 0 || uplo > 1)
        return refuse(known, name, "invalid size, leading dimension or triangle");
    return enqueue(known, name, [=] {
        need_array(a, batch), need_array(info, batch);
        for (int i = 0; i < batch; ++i) {
            need_matrix(a[i], n, n, lda);
            info[i] = lapack<T>("potrf", triangle(uplo), n, a[i], lda);
        }
    });
}

template <class T>
int potrs_batched(void *handle, const char *name, int uplo, int n, int count, T *const *a, int lda, T *const *b,
                  int ldb, int *info, int batch) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    if (n < 0 || count < 0 || batch < 0 || lda < std::max(1, n) || ldb < std::max(1, n) || uplo < 0 || uplo > 1)
        return refuse(known, name, "invalid size, leading dimension or triangle");
    if (count > 1) return cannot(known, name, "cuSOLVER solves for one right-hand side per matrix only");
    return enqueue(known, name, [=] {
        need_array(a, batch), need_array(b, batch), need_array(info, 1);
        *info = 0;
        for (int i = 0; i < batch; ++i) {
            need_matrix(a[i], n, n, lda), need_matrix(b[i], n, count, ldb);
            lapack<T>("potrs", triangle(uplo), n, count, a[i], lda, b[i], ldb);
        }
    });
}

// -- LU -------------------------------------------------------------------------------------------------------------
template <class T> int getrf(void *handle, const char *name, int m, int n, T *a, int lda, int *pivots, int *info) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    if (m < 0 || n < 0 || lda < std::max(1, m)) return refuse(known, name, "invalid size or leading dimension");
    return enqueue(known, name, [=] {
        need_matrix(a, m, n, lda), need_array(info, 1);
        if (pivots) need_array(pivots, std::min(m, n));
        *info = lu<T>(m, n, a, lda, pivots);
    });
}

template <class T>
int getrs(void *handle, const char *name, int trans, int n, int count, const T *a, int lda, const int *pivots, T *b,
          int ldb, int *info) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    if (trans < 0 || trans > 2 || n < 0 || count < 0 || lda < std::max(1, n) || ldb < std::max(1, n))
        return refuse(known, name, "invalid operation, size or leading dimension");
    return enqueue(known, name, [=] {
        need_matrix(a, n, n, lda), need_matrix(b, n, count, ldb), need_array(info, 1);
        if (pivots) need_array(pivots, n);
        *info = lu_solve<T>(operation(trans), n, count, a, lda, pivots, b, ldb);
    });
}

// -- L D L^T --------------------------------------------------------------------------------------------------------
template <class T>
int sytrf(void *handle, const char *name, int uplo, int n, T *a, int lda, int *pivots, int *info) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    if (n < 0 || lda < std::max(1, n) || uplo < 0 || uplo > 1)
        return refuse(known, name, "invalid size, leading dimension or triangle");
    if (!pivots) return cannot(known, name, "the factorisation without pivots isn't emulated");
    return enqueue(known, name, [=] {
        need_matrix(a, n, n, lda), need_array(pivots, n), need_array(info, 1);
        Pivots found(n);
        *info = lapack_with_work<T>("sytrf", triangle(uplo), n, a, lda, found.data());
        found.store(pivots);
    });
}

// -- solvers with iterative refinement ------------------------------------------------------------------------------
// A device factors in a lower precision and refines the solution; the result has the accuracy of the main precision,
// in which it is computed here at once. `rounds` is in host memory.
template <class T>
int gesv(void *handle, const char *name, int n, int count, T *a, int lda, int *pivots, T *b, int ldb, T *x, int ldx,
         int *rounds, int *info) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    if (n < 0 || count < 0 || lda < std::max(1, n) || ldb < std::max(1, n) || ldx < std::max(1, n))
        return refuse(known, name, "invalid size or leading dimension");
    if (!rounds) return refuse(known, name, "the address for the number of iterations is null");
    return finish(known, enqueue(known, name, [=] {
        need_matrix(a, n, n, lda), need_matrix(b, n, count, ldb), need_matrix(x, n, count, ldx);
        need_array(pivots, n), need_array(info, 1);
        std::vector<T> factors(Int(n) * n + 1);
        for (Int j = 0; j < n; ++j) std::copy_n(a + j * lda, n, &factors[j * n]);
        for (Int j = 0; j < count; ++j) std::copy_n(b + j * ldb, n, x + j * ldx);
        *info = lu<T>(n, n, factors.data(), std::max(1, n), pivots);
        *rounds = *info ? -3 : 0;
        if (!*info) lu_solve<T>('N', n, count, factors.data(), std::max(1, n), pivots, x, ldx);
    }));
}

template <class T>
int gels(void *handle, const char *name, int m, int n, int count, T *a, int lda, T *b, int ldb, T *x, int ldx,
         int *rounds, int *info) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    if (m < n || n < 0 || count < 0 || lda < std::max(1, m) || ldb < std::max(1, m) || ldx < std::max(1, n))
        return refuse(known, name, "invalid size (at least as many rows as columns are needed) or leading dimension");
    if (!rounds) return refuse(known, name, "the address for the number of iterations is null");
    return finish(known, enqueue(known, name, [=] {
        need_matrix(a, m, n, lda), need_matrix(b, m, count, ldb), need_matrix(x, n, count, ldx), need_array(info, 1);
        std::vector<T> left(Int(m) * n + 1), right(Int(m) * count + 1);
        for (Int j = 0; j < n; ++j) std::copy_n(a + j * lda, m, &left[j * m]);
        for (Int j = 0; j < count; ++j) std::copy_n(b + j * ldb, m, &right[j * m]);
        Int leading = std::max(1, m);
        *info = lapack_with_work<T>("gels", 'N', m, n, count, left.data(), leading, right.data(), leading);
        *rounds = *info ? -3 : 0;
        for (Int j = 0; j < count; ++j) std::copy_n(&right[j * m], n, x + j * ldx);
    }));
}

}  // namespace

// -- the exported names ---------------------------------------------------------------------------------------------
#define SIM_FACTORISATIONS(L, T)                                                                                       \
    SIM_API int cusolverDn##L##potrf_bufferSize(void *handle, int, int n, T *, int, int *size) {                       \
        return tell_size(handle, __func__, n >= 0, n, size);                                                           \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##potrf(void *handle, int uplo, int n, T *a, int lda, T *, int, int *info) {              \
        return potrf(handle, __func__, uplo, n, a, lda, info);                                                         \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##potrs(void *handle, int uplo, int n, int count, const T *a, int lda, T *b, int ldb,     \
                                     int *info) {                                                                      \
        return potrs(handle, __func__, uplo, n, count, a, lda, b, ldb, info);                                          \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##potrfBatched(void *handle, int uplo, int n, T *const *a, int lda, int *info,            \
                                            int batch) {                                                               \
        return potrf_batched(handle, __func__, uplo, n, a, lda, info, batch);                                          \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##potrsBatched(void *handle, int uplo, int n, int count, T *const *a, int lda,            \
                                            T *const *b, int ldb, int *info, int batch) {                              \
        return potrs_batched(handle, __func__, uplo, n, count, a, lda, b, ldb, info, batch);                           \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##getrf_bufferSize(void *handle, int m, int n, T *, int, int *size) {                     \
        return tell_size(handle, __func__, m >= 0 && n >= 0, n, size);                                                 \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##getrf(void *handle, int m, int n, T *a, int lda, T *, int *pivots, int *info) {         \
        return getrf(handle, __func__, m, n, a, lda, pivots, info);                                                    \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##getrs(void *handle, int trans, int n, int count, const T *a, int lda,                   \
                                     const int *pivots, T *b, int ldb, int *info) {                                    \
        return getrs(handle, __func__, trans, n, count, a, lda, pivots, b, ldb, info);                                 \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##sytrf_bufferSize(void *handle, int n, T *, int, int *size) {                            \
        return tell_size(handle, __func__, n >= 0, n, size);                                                           \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##sytrf(void *handle, int uplo, int n, T *a, int lda, int *pivots, T *, int,              \
                                     int *info) {                                                                      \
        return sytrf(handle, __func__, uplo, n, a, lda, pivots, info);                                                 \
    }
SIM_FOR_ALL(SIM_FACTORISATIONS)

#define SIM_REFINED(LL, T)                                                                                             \
    SIM_API int cusolverDn##LL##gesv_bufferSize(void *handle, int n, int count, T *, int, int *, T *, int, T *, int,   \
                                                void *, size_t *size) {                                                \
        int told = 0, status = tell_size(handle, __func__, n >= 0 && count >= 0, n, &told);                            \
        *size = size_t(told);                                                                                          \
        return status;                                                                                                 \
    }                                                                                                                  \
    SIM_API int cusolverDn##LL##gesv(void *handle, int n, int count, T *a, int lda, int *pivots, T *b, int ldb, T *x,  \
                                     int ldx, void *, size_t, int *rounds, int *info) {                                \
        return gesv(handle, __func__, n, count, a, lda, pivots, b, ldb, x, ldx, rounds, info);                         \
    }                                                                                                                  \
    SIM_API int cusolverDn##LL##gels_bufferSize(void *handle, int m, int n, int count, T *, int, T *, int, T *, int,   \
                                                void *, size_t *size) {                                                \
        int told = 0, status = tell_size(handle, __func__, m >= n && n >= 0 && count >= 0, m, &told);                  \
        *size = size_t(told);                                                                                          \
        return status;                                                                                                 \
    }                                                                                                                  \
    SIM_API int cusolverDn##LL##gels(void *handle, int m, int n, int count, T *a, int lda, T *b, int ldb, T *x,        \
                                     int ldx, void *, size_t, int *rounds, int *info) {                                \
        return gels(handle, __func__, m, n, count, a, lda, b, ldb, x, ldx, rounds, info);                              \
    }
// The second letter is the precision of the factorisation.
SIM_REFINED(SS, float)
SIM_REFINED(SH, float)
SIM_REFINED(SB, float)
SIM_REFINED(SX, float)
SIM_REFINED(DD, double)
SIM_REFINED(DS, double)
SIM_REFINED(DH, double)
SIM_REFINED(DB, double)
SIM_REFINED(DX, double)
SIM_REFINED(CC, c32)
SIM_REFINED(CK, c32)
SIM_REFINED(CE, c32)
SIM_REFINED(CY, c32)
SIM_REFINED(ZZ, c64)
SIM_REFINED(ZC, c64)
SIM_REFINED(ZK, c64)
SIM_REFINED(ZE, c64)
SIM_REFINED(ZY, c64)
