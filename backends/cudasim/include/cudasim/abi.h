// What a compiled module and the emulator know of each other. Both sides include this file.
#ifndef CUDASIM_ABI_H
#define CUDASIM_ABI_H

namespace cudasim {

constexpr unsigned abi_version = 3;

struct Index {
    unsigned x, y, z;
};

// Where the code is: written by the loop over the threads and, after a switch, by the scheduler.
struct Place {
    Index thread, block, block_size, grid_size;
    // A thread of this block has waited, or the launch is cooperative: the scheduler chooses the next thread.
    int scheduled;
    char *shared;  // dynamic shared memory of the block
    unsigned shared_size;
};

enum Vote { vote_none, vote_count, vote_and, vote_or };

// Functions of the emulator that device code calls.
struct Host {
    bool (*next_thread)();                        // the current thread has ended; false: this fiber has, too
    int (*barrier)(int vote, int predicate);      // __syncthreads and its voting variants
    // Wait for all lanes of a mask; values[] gets what each of them passed. Returns the lanes that took part.
    unsigned (*exchange)(unsigned mask, unsigned long long value, unsigned long long *values);
    void (*grid_barrier)(const char *what);
    void (*yield)();                              // let other threads of the block go on (__nanosleep)
    void (*stop)(int error, const char *message); // ends the launch; doesn't return
    unsigned long long (*nanoseconds)();
};

struct Kernel {
    const char *name;  // as written in the source, or the name expression
    void (*run)(void **arguments);  // loops over threads, starting at Place
    const void *data;  // a variable that a name expression named; then there is no `run`
    int count;
    const unsigned *sizes, *alignments;
    unsigned most;  // threads of a block, by __launch_bounds__; 0: any number
};

struct Module {
    unsigned version;
    Place *place;
    const Host **host;
    const Kernel *kernels;  // ends with a null name
    char *shared_begin, *shared_end;  // static shared memory, if it is in a section of its own
    int shared_mixed;                 // it is not: blocks can't take turns
};

}  // namespace cudasim

#endif
