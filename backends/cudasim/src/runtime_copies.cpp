// Copies and fills. Where the documentation says that a call waits, it waits; where it says that the host may go on,
// the copy is queued, and a missing wait shows in lazy mode.
#include <cstring>

#include "runtime.h"

using namespace sim;

namespace {

struct Side {
    char *address;
    size_t pitch, slice;  // bytes from row to row and from plane to plane
};

struct Box {
    size_t width, height = 1, depth = 1;
    bool empty() const { return !width || !height || !depth; }
    size_t bytes() const { return width * height * depth; }
    size_t extent(const Side &side) const { return (depth - 1) * side.slice + (height - 1) * side.pitch + width; }
};

enum Direction { host_to_host, host_to_device, device_to_host, device_to_device, by_address };

const char *const direction_names[] = {"host to host", "host to device", "device to host", "device to device",
                                       "by address"};

// What kind of memory a side of a copy is in; false (with the error set) if it isn't wholly inside of an allocation.
bool examine(const char *function, const char *role, const void *address, size_t size, Kind &kind) {
    const Block *block = find(address);
    kind = block ? block->kind : Kind::unknown;
    if (!block && reserved(address)) {
        fail(INVALID_VALUE, "%s: the %s %p is device memory that is not allocated (freed?)", function, role, address);
        return false;
    }
    if (block && uintptr_t(address) + size > block->begin + block->size) {
        fail(INVALID_VALUE, "%s: %zu bytes at the %s %p are %zu more than the allocation holds", function, size, role,
             address, uintptr_t(address) + size - block->begin - block->size);
        return false;
    }
    return true;
}

bool is_host(Kind kind) { return kind == Kind::unknown || kind == Kind::pinned; }

void move(const Side &to, const Side &from, const Box &box) {
    for (size_t z = 0; z < box.depth; z++)
        for (size_t y = 0; y < box.height; y++)
            memmove(to.address + z * to.slice + y * to.pitch, from.address + z * from.slice + y * from.pitch,
                    box.width);
}

Tally count(Kind to, Kind from, int direction, size_t bytes) {
    bool to_device = !is_host(to), from_device = !is_host(from);
    if (to == Kind::managed && direction == device_to_host) to_device = false;
    if (from == Kind::managed && direction == host_to_device) from_device = false;
    return [=] {
        Counters &c = counters();
        if (to_device && from_device) {
            c.copies_on_device++;
            c.bytes_on_device += bytes;
        } else if (to_device) {
            c.copies_to_device++;
            c.bytes_to_device += bytes;
        } else if (from_device) {
            c.copies_to_host++;
            c.bytes_to_host += bytes;
        }
    };
}

int copy(const char *function, Side to, Side from, Box box, int direction, void *handle, bool synchronous) {
    StreamRef stream = stream_of(handle);
    if (!stream) return bad_stream(function, handle);
    if (direction < 0 || direction > 4) return fail(21, "%s: unknown kind %d of copy", function, direction);
    if (box.empty()) return OK;
    if ((box.height > 1 || box.depth > 1) && (box.width > to.pitch || box.width > from.pitch))
        return fail(12, "%s: rows of %zu bytes don't fit in the pitch", function, box.width);
    if (!to.address || !from.address) return fail(INVALID_VALUE, "%s: a null pointer", function);
    Kind to_kind, from_kind;
    if (!examine(function, "destination", to.address, box.extent(to), to_kind)) return INVALID_VALUE;
    if (!examine(function, "source", from.address, box.extent(from), from_kind)) return INVALID_VALUE;
    bool to_host = direction == host_to_host || direction == device_to_host;
    bool from_host = direction == host_to_host || direction == host_to_device;
    if (direction != by_address) {
        bool wrong = (to_host ? to_kind == Kind::device : to_kind == Kind::unknown) ||
                     (from_host ? from_kind == Kind::device : from_kind == Kind::unknown);
        if (wrong)
            return fail(INVALID_VALUE, "%s: a copy from %s, but the destination is %s and the source is %s", function,
                        direction_names[direction], is_host(to_kind) ? "on the host" : "on a device",
                        is_host(from_kind) ? "on the host" : "on a device");
    }
    if (synchronous)
        if (int code = check_capture_free(function)) return code;
    Tally tally = count(to_kind, from_kind, direction, box.bytes());
    bool on_device = !is_host(to_kind) && !is_host(from_kind);
    bool waits = to_kind == Kind::unknown || (synchronous && !on_device);
    if (const Block *a = find(to.address), *b = find(from.address);
        on_device && a && b && a->device != b->device && stream->legacy && !stream->capture) {
        // Between two devices the legacy stream waits for all work of both, and both wait for the copy.
        for (int device : {a->device, b->device})
            if (int code = drain_device(device)) return code;
        waits = true;
    }
    Work work;
    if (from_kind == Kind::unknown && !waits && !stream->capture && (settings().lazy || anything_pending())) {
        // The driver has read pageable memory when the call returns: the caller may write to it.
        auto snapshot = std::make_shared<std::vector<char>>(box.bytes());
        Side packed = {snapshot->data(), box.width, box.width * box.height};
        move(packed, from, box);
        work = [=] {
            move(to, {snapshot->data(), packed.pitch, packed.slice}, box);
            return OK;
        };
    } else {
        work = [=] {
            move(to, from, box);
            return OK;
        };
    }
    bool captured = stream->capture != nullptr;
    int code = enqueue(stream, {function, std::move(work), std::move(tally), false});
    return code || captured || !waits ? code : drain(stream);
}

Side row(const void *address) { return {static_cast<char *>(const_cast<void *>(address)), 0, 0}; }

Side rows(const void *address, size_t pitch) {
    return {static_cast<char *>(const_cast<void *>(address)), pitch, 0};
}

int set(const char *function, void *address, size_t pitch, int value, size_t width, size_t height, void *stream) {
    if (!stream_of(stream)) return bad_stream(function, stream);
    if (!width || !height) return OK;
    Side side = rows(address, pitch);
    Box box = {width, height, 1};
    if (height > 1 && width > pitch) return fail(12, "%s: rows of %zu bytes don't fit in the pitch", function, width);
    Kind kind;
    if (!examine(function, "destination", address, box.extent(side), kind)) return INVALID_VALUE;
    if (kind == Kind::unknown) return fail(INVALID_VALUE, "%s: %p is not device memory", function, address);
    Work work = [=] {
        for (size_t y = 0; y < height; y++) memset(side.address + y * pitch, value, width);
        return OK;
    };
    return submit(stream, function, std::move(work), [] { counters().memsets++; });
}

struct Pitched {  // cudaPitchedPtr
    char *address;
    size_t pitch, width, height;
};

struct Copy3D {  // cudaMemcpy3DParms
    void *from_array;
    size_t from_position[3];
    Pitched from;
    void *to_array;
    size_t to_position[3];
    Pitched to;
    size_t extent[3];
    int direction;
};

Side planes(const Pitched &p, const size_t *position) {
    size_t slice = p.pitch * p.height;
    return {p.address + position[2] * slice + position[1] * p.pitch + position[0], p.pitch, slice};
}

int copy_3d(const char *function, const Copy3D *c, void *stream, bool synchronous) {
    if (c->from_array || c->to_array) return unsupported("cudaMemcpy3D of CUDA arrays");
    return copy(function, planes(c->to, c->to_position), planes(c->from, c->from_position),
                {c->extent[0], c->extent[1], c->extent[2]}, c->direction, stream, synchronous);
}

}  // namespace

SIM_API int cudaMemcpy(void *to, const void *from, size_t size, int direction) {
    Call call("cudaMemcpy");
    return copy("cudaMemcpy", row(to), row(from), {size}, direction, nullptr, true);
}

SIM_API int cudaMemcpyAsync(void *to, const void *from, size_t size, int direction, void *stream) {
    Call call("cudaMemcpyAsync");
    return copy("cudaMemcpyAsync", row(to), row(from), {size}, direction, stream, false);
}

SIM_API int cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t size) {
    Call call("cudaMemcpyPeer");
    for (int device : {to_device, from_device, current_device()}) {  // serialised with all work of these devices
        if (device < 0 || device >= settings().devices)
            return fail(INVALID_DEVICE, "cudaMemcpyPeer: there is no device %d", device);
        if (int code = check_device_capture(device, "cudaMemcpyPeer")) return code;
        if (int code = drain_device(device)) return code;
    }
    int code = copy("cudaMemcpyPeer", row(to), row(from), {size}, device_to_device, nullptr, true);
    return code ? code : drain(legacy_stream(current_device()));
}

SIM_API int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t size,
                                void *stream) {
    Call call("cudaMemcpyPeerAsync");
    for (int device : {to_device, from_device})
        if (device < 0 || device >= settings().devices)
            return fail(INVALID_DEVICE, "cudaMemcpyPeerAsync: there is no device %d", device);
    return copy("cudaMemcpyPeerAsync", row(to), row(from), {size}, device_to_device, stream, false);
}

SIM_API int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                         int direction) {
    Call call("cudaMemcpy2D");
    return copy("cudaMemcpy2D", rows(to, to_pitch), rows(from, from_pitch), {width, height}, direction, nullptr, true);
}

SIM_API int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, int direction, void *stream) {
    Call call("cudaMemcpy2DAsync");
    return copy("cudaMemcpy2DAsync", rows(to, to_pitch), rows(from, from_pitch), {width, height}, direction, stream,
                false);
}

SIM_API int cudaMemcpy3D(const void *parameters) {
    Call call("cudaMemcpy3D");
    return copy_3d("cudaMemcpy3D", static_cast<const Copy3D *>(parameters), nullptr, true);
}

SIM_API int cudaMemcpy3DAsync(const void *parameters, void *stream) {
    Call call("cudaMemcpy3DAsync");
    return copy_3d("cudaMemcpy3DAsync", static_cast<const Copy3D *>(parameters), stream, false);
}

SIM_API int cudaMemset(void *address, int value, size_t size) {
    Call call("cudaMemset");
    return set("cudaMemset", address, 0, value, size, 1, nullptr);
}

SIM_API int cudaMemsetAsync(void *address, int value, size_t size, void *stream) {
    Call call("cudaMemsetAsync");
    return set("cudaMemsetAsync", address, 0, value, size, 1, stream);
}

SIM_API int cudaMemset2D(void *address, size_t pitch, int value, size_t width, size_t height) {
    Call call("cudaMemset2D");
    return set("cudaMemset2D", address, pitch, value, width, height, nullptr);
}

SIM_API int cudaMemset2DAsync(void *address, size_t pitch, int value, size_t width, size_t height, void *stream) {
    Call call("cudaMemset2DAsync");
    return set("cudaMemset2DAsync", address, pitch, value, width, height, stream);
}
