"""Functions that kernels call and C lacks, or has with other special values than NumPy: once for both languages.

A body is C in which ``T`` is the type of the arguments, and functions of floats have the names that C gives those of
doubles; `languages` prints it. Only CUDA has complex numbers, for which CuPy's headers bring the rest; the frame has
LG_NAN and LG_INFINITY.
"""

from typing import NamedTuple

__all__ = ["COMMON", "CUDA_ONLY", "LOOPS_ONLY", "Helper"]


class Helper(NamedTuple):
    """A function from values of one type to that type; ``integers``: their body, where it is another one."""

    parameters: tuple[str, ...]
    body: str
    integers: str | None = None


COMMON: dict[str, Helper] = {
    "lg_maximum": Helper(("a", "b"), "return a != a ? a : b != b ? b : a > b ? a : b;"),
    "lg_minimum": Helper(("a", "b"), "return a != a ? a : b != b ? b : a < b ? a : b;"),
    "lg_sign": Helper(("x",), "return x > 0 ? (T)1 : x < 0 ? (T)-1 : x == 0 ? (T)0 : x;"),
    "lg_remainder": Helper(
        ("a", "b"),
        """
    const T rest = fmod(a, b);
    if (rest == 0) return copysign((T)0, b);
    return (rest < 0) != (b < 0) && rest == rest ? rest + b : rest;
""",
        """
    if (b == 0 || b == (T)-1) return 0;
    const T rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
""",
    ),
    "lg_floor_quotient": Helper(
        ("a", "b"),
        """
    const T plain = a / b;
    if (b == 0) return plain;
    const T rest = fmod(a, b);
    T whole = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0)) whole -= (T)1;
    if (whole == 0) return copysign((T)0, plain);
    const T low = floor(whole);
    return whole - low > (T)0.5 ? low + (T)1 : low;
""",
        """
    if (b == 0) return 0;
    if (b == (T)-1) return (T)0 - a;
    const T whole = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? whole - 1 : whole;
""",
    ),
    "lg_floor_divide": Helper(
        ("a", "b"),
        "return isinf(a) || isinf(b) ? floor(a / b) : lg_floor_quotient(a, b);",
        "return lg_floor_quotient(a, b);",
    ),
    "lg_logaddexp": Helper(
        ("a", "b"),
        """
    const T apart = a - b, top = apart > 0 ? a : b;
    const T sum = top + log1p(exp(-fabs(apart)));
    return a == b ? a + (T)0.693147180559945309417232121458176568 : apart != apart ? apart : sum;
""",
    ),
    "lg_normal_density": Helper(("x",), "return exp(x * x * (T)-0.5) * (T)0.398942280401432677939946059934381868;"),
    "lg_normal_share": Helper(("x",), "return erfc(x * (T)-0.707106781186547524400844362104849039) * (T)0.5;"),
}

#: glibc's SIMD version does not commute.
LOOPS_ONLY: dict[str, Helper] = {
    "lg_hypot": Helper(
        ("a", "b"),
        """
    const T x = fabs(a), y = fabs(b);
    return hypot(x < y ? y : x, x < y ? x : y);
""",
    )
}

#: Of integers and complex numbers, which loops don't have.
CUDA_ONLY = r"""
template <typename C> __device__ inline C lg_complex_sign(C x) {
    const auto size = abs(x);
    return size == 0 ? C(0) : C(x.real() / size, x.imag() / size);
}
template <typename C> __device__ inline C lg_complex_expm1(C x) {
    if (!isfinite(x.real()) || !isfinite(x.imag()) || (x.real() == 0 && x.imag() == 0)) return exp(x) - C(1);
    const auto half = sin(x.imag() / 2);
    return C(expm1(x.real()) * cos(x.imag()) - 2 * half * half, exp(x.real()) * sin(x.imag()));
}
template <typename C> __device__ inline C lg_complex_log2(C x) {
    const C y = log(x);
    return C(y.real() * 1.442695040888963407359924681001892137, y.imag() * 1.442695040888963407359924681001892137);
}
template <typename C> __device__ inline C lg_complex_divide(C a, C b) {
    const auto re = fabs(b.real()), im = fabs(b.imag());
    if (re == 0 && im == 0) return C(a.real() / re, a.imag() / re);
    if (re >= im) {
        const auto ratio = b.imag() / b.real(), scale = 1 / (b.real() + b.imag() * ratio);
        return C((a.real() + a.imag() * ratio) * scale, (a.imag() - a.real() * ratio) * scale);
    }
    const auto ratio = b.real() / b.imag(), scale = 1 / (b.imag() + b.real() * ratio);
    return C((a.real() * ratio + a.imag()) * scale, (a.imag() * ratio - a.real()) * scale);
}
template <typename C> __device__ inline C lg_complex_reciprocal(C x) {
    if (fabs(x.imag()) <= fabs(x.real())) {
        const auto ratio = x.imag() / x.real(), size = x.real() + x.imag() * ratio;
        return C(1 / size, -ratio / size);
    }
    const auto ratio = x.real() / x.imag(), size = x.real() * ratio + x.imag();
    return C(ratio / size, -1 / size);
}
template <typename C> __device__ inline C lg_complex_power(C a, C b) {
    if (b.real() == 0 && b.imag() == 0) return C(1);
    if (a.real() == 0 && a.imag() == 0) return b.real() > 0 ? C(0) : C(LG_NAN, LG_NAN);
    return pow(a, b);
}
template <typename C> __device__ inline bool lg_isfinite(C x) { return isfinite(x.real()) && isfinite(x.imag()); }
template <typename C> __device__ inline bool lg_isinf(C x) { return isinf(x.real()) || isinf(x.imag()); }
template <typename T> __device__ inline T lg_integer_fmod(T a, T b) { return b == 0 || b == T(-1) ? T(0) : T(a % b); }
template <typename T> __device__ inline T lg_power(T a, T b) {
    T y = 1;
    for (; b > 0; b >>= 1, a *= a)
        if (b & 1) y *= a;
    return y;
}
template <typename T> __device__ inline T lg_shift_left(T a, T b) {
    return b >= T(0) && b < T(8 * sizeof(T)) ? T(a << b) : T(0);
}
template <typename T> __device__ inline T lg_shift_right(T a, T b) {
    return b >= T(0) && b < T(8 * sizeof(T)) ? T(a >> b) : a < T(0) ? T(-1) : T(0);
}
"""
