// Loads and stores of a tile, each thread a run of consecutive items (or striped over the block).
#ifndef CUDASIM_CUB_BLOCK_LOAD_H
#define CUDASIM_CUB_BLOCK_LOAD_H

#include "cudasim_prelude.h"

namespace cub {

enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT, BLOCK_LOAD_STRIPED, BLOCK_LOAD_VECTORIZE, BLOCK_LOAD_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT, BLOCK_STORE_STRIPED, BLOCK_STORE_VECTORIZE, BLOCK_STORE_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};

template <class T, int X, int N, BlockLoadAlgorithm A = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1, int Legacy = 0>
class BlockLoad {
public:
    struct TempStorage {};
    BlockLoad() {}
    explicit BlockLoad(TempStorage &) {}
    template <class P> void Load(P from, T (&items)[N]) {
        for (int i = 0; i < N; ++i) items[i] = from[at(i)];
    }
    template <class P> void Load(P from, T (&items)[N], int valid) {
        for (int i = 0; i < N; ++i)
            if (at(i) < valid) items[i] = from[at(i)];
    }
    template <class P, class D> void Load(P from, T (&items)[N], int valid, D otherwise) {
        for (int i = 0; i < N; ++i) {
            if (at(i) < valid) items[i] = from[at(i)];
            else items[i] = otherwise;
        }
    }

private:
    static int at(int i) {
        int t = (int)cudasim::linear_thread();
        return A == BLOCK_LOAD_STRIPED ? t + i * X * Y * Z : t * N + i;
    }
};

template <class T, int X, int N, BlockStoreAlgorithm A = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1, int Legacy = 0>
class BlockStore {
public:
    struct TempStorage {};
    BlockStore() {}
    explicit BlockStore(TempStorage &) {}
    template <class P> void Store(P to, T (&items)[N], int valid = 0x7fffffff) {
        for (int i = 0; i < N; ++i)
            if (at(i) < valid) to[at(i)] = items[i];
    }

private:
    static int at(int i) {
        int t = (int)cudasim::linear_thread();
        return A == BLOCK_STORE_STRIPED ? t + i * X * Y * Z : t * N + i;
    }
};

}  // namespace cub

#endif
