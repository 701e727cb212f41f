// cuSOLVER: sparse systems in CSR form. They are solved as dense ones: right for the sizes of tests, and no faster.
#include <cmath>
#include <limits>

#include "lapack.h"

using namespace sim;
using namespace sim::host;

namespace {

// The first row pointer is the base of all indices, so the descriptor isn't needed.
template <class T> std::vector<T> dense(int n, int nonzeros, const T *values, const int *rows, const int *columns) {
    need_array(rows, n + 1), need_array(values, nonzeros), need_array(columns, nonzeros);
    std::vector<T> result(Int(n) * n + 1);
    int base = rows[0];
    for (Int i = 0; i < n; ++i)
        for (int at = rows[i] - base; at < rows[i + 1] - base; ++at) {
            Int j = columns[at] - base;
            if (at < 0 || at >= nonzeros || j < 0 || j >= n)
                throw Failure{ILLEGAL_ADDRESS, "an index is out of bounds"};
            result[i + j * n] += values[at];
        }
    return result;
}

// `singularity` (host memory) is -1, or the first row whose pivot is not above the tolerance.
template <class T>
int solve(void *handle, const char *name, bool cholesky, int n, int nonzeros, const T *values, const int *rows,
          const int *columns, const T *b, Real<T> tolerance, T *x, int *singularity) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    if (n < 0 || nonzeros < 0 || !singularity) return refuse(known, name, "invalid size");
    return finish(known, enqueue(known, name, [=] {
        std::vector<T> a = dense(n, nonzeros, values, rows, columns);
        need_array(b, n), need_array(x, n);
        std::vector<T> right(b, b + n), tau(n + 1);
        right.resize(n + 1);
        Int leading = std::max(1, n);
        *singularity = -1;
        if (cholesky) {
            if (int info = lapack<T>("potrf", 'L', n, a.data(), leading)) *singularity = info - 1;
            else lapack<T>("potrs", 'L', n, 1, a.data(), leading, right.data(), leading);
        } else {
            lapack_with_work<T>("geqrf", n, n, a.data(), leading, tau.data());
            for (Int i = n; i-- > 0;)
                if (!(std::abs(a[i + i * n]) > tolerance)) *singularity = int(i);
            lapack_with_work<T>(is_complex<T> ? "unmqr" : "ormqr", 'L', adjoint<T>, n, 1, n, a.data(), leading,
                                tau.data(), right.data(), leading);
            call<T>("trsm", 'L', 'U', 'N', 'N', n, 1, T(1), a.data(), leading, right.data(), leading);
        }
        std::copy_n(right.data(), n, x);
    }));
}

// The eigenvalue next to `guess`, by inverse iteration from the vector `start`.
template <class T>
int nearest_eigenvalue(void *handle, const char *name, int n, int nonzeros, const T *values, const int *rows,
                       const int *columns, T guess, const T *start, int rounds, Real<T> tolerance, T *eigenvalue,
                       T *vector) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    if (n < 1 || nonzeros < 0) return refuse(known, name, "invalid size");
    return enqueue(known, name, [=] {
        std::vector<T> a = dense(n, nonzeros, values, rows, columns), shifted = a;
        need_array(start, n), need_array(vector, n), need_array(eigenvalue, 1);
        for (Int i = 0; i < n; ++i) shifted[i + i * n] -= guess;
        std::vector<int> pivots(n);
        if (int info = lu<T>(n, n, shifted.data(), n, pivots.data()))  // the guess is an eigenvalue: move off a little
            shifted[Int(info - 1) * (n + 1)] = std::numeric_limits<Real<T>>::epsilon();
        std::vector<T> x(start, start + n), y(n);
        T value = guess;
        for (int round = 0; round < rounds; ++round) {
            lu_solve<T>('N', n, 1, shifted.data(), n, pivots.data(), x.data(), n);
            Real<T> norm = 0, error = 0;
            for (const T &element : x) norm += std::norm(element);
            for (T &element : x) element /= std::sqrt(norm);
            call<T>("gemv", 'N', n, n, T(1), a.data(), n, x.data(), 1, T(0), y.data(), 1);
            value = 0;
            for (Int i = 0; i < n; ++i) value += conjugate(x[i]) * y[i];
            for (Int i = 0; i < n; ++i) error += std::norm(y[i] - value * x[i]);
            if (std::sqrt(error) < tolerance) break;
        }
        *eigenvalue = value;
        std::copy_n(x.data(), n, vector);
    });
}

}  // namespace

#define SIM_SPARSE(L, T)                                                                                               \
    SIM_API int cusolverSp##L##csrlsvqr(void *handle, int n, int nonzeros, void *, const T *values, const int *rows,   \
                                        const int *columns, const T *b, Real<T> tolerance, int, T *x,                  \
                                        int *singularity) {                                                            \
        return solve(handle, __func__, false, n, nonzeros, values, rows, columns, b, tolerance, x, singularity);       \
    }                                                                                                                  \
    SIM_API int cusolverSp##L##csrlsvchol(void *handle, int n, int nonzeros, void *, const T *values, const int *rows, \
                                          const int *columns, const T *b, Real<T> tolerance, int, T *x,                \
                                          int *singularity) {                                                          \
        return solve(handle, __func__, true, n, nonzeros, values, rows, columns, b, tolerance, x, singularity);        \
    }                                                                                                                  \
    SIM_API int cusolverSp##L##csreigvsi(void *handle, int n, int nonzeros, void *, const T *values, const int *rows,  \
                                         const int *columns, T guess, const T *start, int rounds, Real<T> tolerance,   \
                                         T *eigenvalue, T *vector) {                                                   \
        return nearest_eigenvalue(handle, __func__, n, nonzeros, values, rows, columns, guess, start, rounds,          \
                                  tolerance, eigenvalue, vector);                                                      \
    }
SIM_FOR_ALL(SIM_SPARSE)
