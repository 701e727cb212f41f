// The race detector. Kernels are compiled with -fsanitize=thread, which makes every access a call; the calls come here
// instead of to the sanitizer's library. Of each eight bytes the last few accesses are remembered: by whom, and when.
//
// What orders two accesses, besides being made by one thread:
//   - a barrier of the block between them (`epoch` counts them), or of the grid (`stage`);
//   - __syncwarp() by both lanes (each lane has a clock, and notes those of the lanes that it met; shuffles and votes
//     order nothing);
//   - from one block to another: a fence, then an atomic by the first, and then an atomic on the same address by the
//     second: "the last block to finish" is found that way.
// Launches are ordered by streams, which is what lazy mode is for: only accesses of one launch are compared.
#include "races.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "sim.h"

namespace sim {

namespace {

enum Kind : uint8_t { reading = 1, writing = 2, atomic = 4 };

struct Access {
    uint64_t launch = 0;  // 0: none
    uint32_t block = 0, stage = 0, epoch = 0, clock = 0;
    uint16_t thread = 0;
    uint8_t bytes = 0;  // which of the eight
    uint8_t kind = 0;
};

constexpr unsigned kept = 6, page_bits = 12, granules = (1u << page_bits) / 8;

struct Page {
    uint64_t launch = 0;   // for which `device` is known
    bool device = false;   // memory of the device: anything else, such as stacks, belongs to one thread
    Access accesses[granules][kept];
};

struct BlockClock {
    uint32_t epoch = 0;
    bool fenced = false;
    std::vector<uint32_t> clocks;                    // of threads
    std::vector<std::array<uint32_t, 32>> met;       // by thread: clocks of the lanes of its warp
    std::unordered_map<uint32_t, uint32_t> blocks;   // whose work before an epoch is known to be done
    std::unordered_map<uint64_t, uint32_t> threads;  // and single threads', up to an epoch
};

struct Release {
    uint32_t block, epoch;
    uint16_t thread;
};

struct Watch {
    uint64_t launch = 0;
    const Launch *what = nullptr;
    const cudasim::Place *place = nullptr;
    uint32_t stage = 0;
    std::unordered_map<uint32_t, BlockClock> clocks;  // of blocks that have any
    uint32_t clock_of = ~0u;
    BlockClock *clock = nullptr;
    std::unordered_map<uintptr_t, std::vector<Release>> released;
    std::unordered_map<uintptr_t, std::unique_ptr<Page>> pages;
    uintptr_t page_of = ~uintptr_t(0);
    Page *page = nullptr;
    std::set<std::string> known;
    std::string found;
};
Watch &w = *new Watch;  // under the emulator's lock, as all device work

uint32_t block_index() {
    const cudasim::Place &p = *w.place;
    return (p.block.z * p.grid_size.y + p.block.y) * p.grid_size.x + p.block.x;
}
uint16_t thread_index() {
    const cudasim::Place &p = *w.place;
    return uint16_t((p.thread.z * p.block_size.y + p.thread.y) * p.block_size.x + p.thread.x);
}

BlockClock *clock_of(uint32_t block, bool make) {
    if (block == w.clock_of && (w.clock || !make)) return w.clock;
    auto found = w.clocks.find(block);
    if (found == w.clocks.end() && make) found = w.clocks.emplace(block, BlockClock()).first;
    w.clock_of = block;
    return w.clock = found == w.clocks.end() ? nullptr : &found->second;
}

bool ordered(const Access &a, const Access &b, BlockClock *clock) {  // a, and now b
    if (a.stage != b.stage) return true;
    if (a.block == b.block) {
        if (a.thread == b.thread || a.epoch != b.epoch) return true;
        return clock && !clock->met.empty() && a.thread / 32 == b.thread / 32 &&
               clock->met[b.thread][a.thread % 32] > a.clock;
    }
    if (!clock) return false;
    auto block = clock->blocks.find(a.block);
    if (block != clock->blocks.end() && block->second > a.epoch) return true;
    auto thread = clock->threads.find(uint64_t(a.block) << 16 | a.thread);
    return thread != clock->threads.end() && thread->second >= a.epoch;
}

std::string named(const cudasim::Index &size, uint32_t index) {
    char text[80];
    if (size.y == 1 && size.z == 1) snprintf(text, sizeof text, "%u", index);
    else snprintf(text, sizeof text, "(%u, %u, %u)", index % size.x, index / size.x % size.y, index / size.x / size.y);
    return text;
}

const char *verb(const Access &a) { return a.kind == reading ? "reads" : a.kind == atomic ? "changes (atomic)" : "writes"; }

void report(uintptr_t address, const char *memory, uintptr_t base, size_t size, const Access &a, const Access &b) {
    const char *name = w.what->name;
    std::string key = std::string(name) + memory + verb(a) + verb(b) + (a.block == b.block ? "=" : "!");
    if (w.known.size() >= 1000 || !w.known.insert(key).second) return;
    const cudasim::Place &p = *w.place;
    std::string first = "thread " + named(p.block_size, a.thread), second = "thread " + named(p.block_size, b.thread);
    std::string where;
    if (a.block == b.block) {
        where = ", both of block " + named(p.grid_size, b.block) + ", with no barrier between them";
    } else {
        first += " of block " + named(p.grid_size, a.block);
        second += " of block " + named(p.grid_size, b.block);
        where = ", and nothing orders the blocks";
    }
    char text[1000];
    snprintf(text, sizeof text, "kernel %s: byte %zu of %zu in %s memory at %p: %s %s it, %s %s it%s", name,
             size_t(address - base), size, memory, (void *)base, first.c_str(), verb(a), second.c_str(), verb(b),
             where.c_str());
    fprintf(stderr, "cudasim: race in %s\n", text);
    w.found += std::string(text) + "\n";
}

// Which memory an address is in; null for what belongs to one thread.
const char *memory_of(uintptr_t address, uintptr_t &base, size_t &size) {
    const cudasim::Module &m = *w.what->module;
    uintptr_t dynamic = (uintptr_t)w.place->shared, fixed = (uintptr_t)m.shared_begin;
    if (address - dynamic < w.place->shared_size) return base = dynamic, size = w.place->shared_size, "dynamic shared";
    if (fixed && address - fixed < size_t(m.shared_end - m.shared_begin))
        return base = fixed, size = size_t(m.shared_end - m.shared_begin), "shared";
    const Block *block = find((const void *)address);
    if (!block) return nullptr;
    return base = block->begin, size = block->size, "global";
}

bool is_shared(uintptr_t address) {
    const cudasim::Module &m = *w.what->module;
    return address - (uintptr_t)w.place->shared < w.place->shared_size ||
           (m.shared_begin && address - (uintptr_t)m.shared_begin < size_t(m.shared_end - m.shared_begin));
}

Page &page_at(uintptr_t number) {
    if (number != w.page_of) {
        auto &page = w.pages[number];
        if (!page) page.reset(new Page);
        w.page_of = number;
        w.page = page.get();
    }
    return *w.page;
}

void note(uintptr_t address, unsigned size, uint8_t kind) {  // within eight bytes
    Page &page = page_at(address >> page_bits);
    bool shared = is_shared(address);
    if (page.launch != w.launch) {
        page.launch = w.launch;
        page.device = find((const void *)address) != nullptr;
    }
    if (!shared && !page.device) return;
    Access now;
    now.launch = w.launch;
    now.block = block_index();
    now.thread = thread_index();
    now.stage = w.stage;
    BlockClock *clock = clock_of(now.block, false);
    if (clock) {
        now.epoch = clock->epoch;
        if (!clock->clocks.empty()) now.clock = clock->clocks[now.thread];
    }
    now.bytes = uint8_t(((1u << size) - 1) << (address & 7));
    now.kind = kind;
    Access *all = page.accesses[(address & ((1u << page_bits) - 1)) / 8], *into = nullptr, *spare = nullptr;
    for (unsigned i = 0; i < kept; ++i) {
        Access &old = all[i];
        if (old.launch != w.launch || (shared && old.block != now.block)) {
            old.launch = 0;
            if (!into) into = &old;
            continue;
        }
        bool first = ordered(old, now, clock);
        // A later access of the same kind to at least these bytes stands for an ordered one before it.
        if (first && (old.bytes & ~now.bytes) == 0 && (old.kind == kind || kind == writing)) into = &old;
        if (old.kind == reading && !spare) spare = &old;
        if (first || !(old.bytes & now.bytes) || (old.kind == reading && kind == reading)) continue;
        if (old.kind == atomic && kind == atomic) continue;
        uintptr_t base = 0;
        size_t whole = 0;
        if (const char *memory = memory_of(address, base, whole)) report(address, memory, base, whole, old, now);
    }
    if (!into) into = spare ? spare : &all[(address >> 3 ^ now.thread) % kept];
    *into = now;
}

void access(const void *pointer, size_t size, uint8_t kind) {
    if (!w.what) return;
    for (uintptr_t at = (uintptr_t)pointer, end = at + size; at < end;) {
        uintptr_t next = (at | 7) + 1;
        if (next > end) next = end;
        note(at, unsigned(next - at), kind);
        at = next;
    }
}

}  // namespace

void watch_launch(const Launch &launch, const cudasim::Place &place) {
    ++w.launch;
    w.what = &launch;
    w.place = &place;
    w.stage = 0;
    w.clocks.clear();
    w.clock_of = ~0u;
    w.clock = nullptr;
    w.released.clear();
}

void watch_barrier() { ++clock_of(block_index(), true)->epoch; }
void watch_grid_barrier() { ++w.stage; }
void watch_end() { w.what = nullptr; }

std::string found_races() { return w.found; }

void forget_races() {
    w.found.clear();
    w.known.clear();
}

}  // namespace sim

using namespace sim;

// -- what instrumented code calls ----------------------------------------------------------------------------------
#define ACCESSES(size)                                                                             \
    SIM_API void __tsan_read##size(void *p) { access(p, size, reading); }                          \
    SIM_API void __tsan_write##size(void *p) { access(p, size, writing); }                         \
    SIM_API void __tsan_unaligned_read##size(void *p) { access(p, size, reading); }                \
    SIM_API void __tsan_unaligned_write##size(void *p) { access(p, size, writing); }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
SIM_API void __tsan_read_range(void *p, size_t size) { access(p, size, reading); }
SIM_API void __tsan_write_range(void *p, size_t size) { access(p, size, writing); }
SIM_API void __tsan_vptr_update(void **, void *) {}
SIM_API void __tsan_vptr_read(void **) {}
SIM_API void __tsan_func_entry(void *) {}
SIM_API void __tsan_func_exit() {}
SIM_API void __tsan_init() {}

SIM_API void __cudasim_fence() {
    if (w.what) clock_of(block_index(), true)->fenced = true;
}

SIM_API void __cudasim_atomic(const void *pointer, unsigned long size) {
    if (!w.what) return;
    access(pointer, size, atomic);
    uint32_t block = block_index();
    uint16_t thread = thread_index();
    BlockClock *clock = clock_of(block, false);
    auto found = w.released.find((uintptr_t)pointer);
    if (found != w.released.end()) {
        clock = clock_of(block, true);
        for (const Release &r : found->second) {
            uint32_t &done = clock->blocks[r.block], &up_to = clock->threads[uint64_t(r.block) << 16 | r.thread];
            done = std::max(done, r.epoch);
            up_to = std::max(up_to, r.epoch);
        }
    }
    if (clock && clock->fenced) w.released[(uintptr_t)pointer].push_back({block, clock->epoch, thread});
}

SIM_API unsigned long long __cudasim_tick() {
    if (!w.what) return 0;
    BlockClock *clock = clock_of(block_index(), true);
    if (clock->clocks.empty()) {
        const cudasim::Index &b = w.place->block_size;
        clock->clocks.resize(b.x * b.y * b.z);
        clock->met.resize(clock->clocks.size());
    }
    return ++clock->clocks[thread_index()];
}

SIM_API void __cudasim_met(unsigned lanes, const unsigned long long *ticks) {
    if (!w.what) return;
    std::array<uint32_t, 32> &met = clock_of(block_index(), true)->met[thread_index()];
    for (unsigned i = 0; i < 32; ++i)
        if (lanes >> i & 1) met[i] = std::max(met[i], (uint32_t)ticks[i]);
}
