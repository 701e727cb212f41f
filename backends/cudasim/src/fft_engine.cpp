// Transforms of one line: mixed radix for lengths with small prime factors, Bluestein's convolution for the others, so
// that every length takes O(n log n). Roots of unity are made in long double and rounded once.
#include "fft.h"

#include <cmath>
#include <list>
#include <mutex>

namespace sim::fft {

namespace {

constexpr size_t LARGEST_RADIX = 50;  // a longer butterfly, which is quadratic, would lose against the convolution

struct Wide {
    long double re, im;
};

// exp(2 pi i x / (8 n)) for whole x in [0, n]: the first octant, as the product of a coarse and a fine step.
class Octant {
public:
    explicit Octant(size_t n) {
        while (step * step < n)
            step *= 2;
        const long double unit = 0.25L * std::acos(-1.0L) / n;
        for (size_t i = 0; i <= n / step; ++i)
            coarse.push_back({std::cos(unit * (i * step)), std::sin(unit * (i * step))});
        for (size_t i = 0; i < step; ++i)
            fine.push_back({std::cos(unit * i), std::sin(unit * i)});
    }
    Wide operator()(size_t x) const {
        const Wide a = coarse[x / step], b = fine[x % step];
        return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    }

private:
    size_t step = 1;
    std::vector<Wide> coarse, fine;
};

Complex rounded(long double re, long double im) { return {double(re), double(im)}; }

// exp(-2 pi i k / n) for all k, exact at the multiples of an eighth because they are reflections of one octant.
std::vector<Complex> roots_of_unity(size_t n) {
    const Octant octant(n);
    std::vector<Complex> roots(n);
    for (size_t k = 0; k <= n / 2; ++k) {
        size_t x = 8 * k;
        Wide w;
        Complex root;
        if (x < 2 * n) {
            w = octant(x < n ? x : 2 * n - x);
            root = x < n ? rounded(w.re, w.im) : rounded(w.im, w.re);
        } else {
            x -= 2 * n;
            w = octant(x < n ? x : 2 * n - x);
            root = x < n ? rounded(-w.im, w.re) : rounded(-w.re, w.im);
        }
        roots[k] = conj(root);
        if (k > 0)
            roots[n - k] = root;
    }
    if (n % 2 == 0)
        roots[n / 2] = {-1, 0};
    return roots;
}

// The prime factors in rising order, after as many fours as there are pairs of twos.
std::vector<size_t> factorised(size_t n) {
    std::vector<size_t> factors;
    for (; n % 4 == 0; n /= 4)
        factors.push_back(4);
    for (size_t p = 2; p * p <= n; p += p == 2 ? 1 : 2)
        for (; n % p == 0; n /= p)
            factors.push_back(p);
    if (n > 1)
        factors.push_back(n);
    return factors;
}

size_t next_smooth(size_t least) {  // the smallest 2^a 3^b 5^c that is not less
    size_t best = ~size_t(0);
    for (size_t fives = 1; fives < 2 * least; fives *= 5)
        for (size_t threes = fives; threes < 2 * least; threes *= 3) {
            size_t twos = threes;
            while (twos < least)
                twos *= 2;
            best = twos < best ? twos : best;
        }
    return best;
}

}  // namespace

Line::Line(size_t length) : n(length) {
    factors = factorised(n);
    if (factors.empty() || factors.back() <= LARGEST_RADIX) {
        roots = roots_of_unity(n);
        return;
    }
    const std::vector<Complex> halves = roots_of_unity(2 * n);
    inner = line(next_smooth(2 * n - 1));
    const size_t size = inner->size();
    std::vector<Complex> wave(size, Complex{0, 0});
    chirp.resize(n);
    for (size_t k = 0; k < n; ++k) {
        chirp[k] = halves[k * k % (2 * n)];  // exp(-pi i k k / n)
        wave[k] = conj(chirp[k]);
        if (k > 0)
            wave[size - k] = wave[k];
    }
    filter.resize(size);
    inner->forward(wave.data(), filter.data());
    for (Complex &value : filter)
        value = (1.0 / double(size)) * value;
}

void Line::forward(const Complex *in, Complex *out) const {
    if (inner)
        convolve(in, out);
    else if (n == 1)
        out[0] = in[0];
    else
        combine(out, in, 1, 0, n);
}

void Line::convolve(const Complex *in, Complex *out) const {
    const size_t size = inner->size();
    std::vector<Complex> wave(size, Complex{0, 0}), spectrum(size);
    for (size_t k = 0; k < n; ++k)
        wave[k] = in[k] * chirp[k];
    inner->forward(wave.data(), spectrum.data());
    for (size_t k = 0; k < size; ++k)  // conjugated twice: that turns the second transform into the inverse one
        spectrum[k] = conj(spectrum[k] * filter[k]);
    inner->forward(spectrum.data(), wave.data());
    for (size_t k = 0; k < n; ++k)
        out[k] = conj(wave[k]) * chirp[k];
}

// Transform `length` numbers that lie `stride` apart: first the parts (every radix-th number), then their sum.
void Line::combine(Complex *out, const Complex *in, size_t stride, size_t level, size_t length) const {
    const size_t radix = factors[level], count = length / radix;
    if (count == 1)
        for (size_t part = 0; part < radix; ++part)
            out[part] = in[part * stride];
    else
        for (size_t part = 0; part < radix; ++part)
            combine(out + part * count, in + part * stride, stride * radix, level + 1, count);
    butterflies(out, stride, count, radix);
}

void Line::butterflies(Complex *out, size_t stride, size_t count, size_t radix) const {
    const Complex *root = roots.data();
    if (radix == 2) {
        for (size_t k = 0; k < count; ++k) {
            const Complex a = out[k], b = out[k + count] * root[k * stride];
            out[k] = a + b;
            out[k + count] = a - b;
        }
    } else if (radix == 4) {
        for (size_t k = 0; k < count; ++k) {
            const Complex a = out[k], b = out[k + count] * root[k * stride];
            const Complex c = out[k + 2 * count] * root[2 * k * stride];
            const Complex d = out[k + 3 * count] * root[3 * k * stride];
            const Complex even = a + c, odd = a - c, sum = b + d, difference = times_i(b - d);
            out[k] = even + sum;
            out[k + count] = odd - difference;
            out[k + 2 * count] = even - sum;
            out[k + 3 * count] = odd + difference;
        }
    } else if (radix == 3) {
        const double sine = std::sqrt(0.75);
        for (size_t k = 0; k < count; ++k) {
            const Complex a = out[k], b = out[k + count] * root[k * stride];
            const Complex c = out[k + 2 * count] * root[2 * k * stride];
            const Complex sum = b + c, middle = a - 0.5 * sum, turn = times_i(sine * (b - c));
            out[k] = a + sum;
            out[k + count] = middle - turn;
            out[k + 2 * count] = middle + turn;
        }
    } else {
        // Any other prime: pair the parts i and radix - i, whose roots are conjugate, to halve the products.
        const size_t turn = roots.size() / radix, half = radix / 2;
        Complex sums[LARGEST_RADIX / 2 + 1], differences[LARGEST_RADIX / 2 + 1];
        for (size_t k = 0; k < count; ++k) {
            const Complex first = out[k];
            Complex total = first;
            for (size_t i = 1; i <= half; ++i) {
                const Complex a = out[k + i * count] * root[i * k * stride];
                const Complex b = out[k + (radix - i) * count] * root[(radix - i) * k * stride];
                sums[i] = a + b;
                differences[i] = a - b;
                total = total + sums[i];
            }
            out[k] = total;
            for (size_t j = 1; j <= half; ++j) {
                Complex even = first, odd = {0, 0};
                for (size_t i = 1; i <= half; ++i) {
                    const Complex w = root[i * j % radix * turn];
                    even = even + w.re * sums[i];
                    odd = odd + w.im * differences[i];
                }
                odd = times_i(odd);
                out[k + j * count] = even + odd;
                out[k + (radix - j) * count] = even - odd;
            }
        }
    }
}

std::shared_ptr<const Line> line(size_t n) {
    static std::recursive_mutex mutex;  // a line asks for its inner line
    static std::list<std::shared_ptr<const Line>> recent;
    const std::lock_guard<std::recursive_mutex> lock(mutex);
    for (auto i = recent.begin(); i != recent.end(); ++i)
        if ((*i)->size() == n) {
            recent.splice(recent.begin(), recent, i);
            return recent.front();
        }
    auto made = std::make_shared<const Line>(n);
    recent.push_front(made);
    if (recent.size() > 32)
        recent.pop_back();
    return made;
}

}  // namespace sim::fft
