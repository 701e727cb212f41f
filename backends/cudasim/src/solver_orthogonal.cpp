// cuSOLVER: QR factorisation, bidiagonal form and singular values.
#include <cmath>

#include "lapack.h"

using namespace sim;
using namespace sim::host;

namespace {

// -- QR -------------------------------------------------------------------------------------------------------------
template <class T> int geqrf(void *handle, const char *name, int m, int n, T *a, int lda, T *tau, int *info) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    if (m < 0 || n < 0 || lda < std::max(1, m)) return refuse(known, name, "invalid size or leading dimension");
    return enqueue(known, name, [=] {
        need_matrix(a, m, n, lda), need_array(tau, std::min(m, n)), need_array(info, 1);
        *info = lapack_with_work<T>("geqrf", m, n, a, lda, tau);
    });
}

template <class T>
int orgqr(void *handle, const char *name, int m, int n, int k, T *a, int lda, const T *tau, int *info) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    if (n < 0 || m < n || k < 0 || k > n || lda < std::max(1, m))
        return refuse(known, name, "invalid size (rows >= columns >= reflections) or leading dimension");
    return enqueue(known, name, [=] {
        need_matrix(a, m, n, lda), need_array(tau, k), need_array(info, 1);
        *info = lapack_with_work<T>(is_complex<T> ? "ungqr" : "orgqr", m, n, k, a, lda, tau);
    });
}

template <class T>
int ormqr(void *handle, const char *name, int side, int trans, int m, int n, int k, const T *a, int lda, const T *tau,
          T *c, int ldc, int *info) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    int order = side ? n : m;
    if (side < 0 || side > 1 || trans < 0 || trans > 2 || (is_complex<T> && trans == 1))
        return refuse(known, name, "invalid side or operation");
    if (m < 0 || n < 0 || k < 0 || k > order || lda < std::max(1, order) || ldc < std::max(1, m))
        return refuse(known, name, "invalid size or leading dimension");
    return enqueue(known, name, [=] {
        need_matrix(a, order, k, lda), need_array(tau, k), need_matrix(c, m, n, ldc), need_array(info, 1);
        *info = lapack_with_work<T>(is_complex<T> ? "unmqr" : "ormqr", side_of(side), trans ? adjoint<T> : 'N', m, n,
                                    k, a, lda, tau, c, ldc);
    });
}

template <class T>
int gebrd(void *handle, const char *name, int m, int n, T *a, int lda, Real<T> *d, Real<T> *e, T *tau_q, T *tau_p,
          int *info) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    if (n < 0 || m < n || lda < std::max(1, m))
        return refuse(known, name, "invalid size (at least as many rows as columns are needed) or leading dimension");
    return enqueue(known, name, [=] {
        need_matrix(a, m, n, lda), need_array(d, n), need_array(e, n - 1), need_array(tau_q, n);
        need_array(tau_p, n), need_array(info, 1);
        *info = lapack_with_work<T>("gebrd", m, n, a, lda, d, e, tau_q, tau_p);
    });
}

// -- singular values ------------------------------------------------------------------------------------------------
template <class T>
int svd(char job_u, char job_v, Int m, Int n, T *a, Int lda, Real<T> *s, T *u, Int ldu, T *vt, Int ldvt) {
    if constexpr (is_complex<T>) {
        std::vector<Real<T>> reals(5 * std::min(m, n) + 1);
        T size{};
        Int leading_u = std::max<Int>(1, ldu), leading_v = std::max<Int>(1, ldvt);
        auto run = [&](T *work, Int count) {
            return lapack<T>("gesvd", job_u, job_v, m, n, a, lda, s, u, leading_u, vt, leading_v, work, count,
                             reals.data());
        };
        if (int info = run(&size, -1)) return info;
        std::vector<T> work(work_size(size));
        return run(work.data(), Int(work.size()));
    } else {
        return lapack_with_work<T>("gesvd", job_u, job_v, m, n, a, lda, s, u, std::max<Int>(1, ldu), vt,
                                   std::max<Int>(1, ldvt));
    }
}

template <class T>
int gesvd(void *handle, const char *name, char job_u, char job_v, int m, int n, T *a, int lda, Real<T> *s, T *u,
          int ldu, T *vt, int ldvt, int *info) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    if (!std::strchr("ASON", job_u) || !std::strchr("ASON", job_v) || (job_u == 'O' && job_v == 'O'))
        return refuse(known, name, "invalid job");
    if (n < 0 || m < n || lda < std::max(1, m))
        return refuse(known, name, "invalid size (at least as many rows as columns are needed) or leading dimension");
    bool with_u = job_u == 'A' || job_u == 'S', with_v = job_v == 'A' || job_v == 'S';
    if ((with_u && ldu < std::max(1, m)) || (with_v && ldvt < std::max(1, n)))
        return refuse(known, name, "the leading dimension of U or V is too small");
    return enqueue(known, name, [=] {
        need_matrix(a, m, n, lda), need_array(s, n), need_array(info, 1);
        if (with_u) need_matrix(u, m, job_u == 'A' ? m : n, ldu);
        if (with_v) need_matrix(vt, n, n, ldvt);
        *info = svd<T>(job_u, job_v, m, n, a, lda, s, u, ldu, vt, ldvt);
    });
}

// One matrix, with V instead of its adjoint; `columns` of U and V are wanted.
template <class T>
int svd_columns(bool vectors, Int m, Int n, T *a, Int lda, Real<T> *s, T *u, Int ldu, Int columns_u, T *v, Int ldv,
                Int columns_v) {
    if (!vectors) return svd<T>('N', 'N', m, n, a, lda, s, nullptr, 1, nullptr, 1);
    Int small = std::min(m, n), rows = columns_v > small ? n : small;
    std::vector<T> left(m * std::max(columns_u, small) + 1), right(rows * n + 1);
    int info = svd<T>(columns_u > small ? 'A' : 'S', columns_v > small ? 'A' : 'S', m, n, a, lda, s, left.data(), m,
                      right.data(), rows);
    for (Int j = 0; j < columns_u; ++j) std::copy_n(&left[j * m], m, u + j * ldu);
    for (Int j = 0; j < columns_v; ++j)
        for (Int i = 0; i < n; ++i) v[i + j * ldv] = conjugate(right[j + i * rows]);
    return info;
}

struct JacobiInfo {  // for gesvdj and syevj; LAPACK's methods neither sweep nor leave a measurable residual
    double tolerance = 0;
    int sweeps = 100, sort = 1;
};

struct Shape {
    int m, n, lda, ldu, ldv;
    bool vectors;
    const char *problem() const {
        if (m < 0 || n < 0 || lda < std::max(1, m)) return "invalid size or leading dimension";
        if (vectors && (ldu < std::max(1, m) || ldv < std::max(1, n)))
            return "the leading dimension of U or V is too small";
        return nullptr;
    }
    template <class T>
    int run(T *a, Real<T> *s, T *u, Int columns_u, T *v, Int columns_v) const {
        need_matrix(a, m, n, lda), need_array(s, std::min(m, n));
        if (vectors) need_matrix(u, m, columns_u, ldu), need_matrix(v, n, columns_v, ldv);
        return svd_columns<T>(vectors, m, n, a, lda, s, u, ldu, columns_u, v, ldv, columns_v);
    }
};

template <class T>
int gesvdj(void *handle, const char *name, Shape shape, int economical, T *a, Real<T> *s, T *u, T *v, int *info) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    if (const char *problem = shape.problem()) return refuse(known, name, problem);
    return enqueue(known, name, [=] {
        need_array(info, 1);
        int small = std::min(shape.m, shape.n);
        *info = shape.run(a, s, u, economical ? small : shape.m, v, economical ? small : shape.n);
    });
}

template <class T>
int gesvdj_batched(void *handle, const char *name, Shape shape, T *a, Real<T> *s, T *u, T *v, int *info, int batch) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    if (shape.m > 32 || shape.n > 32) return refuse(known, name, "matrices of at most 32 rows and columns are needed");
    if (const char *problem = batch < 0 ? "negative number of matrices" : shape.problem())
        return refuse(known, name, problem);
    return enqueue(known, name, [=] {
        need_array(info, batch);
        Int small = std::min(shape.m, shape.n);
        for (Int i = 0; i < batch; ++i)
            info[i] = shape.run(a + i * shape.lda * shape.n, s + i * small, u + i * shape.ldu * shape.m, shape.m,
                                v + i * shape.ldv * shape.n, shape.n);
    });
}

// The approximation of rank `rank`; A is kept, and the norm of the rest goes to host memory.
template <class T>
int gesvda(void *handle, const char *name, Shape shape, int rank, const T *a, long long stride_a, Real<T> *s,
           long long stride_s, T *u, long long stride_u, T *v, long long stride_v, int *info, double *norms,
           int batch) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    if (shape.m < shape.n) return refuse(known, name, "at least as many rows as columns are needed");
    if (rank < 0 || rank > shape.n) return refuse(known, name, "invalid rank");
    if (const char *problem = batch < 0 ? "negative number of matrices" : shape.problem())
        return refuse(known, name, problem);
    int status = enqueue(known, name, [=] {
        need_array(info, batch);
        Int m = shape.m, n = shape.n;
        std::vector<T> copy(m * n + 1);
        std::vector<Real<T>> all(n + 1);
        for (Int i = 0; i < batch; ++i) {
            const T *from = a + i * stride_a;
            T *left = u + i * stride_u, *right = v + i * stride_v;
            need_matrix(from, m, n, shape.lda), need_array(s + i * stride_s, rank);
            if (shape.vectors) need_matrix(left, m, rank, shape.ldu), need_matrix(right, n, rank, shape.ldv);
            for (Int j = 0; j < n; ++j) std::copy_n(from + j * shape.lda, m, &copy[j * m]);
            info[i] = svd_columns<T>(shape.vectors, m, n, copy.data(), std::max<Int>(1, m), all.data(), left, shape.ldu,
                                     rank, right, shape.ldv, rank);
            std::copy_n(all.data(), rank, s + i * stride_s);
            double rest = 0;
            for (Int j = rank; j < n; ++j) rest += double(all[j]) * double(all[j]);
            if (norms) norms[i] = std::sqrt(rest);
        }
    });
    return norms ? finish(known, status) : status;
}

}  // namespace

// -- parameters of the Jacobi methods -------------------------------------------------------------------------------
#define SIM_JACOBI(which, type)                                                                                        \
    SIM_API int cusolverDnCreate##type##Info(void **info) {                                                            \
        if (!info) return solver_status.invalid;                                                                       \
        *info = new JacobiInfo;                                                                                        \
        return 0;                                                                                                      \
    }                                                                                                                  \
    SIM_API int cusolverDnDestroy##type##Info(void *info) {                                                            \
        delete static_cast<JacobiInfo *>(info);                                                                        \
        return 0;                                                                                                      \
    }                                                                                                                  \
    SIM_API int cusolverDnX##which##SetTolerance(void *info, double tolerance) {                                       \
        static_cast<JacobiInfo *>(info)->tolerance = tolerance;                                                        \
        return 0;                                                                                                      \
    }                                                                                                                  \
    SIM_API int cusolverDnX##which##SetMaxSweeps(void *info, int sweeps) {                                             \
        static_cast<JacobiInfo *>(info)->sweeps = sweeps;                                                              \
        return 0;                                                                                                      \
    }                                                                                                                  \
    SIM_API int cusolverDnX##which##SetSortEig(void *info, int sort) {                                                 \
        static_cast<JacobiInfo *>(info)->sort = sort;                                                                  \
        return 0;                                                                                                      \
    }                                                                                                                  \
    SIM_API int cusolverDnX##which##GetResidual(void *, void *, double *residual) {                                    \
        *residual = 0;                                                                                                 \
        return 0;                                                                                                      \
    }                                                                                                                  \
    SIM_API int cusolverDnX##which##GetSweeps(void *, void *, int *sweeps) {                                           \
        *sweeps = 1;                                                                                                   \
        return 0;                                                                                                      \
    }
SIM_JACOBI(gesvdj, Gesvdj)
SIM_JACOBI(syevj, Syevj)

// -- the exported names ---------------------------------------------------------------------------------------------
#define SIM_QR(L, T, generate, multiply)                                                                               \
    SIM_API int cusolverDn##L##geqrf_bufferSize(void *handle, int m, int n, T *, int, int *size) {                     \
        return tell_size(handle, __func__, m >= 0 && n >= 0, n, size);                                                 \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##geqrf(void *handle, int m, int n, T *a, int lda, T *tau, T *, int, int *info) {         \
        return geqrf(handle, __func__, m, n, a, lda, tau, info);                                                       \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##generate##_bufferSize(void *handle, int m, int n, int k, const T *, int, const T *,     \
                                                     int *size) {                                                      \
        return tell_size(handle, __func__, m >= 0 && n >= 0 && k >= 0, n, size);                                       \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##generate(void *handle, int m, int n, int k, T *a, int lda, const T *tau, T *, int,      \
                                        int *info) {                                                                   \
        return orgqr(handle, __func__, m, n, k, a, lda, tau, info);                                                    \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##multiply##_bufferSize(void *handle, int, int, int m, int n, int k, const T *, int,      \
                                                     const T *, const T *, int, int *size) {                           \
        return tell_size(handle, __func__, m >= 0 && n >= 0 && k >= 0, n, size);                                       \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##multiply(void *handle, int side, int trans, int m, int n, int k, const T *a, int lda,   \
                                        const T *tau, T *c, int ldc, T *, int, int *info) {                            \
        return ormqr(handle, __func__, side, trans, m, n, k, a, lda, tau, c, ldc, info);                               \
    }
SIM_QR(S, float, orgqr, ormqr)
SIM_QR(D, double, orgqr, ormqr)
SIM_QR(C, c32, ungqr, unmqr)
SIM_QR(Z, c64, ungqr, unmqr)

#define SIM_SVD(L, T)                                                                                                  \
    SIM_API int cusolverDn##L##gebrd_bufferSize(void *handle, int m, int n, int *size) {                               \
        return tell_size(handle, __func__, m >= n && n >= 0, m, size);                                                 \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##gebrd(void *handle, int m, int n, T *a, int lda, Real<T> *d, Real<T> *e, T *tau_q,      \
                                     T *tau_p, T *, int, int *info) {                                                  \
        return gebrd(handle, __func__, m, n, a, lda, d, e, tau_q, tau_p, info);                                        \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##gesvd_bufferSize(void *handle, int m, int n, int *size) {                               \
        return tell_size(handle, __func__, m >= n && n >= 0, m, size);                                                 \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##gesvd(void *handle, char job_u, char job_v, int m, int n, T *a, int lda, Real<T> *s,    \
                                     T *u, int ldu, T *vt, int ldvt, T *, int, Real<T> *, int *info) {                 \
        return gesvd(handle, __func__, job_u, job_v, m, n, a, lda, s, u, ldu, vt, ldvt, info);                         \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##gesvdj_bufferSize(void *handle, int, int, int m, int n, const T *, int,                 \
                                                 const Real<T> *, const T *, int, const T *, int, int *size, void *) { \
        return tell_size(handle, __func__, m >= 0 && n >= 0, m, size);                                                 \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##gesvdj(void *handle, int job, int economical, int m, int n, T *a, int lda, Real<T> *s,  \
                                      T *u, int ldu, T *v, int ldv, T *, int, int *info, void *) {                     \
        return gesvdj(handle, __func__, {m, n, lda, ldu, ldv, job == 1}, economical, a, s, u, v, info);                \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##gesvdjBatched_bufferSize(void *handle, int, int m, int n, const T *, int,               \
                                                        const Real<T> *, const T *, int, const T *, int, int *size,    \
                                                        void *, int batch) {                                           \
        return tell_size(handle, __func__, m >= 0 && n >= 0 && batch >= 0, m, size);                                   \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##gesvdjBatched(void *handle, int job, int m, int n, T *a, int lda, Real<T> *s, T *u,     \
                                             int ldu, T *v, int ldv, T *, int, int *info, void *, int batch) {         \
        return gesvdj_batched(handle, __func__, {m, n, lda, ldu, ldv, job == 1}, a, s, u, v, info, batch);             \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##gesvdaStridedBatched_bufferSize(                                                        \
        void *handle, int, int, int m, int n, const T *, int, long long, const Real<T> *, long long, const T *, int,   \
        long long, const T *, int, long long, int *size, int batch) {                                                  \
        return tell_size(handle, __func__, m >= n && n >= 0 && batch >= 0, m, size);                                   \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##gesvdaStridedBatched(                                                                   \
        void *handle, int job, int rank, int m, int n, const T *a, int lda, long long stride_a, Real<T> *s,            \
        long long stride_s, T *u, int ldu, long long stride_u, T *v, int ldv, long long stride_v, T *, int, int *info, \
        double *norms, int batch) {                                                                                    \
        return gesvda(handle, __func__, {m, n, lda, ldu, ldv, job == 1}, rank, a, stride_a, s, stride_s, u, stride_u,  \
                      v, stride_v, info, norms, batch);                                                                \
    }
SIM_FOR_ALL(SIM_SVD)
