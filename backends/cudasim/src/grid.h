// Running a kernel over a grid of threads, and catching what goes wrong in it.
#pragma once
#include "../include/cudasim/abi.h"
#include "sim.h"

namespace sim {

struct Launch {
    const char *name;
    const cudasim::Module *module;
    const cudasim::Kernel *kernel;
    cudasim::Index grid, block;
    unsigned shared;  // bytes of dynamic shared memory
    bool cooperative;
    bool flushes;  // float32 below 2^-126 is zero
    void **arguments;
};

// Runs all threads on the calling host thread. Returns an error code.
int run_grid(const Launch &launch);

// After a fault: forget the grid that was running.
void abandon_grid();

// Where the current thread of a running kernel is, for messages; false if none runs.
bool describe_place(char *text, size_t size);

// End the guarded work that runs on this host thread with an error code (from a fault, an assertion...).
[[noreturn]] void leave(int code);
bool guard_active();

}  // namespace sim
