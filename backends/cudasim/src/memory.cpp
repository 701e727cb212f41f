// Device memory is host memory: each device has one reserved range of addresses, so that guarding it against the host
// takes one mprotect. Pinned and managed memory is mapped piece by piece. Nothing here knows about streams.
#include <sys/mman.h>

#include <cstring>

#include "runtime.h"

namespace sim {

namespace {

const size_t alignment = 512, page = 4096, wanted_range = size_t(64) << 30;

size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

struct Arena {
    char *base = nullptr;
    size_t range = 0;
    size_t top = 0;   // nothing is allocated beyond
    size_t open = 0;  // whole pages up to here have been made accessible
    size_t used = 0;
    std::map<size_t, size_t> holes;                  // offset -> size, below top
    std::set<std::pair<size_t, size_t>> by_size;     // (size, offset)

    bool reserve();
    bool take(size_t size, size_t &offset);
    void give_back(size_t offset, size_t size);
    void add_hole(size_t offset, size_t size) {
        holes[offset] = size;
        by_size.insert({size, offset});
    }
    void remove_hole(std::map<size_t, size_t>::iterator hole) {
        by_size.erase({hole->second, hole->first});
        holes.erase(hole);
    }
};

std::vector<Arena> &arenas() {
    static auto &all = *new std::vector<Arena>(size_t(settings().devices));
    return all;
}

std::map<uintptr_t, Block> &blocks() {  // by the first address
    static auto &all = *new std::map<uintptr_t, Block>;
    return all;
}

std::set<uintptr_t> &foreign() {  // memory that we know but did not allocate
    static auto &all = *new std::set<uintptr_t>;
    return all;
}

int depth = 0;  // of Access, under the lock

bool Arena::reserve() {
    if (base) return true;
    size_t least = round_up(settings().memory + page, page);
    for (size_t size = least > wanted_range ? least : wanted_range; size >= least; size /= 2) {
        void *p = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) continue;
        base = static_cast<char *>(p);
        range = size;
        return true;
    }
    return false;
}

bool Arena::take(size_t size, size_t &offset) {
    auto fit = by_size.lower_bound({size, 0});
    if (fit != by_size.end()) {
        offset = fit->second;
        size_t rest = fit->first - size;
        remove_hole(holes.find(offset));
        if (rest) add_hole(offset + size, rest);
        return true;
    }
    if (top + size > range) return false;
    size_t end = round_up(top + size, page);
    if (end > open) {
        if (mprotect(base + open, end - open, settings().guard && !depth ? PROT_NONE : PROT_READ | PROT_WRITE))
            return false;
        open = end;
    }
    offset = top;
    top += size;
    return true;
}

void Arena::give_back(size_t offset, size_t size) {
    auto next = holes.lower_bound(offset);
    if (next != holes.end() && next->first == offset + size) {
        size += next->second;
        remove_hole(next);
    }
    auto before = holes.lower_bound(offset);
    if (before != holes.begin() && (--before)->first + before->second == offset) {
        offset = before->first;
        size += before->second;
        remove_hole(before);
    }
    if (offset + size == top)
        top = offset;
    else
        add_hole(offset, size);
}

void protect_all(int protection) {
    for (Arena &arena : arenas())
        if (arena.open) mprotect(arena.base, arena.open, protection);
}

// Freed memory shows that it is: poisoned, or at least given back to the system when it is large.
void dispose(char *begin, size_t size) {
    const size_t large = size_t(16) << 20;
    Access access;
    if (settings().poison) memset(begin, 0x5A, size < large ? size : large);
    if (size < large) return;
    char *first = reinterpret_cast<char *>(round_up(uintptr_t(begin) + (settings().poison ? large : 0), page));
    char *last = reinterpret_cast<char *>(uintptr_t(begin + size) / page * page);
    if (last > first) madvise(first, size_t(last - first), MADV_DONTNEED);
}

}  // namespace

Access::Access() {
    if (depth++ == 0 && settings().guard) protect_all(PROT_READ | PROT_WRITE);
}

Access::~Access() {
    if (--depth == 0 && settings().guard) protect_all(PROT_NONE);
}

int access_depth() { return depth; }

void set_access_depth(int value) { depth = value; }

void apply_guard(bool guard) {
    settings().guard = guard;
    if (!depth) protect_all(guard ? PROT_NONE : PROT_READ | PROT_WRITE);
}

const Block *find(const void *address) {
    Lock lock;
    uintptr_t a = uintptr_t(address);
    auto next = blocks().upper_bound(a);
    if (next == blocks().begin()) return nullptr;
    const Block &block = std::prev(next)->second;
    return a - block.begin < block.size ? &block : nullptr;
}

bool reserved(const void *address) {
    for (Arena &arena : arenas())
        if (uintptr_t(address) - uintptr_t(arena.base) < arena.range) return true;
    return false;
}

size_t used_memory(int device) { return arenas()[size_t(device)].used; }

void fill(void *begin, int value, size_t size) {
    Access access;
    memset(begin, value, size);
}

int allocate(int device, size_t size, void **out, const char *function) {
    *out = nullptr;
    if (!size) return OK;
    Arena &arena = arenas()[size_t(device)];
    size_t whole = round_up(size, alignment), offset;
    bool fits = size <= settings().memory && arena.used + whole <= settings().memory;
    if (!fits || !arena.reserve() || !arena.take(whole, offset))
        return fail(OUT_OF_MEMORY, "%s: %zu bytes don't fit in device %d: %zu of %zu are in use (CUDASIM_MEM_MB)",
                    function, size, device, arena.used, settings().memory);
    arena.used += whole;
    char *p = arena.base + offset;
    blocks()[uintptr_t(p)] = {uintptr_t(p), size, Kind::device, device};
    if (settings().poison) fill(p, 0xA5, whole);
    counters().allocations++;
    *out = p;
    return OK;
}

int allocate_host(size_t size, Kind kind, void **out, const char *function) {
    *out = nullptr;
    if (!size) return OK;
    void *p = MAP_FAILED;
    if (size < size_t(1) << 46)
        p = mmap(nullptr, round_up(size, page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0);
    if (p == MAP_FAILED) return fail(OUT_OF_MEMORY, "%s: the host has no %zu bytes", function, size);
    if (settings().poison) memset(p, 0xA5, size);
    blocks()[uintptr_t(p)] = {uintptr_t(p), size, kind, current_device()};
    if (kind == Kind::managed) counters().allocations++;
    *out = p;
    return OK;
}

bool owned(const void *pointer) {
    return blocks().count(uintptr_t(pointer)) && !foreign().count(uintptr_t(pointer));
}

bool release(void *pointer) {
    if (!owned(pointer)) return false;
    auto found = blocks().find(uintptr_t(pointer));
    Block block = found->second;
    blocks().erase(found);
    if (block.kind != Kind::pinned) counters().frees++;
    if (block.kind != Kind::device) {
        munmap(pointer, round_up(block.size, page));
        return true;
    }
    Arena &arena = arenas()[size_t(block.device)];
    size_t whole = round_up(block.size, alignment);
    dispose(static_cast<char *>(pointer), whole);
    arena.used -= whole;
    arena.give_back(size_t(static_cast<char *>(pointer) - arena.base), whole);
    return true;
}

int register_host(void *pointer, size_t size) {
    if (!pointer || !size) return fail(INVALID_VALUE, "cudaHostRegister: nothing to register");
    uintptr_t begin = uintptr_t(pointer);
    auto next = blocks().lower_bound(begin);
    if (find(pointer) || (next != blocks().end() && next->first < begin + size))
        return fail(712, "cudaHostRegister: %p is registered or allocated by CUDA already", pointer);
    blocks()[begin] = {begin, size, Kind::pinned, current_device()};
    foreign().insert(begin);
    return OK;
}

int unregister_host(void *pointer) {
    const Block *block = find(pointer);
    if (!block || block->kind != Kind::pinned || !foreign().erase(uintptr_t(pointer)))
        return fail(713, "cudaHostUnregister: %p was not registered", pointer);
    blocks().erase(uintptr_t(pointer));
    return OK;
}

void adopt(void *pointer, size_t size, int device) {
    Lock lock;
    blocks()[uintptr_t(pointer)] = {uintptr_t(pointer), size, Kind::device, device};
    foreign().insert(uintptr_t(pointer));
}

void disown(void *pointer) {
    Lock lock;
    blocks().erase(uintptr_t(pointer));
    foreign().erase(uintptr_t(pointer));
}

}  // namespace sim
