// cuRAND's host functions: pseudo-random sequences by seed and position. Every kind of generator is Philox here, with
// its own sequence, so the numbers are as good but not those of a real device.
#include "hooks.h"
#include "philox.h"
#include "samplers.h"

namespace {

enum Status {
    SUCCESS = 0, NOT_INITIALIZED = 101, TYPE_ERROR = 103, OUT_OF_RANGE = 104, LENGTH_NOT_MULTIPLE = 105,
    LAUNCH_FAILURE = 201,
};

struct Generator {
    static constexpr uint32_t ALIVE = 0x52414e44;
    uint32_t alive = ALIVE;
    uint32_t kind = 0;
    uint64_t seed = 0, offset = 0, position = 0;  // in 32-bit words
    void *stream = nullptr;
};

// Words of a generator's sequence from a position on.
class Reader {
public:
    Reader(const Generator &generator, uint64_t position)
        : seed(generator.seed), kind(generator.kind), block(position / 4), lane(int(position % 4)) {}
    uint32_t word() {
        if (lane == 4 || !filled) {
            if (filled) {
                ++block;
                lane = 0;
            }
            words = sim::philox({uint32_t(block), uint32_t(block >> 32), kind, 0}, seed);
            filled = true;
        }
        return words[lane++];
    }
    uint64_t twofold() {
        const uint64_t high = word();
        return high << 32 | word();
    }
    double uniform() { return double((twofold() >> 11) + 1) * 0x1p-53; }      // in (0, 1]
    float uniform_float() { return float((word() >> 8) + 1) * 0x1p-24f; }     // in (0, 1]
    double uniform_word() { return (double(word()) + 1) * 0x1p-32; }          // in (0, 1], from one word

private:
    uint64_t seed;
    uint32_t kind;
    uint64_t block;
    int lane;
    bool filled = false;
    sim::Words words{};
};

bool sound(const Generator *generator) { return generator && generator->alive == Generator::ALIVE; }

// Fill `count` numbers, each of which takes `words` words of the sequence. The position is taken now: what a call gives
// doesn't depend on when its work runs.
template <typename T, typename Fill>
int generate(const char *name, void *handle, T *out, size_t count, int words, Fill fill) {
    const sim::Lock lock;
    auto *generator = static_cast<Generator *>(handle);
    if (!sound(generator))
        return NOT_INITIALIZED;
    if (count == 0)
        return SUCCESS;
    if (!sim::find(out)) {
        sim::fail(sim::INVALID_VALUE, "%s: the output is not in device memory", name);
        return OUT_OF_RANGE;
    }
    const Generator state = *generator;
    generator->position += count * words;
    const int code = sim::submit_counted(generator->stream, name, [=] {
        fill(state, out, count);
        return sim::OK;
    });
    return code == sim::OK ? SUCCESS : LAUNCH_FAILURE;
}

// Normal numbers in pairs, by Box and Muller; `shape` makes the final number of one.
template <typename T, typename Uniform, typename Shape>
void fill_normal(const Generator &state, T *out, size_t count, Uniform uniform, Shape shape) {
    Reader random(state, state.position);
    for (size_t i = 0; i < count; i += 2) {
        const double radius = std::sqrt(-2 * std::log(uniform(random))), angle = 2 * M_PI * uniform(random);
        out[i] = shape(radius * std::cos(angle));
        out[i + 1] = shape(radius * std::sin(angle));
    }
}

template <typename T, typename Shape>
int generate_normal(const char *name, void *handle, T *out, size_t count, Shape shape) {
    if (count % 2)
        return LENGTH_NOT_MULTIPLE;
    constexpr bool twofold = sizeof(T) == 8;
    return generate(name, handle, out, count, twofold ? 2 : 1, [shape](const Generator &state, T *to, size_t n) {
        fill_normal(state, to, n, [](Reader &r) { return twofold ? r.uniform() : r.uniform_word(); }, shape);
    });
}

}  // namespace

SIM_API int curandGetVersion(int *version) {
    *version = 10310;
    return SUCCESS;
}

SIM_API int curandCreateGenerator(void **handle, int kind) {
    const sim::Lock lock;
    switch (kind) {
    case 100: kind = 101; break;  // the default is XORWOW
    case 101: case 121: case 141: case 142: case 161: break;
    case 200: case 201: case 202: case 203: case 204:
        sim::unsupported("curandCreateGenerator of a quasi-random (Sobol) generator");
        return TYPE_ERROR;
    default: return TYPE_ERROR;
    }
    auto *generator = new Generator;
    generator->kind = uint32_t(kind);
    *handle = generator;
    return SUCCESS;
}

SIM_API int curandDestroyGenerator(void *handle) {
    const sim::Lock lock;
    auto *generator = static_cast<Generator *>(handle);
    if (!sound(generator))
        return NOT_INITIALIZED;
    generator->alive = 0;
    delete generator;
    return SUCCESS;
}

template <typename Change>
static int change(void *handle, Change how) {
    const sim::Lock lock;
    auto *generator = static_cast<Generator *>(handle);
    if (!sound(generator))
        return NOT_INITIALIZED;
    how(*generator);
    return SUCCESS;
}

SIM_API int curandSetStream(void *handle, void *stream) {
    return change(handle, [=](Generator &generator) { generator.stream = stream; });
}

SIM_API int curandSetPseudoRandomGeneratorSeed(void *handle, unsigned long long seed) {
    return change(handle, [=](Generator &generator) {
        generator.seed = seed;
        generator.position = generator.offset;
    });
}

SIM_API int curandSetGeneratorOffset(void *handle, unsigned long long offset) {
    return change(handle, [=](Generator &generator) { generator.offset = generator.position = offset; });
}

SIM_API int curandSetGeneratorOrdering(void *handle, int order) {
    if (order < 100 || order > 104)
        return OUT_OF_RANGE;
    return change(handle, [](Generator &) {});
}

SIM_API int curandGenerate(void *handle, unsigned *out, size_t count) {
    return generate("curandGenerate", handle, out, count, 1, [](const Generator &state, unsigned *to, size_t n) {
        Reader random(state, state.position);
        for (size_t i = 0; i < n; ++i)
            to[i] = random.word();
    });
}

SIM_API int curandGenerateLongLong(void *handle, unsigned long long *out, size_t count) {
    return generate("curandGenerateLongLong", handle, out, count, 2,
                    [](const Generator &state, unsigned long long *to, size_t n) {
                        Reader random(state, state.position);
                        for (size_t i = 0; i < n; ++i)
                            to[i] = random.twofold();
                    });
}

SIM_API int curandGenerateUniform(void *handle, float *out, size_t count) {
    return generate("curandGenerateUniform", handle, out, count, 1, [](const Generator &state, float *to, size_t n) {
        Reader random(state, state.position);
        for (size_t i = 0; i < n; ++i)
            to[i] = random.uniform_float();
    });
}

SIM_API int curandGenerateUniformDouble(void *handle, double *out, size_t count) {
    return generate("curandGenerateUniformDouble", handle, out, count, 2,
                    [](const Generator &state, double *to, size_t n) {
                        Reader random(state, state.position);
                        for (size_t i = 0; i < n; ++i)
                            to[i] = random.uniform();
                    });
}

SIM_API int curandGenerateNormal(void *handle, float *out, size_t count, float mean, float deviation) {
    return generate_normal("curandGenerateNormal", handle, out, count,
                           [=](double x) { return float(mean + deviation * x); });
}

SIM_API int curandGenerateNormalDouble(void *handle, double *out, size_t count, double mean, double deviation) {
    return generate_normal("curandGenerateNormalDouble", handle, out, count,
                           [=](double x) { return mean + deviation * x; });
}

SIM_API int curandGenerateLogNormal(void *handle, float *out, size_t count, float mean, float deviation) {
    return generate_normal("curandGenerateLogNormal", handle, out, count,
                           [=](double x) { return float(std::exp(mean + deviation * x)); });
}

SIM_API int curandGenerateLogNormalDouble(void *handle, double *out, size_t count, double mean, double deviation) {
    return generate_normal("curandGenerateLogNormalDouble", handle, out, count,
                           [=](double x) { return std::exp(mean + deviation * x); });
}

// A sample takes an unknown number of words, so each has a sequence of its own; the key keeps them off the others'.
SIM_API int curandGeneratePoisson(void *handle, unsigned *out, size_t count, double mean) {
    if (!(mean > 0))
        return OUT_OF_RANGE;
    return generate("curandGeneratePoisson", handle, out, count, 1,
                    [mean](const Generator &state, unsigned *to, size_t n) {
                        for (size_t i = 0; i < n; ++i) {
                            sim::Sequence random(state.seed ^ 0x706f6973736f6eull * state.kind, state.position + i);
                            to[i] = unsigned(sim::sample_poisson(random, mean));
                        }
                    });
}
