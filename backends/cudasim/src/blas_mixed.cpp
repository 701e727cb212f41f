// cuBLAS: products whose operands, result and arithmetic may have different types (GemmEx and its batched forms).
#include "half.h"
#include "lapack.h"

using namespace sim;
using namespace sim::host;

namespace {

// -- types: values of cudaDataType ----------------------------------------------------------------------------------
enum Type { R32F = 0, R64F = 1, R16F = 2, R8I = 3, C32F = 4, C64F = 5, C8I = 7, R32I = 10, R16BF = 14 };
// values of cublasComputeType_t
enum Compute {
    half_precision = 64, half_pedantic = 65, single = 68, single_pedantic = 69, double_precision = 70,
    double_pedantic = 71, integer = 72, integer_pedantic = 73, single_fast_half = 74, single_fast_bfloat = 75,
    single_fast_tf32 = 77,
};

size_t type_size(int type) {
    switch (type) {
        case R8I: return 1;
        case R16F: case R16BF: case C8I: return 2;
        case R32F: case R32I: return 4;
        case R64F: case C32F: return 8;
        case C64F: return 16;
        default: return 0;
    }
}

template <class To, class From> To bits(From from) {
    To to;
    static_assert(sizeof to == sizeof from);
    std::memcpy(&to, &from, sizeof to);
    return to;
}

float from_bfloat(uint16_t value) { return bits<float>(uint32_t(value) << 16); }
uint16_t to_bfloat(float value) {
    uint32_t all = bits<uint32_t>(value);
    if ((all & 0x7FFFFFFF) > 0x7F800000) return uint16_t((all >> 16) | 0x40);
    return uint16_t((all + 0x7FFF + ((all >> 16) & 1)) >> 16);
}

// -- a matrix of any type as one of T, the type that the host computes in -------------------------------------------
template <class T> T load(int type, const void *address, Int at) {
    switch (type) {
        case R16F: return T(half_to_float(static_cast<const uint16_t *>(address)[at]));
        case R16BF: return T(from_bfloat(static_cast<const uint16_t *>(address)[at]));
        case R8I: return T(static_cast<const int8_t *>(address)[at]);
        case R32I: return T(Real<T>(static_cast<const int32_t *>(address)[at]));
        case R32F: return T(static_cast<const float *>(address)[at]);
        case R64F: return T(Real<T>(static_cast<const double *>(address)[at]));
        default: break;
    }
    if constexpr (is_complex<T>) {
        if (type == C8I) {
            const int8_t *pair = static_cast<const int8_t *>(address) + 2 * at;
            return T(pair[0], pair[1]);
        }
        if (type == C32F) return T(static_cast<const c32 *>(address)[at]);
    }
    throw Failure{NOT_SUPPORTED, "a type without a conversion"};
}

template <class T> void store(int type, void *address, Int at, T value) {
    switch (type) {
        case R16F: static_cast<uint16_t *>(address)[at] = half_from_double(double(std::real(value))); return;
        case R16BF: static_cast<uint16_t *>(address)[at] = to_bfloat(float(std::real(value))); return;
        case R32I: static_cast<int32_t *>(address)[at] = int32_t(int64_t(std::real(value))); return;  // wraps
        case R32F: static_cast<float *>(address)[at] = float(std::real(value)); return;
        default: break;
    }
    if constexpr (is_complex<T>)
        if (type == C32F) {
            static_cast<c32 *>(address)[at] = c32(value);
            return;
        }
    throw Failure{NOT_SUPPORTED, "a type without a conversion"};
}

// What a tensor core sees of a single: all but the last bits, rounded to nearest.
float shortened(float value, int dropped) {
    uint32_t all = bits<uint32_t>(value);
    if (!dropped || (all & 0x7F800000) == 0x7F800000) return value;
    uint32_t odd = (all >> dropped) & 1;
    return bits<float>(((all + (1u << (dropped - 1)) - 1 + odd) >> dropped) << dropped);
}
double shortened(double value, int) { return value; }
template <class R> std::complex<R> shortened(std::complex<R> value, int dropped) {
    return {shortened(value.real(), dropped), shortened(value.imag(), dropped)};
}

template <class T>
std::vector<T> converted(int type, const void *address, Int rows, Int columns, Int leading, int dropped = 0) {
    std::vector<T> result(rows * columns);
    for (Int j = 0; j < columns; ++j)
        for (Int i = 0; i < rows; ++i) {
            if constexpr (is_complex<T> && !is_single<T>)
                result[i + j * rows] = static_cast<const T *>(address)[i + j * leading];
            else
                result[i + j * rows] = shortened(load<T>(type, address, i + j * leading), dropped);
        }
    return result;
}

// -- one description for all forms ----------------------------------------------------------------------------------
struct Mixed {
    int transa, transb, m, n, k;
    int type_a, lda, type_b, ldb, type_c, ldc;
    int compute;

    // Bits of singles that tensor cores don't look at.
    int dropped() const { return compute == single_fast_tf32 ? 13 : compute == single_fast_bfloat ? 16 : 0; }

    const char *problem() const {
        if (transa < 0 || transa > 2 || transb < 0 || transb > 2) return "invalid operation";
        if (m < 0 || n < 0 || k < 0) return "negative size";
        if (lda < std::max(1, transa ? k : m)) return "the leading dimension of A is too small";
        if (ldb < std::max(1, transb ? n : k)) return "the leading dimension of B is too small";
        if (ldc < std::max(1, m)) return "the leading dimension of C is too small";
        return nullptr;
    }

    // The type of alpha and beta, or -1 if cuBLAS doesn't know the combination.
    int scale_type() const {
        if (type_a != type_b) return -1;
        int from = type_a, to = type_c;
        switch (compute) {
            case half_precision: case half_pedantic: return from == R16F && to == R16F ? R16F : -1;
            case integer: case integer_pedantic: return from == R8I && to == R32I ? R32I : -1;
            case double_precision: case double_pedantic: return from == to && (to == R64F || to == C64F) ? to : -1;
            case single: case single_pedantic:
                if ((from == R16F || from == R16BF) && (to == from || to == R32F)) return R32F;
                if ((from == R8I || from == R32F) && to == R32F) return R32F;
                if ((from == C8I || from == C32F) && to == C32F) return C32F;
                return -1;
            case single_fast_half: case single_fast_bfloat: case single_fast_tf32:
                return from == to && (to == R32F || to == C32F) ? to : -1;
            default: return -1;
        }
    }

    void check(const void *a, const void *b, const void *c) const {
        Int last_a = Int((transa ? m : k) - 1) * lda + (transa ? k : m);
        Int last_b = Int((transb ? k : n) - 1) * ldb + (transb ? n : k);
        if (k) need(a, size_t(last_a) * type_size(type_a)), need(b, size_t(last_b) * type_size(type_b));
        need(c, size_t(Int(n - 1) * ldc + m) * type_size(type_c));
    }

    template <class T> void run(T alpha, const void *a, const void *b, T beta, void *c) const {
        if (!m || !n) return;
        check(a, b, c);
        constexpr int same = is_complex<T> ? (is_single<T> ? C32F : C64F) : (is_single<T> ? R32F : R64F);
        Int rows_a = transa ? k : m, columns_a = transa ? m : k, rows_b = transb ? n : k, columns_b = transb ? k : n;
        // What already has the type is used as it is.
        std::vector<T> copy_a, copy_b, copy_c;
        auto *left = static_cast<const T *>(a), *right = static_cast<const T *>(b);
        auto *result = static_cast<T *>(c);
        Int ld_left = lda, ld_right = ldb, ld_result = ldc;
        if (type_a != same || dropped()) {
            copy_a = converted<T>(type_a, a, rows_a, columns_a, lda, dropped());
            left = copy_a.data(), ld_left = std::max<Int>(1, rows_a);
        }
        if (type_b != same || dropped()) {
            copy_b = converted<T>(type_b, b, rows_b, columns_b, ldb, dropped());
            right = copy_b.data(), ld_right = std::max<Int>(1, rows_b);
        }
        if (type_c != same) {
            if (beta != T(0)) copy_c = converted<T>(type_c, c, m, n, ldc);
            else copy_c.resize(Int(m) * n);
            result = copy_c.data(), ld_result = m;
        }
        call<T>("gemm", operation(transa), operation(transb), m, n, k, alpha, left, ld_left, right, ld_right, beta,
                result, ld_result);
        if (type_c == same) return;
        for (Int j = 0; j < n; ++j)
            for (Int i = 0; i < m; ++i) store(type_c, c, i + j * ldc, result[i + j * ld_result]);
    }
};

// Old programs give the type of the arithmetic as a cudaDataType.
int compute_type(int given) {
    switch (given) {
        case R16F: return half_precision;
        case R32F: case C32F: return single;
        case R64F: case C64F: return double_precision;
        case R32I: return integer;
        default: return given;
    }
}

template <class T, class Each>
int product(Context *known, const char *name, const Mixed &shape, int scale, const void *alpha, const void *beta,
            Each each) {
    size_t size = type_size(scale);
    bool in_device_memory = known->pointer_mode;
    std::vector<char> scalars(2 * size);  // alpha and beta as they are now
    if (!in_device_memory) std::memcpy(&scalars[0], alpha, size), std::memcpy(&scalars[size], beta, size);
    return enqueue(known, name, [=] {
        if (in_device_memory) need(alpha, size), need(beta, size);
        T factor, keep;
        const void *from_alpha = in_device_memory ? alpha : &scalars[0];
        const void *from_beta = in_device_memory ? beta : &scalars[size];
        if constexpr (std::is_same_v<T, c64>) {
            std::memcpy(&factor, from_alpha, sizeof factor), std::memcpy(&keep, from_beta, sizeof keep);
        } else {
            factor = load<T>(scale, from_alpha, 0), keep = load<T>(scale, from_beta, 0);
        }
        each([&](const void *a, const void *b, void *c) { shape.run<T>(factor, a, b, keep, c); });
    });
}

// Each is called with a function that multiplies one pair.
template <class Each>
int mixed(void *handle, const char *name, const Mixed &shape, const void *alpha, const void *beta, Each each) {
    Context *known = context(handle);
    if (!known) return blas_status.not_initialised;
    if (const char *problem = shape.problem()) return refuse(known, name, problem);
    if (!alpha || !beta) return refuse(known, name, "the address of alpha or beta is null");
    int scale = shape.scale_type();
    if (scale < 0)
        return cannot(known, name, "no such combination of types: A " + std::to_string(shape.type_a) + ", B " +
                      std::to_string(shape.type_b) + ", C " + std::to_string(shape.type_c) + ", compute type " +
                      std::to_string(shape.compute));
    switch (scale) {
        case R32I: return product<double>(known, name, shape, scale, alpha, beta, each);  // exact below 2^53
        case R64F: return product<double>(known, name, shape, scale, alpha, beta, each);
        case C32F: return product<c32>(known, name, shape, scale, alpha, beta, each);
        case C64F: return product<c64>(known, name, shape, scale, alpha, beta, each);
        default: return product<float>(known, name, shape, scale, alpha, beta, each);  // halves too
    }
}

const void *offset(const void *address, int type, long long elements) {
    return static_cast<const char *>(address) + elements * (long long)(type_size(type));
}
void *offset(void *address, int type, long long elements) {
    return static_cast<char *>(address) + elements * (long long)(type_size(type));
}

}  // namespace

// -- the exported names ---------------------------------------------------------------------------------------------
SIM_API int cublasGemmEx(void *handle, int transa, int transb, int m, int n, int k, const void *alpha, const void *a,
                         int type_a, int lda, const void *b, int type_b, int ldb, const void *beta, void *c, int type_c,
                         int ldc, int compute, int /*algorithm*/) {
    Mixed shape{transa, transb, m, n, k, type_a, lda, type_b, ldb, type_c, ldc, compute_type(compute)};
    return mixed(handle, __func__, shape, alpha, beta, [=](auto multiply) { multiply(a, b, c); });
}

SIM_API int cublasSgemmEx(void *handle, int transa, int transb, int m, int n, int k, const float *alpha, const void *a,
                          int type_a, int lda, const void *b, int type_b, int ldb, const float *beta, void *c,
                          int type_c, int ldc) {
    Mixed shape{transa, transb, m, n, k, type_a, lda, type_b, ldb, type_c, ldc, single};
    return mixed(handle, __func__, shape, alpha, beta, [=](auto multiply) { multiply(a, b, c); });
}

SIM_API int cublasGemmStridedBatchedEx(void *handle, int transa, int transb, int m, int n, int k, const void *alpha,
                                       const void *a, int type_a, int lda, long long stride_a, const void *b,
                                       int type_b, int ldb, long long stride_b, const void *beta, void *c, int type_c,
                                       int ldc, long long stride_c, int batch, int compute, int /*algorithm*/) {
    Mixed shape{transa, transb, m, n, k, type_a, lda, type_b, ldb, type_c, ldc, compute_type(compute)};
    return mixed(handle, __func__, shape, alpha, beta, [=](auto multiply) {
        for (int i = 0; i < batch; ++i)
            multiply(offset(a, type_a, i * stride_a), offset(b, type_b, i * stride_b), offset(c, type_c, i * stride_c));
    });
}

SIM_API int cublasGemmBatchedEx(void *handle, int transa, int transb, int m, int n, int k, const void *alpha,
                                const void *const *a, int type_a, int lda, const void *const *b, int type_b, int ldb,
                                const void *beta, void *const *c, int type_c, int ldc, int batch, int compute,
                                int /*algorithm*/) {
    Mixed shape{transa, transb, m, n, k, type_a, lda, type_b, ldb, type_c, ldc, compute_type(compute)};
    return mixed(handle, __func__, shape, alpha, beta, [=](auto multiply) {
        need_array(a, batch), need_array(b, batch), need_array(c, batch);
        for (int i = 0; i < batch; ++i) multiply(a[i], b[i], c[i]);
    });
}

SIM_API int cublasHgemm(void *handle, int transa, int transb, int m, int n, int k, const void *alpha, const void *a,
                        int lda, const void *b, int ldb, const void *beta, void *c, int ldc) {
    Mixed shape{transa, transb, m, n, k, R16F, lda, R16F, ldb, R16F, ldc, half_precision};
    return mixed(handle, __func__, shape, alpha, beta, [=](auto multiply) { multiply(a, b, c); });
}
