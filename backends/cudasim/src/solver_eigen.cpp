// cuSOLVER: eigenvalues of symmetric, Hermitian and general matrices.
#include <cmath>
#include <limits>

#include "lapack.h"

using namespace sim;
using namespace sim::host;

namespace {

// -- symmetric and Hermitian ----------------------------------------------------------------------------------------
template <class T> int eigh(bool vectors, int uplo, Int n, T *a, Int lda, Real<T> *w) {
    char job = vectors ? 'V' : 'N', side = triangle(uplo);
    T size{};
    Real<T> real_size{};
    Int integer_size = 0;
    auto run = [&](T *work, Int count, Real<T> *reals, Int real_count, Int *integers, Int integer_count) {
        if constexpr (is_complex<T>)
            return lapack<T>("heevd", job, side, n, a, lda, w, work, count, reals, real_count, integers, integer_count);
        else return lapack<T>("syevd", job, side, n, a, lda, w, work, count, integers, integer_count);
    };
    if (int info = run(&size, -1, &real_size, -1, &integer_size, -1)) return info;
    std::vector<T> work(work_size(size));
    std::vector<Real<T>> reals(work_size(real_size));
    std::vector<Int> integers(integer_size + 1);
    return run(work.data(), Int(work.size()), reals.data(), Int(reals.size()), integers.data(), integer_size + 1);
}

// Also the batched form: the matrices lie one after the other.
template <class T>
int syev(void *handle, const char *name, int job, int uplo, Int n, T *a, Int lda, Real<T> *w, int *info, Int batch) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    if (job < 0 || job > 1 || uplo < 0 || uplo > 1 || n < 0 || lda < std::max<Int>(1, n) || batch < 0)
        return refuse(known, name, "invalid job, triangle, size or leading dimension");
    return enqueue(known, name, [=] {
        need_array(info, batch), need_array(w, n * batch);
        need_matrix(a, n, n * batch, lda);
        for (Int i = 0; i < batch; ++i) info[i] = eigh<T>(job == 1, uplo, n, a + i * lda * n, lda, w + i * n);
    });
}

// -- general --------------------------------------------------------------------------------------------------------
template <class T> bool all_finite(Int n, const T *a, Int lda) {
    for (Int j = 0; j < n; ++j)
        for (Int i = 0; i < n; ++i)
            if (!std::isfinite(std::real(a[i + j * lda])) || !std::isfinite(std::imag(a[i + j * lda]))) return false;
    return true;
}

// A real matrix has its eigenvalues in w as complex numbers, or as all real parts before all imaginary parts; its
// eigenvectors are packed as LAPACK does it: a conjugate pair takes two columns, real and imaginary part.
template <class T> int eig(bool vectors, Int n, T *a, Int lda, void *w, bool complex_values, T *v, Int ldv) {
    using R = Real<T>;
    R nan = std::numeric_limits<R>::quiet_NaN();
    auto *pairs = static_cast<std::complex<R> *>(w);
    auto *parts = static_cast<R *>(w);
    if (!all_finite(n, a, lda)) {  // LAPACK might never end
        std::fill_n(parts, 2 * n, nan);
        for (Int j = 0; vectors && j < n; ++j) std::fill_n(v + j * ldv, n, T(nan));
        return 0;
    }
    char job = vectors ? 'V' : 'N';
    Int leading = vectors ? ldv : 1;
    T *left = nullptr;
    if constexpr (is_complex<T>) {
        std::vector<R> reals(2 * n + 1);
        T size{};
        auto run = [&](T *work, Int count) {
            return lapack<T>("geev", 'N', job, n, a, lda, pairs, left, Int(1), v, leading, work, count, reals.data());
        };
        if (int info = run(&size, -1)) return info;
        std::vector<T> work(work_size(size));
        return run(work.data(), Int(work.size()));
    } else {
        std::vector<R> real(n + 1), imaginary(n + 1);
        int info = lapack_with_work<T>("geev", 'N', job, n, a, lda, real.data(), imaginary.data(), left, Int(1), v,
                                       leading);
        for (Int i = 0; i < n; ++i) {
            if (complex_values) pairs[i] = {real[i], imaginary[i]};
            else parts[i] = real[i], parts[n + i] = imaginary[i];
        }
        return info;
    }
}

template <class T>
int geev(void *handle, const char *name, int job, Int n, void *a, Int lda, void *w, bool complex_values, void *v,
         Int ldv, int *info) {
    Context *known = context(handle);
    auto *matrix = static_cast<T *>(a), *vectors = static_cast<T *>(v);
    return enqueue(known, name, [=] {
        need_matrix(matrix, n, n, lda), need_array(static_cast<Real<T> *>(w), 2 * n), need_array(info, 1);
        if (job) need_matrix(vectors, n, n, ldv);
        *info = eig<T>(job == 1, n, matrix, lda, w, complex_values, vectors, ldv);
    });
}

enum Type { R32F = 0, R64F = 1, C32F = 4, C64F = 5 };  // values of cudaDataType

int tell_sizes(void *handle, const char *name, Int n, size_t *device, size_t *host) {
    int told = 0;
    if (int status = tell_size(handle, name, n >= 0 && device && host, n, &told)) return status;
    *device = *host = 16 * size_t(told);
    return 0;
}

std::string unknown_types(int a, int w) {
    return "no such combination of types: A " + std::to_string(a) + ", W " + std::to_string(w);
}

}  // namespace

// -- the exported names ---------------------------------------------------------------------------------------------
#define SIM_EIGH(L, T, divide, jacobi)                                                                                 \
    SIM_API int cusolverDn##L##divide##_bufferSize(void *handle, int, int, int n, const T *, int, const Real<T> *,     \
                                                   int *size) {                                                        \
        return tell_size(handle, __func__, n >= 0, n, size);                                                           \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##divide(void *handle, int job, int uplo, int n, T *a, int lda, Real<T> *w, T *, int,     \
                                      int *info) {                                                                     \
        return syev(handle, __func__, job, uplo, n, a, lda, w, info, 1);                                               \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##jacobi##_bufferSize(void *handle, int, int, int n, const T *, int, const Real<T> *,     \
                                                   int *size, void *) {                                                \
        return tell_size(handle, __func__, n >= 0, n, size);                                                           \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##jacobi(void *handle, int job, int uplo, int n, T *a, int lda, Real<T> *w, T *, int,     \
                                      int *info, void *) {                                                             \
        return syev(handle, __func__, job, uplo, n, a, lda, w, info, 1);                                               \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##jacobi##Batched_bufferSize(void *handle, int, int, int n, const T *, int,               \
                                                          const Real<T> *, int *size, void *, int) {                   \
        return tell_size(handle, __func__, n >= 0, n, size);                                                           \
    }                                                                                                                  \
    SIM_API int cusolverDn##L##jacobi##Batched(void *handle, int job, int uplo, int n, T *a, int lda, Real<T> *w, T *, \
                                               int, int *info, void *, int batch) {                                    \
        return syev(handle, __func__, job, uplo, n, a, lda, w, info, batch);                                           \
    }
SIM_EIGH(S, float, syevd, syevj)
SIM_EIGH(D, double, syevd, syevj)
SIM_EIGH(C, c32, heevd, heevj)
SIM_EIGH(Z, c64, heevd, heevj)

SIM_API int cusolverDnXsyevd_bufferSize(void *handle, void *, int, int, int64_t n, int, const void *, int64_t, int,
                                        const void *, int, size_t *device, size_t *host) {
    return tell_sizes(handle, __func__, n, device, host);
}

SIM_API int cusolverDnXsyevd(void *handle, void *, int job, int uplo, int64_t n, int type_a, void *a, int64_t lda,
                             int type_w, void *w, int /*compute type*/, void *, size_t, void *, size_t, int *info) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    auto *single = static_cast<float *>(w);
    auto *twice = static_cast<double *>(w);
    if (type_a == R32F && type_w == R32F)
        return syev(handle, __func__, job, uplo, n, static_cast<float *>(a), lda, single, info, 1);
    if (type_a == R64F && type_w == R64F)
        return syev(handle, __func__, job, uplo, n, static_cast<double *>(a), lda, twice, info, 1);
    if (type_a == C32F && type_w == R32F)
        return syev(handle, __func__, job, uplo, n, static_cast<c32 *>(a), lda, single, info, 1);
    if (type_a == C64F && type_w == R64F)
        return syev(handle, __func__, job, uplo, n, static_cast<c64 *>(a), lda, twice, info, 1);
    return cannot(known, __func__, unknown_types(type_a, type_w));
}

SIM_API int cusolverDnXgeev_bufferSize(void *handle, void *, int, int, int64_t n, int, const void *, int64_t, int,
                                       const void *, int, const void *, int64_t, int, const void *, int64_t, int,
                                       size_t *device, size_t *host) {
    return tell_sizes(handle, __func__, n, device, host);
}

SIM_API int cusolverDnXgeev(void *handle, void *, int job_left, int job_right, int64_t n, int type_a, void *a,
                            int64_t lda, int type_w, void *w, int, void *, int64_t, int, void *v, int64_t ldv,
                            int /*compute type*/, void *, size_t, void *, size_t, int *info) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    if (job_left) return cannot(known, __func__, "left eigenvectors are not available, as in cuSOLVER itself");
    if (n < 0 || lda < std::max<Int>(1, n) || job_right < 0 || job_right > 1 ||
        (job_right && ldv < std::max<Int>(1, n)))
        return refuse(known, __func__, "invalid job, size or leading dimension");
    if (type_a == R32F && (type_w == C32F || type_w == R32F))
        return geev<float>(handle, __func__, job_right, n, a, lda, w, type_w == C32F, v, ldv, info);
    if (type_a == R64F && (type_w == C64F || type_w == R64F))
        return geev<double>(handle, __func__, job_right, n, a, lda, w, type_w == C64F, v, ldv, info);
    if (type_a == C32F && type_w == C32F)
        return geev<c32>(handle, __func__, job_right, n, a, lda, w, true, v, ldv, info);
    if (type_a == C64F && type_w == C64F)
        return geev<c64>(handle, __func__, job_right, n, a, lda, w, true, v, ldv, info);
    return cannot(known, __func__, unknown_types(type_a, type_w));
}
