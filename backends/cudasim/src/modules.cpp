// The driver API: modules, functions and launches.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <vector>

#include "compile.h"
#include "grid.h"
#include "runtime.h"

namespace sim {

namespace {

enum DriverError {
    INVALID_IMAGE = 200, FILE_NOT_FOUND = 301, INVALID_HANDLE = 400, NOT_FOUND = 500,
    COOPERATIVE_LAUNCH_TOO_LARGE = 720,
};
const unsigned shared_default = 48 << 10;
const int threads_per_block = 1024, threads_per_processor = 2048, blocks_per_processor = 32;

// What a block may ask for with cudaFuncAttributeMaxDynamicSharedMemorySize, and what a multiprocessor has.
unsigned shared_optin() {
    switch (settings().capability) {
    case 70: case 72: return 96 << 10;
    case 75: return 64 << 10;
    case 80: case 87: return 163 << 10;
    case 86: case 89: case 120: case 121: return 99 << 10;
    case 90: case 100: case 101: case 103: return 227 << 10;
    default: return shared_default;
    }
}

struct Loaded;

struct Function {
    std::string name;
    const cudasim::Kernel *kernel;
    Loaded *module;
    unsigned dynamic_limit = shared_default;
    int carveout = -1;
};

struct Loaded : std::enable_shared_from_this<Loaded> {
    void *handle = nullptr;
    const cudasim::Module *module = nullptr;
    bool flushes = false;  // float32, as it was compiled
    std::vector<std::unique_ptr<Function>> functions;
    std::shared_ptr<Loaded> self;  // until it is unloaded; launches that wait hold it as well
    std::set<void *> variables;  // that were asked for
    ~Loaded() {
        for (void *v : variables) disown(v);
        if (handle) dlclose(handle);
    }
    unsigned static_shared() const { return unsigned(module->shared_end - module->shared_begin); }
};

// A file in memory. The loader takes a path that it has seen before for the same library, so each path is spelled
// differently.
void *load_object(const char *begin, size_t size) {
    static unsigned serial = 0;
    int fd = memfd_create("cudasim", MFD_CLOEXEC);
    if (fd < 0) return nullptr;
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, begin + done, size - done);
        if (n <= 0) break;
        done += (size_t)n;
    }
    std::string path = "/proc/self/fd/";
    for (unsigned n = ++serial; n; n >>= 1) path += n & 1 ? ".//" : "./";
    void *handle = dlopen((path + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
    close(fd);
    return handle;
}

int load(void **out, const void *image) {
    if (!out || !image) return INVALID_VALUE;
    const char *begin;
    size_t size;
    if (!unpack_image(image, &begin, &size))
        return fail(INVALID_IMAGE, "this module was not compiled for the emulated device (PTX and cubins of NVIDIA's "
                                   "compilers can't run on it)");
    Lock lock;
    auto loaded = std::make_shared<Loaded>();
    loaded->handle = load_object(begin, size);
    if (!loaded->handle) return fail(INVALID_IMAGE, "a module can't be loaded: %s", dlerror());
    loaded->module = (const cudasim::Module *)dlsym(loaded->handle, "__cudasim_module");
    if (!loaded->module || loaded->module->version != cudasim::abi_version)
        return fail(INVALID_IMAGE, "a module was compiled by another version of the emulated device");
    loaded->flushes = dlsym(loaded->handle, "__cudasim_flushes") != nullptr;
    for (const cudasim::Kernel *k = loaded->module->kernels; k->name; ++k) {
        if (!k->run) continue;
        std::string name = lowered_name((const void *)k->run);
        loaded->functions.emplace_back(new Function{name.empty() ? k->name : name, k, loaded.get()});
    }
    loaded->self = loaded;
    *out = loaded.get();
    return OK;
}

struct Buffer {  // copies of the arguments of a launch
    std::unique_ptr<char[]> bytes;
    std::vector<void *> pointers;
};

bool copy_arguments(const cudasim::Kernel &k, void **parameters, void **extra, Buffer &buffer) {
    std::vector<size_t> at;
    size_t size = 0;
    for (int i = 0; i < k.count; ++i) {
        at.push_back(size);
        size += (k.sizes[i] + 15) / 16 * 16;
    }
    buffer.bytes.reset(new char[size + 16]);
    char *base = (char *)(((uintptr_t)buffer.bytes.get() + 15) & ~uintptr_t(15));
    const char *packed = nullptr;
    if (!parameters && extra)
        for (int i = 0; extra[i] && i < 6; i += 2)
            if (extra[i] == (void *)1) packed = (const char *)extra[i + 1];  // CU_LAUNCH_PARAM_BUFFER_POINTER
    if (k.count && !parameters && !packed) return false;
    size_t offset = 0;
    for (int i = 0; i < k.count; ++i) {
        offset = (offset + k.alignments[i] - 1) / k.alignments[i] * k.alignments[i];
        const void *source = parameters ? parameters[i] : packed + offset;
        if (!source) return false;
        memcpy(base + at[(size_t)i], source, k.sizes[i]);
        offset += k.sizes[i];
        buffer.pointers.push_back(base + at[(size_t)i]);
    }
    return true;
}

int active_blocks(const Function &f, uint64_t threads, uint64_t dynamic) {
    if (threads == 0 || threads > uint64_t(threads_per_block)) return 0;
    uint64_t rounded = (threads + 31) / 32 * 32, n = uint64_t(threads_per_processor) / rounded;
    uint64_t shared = dynamic + f.module->static_shared();
    if (shared) n = std::min<uint64_t>(n, (shared_optin() + 1024) / (shared + 1024));
    return (int)std::min<uint64_t>(n, blocks_per_processor);
}

struct Size {
    unsigned x, y, z;
    uint64_t count() const { return uint64_t(x) * y * z; }
};

}  // namespace

struct KernelNode {
    Function *function;
    std::shared_ptr<Loaded> module;  // kept as long as the work
    Size grid, block;
    unsigned shared;
    bool cooperative;
    Buffer arguments;
};

namespace {

Work work_of(const std::shared_ptr<const KernelNode> &kernel) {
    return [kernel]() -> int {
        const KernelNode &k = *kernel;
        Launch l = {k.function->name.c_str(), k.module->module, k.function->kernel, {k.grid.x, k.grid.y, k.grid.z},
                    {k.block.x, k.block.y, k.block.z}, k.shared, k.cooperative,
                    k.module->flushes, const_cast<void **>(k.arguments.pointers.data())};
        return run_grid(l);
    };
}

int launch(Function *f, Size grid, Size block, unsigned shared, void *stream, void **parameters, void **extra,
           bool cooperative) {
    if (!f) return fail(INVALID_HANDLE, "cuLaunchKernel: the function is null");
    const char *name = f->name.c_str();
    if (!grid.count() || !block.count() || grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535)
        return fail(INVALID_VALUE, "kernel %s: the grid (%u, %u, %u) is not possible", name, grid.x, grid.y, grid.z);
    if (block.x > 1024 || block.y > 1024 || block.z > 64 || block.count() > uint64_t(threads_per_block))
        return fail(INVALID_VALUE, "kernel %s: a block of (%u, %u, %u) threads is not possible", name, block.x, block.y,
                    block.z);
    if (f->kernel->most && block.count() > f->kernel->most)
        return fail(INVALID_VALUE, "kernel %s: a block of %llu threads, but its __launch_bounds__ are %u", name,
                    (unsigned long long)block.count(), f->kernel->most);
    if (shared > f->dynamic_limit)
        return fail(INVALID_VALUE, "kernel %s: %u bytes of dynamic shared memory, but the limit is %u", name, shared,
                    f->dynamic_limit);
    if (cooperative) {
        uint64_t most = uint64_t(active_blocks(*f, block.count(), shared)) * unsigned(settings().processors);
        if (grid.count() > most)
            return fail(COOPERATIVE_LAUNCH_TOO_LARGE, "kernel %s: %llu blocks can't run at the same time, %llu can",
                        name, (unsigned long long)grid.count(), (unsigned long long)most);
        if (grid.count() > 1 && f->module->module->shared_mixed)
            return fail(COOPERATIVE_LAUNCH_TOO_LARGE,
                        "kernel %s: cooperative launches of several blocks are not emulated for modules that declare "
                        "shared memory both in templates and outside", name);
    }
    auto kernel = std::make_shared<KernelNode>(KernelNode{f, f->module->shared_from_this(), grid, block, shared,
                                                          cooperative, {}});
    if (!copy_arguments(*f->kernel, parameters, extra, kernel->arguments))
        return fail(INVALID_VALUE, "kernel %s: arguments are missing", name);
    std::string counted = f->name;
    Lock lock;
    StreamRef on = stream_of(stream);
    if (!on) return bad_stream(name, stream);
    return enqueue(on, {name, work_of(kernel), [counted] { count_launch(counted); }, false, kernel});
}

struct Link {
    std::string image;
    int images = 0;
};

char contexts[256];  // only their addresses matter: one for each device

void *context_of(int device) { return &contexts[device & 255]; }

bool is_context(void *c) { return c >= contexts && c < contexts + settings().devices; }

}  // namespace

}  // namespace sim

using namespace sim;

// -- errors, version, contexts ----------------------------------------------------------------------------------------
namespace {
struct Named {
    int code;
    const char *name, *text;
};
const Named driver_errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {301, "CUDA_ERROR_FILE_NOT_FOUND", "file not found"},
    {302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", "shared object symbol not found"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {710, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"},
    {800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
    {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "operation would result in a merge of separate capture sequences"},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};
const Named *named(int code) {
    for (const Named &n : driver_errors)
        if (n.code == code) return &n;
    return nullptr;
}
}  // namespace

SIM_API int cuGetErrorName(int code, const char **out) {
    const Named *n = named(code);
    *out = n ? n->name : "CUDA_ERROR_UNKNOWN";
    return n ? OK : INVALID_VALUE;
}

SIM_API int cuGetErrorString(int code, const char **out) {
    const Named *n = named(code);
    *out = n ? n->text : "unknown error";
    return n ? OK : INVALID_VALUE;
}

SIM_API int cuInit(unsigned) { return OK; }
SIM_API int cuDriverGetVersion(int *version) { return *version = 12090, OK; }
SIM_API int cuDeviceGetCount(int *count) { return *count = settings().devices, OK; }
SIM_API int cuDeviceGet(int *device, int ordinal) {
    if (ordinal < 0 || ordinal >= settings().devices) return INVALID_DEVICE;
    return *device = ordinal, OK;
}
SIM_API int cuDevicePrimaryCtxRelease_v2(int) { return OK; }
SIM_API int cuDevicePrimaryCtxRetain(void **out, int device) { return *out = context_of(device), OK; }

SIM_API int cuCtxGetCurrent(void **out) { return *out = initialised() ? context_of(current_device()) : nullptr, OK; }
SIM_API int cuCtxSetCurrent(void *context) {
    if (!context) return OK;
    if (!is_context(context)) return 201;
    return set_device(int((char *)context - contexts));
}
SIM_API int cuCtxCreate_v2(void **out, unsigned, int device) {
    if (device < 0 || device >= settings().devices) return INVALID_DEVICE;
    *out = context_of(device);
    return set_device(device);
}
SIM_API int cuCtxDestroy_v2(void *context) { return is_context(context) ? OK : 201; }
SIM_API int cuCtxGetDevice(int *device) {
    if (!initialised()) return 201;
    return *device = current_device(), OK;
}
SIM_API int cuStreamGetCtx(void *stream, void **out) {
    int device = stream_device(stream);
    if (device < 0) return fail(INVALID_HANDLE, "cuStreamGetCtx: %p is not a stream", stream);
    return *out = context_of(device), OK;
}
SIM_API int cuGetProcAddress_v2(const char *name, void **out, int, uint64_t, int *status) {
    *out = dlsym(RTLD_DEFAULT, name);
    if (status) *status = *out ? 0 : 1;
    return *out ? int(OK) : int(NOT_FOUND);
}

// -- modules ----------------------------------------------------------------------------------------------------------
SIM_API int cuModuleLoadData(void **out, const void *image) { return load(out, image); }
SIM_API int cuModuleLoadDataEx(void **out, const void *image, unsigned, int *, void **) { return load(out, image); }
SIM_API int cuModuleLoad(void **out, const char *path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return fail(FILE_NOT_FOUND, "cuModuleLoad: there is no file %s", path);
    std::ostringstream text;
    text << file.rdbuf();
    std::string image = text.str();
    image.resize(std::max<size_t>(image.size(), image_header));
    return load(out, image.data());
}

SIM_API int cuModuleUnload(void *module) {
    if (!module) return INVALID_HANDLE;
    std::shared_ptr<Loaded> last;
    Lock lock;
    last.swap(((Loaded *)module)->self);
    return OK;
}

SIM_API int cuModuleGetFunction(void **out, void *module, const char *name) {
    if (!module || !out || !name) return INVALID_VALUE;
    Lock lock;
    for (auto &f : ((Loaded *)module)->functions) {
        if (f->name != name) continue;
        *out = f.get();
        return OK;
    }
    return fail(NOT_FOUND, "cuModuleGetFunction: the module has no kernel %s", name);
}

SIM_API int cuModuleGetGlobal_v2(void **out, size_t *bytes, void *module, const char *name) {
    if (!module || !name) return INVALID_VALUE;
    Lock lock;
    void *address = dlsym(((Loaded *)module)->handle, name);
    Dl_info info;
    const ElfW(Sym) *symbol = nullptr;
    // dlsym also finds symbols of libraries that the module uses.
    if (!address || !dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol ||
        info.dli_fbase != [&] { Dl_info own; dladdr(((Loaded *)module)->module, &own); return own.dli_fbase; }())
        return fail(NOT_FOUND, "cuModuleGetGlobal: the module has no variable %s", name);
    if (symbol->st_size && ((Loaded *)module)->variables.insert(address).second)
        adopt(address, symbol->st_size, current_device());
    if (out) *out = address;
    if (bytes) *bytes = symbol->st_size;
    return OK;
}

// -- linking: only the trivial case, one object and CUDA's own device library -----------------------------------------
SIM_API int cuLinkCreate_v2(unsigned, int *, void **, void **out) { return *out = new Link, OK; }
SIM_API int cuLinkAddData_v2(void *state, int, void *data, size_t size, const char *name, unsigned, int *, void **) {
    const char *begin;
    size_t length;
    if (size < image_header || !unpack_image(data, &begin, &length) || length + image_header > size)
        return fail(INVALID_IMAGE, "cuLinkAddData: %s was not compiled for the emulated device", name ? name : "?");
    Link &link = *(Link *)state;
    if (link.images++) return fail(NOT_SUPPORTED, "cuLinkAddData: linking several objects is not emulated");
    link.image.assign((const char *)data, length + image_header);
    return OK;
}
SIM_API int cuLinkAddFile_v2(void *, int, const char *path, unsigned, int *, void **) {
    if (access(path, R_OK) != 0) return fail(FILE_NOT_FOUND, "cuLinkAddFile: there is no file %s", path);
    if (strstr(path, "cudadevrt")) return OK;
    return fail(NOT_SUPPORTED, "cuLinkAddFile: linking %s is not emulated", path);
}
SIM_API int cuLinkComplete(void *state, void **out, size_t *size) {
    Link &link = *(Link *)state;
    *out = &link.image[0];
    *size = link.image.size();
    return OK;
}
SIM_API int cuLinkDestroy(void *state) { return delete (Link *)state, OK; }

// -- launches ---------------------------------------------------------------------------------------------------------
SIM_API int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                           unsigned shared, void *stream, void **parameters, void **extra) {
    return launch((Function *)f, {gx, gy, gz}, {bx, by, bz}, shared, stream, parameters, extra, false);
}
SIM_API int cuLaunchCooperativeKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                      unsigned bz, unsigned shared, void *stream, void **parameters) {
    return launch((Function *)f, {gx, gy, gz}, {bx, by, bz}, shared, stream, parameters, nullptr, true);
}

// -- kernels of graphs: what they are launched with can be asked, and replaced in an executable graph ------------------
namespace {
struct KernelParameters {  // CUDA_KERNEL_NODE_PARAMS_v2
    void *function;
    unsigned grid[3], block[3], shared;
    void **parameters, **extra;
    void *kernel, *context;
};
}  // namespace

SIM_API int cuGraphKernelNodeGetParams_v2(void *node, void *out) {
    Call call("cuGraphKernelNodeGetParams");
    const Node *found = node_of_graph(node);
    if (!found || !found->kernel || !out) return fail(INVALID_VALUE, "cuGraphKernelNodeGetParams: not a kernel's node");
    const KernelNode &k = *found->kernel;
    *(KernelParameters *)out = {k.function, {k.grid.x, k.grid.y, k.grid.z}, {k.block.x, k.block.y, k.block.z}, k.shared,
                                const_cast<void **>(k.arguments.pointers.data()), nullptr, nullptr, nullptr};
    return OK;
}

SIM_API int cuGraphExecKernelNodeSetParams_v2(void *executable, void *node, const void *given) {
    Call call("cuGraphExecKernelNodeSetParams");
    Node *found = node_of_executable(executable, node);
    if (!found || !found->kernel || !given)
        return fail(INVALID_VALUE, "cuGraphExecKernelNodeSetParams: not a kernel's node of this graph");
    const auto &p = *(const KernelParameters *)given;
    auto *f = (Function *)p.function;
    if (f != found->kernel->function)
        return fail(NOT_SUPPORTED, "cuGraphExecKernelNodeSetParams: another function than %s", found->what.c_str());
    auto kernel = std::make_shared<KernelNode>(
        KernelNode{f, f->module->shared_from_this(), {p.grid[0], p.grid[1], p.grid[2]},
                   {p.block[0], p.block[1], p.block[2]}, p.shared, found->kernel->cooperative, {}});
    if (!kernel->grid.count() || !kernel->block.count() || kernel->block.count() > uint64_t(threads_per_block))
        return fail(INVALID_VALUE, "cuGraphExecKernelNodeSetParams: the grid is not possible");
    if (!copy_arguments(*f->kernel, p.parameters, p.extra, kernel->arguments))
        return fail(INVALID_VALUE, "cuGraphExecKernelNodeSetParams: arguments are missing");
    found->work = work_of(kernel);  // of launches from now on; those that were queued have theirs
    found->kernel = kernel;
    return OK;
}

SIM_API int cuFuncGetAttribute(int *out, int attribute, void *function) {
    if (!function || !out) return INVALID_VALUE;
    const Function &f = *(Function *)function;
    switch (attribute) {
    case 0: *out = f.kernel->most ? (int)f.kernel->most : threads_per_block; break;
    case 1: *out = (int)f.module->static_shared(); break;
    case 2: case 3: *out = 0; break;      // constant and local memory
    case 4: *out = 32; break;             // registers
    case 5: case 6: *out = settings().capability; break;
    case 7: *out = 0; break;
    case 8: *out = (int)f.dynamic_limit; break;
    case 9: *out = f.carveout; break;
    case 10: case 11: case 12: case 13: case 14: case 15: *out = 0; break;  // clusters
    default: return INVALID_VALUE;
    }
    return OK;
}

SIM_API int cuFuncSetAttribute(void *function, int attribute, int value) {
    if (!function) return INVALID_VALUE;
    Function &f = *(Function *)function;
    if (attribute == 8) {
        if (value < 0 || unsigned(value) + f.module->static_shared() > shared_optin())
            return fail(INVALID_VALUE, "kernel %s: %d bytes of dynamic shared memory, but a block can have %u",
                        f.name.c_str(), value, shared_optin());
        f.dynamic_limit = unsigned(value);
        return OK;
    }
    if (attribute == 9) {
        if (value < -1 || value > 100) return INVALID_VALUE;
        f.carveout = value;
        return OK;
    }
    return INVALID_VALUE;
}

SIM_API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, void *function, int threads, size_t dynamic) {
    if (!function || !out || threads <= 0) return INVALID_VALUE;
    return *out = active_blocks(*(Function *)function, (uint64_t)threads, dynamic), OK;
}

SIM_API int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function, size_t (*shared_of)(int),
                                             size_t dynamic, int limit) {
    if (!function || !grid || !block) return INVALID_VALUE;
    const Function &f = *(Function *)function;
    int best = 0, best_threads = 0;
    if (limit <= 0 || limit > threads_per_block) limit = threads_per_block;
    for (int threads = limit; threads > 0; threads = (threads - 1) / 32 * 32) {
        int blocks = active_blocks(f, (uint64_t)threads, shared_of ? shared_of(threads) : dynamic);
        if (blocks * threads > best * best_threads) best = blocks, best_threads = threads;
    }
    *grid = best * settings().processors;
    *block = best_threads;
    return OK;
}
