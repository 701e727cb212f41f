// Finds a BLAS and LAPACK in the process (NumPy brings one), and keeps the handles of cuBLAS and cuSOLVER.
#include "lapack.h"

#include <dlfcn.h>
#include <link.h>

#include <mutex>
#include <set>
#include <unordered_map>

namespace sim::host {
namespace {

struct Spelling {
    const char *before, *after;
    bool wide;
};
// 64-bit integers: NumPy's own, OpenBLAS with a suffix, MKL; then 32-bit: SciPy's own, and what all systems have.
constexpr Spelling spellings[] = {
    {"scipy_", "_64_", true}, {"", "_64_", true}, {"", "64_", true}, {"scipy_", "_", false}, {"", "_", false}};

struct Library {
    std::string path;
    void *handle;
    const Spelling *spelling;
};
struct Found {
    std::vector<Library> libraries;  // all of one width; mostly one, two if BLAS and LAPACK are apart
    std::string problem;
    std::unordered_map<std::string, void *> routines;
    std::mutex mutex;
};

void *symbol(const Library &library, const std::string &name) {
    return dlsym(library.handle, (library.spelling->before + name + library.spelling->after).c_str());
}

std::string base_name(const std::string &path) { return path.substr(path.rfind('/') + 1); }

int note_path(dl_phdr_info *info, size_t, void *out) {
    if (info->dlpi_name && *info->dlpi_name) static_cast<std::vector<std::string> *>(out)->push_back(info->dlpi_name);
    return 0;
}

bool sounds_like_blas(const std::string &name) {
    // "cublas" is our own stand-in.
    if (name.find("cublas") != std::string::npos) return false;
    for (const char *part : {"blas", "lapack", "mkl_rt", "libblis", "libflame", "armpl"})
        if (name.find(part) != std::string::npos) return true;
    return false;
}

// Paths to try, best first: what the user named, what is loaded, packages beside NumPy, the system's.
std::vector<std::pair<std::string, int>> candidates() {
    std::vector<std::pair<std::string, int>> result;
    if (const char *named = std::getenv("CUDASIM_BLAS"); named && *named) return {{named, RTLD_NOW | RTLD_LOCAL}};
    std::vector<std::string> loaded;
    dl_iterate_phdr(note_path, &loaded);
    std::set<std::string> packages;
    for (const std::string &path : loaded) {
        if (sounds_like_blas(base_name(path))) result.emplace_back(path, RTLD_NOW | RTLD_NOLOAD);
        if (size_t at = path.find("/site-packages/"); at != std::string::npos) packages.insert(path.substr(0, at + 15));
    }
    for (const std::string &package : packages)
        for (const char *file : {"64/lib/libscipy_openblas64_.so", "32/lib/libscipy_openblas.so"})
            result.emplace_back(package + "scipy_openblas" + file, RTLD_NOW | RTLD_LOCAL);
    for (const char *file : {"libopenblas64_.so.0", "libopenblas.so.0", "libopenblas.so", "libmkl_rt.so.2",
                             "liblapack.so.3", "libblas.so.3", "liblapack.so", "libblas.so"})
        result.emplace_back(file, RTLD_NOW | RTLD_LOCAL);
    return result;
}

void search(Found &found) {
    bool have_blas = false, have_lapack = false;
    for (const auto &[path, flags] : candidates()) {
        void *handle = dlopen(path.c_str(), flags);
        if (!handle) {
            if (const char *why = std::getenv("CUDASIM_BLAS") ? dlerror() : nullptr) found.problem = why;
            continue;
        }
        for (const Spelling &spelling : spellings) {
            if (!found.libraries.empty() && found.libraries[0].spelling->wide != spelling.wide) continue;
            Library library{path, handle, &spelling};
            bool blas = symbol(library, "zgemm"), lapack = symbol(library, "zgesvd");
            if ((blas && !have_blas) || (lapack && !have_lapack)) {
                have_blas |= blas, have_lapack |= lapack;
                found.libraries.push_back(library);
                break;
            }
        }
        if (have_blas && have_lapack) return;
    }
    found.libraries.clear();
    found.problem = "no BLAS and LAPACK found in the process or on the system" +
                    (found.problem.empty() ? "" : " (" + found.problem + ")") +
                    ": the emulated cuBLAS and cuSOLVER need NumPy's bundled OpenBLAS (import numpy first), a system "
                    "OpenBLAS or LAPACK, or the path of one in the environment variable CUDASIM_BLAS";
}

Found &found() {
    static Found *instance = [] {
        auto *made = new Found;
        search(*made);
        return made;
    }();
    return *instance;
}

}  // namespace

bool available() {
    if (!found().libraries.empty()) return true;
    fail(NOT_SUPPORTED, "%s", found().problem.c_str());
    static std::once_flag once;
    std::call_once(once, [] { std::fprintf(stderr, "cudasim: %s\n", found().problem.c_str()); });
    return false;
}

bool wide() { return !found().libraries.empty() && found().libraries[0].spelling->wide; }

void *routine(const std::string &name) {
    Found &all = found();
    std::lock_guard<std::mutex> guard(all.mutex);
    void *&known = all.routines[name];
    for (size_t i = 0; !known && i < all.libraries.size(); ++i) known = symbol(all.libraries[i], name);
    if (known) return known;
    if (all.libraries.empty()) throw Failure{NOT_SUPPORTED, all.problem};
    throw Failure{NOT_SUPPORTED, "the host's LAPACK (" + all.libraries.back().path + ") has no routine " + name};
}

Context *context(void *handle) {
    auto *known = static_cast<Context *>(handle);
    if (known && known->magic == Context::alive) return known;
    fail(INVALID_VALUE, "not a handle of cuBLAS or cuSOLVER: %p", handle);
    return nullptr;
}

int create_context(void **handle, const Status *status) {
    if (!handle) return status->invalid;
    if (!available()) return status->not_initialised;
    auto *made = new Context;
    made->status = status;
    *handle = made;
    return 0;
}

int destroy_context(void *handle, const Status *status) {
    Context *known = context(handle);
    if (!known) return status->not_initialised;
    known->magic = 0;
    delete known;
    return 0;
}

int refuse(const Context *handle, const char *name, const char *why) {
    fail(INVALID_VALUE, "%s: %s", name, why);
    return handle->status->invalid;
}

int cannot(const Context *handle, const char *name, const std::string &what) {
    fail(NOT_SUPPORTED, "%s: %s", name, what.c_str());
    std::fprintf(stderr, "cudasim: %s: %s\n", name, what.c_str());
    return handle->status->unsupported;
}

int tell_size(void *handle, const char *name, bool valid, Int size, int *out) {
    Context *known = context(handle);
    if (!known) return solver_status.not_initialised;
    if (!valid || !out) return refuse(known, name, "invalid size");
    *out = int(std::min<Int>(std::max<Int>(size, 1), 1 << 20));
    return 0;
}

void need(const void *address, size_t bytes) {
    Lock lock;
    const Block *block = find(address);
    auto begin = reinterpret_cast<uintptr_t>(address);
    if (block && begin >= block->begin && begin + bytes <= block->begin + block->size) return;
    char text[160];
    std::snprintf(text, sizeof text, "%zu bytes at %p are not device memory%s", bytes, address,
                  block ? " (they reach beyond the end of an allocation)" : "");
    throw Failure{ILLEGAL_ADDRESS, text};
}

}  // namespace sim::host
