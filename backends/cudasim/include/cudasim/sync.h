// Barriers, votes, shuffles. All that lanes exchange goes through one function of the scheduler.
#ifndef CUDASIM_SYNC_H
#define CUDASIM_SYNC_H

static inline void __syncthreads() { __cudasim_host->barrier(cudasim::vote_none, 0); }
static inline int __syncthreads_count(int p) { return __cudasim_host->barrier(cudasim::vote_count, p != 0); }
static inline int __syncthreads_and(int p) { return __cudasim_host->barrier(cudasim::vote_and, p != 0); }
static inline int __syncthreads_or(int p) { return __cudasim_host->barrier(cudasim::vote_or, p != 0); }
#ifdef CUDASIM_RACES  // what orders accesses besides barriers of the block, which the scheduler knows of
extern "C" void __cudasim_fence();
extern "C" unsigned long long __cudasim_tick();
extern "C" void __cudasim_met(unsigned lanes, const unsigned long long *ticks);
#define CUDASIM_FENCE __cudasim_fence();
#define CUDASIM_TICK __cudasim_tick()
#define CUDASIM_MET(lanes, ticks) __cudasim_met(lanes, ticks)
#else
#define CUDASIM_FENCE
#define CUDASIM_TICK 0
#define CUDASIM_MET(lanes, ticks) (void)(lanes)
#endif
static inline void __threadfence() { CUDASIM_FENCE asm volatile("" ::: "memory"); }
static inline void __threadfence_block() { asm volatile("" ::: "memory"); }
static inline void __threadfence_system() { CUDASIM_FENCE asm volatile("" ::: "memory"); }
static inline void __nanosleep(unsigned) { __cudasim_host->yield(); }
static inline void __brkpt() {}
static inline void __prof_trigger(int) {}
static inline void __trap() { __cudasim_host->stop(719, "__trap() was called"); }
static inline long long __cudasim_clock() { return (long long)__cudasim_host->nanoseconds(); }
static inline long long clock64() { return __cudasim_clock(); }
static inline unsigned long long __globaltimer() { return __cudasim_host->nanoseconds(); }

namespace cudasim {

typedef unsigned long long bits64;

static inline unsigned linear_thread() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
static inline unsigned lane() { return linear_thread() & 31; }

template <class T> static inline bits64 to_bits(T value) {
    static_assert(sizeof(T) <= 8, "a value that lanes exchange has at most 8 bytes");
    bits64 b = 0;
    __builtin_memcpy(&b, &value, sizeof(T));
    return b;
}
template <class T> static inline T from_bits(bits64 b) {
    union { char c[sizeof(T)]; T t; char d; } u = {{}};
    __builtin_memcpy(u.c, &b, sizeof(T));
    return u.t;
}

template <class T> static inline T shuffle(unsigned mask, T value, unsigned source) {
    bits64 values[32];
    unsigned lanes = __cudasim_host->exchange(mask, to_bits(value), values);
    source &= 31;
    return (lanes >> source & 1) ? from_bits<T>(values[source]) : value;
}

}  // namespace cudasim

static inline void __syncwarp(unsigned mask = 0xffffffffu) {
    cudasim::bits64 values[32];
    unsigned lanes = __cudasim_host->exchange(mask, CUDASIM_TICK, values);
    CUDASIM_MET(lanes, values);
}
// Lanes run on their own here, which the programming model allows: each is its own group of active threads.
static inline unsigned __activemask() { return 1u << cudasim::lane(); }

static inline unsigned __ballot_sync(unsigned mask, int predicate) {
    cudasim::bits64 values[32];
    unsigned lanes = __cudasim_host->exchange(mask, predicate != 0, values), result = 0;
    for (int i = 0; i < 32; ++i)
        if ((lanes >> i & 1) && values[i]) result |= 1u << i;
    return result;
}
static inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
static inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }
static inline int __uni_sync(unsigned mask, int predicate) {
    cudasim::bits64 values[32];
    unsigned lanes = __cudasim_host->exchange(mask, predicate != 0, values);
    for (int i = 0; i < 32; ++i)
        if ((lanes >> i & 1) && values[i] != (cudasim::bits64)(predicate != 0)) return 0;
    return 1;
}

#define CUDASIM_SHUFFLES(T)                                                                                 \
    static inline T __shfl_sync(unsigned mask, T v, int source, int width = 32) {                           \
        unsigned l = cudasim::lane(), w = (unsigned)width;                                                  \
        return cudasim::shuffle(mask, v, (l & ~(w - 1)) | ((unsigned)source & (w - 1)));                    \
    }                                                                                                       \
    static inline T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32) {                    \
        unsigned l = cudasim::lane(), w = (unsigned)width;                                                  \
        return cudasim::shuffle(mask, v, (l & (w - 1)) >= delta ? l - delta : l);                           \
    }                                                                                                       \
    static inline T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32) {                  \
        unsigned l = cudasim::lane(), w = (unsigned)width;                                                  \
        return cudasim::shuffle(mask, v, (l & (w - 1)) + delta < w ? l + delta : l);                        \
    }                                                                                                       \
    static inline T __shfl_xor_sync(unsigned mask, T v, int bits, int width = 32) {                         \
        unsigned l = cudasim::lane(), w = (unsigned)width, source = l ^ (unsigned)bits;                     \
        return cudasim::shuffle(mask, v, (source & ~(w - 1)) > (l & ~(w - 1)) ? l : source);                \
    }
CUDASIM_SHUFFLES(int)
CUDASIM_SHUFFLES(unsigned)
CUDASIM_SHUFFLES(long)
CUDASIM_SHUFFLES(unsigned long)
CUDASIM_SHUFFLES(long long)
CUDASIM_SHUFFLES(unsigned long long)
CUDASIM_SHUFFLES(float)
CUDASIM_SHUFFLES(double)

#define CUDASIM_MATCH(T)                                                                                    \
    static inline unsigned __match_any_sync(unsigned mask, T v) {                                           \
        cudasim::bits64 values[32], mine = cudasim::to_bits(v);                                             \
        unsigned lanes = __cudasim_host->exchange(mask, mine, values), result = 0;                          \
        for (int i = 0; i < 32; ++i)                                                                        \
            if ((lanes >> i & 1) && values[i] == mine) result |= 1u << i;                                   \
        return result;                                                                                      \
    }                                                                                                       \
    static inline unsigned __match_all_sync(unsigned mask, T v, int *same) {                                \
        cudasim::bits64 values[32], mine = cudasim::to_bits(v);                                             \
        unsigned lanes = __cudasim_host->exchange(mask, mine, values);                                      \
        *same = 1;                                                                                          \
        for (int i = 0; i < 32; ++i)                                                                        \
            if ((lanes >> i & 1) && values[i] != mine) *same = 0;                                           \
        return *same ? mask : 0;                                                                            \
    }
CUDASIM_MATCH(int)
CUDASIM_MATCH(unsigned)
CUDASIM_MATCH(long)
CUDASIM_MATCH(unsigned long)
CUDASIM_MATCH(long long)
CUDASIM_MATCH(unsigned long long)
CUDASIM_MATCH(float)
CUDASIM_MATCH(double)

#define CUDASIM_REDUCE(name, T, step)                                                   \
    static inline T __reduce_##name##_sync(unsigned mask, T v) {                        \
        cudasim::bits64 values[32];                                                     \
        unsigned lanes = __cudasim_host->exchange(mask, cudasim::to_bits(v), values);   \
        bool first = true;                                                              \
        T a = v;                                                                        \
        for (int i = 0; i < 32; ++i) {                                                  \
            if (!(lanes >> i & 1)) continue;                                            \
            T b = cudasim::from_bits<T>(values[i]);                                     \
            a = first ? b : (step);                                                     \
            first = false;                                                              \
        }                                                                               \
        return a;                                                                       \
    }
CUDASIM_REDUCE(add, unsigned, a + b)
CUDASIM_REDUCE(add, int, a + b)
CUDASIM_REDUCE(min, unsigned, a < b ? a : b)
CUDASIM_REDUCE(min, int, a < b ? a : b)
CUDASIM_REDUCE(max, unsigned, a > b ? a : b)
CUDASIM_REDUCE(max, int, a > b ? a : b)
CUDASIM_REDUCE(and, unsigned, a & b)
CUDASIM_REDUCE(or, unsigned, a | b)
CUDASIM_REDUCE(xor, unsigned, a ^ b)

#endif
