// The discrete Fourier transform of one line of numbers, in double precision whatever the caller's precision is.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

namespace sim::fft {

// Our own pair: the standard's complex product tests for infinities, which costs more than the product.
struct Complex {
    double re, im;
};
inline Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
inline Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
inline Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
inline Complex operator*(double a, Complex b) { return {a * b.re, a * b.im}; }
inline Complex conj(Complex a) { return {a.re, -a.im}; }
inline Complex times_i(Complex a) { return {-a.im, a.re}; }

// What is needed to transform lines of one length; made once, then read only.
class Line {
public:
    explicit Line(size_t n);
    size_t size() const { return n; }
    // The forward, unnormalised transform: out[k] = sum of in[j] exp(-2 pi i jk / n). `in` and `out` don't overlap.
    void forward(const Complex *in, Complex *out) const;

private:
    void combine(Complex *out, const Complex *in, size_t stride, size_t level, size_t length) const;
    void butterflies(Complex *out, size_t stride, size_t count, size_t radix) const;
    void convolve(const Complex *in, Complex *out) const;

    size_t n;
    std::vector<size_t> factors;
    std::vector<Complex> roots;           // exp(-2 pi i k / n)
    std::shared_ptr<const Line> inner;    // lengths with a big prime factor: a convolution of this longer length...
    std::vector<Complex> chirp, filter;   // ...with a chirp (Bluestein), whose transform is the filter
};

// The line of a length, from a small cache.
std::shared_ptr<const Line> line(size_t n);

// For plans over several devices, by the plan's handle; results are cuFFT's.
int set_devices(int handle, const std::vector<int> &devices);
size_t bytes_of(int handle);  // of the data of a plan without layout, 0 if there is no such plan
int transform_packed(int handle, int type, int direction, void *data);  // now and in place

}  // namespace sim::fft
