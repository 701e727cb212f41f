// Qualifiers, vector types and the built-in variables.
#ifndef CUDASIM_BASICS_H
#define CUDASIM_BASICS_H

#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
// The scan for kernels reads preprocessed text and must still see the word.
#ifndef CUDASIM_SCAN
#define __global__ inline __attribute__((always_inline))
#endif
#define __shared__ static __attribute__((section("cudasim_shared")))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __inline__ inline
#define __builtin_align__(n) __attribute__((aligned(n)))

#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 9
#define __CUDACC_VER_BUILD__ 0
#define CUDA_VERSION 12090
#define CUDART_VERSION 12090
#define CUDART_INF_F __int_as_float(0x7f800000)
#define CUDART_NAN_F __int_as_float(0x7fffffff)
#define CUDART_INF __longlong_as_double(0x7ff0000000000000ULL)
#define CUDART_NAN __longlong_as_double(0xfff8000000000000ULL)

#define CUDASIM_VECTORS(T, name, a2, a4)                                                       \
    struct name##1 { T x; };                                                                   \
    struct __attribute__((aligned(a2))) name##2 { T x, y; };                                   \
    struct name##3 { T x, y, z; };                                                             \
    struct __attribute__((aligned(a4))) name##4 { T x, y, z, w; };                             \
    static inline name##1 make_##name##1(T x) { name##1 v = {x}; return v; }                   \
    static inline name##2 make_##name##2(T x, T y) { name##2 v = {x, y}; return v; }           \
    static inline name##3 make_##name##3(T x, T y, T z) { name##3 v = {x, y, z}; return v; }   \
    static inline name##4 make_##name##4(T x, T y, T z, T w) { name##4 v = {x, y, z, w}; return v; }
CUDASIM_VECTORS(signed char, char, 2, 4)
CUDASIM_VECTORS(unsigned char, uchar, 2, 4)
CUDASIM_VECTORS(short, short, 4, 8)
CUDASIM_VECTORS(unsigned short, ushort, 4, 8)
CUDASIM_VECTORS(int, int, 8, 16)
CUDASIM_VECTORS(unsigned int, uint, 8, 16)
CUDASIM_VECTORS(long, long, 16, 16)
CUDASIM_VECTORS(unsigned long, ulong, 16, 16)
CUDASIM_VECTORS(long long, longlong, 16, 16)
CUDASIM_VECTORS(unsigned long long, ulonglong, 16, 16)
CUDASIM_VECTORS(float, float, 8, 16)
CUDASIM_VECTORS(double, double, 16, 16)

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int a = 1, unsigned int b = 1, unsigned int c = 1) : x(a), y(b), z(c) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
};

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef int cudaError_t;
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;

// One object per module, so that an access is one instruction relative to the code.
struct __cudasim_place_type {
    uint3 thread, block;
    dim3 block_size, grid_size;
    int scheduled;
    char *shared;
    unsigned shared_size;
};
static_assert(sizeof(__cudasim_place_type) == sizeof(cudasim::Place), "");
static __cudasim_place_type __cudasim_place;
static const cudasim::Host *__cudasim_host;

static const uint3 &threadIdx = __cudasim_place.thread;
static const uint3 &blockIdx = __cudasim_place.block;
static const dim3 &blockDim = __cudasim_place.block_size;
static const dim3 &gridDim = __cudasim_place.grid_size;
static const int warpSize = 32;

#endif
