// Random numbers without a state: Philox 4x32 with ten rounds (Salmon et al., 2011) turns a key and a counter into four
// random words, so that any number of a sequence can be made on its own.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>

namespace sim {

using Words = std::array<uint32_t, 4>;

inline Words philox(Words counter, uint64_t key) {
    uint32_t low = uint32_t(key), high = uint32_t(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const uint64_t a = uint64_t(0xD2511F53u) * counter[0], b = uint64_t(0xCD9E8D57u) * counter[2];
        counter = {uint32_t(b >> 32) ^ counter[1] ^ low, uint32_t(b), uint32_t(a >> 32) ^ counter[3] ^ high,
                   uint32_t(a)};
        low += 0x9E3779B9u;
        high += 0xBB67AE85u;
    }
    return counter;
}

// One of 2^64 sequences of a key: words one after the other. `block` tells how many groups of four words were begun.
class Sequence {
public:
    Sequence(uint64_t key, uint64_t sequence, uint64_t block = 0) : key(key), sequence(sequence), block(block) {}
    uint64_t begun() const { return block; }

    uint32_t word() {
        if (used == 4) {
            words = philox({uint32_t(block), uint32_t(block >> 32), uint32_t(sequence), uint32_t(sequence >> 32)}, key);
            ++block;
            used = 0;
        }
        return words[used++];
    }
    uint64_t twofold() {
        const uint64_t high = word();
        return high << 32 | word();
    }
    double uniform() { return double(twofold() >> 11) * 0x1p-53; }          // in [0, 1)
    double positive() { return double((twofold() >> 11) + 1) * 0x1p-53; }   // in (0, 1]
    float uniform_float() { return float(word() >> 8) * 0x1p-24f; }         // in [0, 1)
    double exponential() { return -std::log(positive()); }
    double normal() {  // Box and Muller's, the second number dropped
        const double radius = std::sqrt(2 * exponential());
        return radius * std::cos(2 * M_PI * uniform());
    }

private:
    uint64_t key, sequence, block;
    Words words{};
    int used = 4;
};

}  // namespace sim
