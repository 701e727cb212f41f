// The runtime's functions that allocate, free and describe memory.
#include <unistd.h>

#include <cstring>

#include "runtime.h"

namespace sim {

int fill_ipc_handle(void *out, const void *pointer) {
    char text[64] = "cudasim";
    long values[2] = {long(getpid()), long(intptr_t(pointer))};
    memcpy(text + 16, values, sizeof values);
    memcpy(out, text, sizeof text);
    return OK;
}

// Memory that queued operations will free counts as used until they run: wait for them before giving up.
int allocate_patiently(int device, size_t size, void **out, const char *function) {
    int code = allocate(device, size, out, function);
    if (code != OUT_OF_MEMORY || !anything_pending()) return code;
    if (int failed = drain_device(device)) return failed;
    code = allocate(device, size, out, function);
    if (!code) get_last_error(true);
    return code;
}

// Before memory goes, what may still use it is run. A host function that frees something can't wait for itself.
int drain_before_free(int device) {
    int code = anything_pending() ? drain_device(device) : OK;
    if (code != NOT_PERMITTED) return code;
    get_last_error(true);
    return OK;
}

}  // namespace sim

using namespace sim;

SIM_API int cudaMalloc(void **out, size_t size) {
    Call call("cudaMalloc");
    if (!out) return fail(INVALID_VALUE, "cudaMalloc: no place for the address");
    if (int code = check_capture_free("cudaMalloc")) return code;
    return allocate_patiently(current_device(), size, out, "cudaMalloc");
}

SIM_API int cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height) {
    *pitch = (width + 511) / 512 * 512;
    return cudaMalloc(out, *pitch * height);
}

SIM_API int cudaMallocManaged(void **out, size_t size, unsigned flags) {
    Call call("cudaMallocManaged");
    if (!out || !size || flags < 1 || flags > 2)
        return fail(INVALID_VALUE, "cudaMallocManaged: %zu bytes, flags %u", size, flags);
    if (int code = check_capture_free("cudaMallocManaged")) return code;
    return allocate_host(size, Kind::managed, out, "cudaMallocManaged");
}

SIM_API int cudaHostAlloc(void **out, size_t size, unsigned flags) {
    Call call("cudaHostAlloc");
    if (!out || flags > 7) return fail(INVALID_VALUE, "cudaHostAlloc: unknown flags %u", flags);
    if (int code = check_capture_free("cudaHostAlloc")) return code;
    return allocate_host(size, Kind::pinned, out, "cudaHostAlloc");
}

SIM_API int cudaMallocHost(void **out, size_t size) { return cudaHostAlloc(out, size, 0); }

SIM_API int cudaFree(void *pointer) {
    Call call("cudaFree");
    if (!pointer) return OK;
    if (int code = check_capture_free("cudaFree")) return code;
    const Block *block = find(pointer);
    if (!block || !owned(pointer) || block->kind == Kind::pinned)
        return fail(INVALID_VALUE, "cudaFree: %p is not the beginning of an allocation (freed already?)", pointer);
    int code = drain_before_free(block->device);
    if (free_in_graph(pointer)) return code;
    pool_released(pointer);
    release(pointer);
    return code;
}

SIM_API int cudaFreeHost(void *pointer) {
    Call call("cudaFreeHost");
    if (!pointer) return OK;
    if (int code = check_capture_free("cudaFreeHost")) return code;
    const Block *block = find(pointer);
    if (!block || !owned(pointer) || block->kind != Kind::pinned)
        return fail(INVALID_VALUE, "cudaFreeHost: %p was not allocated by cudaHostAlloc", pointer);
    int code = drain_before_free(-1);
    release(pointer);
    return code;
}

SIM_API int cudaHostRegister(void *pointer, size_t size, unsigned) {
    Call call("cudaHostRegister");
    return register_host(pointer, size);
}

SIM_API int cudaHostUnregister(void *pointer) {
    Call call("cudaHostUnregister");
    int code = drain_before_free(-1);
    int result = unregister_host(pointer);
    return result ? result : code;
}

SIM_API int cudaHostGetDevicePointer(void **out, void *pointer, unsigned) {
    Call call("cudaHostGetDevicePointer");
    const Block *block = find(pointer);
    if (!block || block->kind != Kind::pinned)
        return fail(INVALID_VALUE, "cudaHostGetDevicePointer: %p is not pinned memory", pointer);
    *out = pointer;
    return OK;
}

SIM_API int cudaHostGetFlags(unsigned *flags, void *pointer) {
    Call call("cudaHostGetFlags");
    const Block *block = find(pointer);
    if (!block || block->kind != Kind::pinned)
        return fail(INVALID_VALUE, "cudaHostGetFlags: %p is not pinned memory", pointer);
    *flags = 3;
    return OK;
}

SIM_API int cudaMemGetInfo(size_t *free, size_t *total) {
    Call call("cudaMemGetInfo");
    if (settings().devices <= 0) return fail(100, "cudaMemGetInfo: CUDASIM_DEVICES is 0");
    *total = settings().memory;
    *free = *total - used_memory(current_device());
    return OK;
}

struct PointerAttributes {  // cudaPointerAttributes
    int type, device;
    void *device_pointer, *host_pointer;
};

SIM_API int cudaPointerGetAttributes(PointerAttributes *out, const void *pointer) {
    Call call("cudaPointerGetAttributes");
    if (!out) return fail(INVALID_VALUE, "cudaPointerGetAttributes: no place for the answer");
    void *p = const_cast<void *>(pointer);
    const Block *block = find(pointer);
    if (!block)
        *out = {0, -2, nullptr, reserved(pointer) ? nullptr : p};
    else
        *out = {int(block->kind), block->device, p, block->kind == Kind::device ? nullptr : p};
    return OK;
}

namespace {

// Managed memory is one memory here, so that advice and prefetching only check their arguments.
int check_managed(const char *function, const void *pointer, size_t size, int device) {
    const Block *block = find(pointer);
    if (!block || block->kind != Kind::managed || uintptr_t(pointer) + size > block->begin + block->size)
        return fail(INVALID_VALUE, "%s: %p (%zu bytes) is not in managed memory", function, pointer, size);
    if (device < -1 || device >= settings().devices)
        return fail(INVALID_DEVICE, "%s: there is no device %d", function, device);
    return OK;
}

}  // namespace

SIM_API int cudaMemPrefetchAsync(const void *pointer, size_t size, int device, void *stream) {
    Call call("cudaMemPrefetchAsync");
    if (int code = check_managed("cudaMemPrefetchAsync", pointer, size, device)) return code;
    return submit(stream, "cudaMemPrefetchAsync", [] { return OK; });
}

SIM_API int cudaMemAdvise(const void *pointer, size_t size, int advice, int device) {
    Call call("cudaMemAdvise");
    if (advice < 1 || advice > 6) return fail(INVALID_VALUE, "cudaMemAdvise: unknown advice %d", advice);
    return check_managed("cudaMemAdvise", pointer, size, device);
}

SIM_API int cudaIpcGetMemHandle(void *out, void *pointer) {
    Call call("cudaIpcGetMemHandle");
    const Block *block = find(pointer);
    if (!block || block->kind != Kind::device)
        return fail(INVALID_VALUE, "cudaIpcGetMemHandle: %p is not device memory", pointer);
    return fill_ipc_handle(out, pointer);
}

SIM_API int cudaIpcOpenMemHandle(void **, ...) { return unsupported("cudaIpcOpenMemHandle"); }

SIM_API int cudaIpcOpenEventHandle(void **, ...) { return unsupported("cudaIpcOpenEventHandle"); }

SIM_API int cudaIpcCloseMemHandle(void *) { return unsupported("cudaIpcCloseMemHandle"); }
