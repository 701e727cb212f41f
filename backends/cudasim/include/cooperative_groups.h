// Cooperative groups: blocks, tiles of a warp, the grid, coalesced threads (always one, see __activemask).
#ifndef CUDASIM_COOPERATIVE_GROUPS_H
#define CUDASIM_COOPERATIVE_GROUPS_H

#include "cudasim_prelude.h"

namespace cooperative_groups {

namespace details {}

class thread_group {
public:
    thread_group(unsigned mask, unsigned rank, unsigned count, bool block)
        : mask_(mask), rank_(rank), count_(count), block_(block) {}
    unsigned long long size() const { return count_; }
    unsigned long long num_threads() const { return count_; }
    unsigned long long thread_rank() const { return rank_; }
    bool is_valid() const { return true; }
    void sync() const {
        if (block_) __syncthreads();
        else __syncwarp(mask_);
    }
    unsigned mask_, rank_, count_;
    bool block_;
};

class thread_block : public thread_group {
public:
    thread_block()
        : thread_group(0, cudasim::linear_thread(), blockDim.x * blockDim.y * blockDim.z, true) {}
    static void sync() { __syncthreads(); }
    static void barrier_arrive() {}
    static void barrier_wait() { __syncthreads(); }
    static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
    static unsigned num_threads() { return size(); }
    static unsigned thread_rank() { return cudasim::linear_thread(); }
    static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }
};
static inline thread_block this_thread_block() { return thread_block(); }

class grid_group {
public:
    static bool is_valid() { return true; }
    static void sync() { __cudasim_host->grid_barrier("grid.sync() in a kernel that was not launched cooperatively"); }
    static unsigned long long size() { return num_blocks() * thread_block::size(); }
    static unsigned long long num_threads() { return size(); }
    static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
    static unsigned long long block_rank() {
        return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    }
    static unsigned long long thread_rank() { return block_rank() * thread_block::size() + cudasim::linear_thread(); }
    static dim3 group_dim() { return gridDim; }
    static dim3 dim_blocks() { return gridDim; }
    static dim3 block_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
};
static inline grid_group this_grid() { return grid_group(); }

// Lanes [first, first + size) of the warp.
template <unsigned Size, class Parent = void> class thread_block_tile : public thread_group {
public:
    thread_block_tile()
        : thread_group(Size >= 32 ? 0xffffffffu : ((1u << (Size & 31)) - 1) << (cudasim::lane() / Size * Size),
                       cudasim::lane() % Size, Size, false) {}
    static constexpr unsigned size() { return Size; }
    static constexpr unsigned num_threads() { return Size; }
    unsigned thread_rank() const { return rank_; }
    unsigned meta_group_rank() const { return cudasim::linear_thread() / Size; }
    unsigned meta_group_size() const { return (thread_block::size() + Size - 1) / Size; }
    void sync() const { __syncwarp(mask_); }
    template <class T> T shfl(T v, int source) const { return move(v, rank_ / Size * Size + (unsigned)source % Size); }
    template <class T> T shfl_up(T v, unsigned d) const { return move(v, rank_ >= d ? rank_ - d : rank_); }
    template <class T> T shfl_down(T v, unsigned d) const { return move(v, rank_ + d < Size ? rank_ + d : rank_); }
    template <class T> T shfl_xor(T v, unsigned bits) const { return move(v, (rank_ ^ bits) % Size); }
    int any(int p) const { return __any_sync(mask_, p); }
    int all(int p) const { return __all_sync(mask_, p); }
    unsigned ballot(int p) const { return __ballot_sync(mask_, p) >> first(); }
    template <class T> unsigned match_any(T v) const { return __match_any_sync(mask_, v) >> first(); }
    template <class T> unsigned match_all(T v, int &same) const { return __match_all_sync(mask_, v, &same) >> first(); }

private:
    unsigned first() const { return cudasim::lane() - rank_; }
    // Values of any size go in pieces of eight bytes.
    template <class T> T move(T v, unsigned source) const {
        T result = v;
        for (unsigned at = 0; at < sizeof(T); at += 8) {
            cudasim::bits64 piece = 0;
            unsigned n = sizeof(T) - at < 8 ? sizeof(T) - at : 8;
            __builtin_memcpy(&piece, (const char *)&v + at, n);
            piece = cudasim::shuffle(mask_, piece, first() + source);
            __builtin_memcpy((char *)&result + at, &piece, n);
        }
        return result;
    }
};

class coalesced_group : public thread_group {
public:
    coalesced_group() : thread_group(1u << cudasim::lane(), 0, 1, false) {}
    template <class T> T shfl(T v, int) const { return v; }
    template <class T> T shfl_up(T v, unsigned) const { return v; }
    template <class T> T shfl_down(T v, unsigned) const { return v; }
    int any(int p) const { return p != 0; }
    int all(int p) const { return p != 0; }
    unsigned ballot(int p) const { return p != 0; }
};
static inline coalesced_group coalesced_threads() { return coalesced_group(); }

template <unsigned Size, class Parent> static inline thread_block_tile<Size, Parent> tiled_partition(const Parent &) {
    return thread_block_tile<Size, Parent>();
}
static inline thread_group tiled_partition(const thread_group &, unsigned size) {
    unsigned lane = cudasim::lane(), first = lane / size * size;
    return thread_group(size >= 32 ? 0xffffffffu : ((1u << size) - 1) << first, lane - first, size, false);
}

template <class T> struct plus { T operator()(T a, T b) const { return a + b; } };
template <class T> struct less { T operator()(T a, T b) const { return b < a ? b : a; } };
template <class T> struct greater { T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T> struct bit_and { T operator()(T a, T b) const { return a & b; } };
template <class T> struct bit_or { T operator()(T a, T b) const { return a | b; } };
template <class T> struct bit_xor { T operator()(T a, T b) const { return a ^ b; } };

template <unsigned Size, class Parent, class T, class F>
static inline T reduce(const thread_block_tile<Size, Parent> &tile, T value, F op) {
    T result = tile.shfl(value, 0);
    for (unsigned i = 1; i < Size; ++i) result = op(result, tile.shfl(value, (int)i));
    return result;
}

template <class Group> static inline void sync(const Group &group) { group.sync(); }
template <class Group> static inline void wait(const Group &group) { group.sync(); }
template <unsigned N, class Group> static inline void wait_prior(const Group &group) { group.sync(); }

// Copies are done at once, by the threads of the group together.
template <class Group, class T, class Size>
static inline void memcpy_async(const Group &group, T *to, const T *from, Size size) {
    for (size_t i = group.thread_rank(); i < (size_t)size; i += group.size()) ((char *)to)[i] = ((const char *)from)[i];
}
template <class Group, class T, class L, class M>
static inline void memcpy_async(const Group &group, T *to, const L &to_layout, const T *from, const M &from_layout) {
    size_t n = (size_t)to_layout < (size_t)from_layout ? (size_t)to_layout : (size_t)from_layout;
    for (size_t i = group.thread_rank(); i < n; i += group.size()) to[i] = from[i];
}

}  // namespace cooperative_groups

#endif
