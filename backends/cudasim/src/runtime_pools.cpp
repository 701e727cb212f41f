// Stream-ordered allocation. An allocation is made at once (its address must be known), a free happens in its place in
// the stream. Pools only keep account: the memory comes from the same place as that of cudaMalloc.
#include <cstring>

#include "runtime.h"

namespace sim {

namespace {

const size_t granule = size_t(32) << 20;

struct Pool {
    int device = 0;
    int reuse[4] = {0, 1, 1, 1};
    uint64_t threshold = 0, reserved = 0, reserved_high = 0, used = 0, used_high = 0;

    void grow(size_t size) {
        used += size;
        if (used > reserved) reserved = (used + granule - 1) / granule * granule;
        if (used > used_high) used_high = used;
        if (reserved > reserved_high) reserved_high = reserved;
    }
};

struct Allocation {
    Pool *pool;
    size_t size;
    bool freed;  // a free is queued

    void leave_pool() {
        if (pool) pool->used -= size;
        pool = nullptr;
    }
};

struct Pools {
    std::vector<Pool *> standard, current;
    std::set<Pool *> all;
    std::map<void *, Allocation> allocations;
};

Pools &pools() {
    static Pools *p = nullptr;
    if (!p) {
        p = new Pools;
        for (int device = 0; device < settings().devices; device++) {
            auto *pool = new Pool;
            pool->device = device;
            p->standard.push_back(pool);
            p->all.insert(pool);
        }
        p->current = p->standard;
    }
    return *p;
}

Pool *pool_of(void *handle) {
    auto *pool = static_cast<Pool *>(handle);
    return pools().all.count(pool) ? pool : nullptr;
}

int bad_pool(const char *function, void *handle) {
    return fail(INVALID_VALUE, "%s: %p is not a memory pool", function, handle);
}

bool exists(int device) { return device >= 0 && device < settings().devices; }

int allocate_in_order(void **out, size_t size, Pool *pool, void *handle, const char *function) {
    StreamRef stream = stream_of(handle);
    if (!stream) return bad_stream(function, handle);
    if (!out) return fail(INVALID_VALUE, "%s: no place for the address", function);
    if (!pool) pool = pools().current[size_t(stream->device)];
    if (int code = check_legacy_use(*stream, function)) return code;
    if (int code = allocate_patiently(pool->device, size, out, function)) return code;
    if (!*out) return OK;
    size_t whole = (size + 511) / 512 * 512;
    pools().allocations[*out] = {pool, whole, false};
    pool->grow(whole);
    if (own_in_capture(*stream, *out) || !settings().poison || !settings().lazy) return OK;
    // Whoever writes to the memory without waiting for its allocation loses what was written.
    void *begin = *out;
    return enqueue(stream, {function, [begin, whole] {
                                memset(begin, 0xA5, whole);
                                return OK;
                            }, {}, false});
}

}  // namespace

void pool_released(void *pointer) {
    auto found = pools().allocations.find(pointer);
    if (found == pools().allocations.end()) return;
    found->second.leave_pool();
    pools().allocations.erase(found);
}

}  // namespace sim

using namespace sim;

SIM_API int cudaMallocAsync(void **out, size_t size, void *stream) {
    Call call("cudaMallocAsync");
    return allocate_in_order(out, size, nullptr, stream, "cudaMallocAsync");
}

SIM_API int cudaMallocFromPoolAsync(void **out, size_t size, void *handle, void *stream) {
    Call call("cudaMallocFromPoolAsync");
    Pool *pool = pool_of(handle);
    if (!pool) return bad_pool("cudaMallocFromPoolAsync", handle);
    return allocate_in_order(out, size, pool, stream, "cudaMallocFromPoolAsync");
}

SIM_API int cudaFreeAsync(void *pointer, void *handle) {
    Call call("cudaFreeAsync");
    StreamRef stream = stream_of(handle);
    if (!stream) return bad_stream("cudaFreeAsync", handle);
    if (!pointer) return OK;
    const Block *block = find(pointer);
    auto found = pools().allocations.find(pointer);
    bool pooled = found != pools().allocations.end();
    if (!block || !owned(pointer) || block->kind == Kind::pinned || (pooled && found->second.freed))
        return fail(INVALID_VALUE, "cudaFreeAsync: %p is not the beginning of an allocation (freed already?)", pointer);
    bool in_graph = free_in_graph(pointer);
    if (stream->capture) {
        if (in_graph) return capture_node(*stream, {"cudaFreeAsync", {}, {}, false});
        return invalidate(*stream, CAPTURE_UNSUPPORTED, "cudaFreeAsync of memory that the capture did not allocate");
    }
    if (int code = check_legacy_use(*stream, "cudaFreeAsync")) return code;
    if (in_graph) return OK;
    if (pooled) {
        found->second.freed = true;
        found->second.leave_pool();  // the pool may count it as free: its next use comes later in the stream
    }
    return enqueue(stream, {"cudaFreeAsync", [pointer] {
                                pool_released(pointer);
                                release(pointer);
                                return OK;
                            }, {}, false});
}

SIM_API int cudaDeviceGetDefaultMemPool(void **pool, int device) {
    Call call("cudaDeviceGetDefaultMemPool");
    if (!exists(device)) return fail(INVALID_DEVICE, "cudaDeviceGetDefaultMemPool: there is no device %d", device);
    *pool = pools().standard[size_t(device)];
    return OK;
}

SIM_API int cudaDeviceGetMemPool(void **pool, int device) {
    Call call("cudaDeviceGetMemPool");
    if (!exists(device)) return fail(INVALID_DEVICE, "cudaDeviceGetMemPool: there is no device %d", device);
    *pool = pools().current[size_t(device)];
    return OK;
}

SIM_API int cudaDeviceSetMemPool(int device, void *handle) {
    Call call("cudaDeviceSetMemPool");
    Pool *pool = pool_of(handle);
    if (!exists(device)) return fail(INVALID_DEVICE, "cudaDeviceSetMemPool: there is no device %d", device);
    if (!pool || pool->device != device) return bad_pool("cudaDeviceSetMemPool", handle);
    pools().current[size_t(device)] = pool;
    return OK;
}

struct PoolProperties {  // the beginning of cudaMemPoolProps
    int allocation_type, handle_types, location_type, location;
};

SIM_API int cudaMemPoolCreate(void **out, const PoolProperties *properties) {
    Call call("cudaMemPoolCreate");
    if (!out || !properties || properties->allocation_type != 1 || properties->location_type != 1)
        return fail(INVALID_VALUE, "cudaMemPoolCreate: only pinned allocations on a device are possible");
    if (!exists(properties->location))
        return fail(INVALID_DEVICE, "cudaMemPoolCreate: there is no device %d", properties->location);
    auto *pool = new Pool;
    pool->device = properties->location;
    pools().all.insert(pool);
    *out = pool;
    return OK;
}

SIM_API int cudaMemPoolDestroy(void *handle) {
    Call call("cudaMemPoolDestroy");
    Pool *pool = pool_of(handle);
    if (!pool || pools().standard[size_t(pool->device)] == pool) return bad_pool("cudaMemPoolDestroy", handle);
    Pool *&current = pools().current[size_t(pool->device)];
    if (current == pool) current = pools().standard[size_t(pool->device)];
    for (auto &[pointer, allocation] : pools().allocations)  // they live on until they are freed
        if (allocation.pool == pool) allocation.pool = nullptr;
    pools().all.erase(pool);
    delete pool;
    return OK;
}

SIM_API int cudaMemPoolTrimTo(void *handle, size_t keep) {
    Call call("cudaMemPoolTrimTo");
    Pool *pool = pool_of(handle);
    if (!pool) return bad_pool("cudaMemPoolTrimTo", handle);
    uint64_t least = keep > pool->used ? keep : pool->used;
    least = (least + granule - 1) / granule * granule;
    if (pool->reserved > least) pool->reserved = least;
    return OK;
}

SIM_API int cudaMemPoolGetAttribute(void *handle, int attribute, void *value) {
    Call call("cudaMemPoolGetAttribute");
    Pool *pool = pool_of(handle);
    if (!pool || !value) return bad_pool("cudaMemPoolGetAttribute", handle);
    const uint64_t sizes[] = {pool->threshold, pool->reserved, pool->reserved_high, pool->used, pool->used_high};
    if (attribute >= 1 && attribute <= 3)
        *static_cast<int *>(value) = pool->reuse[attribute];
    else if (attribute >= 4 && attribute <= 8)
        *static_cast<uint64_t *>(value) = sizes[attribute - 4];
    else
        return fail(INVALID_VALUE, "cudaMemPoolGetAttribute: unknown attribute %d", attribute);
    return OK;
}

SIM_API int cudaMemPoolSetAttribute(void *handle, int attribute, void *value) {
    Call call("cudaMemPoolSetAttribute");
    Pool *pool = pool_of(handle);
    if (!pool || !value) return bad_pool("cudaMemPoolSetAttribute", handle);
    if (attribute >= 1 && attribute <= 3) {
        pool->reuse[attribute] = *static_cast<int *>(value);
        return OK;
    }
    uint64_t size = *static_cast<uint64_t *>(value);
    if (attribute == 4)
        pool->threshold = size;
    else if (attribute == 6 && size == 0)
        pool->reserved_high = pool->reserved;
    else if (attribute == 8 && size == 0)
        pool->used_high = pool->used;
    else
        return fail(INVALID_VALUE, "cudaMemPoolSetAttribute: attribute %d can't be set to this", attribute);
    return OK;
}
