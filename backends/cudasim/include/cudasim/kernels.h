// The loop over threads, with the kernel inlined in it, and the table of a module's kernels.
#ifndef CUDASIM_KERNELS_H
#define CUDASIM_KERNELS_H

namespace cudasim {

// The next row of threads, or the next block. Out of line: it is rare, and would be compiled into each kernel.
static __attribute__((noinline)) bool next_row() {
    __cudasim_place_type &p = __cudasim_place;
    p.thread.x = 0;
    if (++p.thread.y < p.block_size.y) return true;
    p.thread.y = 0;
    if (++p.thread.z < p.block_size.z) return true;
    p.thread.z = 0;
    if (++p.block.x < p.grid_size.x) return true;
    p.block.x = 0;
    if (++p.block.y < p.grid_size.y) return true;
    p.block.y = 0;
    return ++p.block.z < p.grid_size.z;
}

// The next thread of the grid: in order as long as no thread of the block has waited.
static inline __attribute__((always_inline)) bool next_thread() {
    __cudasim_place_type &p = __cudasim_place;
    if (__builtin_expect(p.scheduled, 0)) return __cudasim_host->next_thread();
    return __builtin_expect(++p.thread.x < p.block_size.x, 1) || next_row();
}

template <int... I> struct Indices {};
template <int N, int... I> struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
template <int... I> struct MakeIndices<0, I...> { typedef Indices<I...> type; };

template <class T> struct Bare { typedef T type; };
template <class T> struct Bare<const T> { typedef T type; };
template <class T> struct Bare<T &> { typedef T *type; };

template <auto F, bool = std::is_function<typename std::remove_pointer<decltype(F)>::type>::value> struct Entry;
template <class R, class... A, R (*F)(A...)> struct Entry<F, true> {
    template <int... I> static inline __attribute__((always_inline)) void loop(void **arguments, Indices<I...>) {
        (void)arguments;
        do {
            F(*(typename Bare<A>::type *)arguments[I]...);
        } while (next_thread());
    }
    static __attribute__((noinline, used)) void run(void **arguments) {
        loop(arguments, typename MakeIndices<sizeof...(A)>::type());
    }
    static constexpr unsigned sizes[sizeof...(A) + 1] = {sizeof(typename Bare<A>::type)..., 0};
    static constexpr unsigned alignments[sizeof...(A) + 1] = {alignof(typename Bare<A>::type)..., 0};
    static constexpr Kernel make(const char *name, unsigned most) {
        return Kernel{name, &run, nullptr, int(sizeof...(A)), sizes, alignments, most};
    }
};
template <auto P> struct Entry<P, false> {  // a variable
    static constexpr Kernel make(const char *name, unsigned) { return Kernel{name, nullptr, P, 0, nullptr, nullptr, 0}; }
};

template <auto F> static constexpr Kernel entry(const char *name, unsigned most = 0) { return Entry<F>::make(name, most); }

}  // namespace cudasim

extern "C" char __start_cudasim_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_cudasim_shared[] __attribute__((weak, visibility("hidden")));

// Written at the end of each source: what the emulator finds in the shared object.
#define CUDASIM_MODULE(begin, end, mixed)                                                                      \
    extern "C" __attribute__((visibility("default"))) const cudasim::Module __cudasim_module = {               \
        cudasim::abi_version, (cudasim::Place *)(void *)&__cudasim_place, &__cudasim_host, __cudasim_kernels,  \
        begin, end, mixed};

#endif
