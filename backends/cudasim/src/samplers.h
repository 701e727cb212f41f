// Samples of the distributions that need more than a formula, from a sequence of random words.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "philox.h"

namespace sim {

inline double log_gamma(double x) {
    int sign;
    return lgamma_r(x, &sign);  // std::lgamma writes a global
}

inline double log_factorial(double x) { return log_gamma(x + 1); }

// Marsaglia and Tsang (2000); shapes below one from shape + 1 by a power of a uniform number.
inline double sample_gamma(Sequence &random, double shape) {
    if (shape == 0)
        return 0;
    if (!(shape > 0))
        return NAN;
    if (shape < 1) {
        const double larger = sample_gamma(random, shape + 1);
        return larger * std::exp(-random.exponential() / shape);
    }
    const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    for (;;) {
        const double x = random.normal(), base = 1 + c * x;
        if (base <= 0)
            continue;
        const double v = base * base * base, u = random.positive();
        if (std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v)))
            return d * v;
    }
}

// The ratio of two gamma samples, by their logarithms where both may be too small to be told from zero.
inline double sample_beta(Sequence &random, double a, double b) {
    if (a <= 1 && b <= 1) {
        const double log_x = std::log(sample_gamma(random, a + 1)) - random.exponential() / a;
        const double log_y = std::log(sample_gamma(random, b + 1)) - random.exponential() / b;
        return 1 / (1 + std::exp(log_y - log_x));
    }
    const double x = sample_gamma(random, a), y = sample_gamma(random, b);
    return x / (x + y);
}

// Few events expected: count them by multiplying uniform numbers. Many: Hörmann's transformed rejection (PTRS, 1993).
inline int64_t sample_poisson(Sequence &random, double mean) {
    if (!(mean > 0))
        return 0;
    if (mean < 10) {
        const double limit = std::exp(-mean);
        int64_t count = 0;
        for (double product = random.uniform(); product > limit; product *= random.uniform())
            ++count;
        return count;
    }
    const double log_mean = std::log(mean), b = 0.931 + 2.53 * std::sqrt(mean), a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), inner = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        const double u = random.uniform() - 0.5, v = random.positive(), us = 0.5 - std::fabs(u);
        const double k = std::floor((2 * a / us + b) * u + mean + 0.43);
        if (us >= 0.07 && v <= inner)
            return int64_t(k);
        if (!(k >= 0) || (us < 0.013 && v > us))
            continue;
        if (std::log(v * inverse_alpha / (a / (us * us) + b)) <= k * log_mean - mean - log_factorial(k))
            return int64_t(k);
    }
}

// Few successes expected: search the cumulative distribution. Many: Hörmann's BTRS (1993).
inline int64_t sample_binomial(Sequence &random, int64_t trials, double p) {
    if (trials <= 0 || !(p > 0))
        return 0;
    if (p > 0.5)
        return p >= 1 ? trials : trials - sample_binomial(random, trials, 1 - p);
    const double n = double(trials), q = 1 - p, odds = p / q;
    if (n * p < 10) {
        for (;;) {
            double u = random.uniform(), chance = std::exp(n * std::log1p(-p));
            for (int64_t k = 0; k <= trials; ++k) {
                if (u < chance)
                    return k;
                u -= chance;
                chance *= odds * (n - double(k)) / double(k + 1);
            }
        }
    }
    const double spread = std::sqrt(n * p * q), b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * p;
    const double c = n * p + 0.5, inner = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * spread;
    const double mode = std::floor((n + 1) * p), log_odds = std::log(odds);
    const double height = log_factorial(mode) + log_factorial(n - mode);
    for (;;) {
        const double u = random.uniform() - 0.5, v = random.positive(), us = 0.5 - std::fabs(u);
        const double k = std::floor((2 * a / us + b) * u + c);
        if (!(k >= 0 && k <= n))
            continue;
        if (us >= 0.07 && v <= inner)
            return int64_t(k);
        const double bound = height - log_factorial(k) - log_factorial(n - k) + (k - mode) * log_odds;
        if (std::log(v * alpha / (a / (us * us) + b)) <= bound)
            return int64_t(k);
    }
}

// Search outwards from the most likely count, on both sides by turns, until the chances add up to a uniform number.
inline int64_t sample_hypergeometric(Sequence &random, int64_t good, int64_t bad, int64_t drawn) {
    const int64_t least = std::max<int64_t>(0, drawn - bad), most = std::min(good, drawn);
    if (most <= least)  // also more drawn than there are: all the good ones
        return std::max<int64_t>(0, most);
    const double g = double(good), b = double(bad), d = double(drawn);
    const auto mode = std::clamp(int64_t((d + 1) * (g + 1) / (g + b + 2)), least, most);
    const double m = double(mode);
    const double peak = std::exp(log_factorial(g) - log_factorial(m) - log_factorial(g - m) + log_factorial(b) -
                                 log_factorial(d - m) - log_factorial(b - d + m) - log_factorial(g + b) +
                                 log_factorial(d) + log_factorial(g + b - d));
    for (;;) {
        double u = random.uniform() - peak, up = peak, down = peak;
        if (u < 0)
            return mode;
        for (int64_t high = mode, low = mode; high < most || low > least;) {
            if (high < most) {
                const double k = double(high++);
                up *= (g - k) * (d - k) / ((k + 1) * (b - d + k + 1));
                if ((u -= up) < 0)
                    return high;
            }
            if (low > least) {
                const double k = double(low--);
                down *= k * (b - d + k) / ((g - k + 1) * (d - k + 1));
                if ((u -= down) < 0)
                    return low;
            }
            if (up < 1e-300 && down < 1e-300)
                break;  // rounding left a remainder: draw again
        }
    }
}

inline int64_t sample_geometric(Sequence &random, double p) {
    if (p >= 1)
        return 1;
    const double count = std::ceil(std::log(random.positive()) / std::log1p(-p));
    return count < 1 ? 1 : count < 9.2e18 ? int64_t(count) : INT64_MAX;
}

// Kemp's second accelerated generator (1981).
inline int64_t sample_logseries(Sequence &random, double p) {
    const double rate = std::log1p(-p);
    const double v = random.positive();
    if (v >= p)
        return 1;
    const double q = -std::expm1(rate * random.positive());
    if (v <= q * q) {
        const double count = std::floor(1 + std::log(v) / std::log(q));
        return count < 1 ? 1 : count < 9.2e18 ? int64_t(count) : INT64_MAX;
    }
    return v >= q ? 1 : 2;
}

}  // namespace sim
