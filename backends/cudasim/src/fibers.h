// Fibers: stacks that can be switched between. Only device code runs on them.
#pragma once
#include <cstddef>

#include "../include/cudasim/abi.h"

namespace sim {

struct Fiber {
    void *point = nullptr;   // where it goes on: the stack pointer, or a ucontext_t
    char *stack = nullptr;
    char *top = nullptr;
    void *owner = nullptr;   // the block that its thread belongs to
    unsigned thread = 0;     // linear index in the block
    cudasim::Index index = {};
};

constexpr size_t fiber_stack_size = 256 << 10;

// A fiber that calls `entry` when it is first switched to; `entry` must never return.
Fiber *make_fiber(void (*entry)());
// Let a used fiber start again at `entry`.
void restart_fiber(Fiber *fiber, void (*entry)());
void switch_fiber(Fiber *from, Fiber *to);

}  // namespace sim
