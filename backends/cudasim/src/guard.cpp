// Faults in device work become error codes. A fault anywhere else is passed on to whoever handled it before.
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "grid.h"

namespace sim {

namespace {

struct Guard {
    sigjmp_buf back;
    Guard *outer;
    const char *what;
    int code;
};
thread_local Guard *innermost = nullptr;

const int caught[] = {SIGSEGV, SIGBUS, SIGFPE};
struct sigaction before[3];
bool passed_on[3];

struct AlternateStack {  // the handler needs one: device code may have used up its own
    char *memory = (char *)malloc(size);
    static constexpr size_t size = 64 << 10;
    AlternateStack() {
        stack_t now = {}, mine = {};
        sigaltstack(nullptr, &now);
        mine.ss_sp = memory;
        mine.ss_size = size;
        if (now.ss_flags & SS_DISABLE || now.ss_size < size) sigaltstack(&mine, nullptr);
    }
    ~AlternateStack() {
        stack_t now = {};
        sigaltstack(nullptr, &now);
        if (now.ss_sp == memory) {
            now.ss_flags = SS_DISABLE;
            sigaltstack(&now, nullptr);
        }
        free(memory);
    }
};

#if defined(__x86_64__)
// A GPU does not trap on an integer division by zero: the quotient has all bits set, the remainder is the dividend.
// (The other case that traps here, the smallest number divided by -1, wraps.) Finds the length of the instruction,
// writes its results and goes on after it.
bool skip_division(ucontext_t *context) {
    greg_t *r = context->uc_mcontext.gregs;
    const unsigned char *start = (const unsigned char *)r[REG_RIP], *p = start;
    unsigned bits = 32, rex = 0;
    if (*p == 0x66) bits = 16, ++p;
    if ((*p & 0xf0) == 0x40) rex = *p++;
    if (rex & 8) bits = 64;
    if (*p != 0xf6 && *p != 0xf7) return false;
    if (*p++ == 0xf6) bits = 8;
    unsigned modrm = *p++, mode = modrm >> 6, rm = modrm & 7, kind = modrm >> 3 & 7;
    if (kind != 6 && kind != 7) return false;
    static const int registers[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    auto value = [&](unsigned number) { return (uint64_t)r[registers[number]]; };
    uint64_t divisor = 0, address = 0;
    if (mode == 3) {
        divisor = value(rm | (rex & 1) << 3);
    } else {
        bool relative = false, bare = false;
        if (rm == 4) {  // base, index and scale follow
            unsigned sib = *p++, base = sib & 7, index = (sib >> 3 & 7) | (rex & 2) << 2;
            bare = base == 5 && mode == 0;
            if (!bare) address = value(base | (rex & 1) << 3);
            if (index != 4) address += value(index) << (sib >> 6);
        } else {
            relative = rm == 5 && mode == 0;
            if (!relative) address = value(rm | (rex & 1) << 3);
        }
        if (mode == 1) address += (uint64_t)(int64_t)(signed char)*p++;
        if (mode == 2 || relative || bare) {
            int32_t offset;
            memcpy(&offset, p, 4);
            p += 4;
            address += (uint64_t)(int64_t)offset;
        }
        if (relative) address += (uint64_t)p;
        memcpy(&divisor, (const void *)address, bits / 8);
    }
    uint64_t low = (uint64_t)r[REG_RAX], high = (uint64_t)r[REG_RDX];
    uint64_t mask = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
    bool zero = (divisor & mask) == 0;
    uint64_t quotient = zero ? mask : low & mask, remainder = zero ? low & mask : 0;
    if (bits == 8) {
        r[REG_RAX] = (greg_t)((low & ~uint64_t(0xffff)) | (remainder & 0xff) << 8 | (quotient & 0xff));
    } else if (bits == 16) {
        r[REG_RAX] = (greg_t)((low & ~mask) | quotient);
        r[REG_RDX] = (greg_t)((high & ~mask) | remainder);
    } else {
        r[REG_RAX] = (greg_t)quotient;
        r[REG_RDX] = (greg_t)remainder;
    }
    r[REG_RIP] = (greg_t)p;
    return true;
}
#else
bool skip_division(ucontext_t *) { return false; }
#endif

void handler(int signal, siginfo_t *info, void *context);

void pass_on(int which, int signal, siginfo_t *info, void *context) {
    struct sigaction &old = before[which];
    // A second time means that the old handler has raised it again: let the default end the process.
    bool again = passed_on[which];
    passed_on[which] = true;
    if (again || (!(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL)) {
        struct sigaction standard = {};
        standard.sa_handler = SIG_DFL;
        sigaction(signal, &standard, nullptr);
        return;  // the instruction faults once more
    }
    if (old.sa_flags & SA_SIGINFO)
        old.sa_sigaction(signal, info, context);
    else if (old.sa_handler != SIG_IGN)
        old.sa_handler(signal);
}

void handler(int signal, siginfo_t *info, void *context) {
    int which = signal == SIGSEGV ? 0 : signal == SIGBUS ? 1 : 2;
    if (!innermost) {
        pass_on(which, signal, info, context);
        return;
    }
    if (signal == SIGFPE && skip_division((ucontext_t *)context)) return;
    char where[400] = "";
    if (!describe_place(where, sizeof where)) snprintf(where, sizeof where, "%s", innermost->what);
    int code = signal == SIGFPE ? LAUNCH_FAILURE : ILLEGAL_ADDRESS;
    fail(code, "%s %p in %s", signal == SIGFPE ? "arithmetic fault at" : "illegal address", info->si_addr, where);
    leave(code);
}

// Others (Python's faulthandler) may have put their handlers in front of ours in the meantime.
void install_handlers() {
    static thread_local AlternateStack stack;
    (void)stack;
    for (int i = 0; i < 3; ++i) {
        struct sigaction now;
        sigaction(caught[i], nullptr, &now);
        if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == handler) continue;
        before[i] = now;
        passed_on[i] = false;
        struct sigaction ours = {};
        ours.sa_sigaction = handler;
        ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        sigaction(caught[i], &ours, nullptr);
    }
}

}  // namespace

bool guard_active() { return innermost != nullptr; }

void leave(int code) {
    Guard *guard = innermost;
    if (!guard) {
        fprintf(stderr, "cudasim: a device error (%d) outside of device work\n", code);
        abort();
    }
    guard->code = code;
    siglongjmp(guard->back, 1);
}

int guarded(const char *what, const Work &work) {
    install_handlers();
    Guard guard;
    guard.outer = innermost;
    guard.what = what;
    guard.code = OK;
    if (sigsetjmp(guard.back, 1) == 0) {
        innermost = &guard;
        int code = work();
        innermost = guard.outer;
        return code;
    }
    innermost = guard.outer;
    abandon_grid();
    return guard.code;
}

}  // namespace sim
