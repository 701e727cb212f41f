// The distributions of cupy.random.Generator, replaced as a whole. CuPy gives an array of states on the device, one per
// thread of a real launch, and element i is made from state i modulo their number. A state is ours: a key, a sequence
// and how far it was used; the smallest real one (XORWOW's) has 48 bytes, so ours fits into all.
#include <cstring>

#include "hooks.h"
#include "samplers.h"

namespace {

using sim::Sequence;

struct State {
    uint64_t key, sequence, block;
};
constexpr size_t STATE_BYTES = 48;

// An argument that may be an array: on the device lie its address, its rank, its shape and its strides in bytes.
template <typename T>
class Argument {
public:
    explicit Argument(intptr_t description) : words(reinterpret_cast<const int64_t *>(description)) {}
    T operator[](size_t element) const {
        const auto rank = words[1];
        const int64_t *shape = words + 2, *strides = shape + rank;
        auto *place = reinterpret_cast<const char *>(words[0]);
        for (auto axis = rank; axis-- > 0; element /= size_t(shape[axis]))
            place += strides[axis] * int64_t(element % size_t(shape[axis]));
        T value;
        std::memcpy(&value, place, sizeof value);
        return value;
    }

private:
    const int64_t *words;
};

// Fill `size` results of type T with sample(random, element).
template <typename T, typename Sample>
void launch(const char *name, intptr_t states, ssize_t state_count, intptr_t out, ssize_t size, intptr_t stream,
            Sample sample) {
    const sim::Lock lock;
    if (state_count <= 0) {
        sim::fail(sim::INVALID_VALUE, "%s: a generator without states", name);
        return;
    }
    sim::submit_counted((void *)stream, name, [=] {
        auto *memory = reinterpret_cast<char *>(states);
        auto *results = reinterpret_cast<T *>(out);
        for (ssize_t i = 0; i < size; ++i) {
            State state;
            char *place = memory + size_t(i % state_count) * STATE_BYTES;
            std::memcpy(&state, place, sizeof state);
            Sequence random(state.key, state.sequence, state.block);
            results[i] = T(sample(random, size_t(i)));
            state.block = random.begun();
            std::memcpy(place, &state, sizeof state);
        }
        return sim::OK;
    });
}

}  // namespace

SIM_API void cudasim_hook_init_curand_generator(int generator, intptr_t states, uint64_t seed, ssize_t size,
                                                intptr_t stream) {
    const sim::Lock lock;
    sim::submit_counted((void *)stream, "init_curand_generator", [=] {
        // The kinds of generators share our algorithm; their numbers should differ all the same.
        const uint64_t key = seed ^ uint64_t(generator) * 0x9e3779b97f4a7c15ull;
        for (ssize_t i = 0; i < size; ++i) {
            const State state = {key, uint64_t(i), 0};
            std::memcpy(reinterpret_cast<char *>(states) + size_t(i) * STATE_BYTES, &state, sizeof state);
        }
        return sim::OK;
    });
}

#define GENERATOR int, intptr_t states, ssize_t state_count, intptr_t out, ssize_t size, intptr_t stream

SIM_API void cudasim_hook_raw(GENERATOR) {
    launch<uint32_t>("random_raw", states, state_count, out, size, stream,
                     [](Sequence &random, size_t) { return random.word(); });
}

SIM_API void cudasim_hook_random_uniform(GENERATOR) {
    launch<double>("random_uniform", states, state_count, out, size, stream,
                   [](Sequence &random, size_t) { return random.uniform(); });
}

SIM_API void cudasim_hook_random_uniform_float(GENERATOR) {
    launch<float>("random_uniform_float", states, state_count, out, size, stream,
                  [](Sequence &random, size_t) { return random.uniform_float(); });
}

// Whole numbers up to `most`: masked words until one is small enough. A most that the mask can't reach below would
// never end, and is CuPy's error.
SIM_API void cudasim_hook_interval_32(GENERATOR, uint32_t most, uint32_t mask) {
    launch<uint32_t>("random_interval_32", states, state_count, out, size, stream,
                     [=](Sequence &random, size_t) {
                         uint32_t value = random.word() & mask;
                         while (value > most)
                             value = random.word() & mask;
                         return value;
                     });
}

SIM_API void cudasim_hook_interval_64(GENERATOR, uint64_t most, uint64_t mask) {
    launch<uint64_t>("random_interval_64", states, state_count, out, size, stream,
                     [=](Sequence &random, size_t) {
                         uint64_t value = random.twofold() & mask;
                         while (value > most)
                             value = random.twofold() & mask;
                         return value;
                     });
}

SIM_API void cudasim_hook_standard_normal(GENERATOR) {
    launch<double>("random_standard_normal", states, state_count, out, size, stream,
                   [](Sequence &random, size_t) { return random.normal(); });
}

SIM_API void cudasim_hook_standard_normal_float(GENERATOR) {
    launch<float>("random_standard_normal_float", states, state_count, out, size, stream,
                  [](Sequence &random, size_t) { return random.normal(); });
}

SIM_API void cudasim_hook_exponential(GENERATOR) {
    launch<double>("random_exponential", states, state_count, out, size, stream,
                   [](Sequence &random, size_t) { return random.exponential(); });
}

SIM_API void cudasim_hook_standard_gamma(GENERATOR, intptr_t shape) {
    launch<double>("random_standard_gamma", states, state_count, out, size, stream, [=](Sequence &random, size_t i) {
        return sim::sample_gamma(random, Argument<double>(shape)[i]);
    });
}

SIM_API void cudasim_hook_beta(GENERATOR, intptr_t a, intptr_t b) {
    launch<double>("random_beta", states, state_count, out, size, stream, [=](Sequence &random, size_t i) {
        return sim::sample_beta(random, Argument<double>(a)[i], Argument<double>(b)[i]);
    });
}

SIM_API void cudasim_hook_poisson(GENERATOR, intptr_t mean) {
    launch<int64_t>("random_poisson", states, state_count, out, size, stream, [=](Sequence &random, size_t i) {
        return sim::sample_poisson(random, Argument<double>(mean)[i]);
    });
}

SIM_API void cudasim_hook_geometric(GENERATOR, intptr_t p) {
    launch<int64_t>("random_geometric", states, state_count, out, size, stream, [=](Sequence &random, size_t i) {
        return sim::sample_geometric(random, Argument<double>(p)[i]);
    });
}

SIM_API void cudasim_hook_logseries(GENERATOR, intptr_t p) {
    launch<int64_t>("random_logseries", states, state_count, out, size, stream, [=](Sequence &random, size_t i) {
        return sim::sample_logseries(random, Argument<double>(p)[i]);
    });
}

SIM_API void cudasim_hook_hypergeometric(GENERATOR, intptr_t good, intptr_t bad, intptr_t drawn) {
    launch<int64_t>("random_hypergeometric", states, state_count, out, size, stream,
                    [=](Sequence &random, size_t i) {
                        return sim::sample_hypergeometric(random, Argument<int64_t>(good)[i],
                                                          Argument<int64_t>(bad)[i], Argument<int64_t>(drawn)[i]);
                    });
}

// The number of trials is read as a real device does: the low half of a 64-bit number.
// The last argument is room for what a real sampler remembers between elements; ours starts afresh each time.
SIM_API void cudasim_hook_binomial(GENERATOR, intptr_t trials, intptr_t p, intptr_t) {
    launch<int64_t>("random_binomial", states, state_count, out, size, stream, [=](Sequence &random, size_t i) {
        return sim::sample_binomial(random, Argument<int32_t>(trials)[i], Argument<double>(p)[i]);
    });
}
