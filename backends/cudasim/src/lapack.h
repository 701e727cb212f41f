// The host's BLAS and LAPACK, found at run time, and what cuBLAS and cuSOLVER share: handles, scalars, checks.
#pragma once
#include <algorithm>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "sim.h"

namespace sim::host {

using c32 = std::complex<float>;
using c64 = std::complex<double>;
template <class T> struct RealOf { using type = T; };
template <class R> struct RealOf<std::complex<R>> { using type = R; };
template <class T> using Real = typename RealOf<T>::type;
template <class T> constexpr bool is_complex = !std::is_same_v<T, Real<T>>;
template <class T> constexpr bool is_single = sizeof(Real<T>) == 4;
template <class T> constexpr char letter = is_complex<T> ? (is_single<T> ? 'c' : 'z') : (is_single<T> ? 's' : 'd');

inline float conjugate(float x) { return x; }
inline double conjugate(double x) { return x; }
template <class R> std::complex<R> conjugate(std::complex<R> x) { return std::conj(x); }

// Thrown inside of work; `enqueue` turns it into an error code and a sentence.
struct Failure {
    int code;
    std::string text;
};

// -- calling it -----------------------------------------------------------------------------------------------------
// Scalars are always kept as 64-bit integers and passed by address: a library with 32-bit integers reads (and writes)
// the low half, which is the same number on a little-endian machine. Only arrays of integers need to know the width.
using Int = int64_t;
bool available();  // false, with the reason as the last fault and on stderr, if there is no BLAS and LAPACK
bool wide();       // does it use 64-bit integers?
void *routine(const std::string &name);  // "dgemm"; throws Failure

inline Int stored(int value) { return value; }
template <class X> X stored(X value) { return value; }
template <class X> X *address(X *&array) { return array; }
template <class X> X *address(X &scalar) { return &scalar; }

template <class... A> void call_stored(const std::string &name, A... arguments) {
    // Fortran appends the length of each character argument; passing some too many harms nobody.
    using Function = void (*)(decltype(address(arguments))..., size_t, size_t, size_t, size_t);
    reinterpret_cast<Function>(routine(name))(address(arguments)..., 1, 1, 1, 1);
}
// call<double>("gemm", 'N', 'T', m, n, k, alpha, a, lda, ...): scalars by value, arrays by pointer.
template <class T, class... A> void call(const char *stem, A... arguments) {
    call_stored(letter<T> + std::string(stem), stored(arguments)...);
}
// A routine whose last argument is `info`, which is returned.
template <class T, class... A> int lapack(const char *stem, A... arguments) {
    Int info = 0;
    call<T>(stem, arguments..., &info);
    return int(info);
}
// A size as LAPACK returns it: single precision may have rounded it down.
template <class T> Int work_size(T reported) { return Int(double(std::real(reported)) * 1.000001) + 1; }
// ... and whose last but one arguments are `work, lwork`: the size is asked for first.
template <class T, class... A> int lapack_with_work(const char *stem, A... arguments) {
    T size{};
    if (int info = lapack<T>(stem, arguments..., &size, Int(-1))) return info;
    std::vector<T> work(work_size(size));
    return lapack<T>(stem, arguments..., work.data(), Int(work.size()));
}

// An array of pivots of the library's width, between device arrays of 32-bit integers.
class Pivots {
public:
    explicit Pivots(size_t count, const int *from = nullptr) : values(std::max<size_t>(count, 1)), count(count) {
        for (size_t i = 0; i < count; ++i) set(i, from ? from[i] : int(i) + 1);
    }
    Int *data() { return values.data(); }
    int operator[](size_t i) const { return wide() ? int(values[i]) : narrow()[i]; }
    void store(int *to) const {
        for (size_t i = 0; i < count; ++i) to[i] = (*this)[i];
    }

private:
    void set(size_t i, int value) {
        if (wide()) values[i] = value;
        else reinterpret_cast<int32_t *>(values.data())[i] = value;
    }
    const int32_t *narrow() const { return reinterpret_cast<const int32_t *>(values.data()); }
    std::vector<Int> values;
    size_t count;
};

// -- handles --------------------------------------------------------------------------------------------------------
struct Status {  // the two libraries number their errors differently
    int not_initialised, invalid, failed, unsupported;
};
constexpr Status blas_status{1, 7, 13, 15}, solver_status{1, 3, 6, 9};

struct Context {
    static constexpr uint32_t alive = 0xB1A5A11E;
    uint32_t magic = alive;
    const Status *status;
    void *stream = nullptr;
    int pointer_mode = 0;  // 0: alpha, beta and results are in host memory; 1: in device memory
    int math_mode = 0, atomics_mode = 0;
};
Context *context(void *handle);  // null (and a sentence) if it isn't one
int create_context(void **handle, const Status *status);
int destroy_context(void *handle, const Status *status);

// Give work to the handle's stream; the closure may throw Failure. Returns a status of the library.
template <class Closure> int enqueue(Context *handle, const char *name, Closure work) {
    auto run = [name, work]() -> int {
        try {
            work();
            return OK;
        } catch (const Failure &failure) {
            return fail(failure.code, "%s: %s", name, failure.text.c_str());
        }
    };
    int error = submit(handle->stream, name, run, [name] { count_library(name); });
    return error ? handle->status->failed : 0;
}
// For results in host memory: wait until the work has been done.
inline int finish(Context *handle, int status) {
    if (status) return status;
    return synchronise(handle->stream) ? handle->status->failed : 0;
}
// An argument that the real library refuses.
int refuse(const Context *handle, const char *name, const char *why);
// A combination that the real library, or this one, can't do.
int cannot(const Context *handle, const char *name, const std::string &what);
// For the functions of cuSOLVER that tell how much workspace they need: LAPACK gets it from the host's heap instead, so
// the size is only plausible.
int tell_size(void *handle, const char *name, bool valid, Int size, int *out);

// -- checks of memory, made when the work runs ----------------------------------------------------------------------
void need(const void *address, size_t bytes);  // throws ILLEGAL_ADDRESS unless a device may touch all of it
template <class T> void need_array(const T *address, Int count) {
    if (count > 0) need(address, size_t(count) * sizeof(T));
}
template <class T> void need_vector(const T *address, Int count, Int step) {
    if (count > 0) need_array(address, (count - 1) * std::abs(step) + 1);
}
template <class T> void need_matrix(const T *address, Int rows, Int columns, Int leading) {
    if (rows > 0 && columns > 0) need_array(address, (columns - 1) * leading + rows);
}

// alpha and beta: a value that was copied when the call was made, or a device address that is read when it runs.
template <class T> struct Scalar {
    T value{};
    const T *device = nullptr;
    Scalar(const Context *handle, const T *pointer) {
        if (handle->pointer_mode) device = pointer;
        else value = *pointer;
    }
    T get() const {
        if (device) need_array(device, 1);
        return device ? *device : value;
    }
};

// Where a vector of BLAS begins: a negative step means that it is walked from its end.
template <class T> T *first(T *address, Int count, Int step) {
    return step < 0 ? address + (1 - count) * step : address;
}

// Values of the enumerations, as BLAS spells them.
inline char operation(int value) { return value == 0 ? 'N' : value == 1 ? 'T' : 'C'; }
inline char triangle(int value) { return value == 0 ? 'L' : 'U'; }
inline char side_of(int value) { return value == 0 ? 'L' : 'R'; }
inline char diagonal(int value) { return value == 0 ? 'N' : 'U'; }
template <class T> constexpr char adjoint = is_complex<T> ? 'C' : 'T';

// LU without pivoting, which both libraries do when they get no array for the pivots. Returns LAPACK's info.
template <class T> int lu_without_pivots(Int m, Int n, T *a, Int lda) {
    int info = 0;
    for (Int k = 0; k < std::min(m, n); ++k) {
        if (a[k + k * lda] == T(0)) {
            if (!info) info = int(k) + 1;
            continue;
        }
        for (Int i = k + 1; i < m; ++i) a[i + k * lda] /= a[k + k * lda];
        for (Int j = k + 1; j < n; ++j)
            for (Int i = k + 1; i < m; ++i) a[i + j * lda] -= a[i + k * lda] * a[k + j * lda];
    }
    return info;
}
template <class T> int lu(Int m, Int n, T *a, Int lda, int *pivots) {
    if (!pivots) return lu_without_pivots(m, n, a, lda);
    Pivots found(std::min(m, n));
    int info = lapack<T>("getrf", m, n, a, lda, found.data());
    found.store(pivots);
    return info;
}
template <class T> int lu_solve(char trans, Int n, Int count, const T *a, Int lda, const int *pivots, T *b, Int ldb) {
    Pivots known(n, pivots);
    return lapack<T>("getrs", trans, n, count, a, lda, known.data(), b, ldb);
}

}  // namespace sim::host

// The four types that BLAS knows, with the letters of their functions.
#define SIM_FOR_REAL(define) define(S, float) define(D, double)
#define SIM_FOR_COMPLEX(define) define(C, sim::host::c32) define(Z, sim::host::c64)
#define SIM_FOR_ALL(define) SIM_FOR_REAL(define) SIM_FOR_COMPLEX(define)
