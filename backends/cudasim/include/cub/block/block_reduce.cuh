// Reductions and scans over a block or a warp, as CUB names them. Written for clarity: thread 0 does the work.
#ifndef CUDASIM_CUB_BLOCK_REDUCE_H
#define CUDASIM_CUB_BLOCK_REDUCE_H

#include "cudasim_prelude.h"
#if defined(CUPY_JIT_MODE) && defined(__has_include)
#if __has_include(<cuda/__functional/maximum.h>)
#include <cuda/__functional/maximum.h>
#include <cuda/__functional/minimum.h>
#include <cuda/std/functional>
#endif
#endif

namespace cub {

enum BlockReduceAlgorithm {
    BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

struct Sum {
    template <class A, class B> auto operator()(const A &a, const B &b) const { return a + b; }
};
struct Max {
    template <class T> T operator()(const T &a, const T &b) const { return a < b ? b : a; }
};
struct Min {
    template <class T> T operator()(const T &a, const T &b) const { return b < a ? b : a; }
};

// Room for one value of each thread. No constructors: it is shared memory.
template <class T, int N> struct Uninitialised {
    alignas(T) char bytes[sizeof(T) * N];
    T &operator[](unsigned i) { return ((T *)bytes)[i]; }
};

template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int Legacy = 0>
class BlockReduce {
public:
    struct TempStorage : Uninitialised<T, X * Y * Z> {};
    explicit BlockReduce(TempStorage &storage) : storage_(storage) {}

    template <class F> T Reduce(T value, F op, int valid = X * Y * Z) {
        unsigned t = cudasim::linear_thread();
        storage_[t] = value;
        __syncthreads();
        if (t == 0)
            for (int i = 1; i < valid; ++i) value = op(value, storage_[(unsigned)i]);
        __syncthreads();
        return value;
    }
    template <int N, class F> T Reduce(T (&values)[N], F op) {
        T value = values[0];
        for (int i = 1; i < N; ++i) value = op(value, values[i]);
        return Reduce(value, op);
    }
    T Sum(T value, int valid = X * Y * Z) { return Reduce(value, cub::Sum(), valid); }
    template <int N> T Sum(T (&values)[N]) { return Reduce(values, cub::Sum()); }

private:
    TempStorage &storage_;
};

template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int Legacy = 0> class BlockScan {
public:
    struct TempStorage : Uninitialised<T, X * Y * Z> {};
    explicit BlockScan(TempStorage &storage) : storage_(storage) {}

    template <class F> void InclusiveScan(T in, T &out, F op, T &total) {
        unsigned t = cudasim::linear_thread();
        storage_[t] = in;
        __syncthreads();
        if (t == 0)
            for (int i = 1; i < X * Y * Z; ++i) storage_[(unsigned)i] = op(storage_[(unsigned)i - 1], storage_[(unsigned)i]);
        __syncthreads();
        out = storage_[t];
        total = storage_[X * Y * Z - 1];
        __syncthreads();
    }
    template <class F> void InclusiveScan(T in, T &out, F op) { T total; InclusiveScan(in, out, op, total); }
    void InclusiveSum(T in, T &out) { InclusiveScan(in, out, cub::Sum()); }
    void InclusiveSum(T in, T &out, T &total) { InclusiveScan(in, out, cub::Sum(), total); }
    template <class F> void ExclusiveScan(T in, T &out, T initial, F op, T &total) {
        T inclusive;
        InclusiveScan(in, inclusive, op, total);
        unsigned t = cudasim::linear_thread();
        storage_[t] = inclusive;
        __syncthreads();
        out = t ? op(initial, storage_[t - 1]) : initial;
        __syncthreads();
    }
    template <class F> void ExclusiveScan(T in, T &out, T initial, F op) {
        T total;
        ExclusiveScan(in, out, initial, op, total);
    }
    void ExclusiveSum(T in, T &out) { ExclusiveScan(in, out, T(0), cub::Sum()); }
    void ExclusiveSum(T in, T &out, T &total) { ExclusiveScan(in, out, T(0), cub::Sum(), total); }

private:
    TempStorage &storage_;
};

template <class T, int Width = 32, int Legacy = 0> class WarpReduce {
public:
    struct TempStorage : Uninitialised<T, 32> {};
    explicit WarpReduce(TempStorage &storage) : storage_(storage) {}

    template <class F> T Reduce(T value, F op, int valid = Width) {
        unsigned lane = cudasim::lane(), first = lane / Width * Width;
        unsigned mask = Width >= 32 ? 0xffffffffu : ((1u << (Width & 31)) - 1) << first;
        storage_[lane] = value;
        __syncwarp(mask);
        if (lane == first)
            for (int i = 1; i < valid; ++i) value = op(value, storage_[first + (unsigned)i]);
        __syncwarp(mask);
        return value;
    }
    T Sum(T value, int valid = Width) { return Reduce(value, cub::Sum(), valid); }

private:
    TempStorage &storage_;
};

}  // namespace cub

#endif
