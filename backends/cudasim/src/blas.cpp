// cuBLAS: handles and level 1 (vectors).
#include <cmath>

#include "lapack.h"

using namespace sim;
using namespace sim::host;

// -- handles --------------------------------------------------------------------------------------------------------
SIM_API int cublasCreate_v2(void **handle) { return create_context(handle, &blas_status); }
SIM_API int cublasDestroy_v2(void *handle) { return destroy_context(handle, &blas_status); }

SIM_API int cublasGetVersion_v2(void *, int *version) {
    *version = 120901;
    return 0;
}
SIM_API int cublasGetProperty(int which, int *value) {
    constexpr int parts[] = {12, 9, 1};
    if (which < 0 || which > 2 || !value) return blas_status.invalid;
    *value = parts[which];
    return 0;
}

#define SIM_BLAS_SETTING(name, type, field)                        \
    SIM_API int cublasSet##name(void *handle, type value) {        \
        Context *known = context(handle);                          \
        if (!known) return blas_status.not_initialised;            \
        known->field = value;                                      \
        return 0;                                                  \
    }                                                              \
    SIM_API int cublasGet##name(void *handle, type *value) {       \
        Context *known = context(handle);                          \
        if (!known) return blas_status.not_initialised;            \
        if (!value) return blas_status.invalid;                    \
        *value = known->field;                                     \
        return 0;                                                  \
    }
SIM_BLAS_SETTING(Stream_v2, void *, stream)
SIM_BLAS_SETTING(PointerMode_v2, int, pointer_mode)
SIM_BLAS_SETTING(MathMode, int, math_mode)
SIM_BLAS_SETTING(AtomicsMode, int, atomics_mode)

SIM_API int cublasSetWorkspace_v2(void *handle, void *, size_t) {  // nothing here needs one
    return context(handle) ? 0 : blas_status.not_initialised;
}

SIM_API const char *cublasGetStatusName(int status) {
    switch (status) {
        case 0: return "CUBLAS_STATUS_SUCCESS";
        case 1: return "CUBLAS_STATUS_NOT_INITIALIZED";
        case 3: return "CUBLAS_STATUS_ALLOC_FAILED";
        case 7: return "CUBLAS_STATUS_INVALID_VALUE";
        case 8: return "CUBLAS_STATUS_ARCH_MISMATCH";
        case 11: return "CUBLAS_STATUS_MAPPING_ERROR";
        case 13: return "CUBLAS_STATUS_EXECUTION_FAILED";
        case 14: return "CUBLAS_STATUS_INTERNAL_ERROR";
        case 15: return "CUBLAS_STATUS_NOT_SUPPORTED";
        case 16: return "CUBLAS_STATUS_LICENSE_ERROR";
        default: return "unknown status of cuBLAS";
    }
}
SIM_API const char *cublasGetStatusString(int status) { return cublasGetStatusName(status); }

// -- results --------------------------------------------------------------------------------------------------------
namespace {

// A function with a scalar result: in host memory the host waits for it, in device memory it doesn't.
template <class R, class Closure> int reduce(void *handle, const char *name, R *result, Closure compute) {
    Context *known = context(handle);
    if (!known) return blas_status.not_initialised;
    if (!result) return refuse(known, name, "the address of the result is null");
    bool in_device_memory = known->pointer_mode;
    if (!in_device_memory && capturing(known->stream)) {  // waiting isn't allowed then, and ends the capture
        synchronise(known->stream);
        return refuse(known, name, "a result in host memory can't be captured");
    }
    int status = enqueue(known, name, [=] {
        if (in_device_memory) need_array(result, 1);
        *result = compute();
    });
    return in_device_memory ? status : finish(known, status);
}

template <class T> Real<T> one_norm(T x) {
    if constexpr (is_complex<T>) return std::abs(x.real()) + std::abs(x.imag());
    else return std::abs(x);
}

// 1-based position of the largest (smallest) element, the first of equals; 0 for an empty vector.
template <bool Largest, class T> int extreme(void *handle, const char *name, int n, const T *x, int step, int *result) {
    return reduce(handle, name, result, [=]() -> int {
        if (n < 1 || step < 1) return 0;
        need_vector(x, n, step);
        int best = 0;
        for (int i = 1; i < n; ++i) {
            Real<T> value = one_norm(x[Int(i) * step]), before = one_norm(x[Int(best) * step]);
            if (Largest ? value > before : value < before) best = i;
        }
        return best + 1;
    });
}

template <class T> int asum(void *handle, const char *name, int n, const T *x, int step, Real<T> *result) {
    return reduce(handle, name, result, [=]() -> Real<T> {
        if (n < 1 || step < 1) return 0;
        need_vector(x, n, step);
        double sum = 0;
        for (int i = 0; i < n; ++i) sum += one_norm(x[Int(i) * step]);
        return Real<T>(sum);
    });
}

// Scaled as in LAPACK's lassq, so that neither large nor small numbers are lost.
template <class T> int nrm2(void *handle, const char *name, int n, const T *x, int step, Real<T> *result) {
    return reduce(handle, name, result, [=]() -> Real<T> {
        if (n < 1 || step < 1) return 0;
        need_vector(x, n, step);
        double scale = 0, sum = 1;
        bool not_a_number = false;
        auto add = [&](double value) {
            double size = std::abs(value);
            not_a_number |= std::isnan(size);
            if (size == 0) return;
            if (!(size <= scale)) {
                if (std::isinf(size) && std::isinf(scale)) return;
                sum = 1 + sum * (scale / size) * (scale / size), scale = size;
            } else {
                sum += (size / scale) * (size / scale);
            }
        };
        for (int i = 0; i < n; ++i) {
            add(std::real(x[Int(i) * step]));
            if constexpr (is_complex<T>) add(std::imag(x[Int(i) * step]));
        }
        if (not_a_number) return NAN;
        return Real<T>(std::isinf(scale) ? scale : scale * std::sqrt(sum));
    });
}

// Single precision is summed in double: a device sums in a tree, which is closer to that than to one long chain.
template <bool Conjugate, class T>
int dot(void *handle, const char *name, int n, const T *x, int step_x, const T *y, int step_y, T *result) {
    using Sum = std::conditional_t<is_complex<T>, c64, double>;
    return reduce(handle, name, result, [=]() -> T {
        need_vector(x, n, step_x), need_vector(y, n, step_y);
        const T *px = first(x, n, step_x), *py = first(y, n, step_y);
        Sum sum = 0;
        for (int i = 0; i < n; ++i) {
            T left = px[Int(i) * step_x];
            sum += Sum(Conjugate ? conjugate(left) : left) * Sum(py[Int(i) * step_y]);
        }
        return T(sum);
    });
}

template <class T>
int axpy(void *handle, const char *name, int n, const T *alpha, const T *x, int step_x, T *y, int step_y) {
    Context *known = context(handle);
    if (!known) return blas_status.not_initialised;
    Scalar<T> scale(known, alpha);
    return enqueue(known, name, [=] {
        need_vector(x, n, step_x), need_vector(y, n, step_y);
        const T *px = first(x, n, step_x), factor = scale.get();
        T *py = first(y, n, step_y);
        if (factor == T(0)) return;
        for (int i = 0; i < n; ++i) py[Int(i) * step_y] += factor * px[Int(i) * step_x];
    });
}

template <class T, class S> int scal(void *handle, const char *name, int n, const S *alpha, T *x, int step) {
    Context *known = context(handle);
    if (!known) return blas_status.not_initialised;
    Scalar<S> scale(known, alpha);
    return enqueue(known, name, [=] {
        if (n < 1 || step < 1) return;
        need_vector(x, n, step);
        S factor = scale.get();
        for (int i = 0; i < n; ++i) x[Int(i) * step] *= factor;
    });
}

}  // namespace

// -- the exported names ---------------------------------------------------------------------------------------------
#define SIM_EXTREME(low, T)                                                                            \
    SIM_API int cublasI##low##amax_v2(void *handle, int n, const T *x, int step, int *result) {        \
        return extreme<true>(handle, __func__, n, x, step, result);                                    \
    }                                                                                                  \
    SIM_API int cublasI##low##amin_v2(void *handle, int n, const T *x, int step, int *result) {        \
        return extreme<false>(handle, __func__, n, x, step, result);                                   \
    }
SIM_EXTREME(s, float)
SIM_EXTREME(d, double)
SIM_EXTREME(c, c32)
SIM_EXTREME(z, c64)

#define SIM_NORMS(letters, T)                                                                          \
    SIM_API int cublas##letters##asum_v2(void *handle, int n, const T *x, int step, Real<T> *result) { \
        return asum(handle, __func__, n, x, step, result);                                             \
    }                                                                                                  \
    SIM_API int cublas##letters##nrm2_v2(void *handle, int n, const T *x, int step, Real<T> *result) { \
        return nrm2(handle, __func__, n, x, step, result);                                             \
    }
SIM_NORMS(S, float)
SIM_NORMS(D, double)
SIM_NORMS(Sc, c32)
SIM_NORMS(Dz, c64)

#define SIM_DOT(name, T, conjugated)                                                                   \
    SIM_API int cublas##name##_v2(void *handle, int n, const T *x, int step_x, const T *y, int step_y, \
                                  T *result) {                                                         \
        return dot<conjugated>(handle, __func__, n, x, step_x, y, step_y, result);                     \
    }
SIM_DOT(Sdot, float, false)
SIM_DOT(Ddot, double, false)
SIM_DOT(Cdotu, c32, false)
SIM_DOT(Cdotc, c32, true)
SIM_DOT(Zdotu, c64, false)
SIM_DOT(Zdotc, c64, true)

#define SIM_AXPY(L, T)                                                                                 \
    SIM_API int cublas##L##axpy_v2(void *handle, int n, const T *alpha, const T *x, int step_x, T *y,  \
                                   int step_y) {                                                       \
        return axpy(handle, __func__, n, alpha, x, step_x, y, step_y);                                 \
    }
SIM_FOR_ALL(SIM_AXPY)

#define SIM_SCAL(name, T, S)                                                                           \
    SIM_API int cublas##name##_v2(void *handle, int n, const S *alpha, T *x, int step) {               \
        return scal(handle, __func__, n, alpha, x, step);                                              \
    }
SIM_SCAL(Sscal, float, float)
SIM_SCAL(Dscal, double, double)
SIM_SCAL(Cscal, c32, c32)
SIM_SCAL(Csscal, c32, float)
SIM_SCAL(Zscal, c64, c64)
SIM_SCAL(Zdscal, c64, double)
