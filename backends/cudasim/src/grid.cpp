// The scheduler of device threads.
//
// A compiled kernel loops over the threads of the grid by itself and calls the scheduler only when a thread waits: then
// the rest of the loop goes on in another fiber. So there are as many fibers as threads wait at the same time.
#include "grid.h"

#include <time.h>
#include <cstring>
#include <memory>
#include <vector>

#include "fibers.h"
#include "flushing.h"
#include "races.h"

namespace sim {

namespace {

using cudasim::Index;

struct Request {  // what a lane that waits for others of its warp brought
    unsigned mask;
    unsigned long long value;
    unsigned long long *values;
    unsigned lanes;
};

struct Warp {
    Request *waiting[32];
    Fiber *fibers[32];
    unsigned ended;    // lanes that exited or never existed
    unsigned waiters;  // how many wait
};

struct BlockState {
    Index index;
    unsigned size = 0;    // threads
    unsigned next = 0;    // the first thread that has not started
    unsigned live = 0;    // threads that have not ended
    int vote_sum = 0, vote_result = 0, voters = 0;
    std::vector<Fiber *> at_barrier, at_grid;
    std::vector<Warp> warps;
    std::vector<Fiber *> ready;
    size_t first_ready = 0;
    bool any_ready() const { return first_ready < ready.size(); }
    std::vector<char> dynamic_shared, static_shared;  // of cooperative launches, where blocks take turns
};

struct Scheduler {
    const Launch *launch = nullptr;
    cudasim::Place *place = nullptr;
    BlockState single;                            // ordinary launches: one block after the other
    std::vector<std::unique_ptr<BlockState>> all;  // cooperative launches: all of them at the same time
    bool together = false;                        // which of the two it is
    BlockState *block = nullptr;                  // that runs
    Fiber *current = nullptr;
    Fiber host;                                   // the stack of the host thread
    std::vector<Fiber *> idle, made;
    std::vector<char> shared;
    bool finished = false;
};
// One grid runs at a time: device work is done under the emulator's lock.
Scheduler s;

unsigned threads(const Index &i) { return i.x * i.y * i.z; }
char *aligned(std::vector<char> &v) { return (char *)(((uintptr_t)v.data() + 63) & ~uintptr_t(63)); }
uint64_t blocks(const Index &i) { return uint64_t(i.x) * i.y * i.z; }

Index index_of(unsigned thread) {
    const Index &b = s.place->block_size;
    return b.x > thread ? Index{thread, 0, 0} : Index{thread % b.x, thread / b.x % b.y, thread / b.x / b.y};
}

unsigned linear(const Index &t, const Index &size) { return (t.z * size.y + t.y) * size.x + t.x; }

void begin_block(BlockState &b, const Index &index) {
    b.index = index;
    b.size = b.live = threads(s.launch->block);
    b.next = 0;
    b.vote_sum = 0;
    b.at_barrier.clear();
    b.at_grid.clear();
    b.ready.clear();
    b.first_ready = 0;
    b.warps.assign((b.size + 31) / 32, Warp{});
    if (b.size % 32) b.warps.back().ended = ~0u << (b.size % 32);
}

bool next_block(Index &i) {
    const Index &g = s.launch->grid;
    if (++i.x < g.x) return true;
    i.x = 0;
    if (++i.y < g.y) return true;
    i.y = 0;
    return ++i.z < g.z;
}

// All lanes that a mask names have come (or ended): hand out what they brought.
bool complete_exchange(Warp &w, unsigned mask, Fiber *except) {
    unsigned lanes = mask & ~w.ended;
    for (unsigned l = 0; l < 32; ++l)
        if ((lanes >> l & 1) && !(w.waiting[l] && w.waiting[l]->mask == mask)) return false;
    if (!lanes) return false;
    unsigned long long values[32] = {};
    for (unsigned l = 0; l < 32; ++l)
        if (lanes >> l & 1) values[l] = w.waiting[l]->value;
    for (unsigned l = 0; l < 32; ++l) {
        if (!(lanes >> l & 1)) continue;
        memcpy(w.waiting[l]->values, values, sizeof values);
        w.waiting[l]->lanes = lanes;
        w.waiting[l] = nullptr;
        --w.waiters;
        if (w.fibers[l] != except) s.block->ready.push_back(w.fibers[l]);
    }
    return true;
}

void release_barrier(Fiber *except) {
    BlockState &b = *s.block;
    if (settings().races) watch_barrier();
    b.vote_result = b.vote_sum;
    b.vote_sum = 0;
    b.voters = (int)b.at_barrier.size();
    if (except) b.at_barrier.pop_back();  // it came last
    if (!b.any_ready()) {
        b.ready.swap(b.at_barrier);
        b.first_ready = 0;
    } else {
        b.ready.insert(b.ready.end(), b.at_barrier.begin(), b.at_barrier.end());
    }
    b.at_barrier.clear();
}

// The kernel has not needed the scheduler in this block so far: threads before the current one have all ended.
void take_over() {
    if (s.place->scheduled) return;
    begin_block(s.single, s.place->block);
    s.block = &s.single;
    unsigned t = linear(s.place->thread, s.place->block_size);
    s.single.next = t + 1;
    s.single.live = s.single.size - t;
    for (unsigned i = 0; i < t; ++i) s.single.warps[i / 32].ended |= 1u << (i % 32);
    s.current->owner = &s.single;
    s.current->thread = t;
    s.current->index = s.place->thread;
    s.place->scheduled = 1;
}

void start_thread(Fiber *f, BlockState &b) {
    f->owner = &b;
    f->thread = b.next++;
    s.place->thread = f->index = index_of(f->thread);
}

void end_thread() {
    BlockState &b = *s.block;
    unsigned t = s.current->thread;
    Warp &w = b.warps[t / 32];
    w.ended |= 1u << (t % 32);
    --b.live;
    if (w.waiters)  // lanes may have waited for this one
        for (unsigned l = 0; l < 32; ++l)
            if (w.waiting[l]) complete_exchange(w, w.waiting[l]->mask, nullptr);
    if (!b.at_barrier.empty() && b.at_barrier.size() == b.live) release_barrier(nullptr);
}

void fiber_main() {
    for (;;) {
        s.launch->kernel->run(s.launch->arguments);
        // Nothing is left for this fiber: someone else may go on.
        Fiber *self = s.current;
        s.idle.push_back(self);
        if (!s.place->scheduled) s.finished = true;
        switch_fiber(self, &s.host);
    }
}

Fiber *fresh_fiber() {
    if (s.idle.empty()) {
        s.made.push_back(make_fiber(fiber_main));
        return s.made.back();
    }
    Fiber *f = s.idle.back();
    s.idle.pop_back();
    return f;
}

// The fiber that shall run next in the current block, or null. Started threads come first: this keeps fibers few.
Fiber *choose() {
    BlockState &b = *s.block;
    if (b.any_ready()) {
        Fiber *f = b.ready[b.first_ready++];
        s.place->thread = f->index;
        return f;
    }
    if (b.next < b.size) {
        Fiber *f = fresh_fiber();
        start_thread(f, b);
        return f;
    }
    return nullptr;
}

// The current thread can't go on: let others run until it is made ready again.
void wait() {
    Fiber *self = s.current, *next = choose();
    if (next == self) return;
    s.current = next;
    switch_fiber(self, next ? next : &s.host);
}

// -- what device code calls ---------------------------------------------------------------------------------------

bool next_thread() {
    BlockState &b = *s.block;
    end_thread();
    if (b.next < b.size && !b.any_ready()) {
        start_thread(s.current, b);
        return true;
    }
    if (b.live || s.together) return false;
    Index index = b.index;
    s.place->scheduled = 0;
    if (!next_block(index)) return false;
    s.place->block = index;
    s.place->thread = {0, 0, 0};
    return true;
}

int barrier(int vote, int predicate) {
    take_over();
    BlockState &b = *s.block;
    b.vote_sum += predicate;
    b.at_barrier.push_back(s.current);
    if (b.at_barrier.size() == b.live)
        release_barrier(s.current);
    else
        wait();
    if (vote == cudasim::vote_and) return b.vote_result == b.voters;
    return vote == cudasim::vote_or ? b.vote_result != 0 : b.vote_result;
}

unsigned exchange(unsigned mask, unsigned long long value, unsigned long long *values) {
    take_over();
    unsigned t = s.current->thread, lane = t % 32;
    Warp &w = s.block->warps[t / 32];
    Request request = {mask | 1u << lane, value, values, 0};
    w.waiting[lane] = &request;
    w.fibers[lane] = s.current;
    ++w.waiters;
    if (!complete_exchange(w, request.mask, s.current)) wait();
    return request.lanes;
}

void yield() {
    if (!s.place->scheduled) {
        const Index &t = s.place->thread, &n = s.place->block_size;
        if (t.x + 1 == n.x && t.y + 1 == n.y && t.z + 1 == n.z) return;
        take_over();
    }
    // New threads first: it is one of them that a spinning thread waits for, as often as not.
    BlockState &b = *s.block;
    Fiber *self = s.current;
    b.ready.push_back(self);
    if (b.next < b.size) {
        Fiber *f = fresh_fiber();
        start_thread(f, b);
        s.current = f;
        switch_fiber(self, f);
    } else {
        wait();
    }
}

void stop(int error, const char *message) {
    char where[200] = "";
    describe_place(where, sizeof where);
    leave(fail(error, "%s in %s", message, where));
}

void grid_barrier(const char *what) {
    if (!s.together) {
        if (!s.launch->cooperative) stop(LAUNCH_FAILURE, what);
        barrier(cudasim::vote_none, 0);
        return;
    }
    s.block->at_grid.push_back(s.current);
    wait();
}

unsigned long long nanoseconds() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000000ull + (unsigned long long)t.tv_nsec;
}

const cudasim::Host host_table = {next_thread, barrier, exchange, grid_barrier, yield, stop, nanoseconds};

// -- the host's side ----------------------------------------------------------------------------------------------

// Forget a launch that was left in the middle: its fibers hold nothing that needs an end.
void reset() {
    s.idle.clear();
    for (Fiber *f : s.made) {
        restart_fiber(f, fiber_main);
        s.idle.push_back(f);
    }
    s.launch = nullptr;
    s.all.clear();
}

int deadlock() {
    BlockState &b = *s.block;
    size_t lanes = 0;
    for (Warp &w : b.warps)
        for (Request *r : w.waiting) lanes += r != nullptr;
    int code = fail(LAUNCH_FAILURE,
                    "kernel %s: deadlock in block (%u, %u, %u): of %u live threads %zu wait at __syncthreads, "
                    "%zu for lanes of their warp, %zu for the grid",
                    s.launch->name, b.index.x, b.index.y, b.index.z, b.live, b.at_barrier.size(), lanes,
                    b.at_grid.size());
    reset();
    return code;
}

void resume(Fiber *f) {
    s.current = f;
    switch_fiber(&s.host, f);
}

int run_ordinary() {
    s.place->scheduled = 0;
    s.place->block = s.place->thread = {0, 0, 0};
    s.finished = false;
    resume(fresh_fiber());
    while (!s.finished) {
        Fiber *f = choose();
        if (!f) return deadlock();
        resume(f);
    }
    return OK;
}

// Blocks of a cooperative launch take turns: one runs until all its threads wait for the grid or have ended. Static
// shared memory is one place in the module, so it is swapped.
void enter_block(BlockState &b) {
    const cudasim::Module &m = *s.launch->module;
    if (s.block != &b && m.shared_begin) {
        if (s.block) s.block->static_shared.assign(m.shared_begin, m.shared_end);
        if (!b.static_shared.empty()) memcpy(m.shared_begin, b.static_shared.data(), b.static_shared.size());
    }
    s.block = &b;
    s.place->block = b.index;
    s.place->shared = aligned(b.dynamic_shared);
}

int run_cooperative() {
    s.place->scheduled = 1;
    s.block = nullptr;
    Index index = {0, 0, 0};
    do {
        s.all.emplace_back(new BlockState);
        begin_block(*s.all.back(), index);
        s.all.back()->dynamic_shared.resize(s.launch->shared + 64);
    } while (next_block(index));
    for (;;) {
        size_t waiting = 0, live = 0;
        for (auto &b : s.all) {
            enter_block(*b);
            while (Fiber *f = choose()) resume(f);
            if (b->live != b->at_grid.size()) return deadlock();
            waiting += b->at_grid.size();
            live += b->live;
        }
        if (!live) break;
        if (settings().races) watch_grid_barrier();
        for (auto &b : s.all) {
            b->ready.assign(b->at_grid.begin(), b->at_grid.end());
            b->first_ready = 0;
            b->at_grid.clear();
        }
    }
    s.all.clear();
    return OK;
}

}  // namespace

bool describe_place(char *text, size_t size) {
    if (!s.launch) return false;
    const Index &b = s.place->block, &t = s.place->thread;
    snprintf(text, size, "kernel %s, block (%u, %u, %u), thread (%u, %u, %u)", s.launch->name, b.x, b.y, b.z, t.x, t.y,
             t.z);
    return true;
}

void abandon_grid() {
    if (!s.launch) return;
    Flushing::end();
    watch_end();
    reset();
}

int run_grid(const Launch &launch) {
    s.launch = &launch;
    s.place = launch.module->place;
    *launch.module->host = &host_table;
    s.place->block_size = launch.block;
    s.place->grid_size = launch.grid;
    if (s.shared.size() < launch.shared + 64) s.shared.resize(launch.shared + 64);
    s.place->shared = aligned(s.shared);
    s.place->shared_size = launch.shared;
    if (settings().poison) {
        memset(s.place->shared, 0xA5, launch.shared);
        if (launch.module->shared_begin)
            memset(launch.module->shared_begin, 0xA5, launch.module->shared_end - launch.module->shared_begin);
    }
    s.together = launch.cooperative && blocks(launch.grid) > 1;
    if (settings().races) watch_launch(launch, *s.place);
    int code;
    {
        Flushing flushing(launch.flushes && settings().flush);
        code = s.together ? run_cooperative() : run_ordinary();
    }
    watch_end();
    s.launch = nullptr;
    fflush(stdout);  // device code may have printed
    return code;
}

}  // namespace sim
