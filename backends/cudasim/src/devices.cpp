// What the emulated devices are: attributes, properties, limits, access between devices.
#include <cstddef>
#include <cstring>

#include "runtime.h"

using namespace sim;

namespace {

// The layout of CUDA 12. The part up to `reserved_shared` is that of CUDA 11, which the plain function fills.
struct Properties {
    char name[256];
    char uuid[16];
    char luid[8];
    unsigned luid_mask;
    size_t total_memory, shared_per_block;
    int registers_per_block, warp;
    size_t pitch;
    int threads_per_block, block[3], grid[3], clock;
    size_t constants;
    int major, minor;
    size_t texture_alignment, texture_pitch_alignment;
    int overlap, processors, timeout, integrated, map_host, compute_mode;
    int texture_1d, texture_1d_mipmap, texture_1d_linear, texture_2d[2], texture_2d_mipmap[2], texture_2d_linear[3],
        texture_2d_gather[2], texture_3d[3], texture_3d_alt[3], texture_cube, texture_1d_layered[2],
        texture_2d_layered[3], texture_cube_layered[2];
    int surface_1d, surface_2d[2], surface_3d[3], surface_1d_layered[2], surface_2d_layered[3], surface_cube,
        surface_cube_layered[2];
    size_t surface_alignment;
    int concurrent, ecc, pci_bus, pci_device, pci_domain, tcc, engines, unified, memory_clock, memory_width, l2,
        l2_persisting, threads_per_processor, priorities, global_l1, local_l1;
    size_t shared_per_processor;
    int registers_per_processor, managed, multi_board, board_group, native_atomics, double_ratio, pageable,
        concurrent_managed, preemption, registered_pointer, cooperative, cooperative_multi;
    size_t shared_opt_in;
    int host_page_tables, direct_managed, blocks_per_processor, window;
    size_t reserved_shared;
    int host_register, sparse_array, host_register_read_only, timeline_semaphore, pools, rdma;
    unsigned rdma_flush;
    int rdma_ordering;
    unsigned pool_handles;
    int deferred_arrays, ipc_events, cluster, unified_functions;
    int reserved[63];
};
static_assert(offsetof(Properties, host_register) == 728 && sizeof(Properties) == 1032, "the layout of CUDA 12");

const size_t shared_limit = 48 << 10;

size_t shared_opt_in() {
    int cc = settings().capability;
    return size_t(cc >= 90 ? 227 : cc == 80 || cc == 87 ? 163 : cc >= 86 ? 99 : cc == 75 ? 64 : 96) << 10;
}

void describe(Properties &p, int device) {
    memset(&p, 0, sizeof p);
    snprintf(p.name, sizeof p.name, "Emulated CUDA device");
    memcpy(p.uuid, "lucidgrad-sim-\0\0", 16);
    p.uuid[15] = char(device);
    p.total_memory = settings().memory;
    p.shared_per_block = shared_limit;
    p.registers_per_block = p.registers_per_processor = 65536;
    p.warp = 32;
    p.pitch = 0x7fffffff;
    p.threads_per_block = 1024;
    p.block[0] = p.block[1] = 1024;
    p.block[2] = 64;
    p.grid[0] = 0x7fffffff;
    p.grid[1] = p.grid[2] = 65535;
    p.clock = 1410000;
    p.constants = 65536;
    p.major = settings().capability / 10;
    p.minor = settings().capability % 10;
    p.texture_alignment = p.surface_alignment = 512;
    p.texture_pitch_alignment = 32;
    p.overlap = p.map_host = p.concurrent = p.unified = p.priorities = p.global_l1 = p.local_l1 = 1;
    p.processors = settings().processors;
    p.texture_1d = 131072;
    p.texture_1d_mipmap = p.texture_1d_layered[0] = p.texture_cube = p.texture_cube_layered[0] = 32768;
    p.texture_1d_linear = 268435456;
    p.texture_2d[0] = p.texture_2d_linear[0] = 131072;
    p.texture_2d[1] = p.texture_2d_linear[1] = 65536;
    p.texture_2d_linear[2] = 2097120;
    p.texture_2d_mipmap[0] = p.texture_2d_mipmap[1] = p.texture_2d_gather[0] = p.texture_2d_gather[1] = 32768;
    p.texture_3d[0] = p.texture_3d[1] = p.texture_3d[2] = 16384;
    p.texture_3d_alt[0] = p.texture_3d_alt[1] = 8192;
    p.texture_3d_alt[2] = 32768;
    p.texture_1d_layered[1] = p.texture_2d_layered[2] = 2048;
    p.texture_2d_layered[0] = p.texture_2d_layered[1] = 32768;
    p.texture_cube_layered[1] = p.surface_cube_layered[1] = 2046;
    p.surface_1d = p.surface_1d_layered[0] = p.surface_2d_layered[0] = p.surface_2d_layered[1] = 32768;
    p.surface_cube = p.surface_cube_layered[0] = 32768;
    p.surface_2d[0] = 131072;
    p.surface_2d[1] = 65536;
    p.surface_3d[0] = p.surface_3d[1] = p.surface_3d[2] = 16384;
    p.surface_1d_layered[1] = p.surface_2d_layered[2] = 2048;
    p.pci_bus = device + 1;
    p.engines = 2;
    p.memory_clock = 1215000;
    p.memory_width = 5120;
    p.l2 = 4 << 20;
    p.threads_per_processor = 2048;
    p.shared_opt_in = shared_opt_in();
    p.shared_per_processor = p.shared_opt_in + 1024;
    p.managed = p.concurrent_managed = p.preemption = p.registered_pointer = p.cooperative = 1;
    p.double_ratio = 2;
    p.board_group = device;
    p.blocks_per_processor = 32;
    p.reserved_shared = 1024;
    p.host_register = p.pools = p.ipc_events = 1;
    p.pool_handles = 1;
}

int bad_device(const char *function, int device) {
    return fail(INVALID_DEVICE, "%s: device %d, but there are %d", function, device, settings().devices);
}

bool exists(int device) { return device >= 0 && device < settings().devices; }

// The values that follow from the properties, by the numbers of cudaDeviceAttr.
std::map<int, long> attributes(const Properties &p) {
    return {
        {1, p.threads_per_block}, {2, p.block[0]}, {3, p.block[1]}, {4, p.block[2]}, {5, p.grid[0]}, {6, p.grid[1]},
        {7, p.grid[2]}, {8, p.shared_per_block}, {9, p.constants}, {10, p.warp}, {11, p.pitch},
        {12, p.registers_per_block}, {13, p.clock}, {14, p.texture_alignment}, {15, p.overlap}, {16, p.processors},
        {17, p.timeout}, {18, p.integrated}, {19, p.map_host}, {20, p.compute_mode}, {21, p.texture_1d},
        {22, p.texture_2d[0]}, {23, p.texture_2d[1]}, {24, p.texture_3d[0]}, {25, p.texture_3d[1]},
        {26, p.texture_3d[2]}, {27, p.texture_2d_layered[0]}, {28, p.texture_2d_layered[1]},
        {29, p.texture_2d_layered[2]}, {30, p.surface_alignment}, {31, p.concurrent}, {32, p.ecc}, {33, p.pci_bus},
        {34, p.pci_device}, {35, p.tcc}, {36, p.memory_clock}, {37, p.memory_width}, {38, p.l2},
        {39, p.threads_per_processor}, {40, p.engines}, {41, p.unified}, {42, p.texture_1d_layered[0]},
        {43, p.texture_1d_layered[1]}, {45, p.texture_2d_gather[0]}, {46, p.texture_2d_gather[1]},
        {47, p.texture_3d_alt[0]}, {48, p.texture_3d_alt[1]}, {49, p.texture_3d_alt[2]}, {50, p.pci_domain},
        {51, p.texture_pitch_alignment}, {52, p.texture_cube}, {53, p.texture_cube_layered[0]},
        {54, p.texture_cube_layered[1]}, {55, p.surface_1d}, {56, p.surface_2d[0]}, {57, p.surface_2d[1]},
        {58, p.surface_3d[0]}, {59, p.surface_3d[1]}, {60, p.surface_3d[2]}, {61, p.surface_1d_layered[0]},
        {62, p.surface_1d_layered[1]}, {63, p.surface_2d_layered[0]}, {64, p.surface_2d_layered[1]},
        {65, p.surface_2d_layered[2]}, {66, p.surface_cube}, {67, p.surface_cube_layered[0]},
        {68, p.surface_cube_layered[1]}, {69, p.texture_1d_linear}, {70, p.texture_2d_linear[0]},
        {71, p.texture_2d_linear[1]}, {72, p.texture_2d_linear[2]}, {73, p.texture_2d_mipmap[0]},
        {74, p.texture_2d_mipmap[1]}, {75, p.major}, {76, p.minor}, {77, p.texture_1d_mipmap}, {78, p.priorities},
        {79, p.global_l1}, {80, p.local_l1}, {81, p.shared_per_processor}, {82, p.registers_per_processor},
        {83, p.managed}, {84, p.multi_board}, {85, p.board_group}, {86, p.native_atomics}, {87, p.double_ratio},
        {88, p.pageable}, {89, p.concurrent_managed}, {90, p.preemption}, {91, p.registered_pointer}, {92, 0}, {93, 0},
        {94, 0}, {95, p.cooperative}, {96, p.cooperative_multi}, {97, p.shared_opt_in}, {98, 0}, {99, p.host_register},
        {100, p.host_page_tables}, {101, p.direct_managed}, {106, p.blocks_per_processor}, {108, p.l2_persisting},
        {109, p.window}, {111, p.reserved_shared}, {112, p.sparse_array}, {113, p.host_register_read_only},
        {114, p.timeline_semaphore}, {115, p.pools}, {116, p.rdma}, {117, p.rdma_flush}, {118, p.rdma_ordering},
        {119, p.pool_handles}, {120, p.cluster}, {121, p.deferred_arrays}, {125, p.ipc_events},
    };
}

std::set<std::pair<int, int>> &peers() {
    static auto &enabled = *new std::set<std::pair<int, int>>;
    return enabled;
}

std::map<std::pair<int, int>, size_t> &limits() {
    static auto &set = *new std::map<std::pair<int, int>, size_t>;
    return set;
}

const size_t default_limits[] = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};

int get_properties(void *out, int device, size_t size, const char *function) {
    if (!out) return fail(INVALID_VALUE, "%s: no place for the answer", function);
    if (!exists(device)) return bad_device(function, device);
    Properties p;
    describe(p, device);
    memcpy(out, &p, size);
    return OK;
}

}  // namespace

SIM_API int cudaDriverGetVersion(int *version) {
    *version = 12090;
    return OK;
}

SIM_API int cudaRuntimeGetVersion(int *version) {
    *version = 12090;
    return OK;
}

SIM_API int cudaGetDeviceCount(int *count) {
    Call call("cudaGetDeviceCount");
    *count = settings().devices;
    return *count ? OK : fail(100, "cudaGetDeviceCount: CUDASIM_DEVICES is 0");
}

SIM_API int cudaGetDevice(int *device) {
    Call call("cudaGetDevice");
    *device = current_device();
    return settings().devices ? OK : fail(100, "cudaGetDevice: CUDASIM_DEVICES is 0");
}

SIM_API int cudaSetDevice(int device) {
    Call call("cudaSetDevice");
    return set_device(device);
}

SIM_API int cudaInitDevice(int device, unsigned, unsigned) {
    Call call("cudaInitDevice");
    return exists(device) ? OK : bad_device("cudaInitDevice", device);
}

SIM_API int cudaDeviceSynchronize() {
    Call call("cudaDeviceSynchronize");
    if (int code = check_device_capture(current_device(), "cudaDeviceSynchronize")) return code;
    counters().synchronisations++;
    return drain_device(current_device());
}

SIM_API int cudaDeviceReset() {
    Call call("cudaDeviceReset");
    return unsupported("cudaDeviceReset");
}

SIM_API int cudaDeviceGetAttribute(int *value, int number, int device) {
    Call call("cudaDeviceGetAttribute");
    if (!exists(device)) return bad_device("cudaDeviceGetAttribute", device);
    static auto &known = *new std::map<int, std::map<int, long>>;
    if (!known.count(device)) {
        Properties p;
        describe(p, device);
        known[device] = attributes(p);
    }
    auto found = known[device].find(number);
    if (!value || found == known[device].end())
        return fail(INVALID_VALUE, "cudaDeviceGetAttribute: attribute %d is not known", number);
    *value = int(found->second);
    return OK;
}

SIM_API int cudaGetDeviceProperties_v2(void *properties, int device) {
    Call call("cudaGetDeviceProperties");
    return get_properties(properties, device, sizeof(Properties), "cudaGetDeviceProperties");
}

SIM_API int cudaGetDeviceProperties(void *properties, int device) {
    Call call("cudaGetDeviceProperties");
    return get_properties(properties, device, offsetof(Properties, host_register), "cudaGetDeviceProperties");
}

SIM_API int cudaDeviceGetPCIBusId(char *out, int size, int device) {
    Call call("cudaDeviceGetPCIBusId");
    if (!exists(device)) return bad_device("cudaDeviceGetPCIBusId", device);
    if (!out || size < 13) return fail(INVALID_VALUE, "cudaDeviceGetPCIBusId: 13 characters are needed");
    snprintf(out, size_t(size), "0000:%02X:00.0", device + 1);
    return OK;
}

SIM_API int cudaDeviceGetByPCIBusId(int *device, const char *text) {
    Call call("cudaDeviceGetByPCIBusId");
    unsigned domain, bus, unit = 0, function = 0;
    bool ok = text && (sscanf(text, "%x:%x:%x.%x", &domain, &bus, &unit, &function) >= 3 ||
                       (domain = 0, sscanf(text, "%x:%x.%x", &bus, &unit, &function) >= 2));
    if (!ok) return fail(INVALID_VALUE, "cudaDeviceGetByPCIBusId: %s is not a bus id", text ? text : "null");
    if (domain || unit || function || !exists(int(bus) - 1))
        return fail(INVALID_DEVICE, "cudaDeviceGetByPCIBusId: there is no device at %s", text);
    *device = int(bus) - 1;
    return OK;
}

SIM_API int cudaDeviceCanAccessPeer(int *can, int device, int peer) {
    Call call("cudaDeviceCanAccessPeer");
    if (!exists(device) || !exists(peer)) return bad_device("cudaDeviceCanAccessPeer", exists(device) ? peer : device);
    *can = device != peer;
    return OK;
}

SIM_API int cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    Call call("cudaDeviceEnablePeerAccess");
    if (flags) return fail(INVALID_VALUE, "cudaDeviceEnablePeerAccess: flags must be 0");
    if (!exists(peer) || peer == current_device()) return bad_device("cudaDeviceEnablePeerAccess", peer);
    if (peers().insert({current_device(), peer}).second) return OK;
    return fail(704, "cudaDeviceEnablePeerAccess: device %d has access to %d already", current_device(), peer);
}

SIM_API int cudaDeviceDisablePeerAccess(int peer) {
    Call call("cudaDeviceDisablePeerAccess");
    if (!exists(peer)) return bad_device("cudaDeviceDisablePeerAccess", peer);
    if (peers().erase({current_device(), peer})) return OK;
    return fail(705, "cudaDeviceDisablePeerAccess: device %d has no access to %d", current_device(), peer);
}

SIM_API int cudaDeviceGetLimit(size_t *value, int limit) {
    Call call("cudaDeviceGetLimit");
    if (limit < 0 || limit > 6) return fail(215, "cudaDeviceGetLimit: limit %d is not known", limit);
    auto found = limits().find({current_device(), limit});
    *value = found == limits().end() ? default_limits[limit] : found->second;
    return OK;
}

SIM_API int cudaDeviceSetLimit(int limit, size_t value) {
    Call call("cudaDeviceSetLimit");
    if (limit < 0 || limit > 6) return fail(215, "cudaDeviceSetLimit: limit %d is not known", limit);
    limits()[{current_device(), limit}] = value;
    return OK;
}

SIM_API int cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    Call call("cudaDeviceGetStreamPriorityRange");
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return OK;
}

SIM_API int cudaDeviceSetCacheConfig(int) { return OK; }

SIM_API int cudaDeviceGetCacheConfig(int *config) {
    *config = 0;
    return OK;
}

SIM_API int cudaGetDeviceFlags(unsigned *flags) {
    *flags = 8;  // host memory can be mapped
    return OK;
}

SIM_API int cudaSetDeviceFlags(unsigned) { return OK; }

SIM_API int cudaProfilerStart() { return OK; }

SIM_API int cudaProfilerStop() { return OK; }
