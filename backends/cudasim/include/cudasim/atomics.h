// Atomics are plain code: one host thread runs all device threads, and switches only where a thread waits.
#ifndef CUDASIM_ATOMICS_H
#define CUDASIM_ATOMICS_H

#ifdef CUDASIM_RACES
extern "C" void __cudasim_atomic(const void *address, unsigned long size);
#define CUDASIM_ATOMIC_FUNCTION static inline __attribute__((no_sanitize("thread")))
#define CUDASIM_ATOMIC_SEEN __cudasim_atomic(address, sizeof *address);
#else
#define CUDASIM_ATOMIC_FUNCTION static inline
#define CUDASIM_ATOMIC_SEEN
#endif

#define CUDASIM_ATOMIC_(name, scope, T, V, result)                      \
    CUDASIM_ATOMIC_FUNCTION T name##scope(T *address, V value) {        \
        CUDASIM_ATOMIC_SEEN                                             \
        T old = *(volatile T *)address;                                 \
        *(volatile T *)address = (T)(result);                           \
        return old;                                                     \
    }
#define CUDASIM_ATOMIC(name, T, result)                                 \
    CUDASIM_ATOMIC_(name, , T, T, result)                               \
    CUDASIM_ATOMIC_(name, _block, T, T, result)                         \
    CUDASIM_ATOMIC_(name, _system, T, T, result)
#define CUDASIM_ATOMIC_INTEGER(name, result)                            \
    CUDASIM_ATOMIC(name, int, result)                                   \
    CUDASIM_ATOMIC(name, unsigned int, result)                          \
    CUDASIM_ATOMIC(name, unsigned long long, result)

CUDASIM_ATOMIC_INTEGER(atomicAdd, old + value)
CUDASIM_ATOMIC(atomicAdd, float, old + value)
CUDASIM_ATOMIC(atomicAdd, double, old + value)
CUDASIM_ATOMIC(atomicSub, int, old - value)
CUDASIM_ATOMIC(atomicSub, unsigned int, old - value)
CUDASIM_ATOMIC_INTEGER(atomicExch, value)
CUDASIM_ATOMIC(atomicExch, float, value)
CUDASIM_ATOMIC_INTEGER(atomicMin, old < value ? old : value)
CUDASIM_ATOMIC(atomicMin, long long, old < value ? old : value)
CUDASIM_ATOMIC_INTEGER(atomicMax, old > value ? old : value)
CUDASIM_ATOMIC(atomicMax, long long, old > value ? old : value)
CUDASIM_ATOMIC_INTEGER(atomicAnd, old & value)
CUDASIM_ATOMIC(atomicAnd, long long, old & value)
CUDASIM_ATOMIC_INTEGER(atomicOr, old | value)
CUDASIM_ATOMIC(atomicOr, long long, old | value)
CUDASIM_ATOMIC_INTEGER(atomicXor, old ^ value)
CUDASIM_ATOMIC(atomicXor, long long, old ^ value)
CUDASIM_ATOMIC(atomicInc, unsigned int, old >= value ? 0 : old + 1)
CUDASIM_ATOMIC(atomicDec, unsigned int, old == 0 || old > value ? value : old - 1)

#define CUDASIM_CAS_(scope, T)                                          \
    CUDASIM_ATOMIC_FUNCTION T atomicCAS##scope(T *address, T compare, T value) { \
        CUDASIM_ATOMIC_SEEN                                             \
        T old = *(volatile T *)address;                                 \
        if (old == compare) *(volatile T *)address = value;             \
        return old;                                                     \
    }
#define CUDASIM_CAS(T) CUDASIM_CAS_(, T) CUDASIM_CAS_(_block, T) CUDASIM_CAS_(_system, T)
CUDASIM_CAS(int)
CUDASIM_CAS(unsigned int)
CUDASIM_CAS(unsigned long long)
CUDASIM_CAS(unsigned short)

#endif
