// cuFFT over several devices: the data lies in pieces, one per device. It is put together, transformed and taken apart
// again. A real cuFFT leaves single transforms in a permuted order until they are copied; here the order stays natural,
// which nobody can tell who follows the rules.
#include <cstring>

#include "fft.h"
#include "sim.h"

namespace {

enum Result { SUCCESS = 0, INVALID_PLAN = 1, INVALID_VALUE = 4, EXEC_FAILED = 6, INVALID_DEVICE = 11,
              NOT_IMPLEMENTED = 14 };
enum Copy { TO_DEVICE = 0, TO_HOST = 1, ON_DEVICE = 2 };

// The public descriptors of a distributed array.
struct Pieces {
    int version, count, devices[64];
    void *data[64];
    size_t size[64];
    void *state;
};
struct Descriptor {
    int version;
    Pieces *pieces;
    int library, format;
    void *state;
};

size_t total(const Pieces &pieces) {
    size_t sum = 0;
    for (int i = 0; i < pieces.count; ++i)
        sum += pieces.size[i];
    return sum;
}

void gather(const Pieces &pieces, char *whole) {
    for (int i = 0; i < pieces.count; whole += pieces.size[i++])
        std::memcpy(whole, pieces.data[i], pieces.size[i]);
}

void scatter(const char *whole, const Pieces &pieces) {
    for (int i = 0; i < pieces.count; whole += pieces.size[i++])
        std::memcpy(pieces.data[i], whole, pieces.size[i]);
}

bool sound(const Descriptor *descriptor) {
    return descriptor && descriptor->pieces && descriptor->pieces->count > 0 && descriptor->pieces->count <= 64;
}

int execute(const char *name, int handle, int type, Descriptor *in, Descriptor *out, int direction) {
    const sim::Lock lock;
    const size_t size = sim::fft::bytes_of(handle);
    if (size == 0)
        return INVALID_PLAN;
    if (!sound(in) || !sound(out) || total(*in->pieces) != size || total(*out->pieces) != size)
        return INVALID_VALUE;
    sim::count_library(name);
    int result = SUCCESS;
    const int code = sim::at_once(name, [&] {
        std::vector<char> whole(size);
        gather(*in->pieces, whole.data());
        result = sim::fft::transform_packed(handle, type, direction, whole.data());
        if (result == SUCCESS)
            scatter(whole.data(), *out->pieces);
        return sim::OK;
    });
    return code == sim::OK ? result : EXEC_FAILED;
}

}  // namespace

SIM_API int cufftXtSetGPUs(int handle, int count, int *devices) {
    const sim::Lock lock;
    if (count < 1 || count > 64 || !devices)
        return INVALID_VALUE;
    for (int i = 0; i < count; ++i)
        if (devices[i] < 0 || devices[i] >= sim::settings().devices)
            return INVALID_DEVICE;
    return sim::fft::set_devices(handle, std::vector<int>(devices, devices + count));
}

SIM_API int cufftXtExecDescriptorC2C(int handle, void *in, void *out, int direction) {
    return execute("cufftXtExecDescriptorC2C", handle, 0x29, static_cast<Descriptor *>(in),
                   static_cast<Descriptor *>(out), direction);
}

SIM_API int cufftXtExecDescriptorZ2Z(int handle, void *in, void *out, int direction) {
    return execute("cufftXtExecDescriptorZ2Z", handle, 0x69, static_cast<Descriptor *>(in),
                   static_cast<Descriptor *>(out), direction);
}

SIM_API int cufftXtMemcpy(int handle, void *to, void *from, int kind) {
    const sim::Lock lock;
    const size_t size = sim::fft::bytes_of(handle);
    if (size == 0)
        return INVALID_PLAN;
    const auto *source = static_cast<Descriptor *>(from), *target = static_cast<Descriptor *>(to);
    if (kind < TO_DEVICE || kind > ON_DEVICE || (kind != TO_DEVICE && !sound(source)) ||
        (kind != TO_HOST && !sound(target)) || (kind != TO_DEVICE && total(*source->pieces) != size) ||
        (kind != TO_HOST && total(*target->pieces) != size))
        return INVALID_VALUE;
    const int code = sim::at_once("cufftXtMemcpy", [&] {
        std::vector<char> whole(size);
        if (kind == TO_DEVICE)
            std::memcpy(whole.data(), from, size);
        else
            gather(*source->pieces, whole.data());
        if (kind == TO_HOST)
            std::memcpy(to, whole.data(), size);
        else
            scatter(whole.data(), *target->pieces);
        return sim::OK;
    });
    return code == sim::OK ? SUCCESS : EXEC_FAILED;
}

// Callbacks inside a transform would have to run device code that only a GPU can link.
SIM_API int __cufftXtSetJITCallback_12_7(int, const char *, const void *, size_t, int, void **) {
    sim::unsupported("cufftXtSetJITCallback");
    return NOT_IMPLEMENTED;
}
SIM_API int cufftXtSetJITCallback(int, const char *, const void *, size_t, int, void **) {
    sim::unsupported("cufftXtSetJITCallback");
    return NOT_IMPLEMENTED;
}
