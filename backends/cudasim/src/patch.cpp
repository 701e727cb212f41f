// Redirection of the CUDA runtime that CuPy's extension modules contain: after such a module is mapped, the first bytes
// of each of its functions `cudaXxx` become a jump to our function of that name.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "sim.h"

namespace {

constexpr size_t JUMP = 12;   // movabs rax, target; jmp rax
constexpr size_t THUNK = 24;  // movabs rdi, name; jump; padding

void write_jump(unsigned char *place, const void *target) {
    place[0] = 0x48;
    place[1] = 0xb8;
    std::memcpy(place + 2, &target, sizeof target);
    place[10] = 0xff;
    place[11] = 0xe0;
}

// A file that is mapped for reading, for as long as the object lives.
struct Mapping {
    explicit Mapping(const char *path) {
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) return;
        if (fstat(file, &state) == 0 && size_t(state.st_size) > sizeof(Elf64_Ehdr)) {
            size = size_t(state.st_size);
            void *mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
            if (mapped != MAP_FAILED) bytes = static_cast<const unsigned char *>(mapped);
        }
        close(file);
    }
    ~Mapping() {
        if (bytes) munmap(const_cast<unsigned char *>(bytes), size);
    }
    Mapping(const Mapping &) = delete;
    Mapping &operator=(const Mapping &) = delete;

    template <class T> const T *at(size_t offset) const { return reinterpret_cast<const T *>(bytes + offset); }

    const unsigned char *bytes = nullptr;
    size_t size = 0;
    struct stat state = {};
};

// Where the file is in memory. It is matched by inode: the same file may be known under several names.
struct Search {
    const struct stat *wanted;
    uintptr_t base;
    bool found;
};

int compare_object(dl_phdr_info *info, size_t, void *data) {
    auto *search = static_cast<Search *>(data);
    struct stat state;
    if (!info->dlpi_name || !*info->dlpi_name || stat(info->dlpi_name, &state) != 0) return 0;
    if (state.st_ino != search->wanted->st_ino || state.st_dev != search->wanted->st_dev) return 0;
    search->base = info->dlpi_addr;
    search->found = true;
    return 1;
}

// Functions for what is not emulated: each passes its name to sim::unsupported. They live as long as the process.
const void *thunk(const char *name) {
    static std::mutex mutex;
    static unsigned char *page = nullptr, *next = nullptr;
    constexpr size_t size = size_t(1) << 16;
    std::lock_guard<std::mutex> guard(mutex);
    if (!page || next + THUNK > page + size) {
        void *fresh = mmap(nullptr, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (fresh == MAP_FAILED) return nullptr;
        page = next = static_cast<unsigned char *>(fresh);
    }
    unsigned char *place = next;
    const char *kept = strdup(name);
    place[0] = 0x48;
    place[1] = 0xbf;
    std::memcpy(place + 2, &kept, sizeof kept);
    write_jump(place + 10, reinterpret_cast<const void *>(&sim::unsupported));
    next += THUNK;
    return place;
}

void *own_handle() {
    static void *handle = [] {
        Dl_info info;
        dladdr(reinterpret_cast<void *>(&write_jump), &info);
        return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    }();
    return handle;
}

bool ends_with(const std::string &text, const char *end) {
    size_t length = std::strlen(end);
    return text.size() > length && text.compare(text.size() - length, length, end) == 0;
}

// What a function of the module becomes, or null if it stays as it is.
const void *replacement(const char *name) {
    if (std::strncmp(name, "cuda", 4) == 0 && std::isupper(static_cast<unsigned char>(name[4]))) {
        if (void *ours = dlsym(own_handle(), name)) return ours;
        std::string plain = name;  // variants for a default stream per thread
        if (ends_with(plain, "_ptsz") || ends_with(plain, "_ptds")) plain.resize(plain.size() - 5);
        if (void *ours = dlsym(own_handle(), plain.c_str())) return ours;
        return thunk(name);
    }
    if (std::strncmp(name, "_Z", 2) == 0 && std::isdigit(static_cast<unsigned char>(name[2]))) {
        char *begin;
        size_t length = std::strtoul(name + 2, &begin, 10);
        if (length > std::strlen(begin)) return nullptr;
        return dlsym(own_handle(), ("cudasim_hook_" + std::string(begin, length)).c_str());
    }
    return nullptr;
}

bool overwrite(unsigned char *function, const void *target) {
    const uintptr_t page = 4096;
    auto *begin = reinterpret_cast<void *>(uintptr_t(function) & ~(page - 1));
    size_t size = uintptr_t(function) % page + JUMP;  // may reach into the next page
    if (mprotect(begin, size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
    write_jump(function, target);
    return mprotect(begin, size, PROT_READ | PROT_EXEC) == 0;
}

}  // namespace

// Redirect a shared object that is mapped already. Returns the number of functions that were redirected: 0 if the file
// has none, negative if it can't be read (-1), is not mapped (-2) or can't be written to (-3).
SIM_API int cudasim_patch(const char *path) {
    Mapping file(path);
    if (!file.bytes || std::memcmp(file.bytes, ELFMAG, SELFMAG) != 0) return -1;
    Search search = {&file.state, 0, false};
    dl_iterate_phdr(compare_object, &search);
    if (!search.found) return -2;

    const auto *header = file.at<Elf64_Ehdr>(0);
    const auto *sections = file.at<Elf64_Shdr>(header->e_shoff);
    int patched = 0;
    for (int i = 0; i < header->e_shnum; ++i) {
        if (sections[i].sh_type != SHT_SYMTAB) continue;
        const auto *symbols = file.at<Elf64_Sym>(sections[i].sh_offset);
        const char *names = file.at<char>(sections[sections[i].sh_link].sh_offset);
        size_t count = sections[i].sh_size / sizeof(Elf64_Sym);
        for (size_t k = 0; k < count; ++k) {
            const Elf64_Sym &symbol = symbols[k];
            if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
            const char *name = names + symbol.st_name;
            if (symbol.st_size < JUMP || std::strchr(name, '.')) continue;  // `.cold` and other pieces of functions
            const void *target = replacement(name);
            if (!target) continue;
            if (!overwrite(reinterpret_cast<unsigned char *>(search.base + symbol.st_value), target)) return -3;
            ++patched;
        }
    }
    return patched;
}
