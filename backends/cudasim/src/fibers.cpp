#include "fibers.h"

#include <sys/mman.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace sim {

namespace {

char *new_stack() {
    // The lowest page stays inaccessible: an overflow is a fault, not silent damage.
    void *p = mmap(nullptr, fiber_stack_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED || mprotect((char *)p + 4096, fiber_stack_size - 4096, PROT_READ | PROT_WRITE) != 0) {
        fprintf(stderr, "cudasim: no memory for the stack of a device thread\n");
        abort();
    }
    return (char *)p;
}

}  // namespace

#if defined(__x86_64__)

// Saves what a call must preserve, on the old stack, and takes it from the new one. The floating-point control words
// are never changed by device code.
asm(R"(
    .text
    .p2align 4
    .type cudasim_switch, @function
cudasim_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size cudasim_switch, .-cudasim_switch
)");
extern "C" void cudasim_switch(void **from, void *to);

void restart_fiber(Fiber *fiber, void (*entry)()) {
    uintptr_t *top = (uintptr_t *)fiber->top;
    *--top = 0;                 // the return address of `entry`, which never returns
    *--top = (uintptr_t)entry;  // where `ret` goes; leaves the stack as after a call: 8 below a multiple of 16
    for (int i = 0; i < 6; ++i) *--top = 0;
    fiber->point = top;
}

void switch_fiber(Fiber *from, Fiber *to) { cudasim_switch(&from->point, to->point); }

#else

void restart_fiber(Fiber *fiber, void (*entry)()) {
    ucontext_t *context = (ucontext_t *)(fiber->point ? fiber->point : calloc(1, sizeof(ucontext_t)));
    getcontext(context);
    context->uc_stack.ss_sp = fiber->stack + 4096;
    context->uc_stack.ss_size = (size_t)(fiber->top - fiber->stack) - 4096;
    context->uc_link = nullptr;
    makecontext(context, entry, 0);
    fiber->point = context;
}

void switch_fiber(Fiber *from, Fiber *to) {
    if (!from->point) from->point = calloc(1, sizeof(ucontext_t));
    swapcontext((ucontext_t *)from->point, (ucontext_t *)to->point);
}

#endif

Fiber *make_fiber(void (*entry)()) {
    Fiber *fiber = new Fiber;
    fiber->stack = new_stack();
    // Stacks lie a power of two apart: without an offset their tops would all fall in the same lines of the caches.
    static unsigned made = 0;
    fiber->top = fiber->stack + fiber_stack_size - made++ % 128 * 320;
    restart_fiber(fiber, entry);
    return fiber;
}

}  // namespace sim
