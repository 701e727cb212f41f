#include "compile.h"

#include <dlfcn.h>
#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "../include/cudasim/abi.h"
#include "flushing.h"
#include "sim.h"
#include "source.h"
#include "toolchain.h"

namespace sim {

const char image_magic[9] = "CUDASIM\1";

namespace {

// The lines that CuPy puts in front of nearly every kernel. They are taken out of the source and precompiled.
std::string leading_includes(std::string &source) {
    std::string found;
    size_t at = 0;
    while (at < source.size()) {
        size_t end = source.find('\n', at);
        if (end == std::string::npos) break;
        std::string line = source.substr(at, end - at);
        size_t first = line.find_first_not_of(" \t\r");
        if (first != std::string::npos) {
            static const char *const standard[] = {
                "#include <cupy/complex.cuh>", "#include <cupy/carray.cuh>", "#include <cupy/atomics.cuh>",
                "#include <cupy/math_constants.h>", "#include <cupy/hip_workaround.cuh>",
                "#include <cupy/float16.cuh>", "#include <cupy/bfloat16.cuh>"};
            size_t last = line.find_last_not_of(" \t\r");
            std::string bare = line.substr(first, last - first + 1);
            bool known = false;
            for (const char *s : standard) known |= bare == s;
            if (!known) break;
            found += bare + "\n";
            source.replace(at, end - at, end - at, ' ');
        }
        at = end + 1;
    }
    return found;
}

std::string quoted(const std::string &s) {
    std::string r = "\"";
    for (char c : s) {
        if (c == '"' || c == '\\') r += '\\';
        r += c;
    }
    return r + "\"";
}

// A symbol of modules whose launches flush float32.
const char flushes_mark[] = "\n\t.data\n\t.globl\t__cudasim_flushes\n__cudasim_flushes:\n\t.byte\t1\n";

enum Mode { cast_names = 1, section = 2 };

// The table of kernels, after the source.
std::string footer(const std::vector<KernelName> &kernels, const Strings &expressions, int mode) {
    std::string text = "\n#line 1 \"cudasim_table\"\nstatic const cudasim::Kernel __cudasim_kernels[] = {\n";
    for (const KernelName &k : kernels) {
        std::string plain = "&" + k.name;
        std::string bound = (mode & cast_names) && !k.bound.empty() ? ", (unsigned)(" + k.bound + ")" : "";
        if ((mode & cast_names) && k.name.find("::", 2) == std::string::npos)
            plain = "static_cast<void (*)(" + k.parameters + ")>(" + plain + ")";
        text += "cudasim::entry<" + plain + ">(" + quoted(k.name.substr(2)) + bound + "),\n";
    }
    for (const std::string &e : expressions) {
        bool address = !e.empty() && e[e.find_first_not_of(" ")] == '&';
        text += "cudasim::entry<" + std::string(address ? "" : "&") + e + ">(" + quoted(e) + "),\n";
    }
    text += "{}};\n";
    return text + (mode & section ? "CUDASIM_MODULE(__start_cudasim_shared, __stop_cudasim_shared, 0)\n"
                                  : "CUDASIM_MODULE(nullptr, nullptr, 1)\n");
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
    for (size_t i = text.find(from); i != std::string::npos; i = text.find(from, i + to.size()))
        text.replace(i, from.size(), to);
    return text;
}

// Messages as NVRTC words them, where programs look at them.
std::string translated(const std::string &log) {
    std::istringstream lines(log);
    std::string line, result;
    while (std::getline(lines, line)) {
        size_t missing = line.find(": No such file or directory"), fatal = line.find("fatal error: ");
        if (missing != std::string::npos && fatal != std::string::npos) {
            std::string file = line.substr(fatal + 13, missing - fatal - 13);
            line = line.substr(0, fatal) + "catastrophic error: cannot open source file \"" + file + "\"";
        }
        result += line + "\n";
    }
    return result;
}

std::string packed(const std::string &object) {
    std::string image(image_magic, 8);
    uint64_t size = object.size();
    image.append((const char *)&size, 8);
    return image + object;
}

bool lower(const std::string &path, const Strings &expressions, Compiled &result) {
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        result.log += std::string("error: ") + dlerror() + "\n";
        return false;
    }
    auto *module = (const cudasim::Module *)dlsym(handle, "__cudasim_module");
    for (const std::string &e : expressions) {
        std::string name;
        for (const cudasim::Kernel *k = module->kernels; k->name; ++k) {
            if (e != k->name) continue;
            Dl_info info;
            name = k->run ? lowered_name((const void *)k->run)
                          : dladdr(k->data, &info) && info.dli_sname ? info.dli_sname : "";
        }
        result.lowered.push_back(name);
    }
    dlclose(handle);
    return true;
}

// One run of the compiler. What failed is in the log.
bool attempt(const Folder &folder, const Request &q, const std::string &prefix, const std::string &body,
             const std::vector<KernelName> &kernels, int mode, const Strings &flags, const std::string &header,
             Compiled &result) {
    std::string input = folder.path + "/kernel.cu", assembly = folder.path + "/kernel.s";
    std::string output = folder.path + "/kernel.so", log = folder.path + "/log";
    std::string text = prefix;
    if (!(mode & section)) text += "#undef __shared__\n#define __shared__ static\n";
    text += "#line 1 " + quoted(q.name) + "\n" + body + footer(kernels, q.expressions, mode);
    write_file(input, text);
    Strings command = {compiler()};
    append(command, flags);
    append(command, {"-S", "-include", header});
    append(command, q.flags);
    append(command, {"-iquote", ".", input, "-o", assembly});
    int status = run(command, "/dev/null", log);
    result.log = read_file(log);
    if (status != 0) return false;
    Strings link = {compiler(), "-shared", "-nostdlib", "-Wl,-Bsymbolic", "-Wl,--build-id=none"};
    if (q.flush && uses_single(read_file(assembly))) {
        write_file(assembly, read_file(assembly) + flushes_mark);
        append(link, flushing_link_options());
    }
    append(link, {assembly, "-o", output});
    status = run(link, "/dev/null", log);
    result.log += read_file(log);
    if (status != 0) return false;
    result.image = packed(read_file(output));
    return q.expressions.empty() || lower(output, q.expressions, result);
}

// Let the preprocessor show which kernels there are: some come from macros, headers or conditions.
std::vector<KernelName> preprocessed_kernels(const Folder &folder, const Request &q, const Strings &flags) {
    std::string input = folder.path + "/scan.cu", output = folder.path + "/scan.ii";
    write_file(input, q.source);
    Strings command = {compiler()};
    append(command, flags);
    append(command, {"-E", "-P", "-DCUDASIM_SCAN", "-include", include_folder() + "/cudasim_prelude.h"});
    append(command, q.flags);
    append(command, {"-iquote", ".", input});
    run(command, output, folder.path + "/log");
    return find_kernels(read_file(output));
}

std::string stored_form(const Compiled &c) {
    std::string text;
    auto add = [&](const std::string &s) { text += std::to_string(s.size()) + "\n" + s; };
    add(c.image);
    add(c.log);
    for (const std::string &l : c.lowered) add(l);
    return text;
}

bool from_stored(const std::string &text, size_t expressions, Compiled &c) {
    Strings parts;
    for (size_t at = 0; at < text.size();) {
        size_t end = text.find('\n', at);
        if (end == std::string::npos) return false;
        size_t n = strtoull(text.c_str() + at, nullptr, 10);
        if (end + 1 + n > text.size()) return false;
        parts.push_back(text.substr(end + 1, n));
        at = end + 1 + n;
    }
    if (parts.size() != 2 + expressions) return false;
    c.ok = true;
    c.image = parts[0];
    c.log = parts[1];
    c.lowered.assign(parts.begin() + 2, parts.end());
    return true;
}

}  // namespace

bool unpack_image(const void *image, const char **begin, size_t *size) {
    if (memcmp(image, image_magic, 8) != 0) return false;
    uint64_t n;
    memcpy(&n, (const char *)image + 8, 8);
    *begin = (const char *)image + image_header;
    *size = n;
    return true;
}

std::string lowered_name(const void *run) {
    Dl_info info;
    if (!dladdr(run, &info) || !info.dli_sname) return "";
    // _ZN7cudasim5EntryIXadL_Z<encoding>EELb1EE3runEPPv: the kernel is a template argument of the loop.
    std::string symbol = info.dli_sname;
    size_t begin = symbol.find("XadL_Z"), end = symbol.rfind("EELb1EE3run");
    if (begin == std::string::npos || end == std::string::npos) return "";
    std::string encoding = symbol.substr(begin + 6, end - begin - 6);
    char *rest;
    size_t length = strtoul(encoding.c_str(), &rest, 10);
    size_t digits = (size_t)(rest - encoding.c_str());
    if (digits && digits + length == encoding.size()) return rest;  // extern "C": no parameter types follow
    return "_Z" + encoding;
}

Compiled compile(const Request &q) {
    // The name is not part of the key: it is that of a temporary file.
    Strings key = {"object", q.standard, q.flush ? "flush" : "", q.source, fingerprint()};
    for (const std::string &f : q.flags)
        if (f.compare(0, 2, "-I") != 0) key.push_back(f);  // of folders counts what is in them, not where they are
    key.push_back("expressions");
    append(key, q.expressions);
    for (auto &h : q.headers) append(key, {h.first, h.second});
    for (const std::string &f : q.flags)
        if (f.compare(0, 2, "-I") == 0) key.push_back(folder_state(f.substr(2)) + folder_state(f.substr(2) + "/cupy"));
    std::string stored = cache_folder() + "/" + hash(key) + ".bin";
    Compiled result;
    if (from_stored(read_file(stored), q.expressions.size(), result)) return result;

    Folder folder;
    Strings flags = base_flags(q.standard, q.source.size()), includes;
    std::string body = rewrite(q.source), state;
    for (const std::string &f : q.flags) {
        if (f.compare(0, 2, "-I") != 0) continue;
        includes.push_back(f);
        state += folder_state(f.substr(2) + "/cupy");
    }
    for (auto &h : q.headers) {
        make_folder(folder.path + "/headers/" + h.first.substr(0, h.first.rfind('/') + 1));
        write_file(folder.path + "/headers/" + h.first, h.second);
    }
    if (!q.headers.empty()) flags.push_back("-I" + folder.path + "/headers");
    std::string pch_text = "#include \"cudasim_prelude.h\"\n";
    bool jit = std::find(q.flags.begin(), q.flags.end(), "-DCUPY_JIT_MODE") != q.flags.end();
    Strings pch_flags = flags;
    if (!jit && q.headers.empty()) {
        std::string standard = leading_includes(body);
        if (!standard.empty()) {
            pch_text += standard;
            append(pch_flags, includes);
        }
    }
    std::string header = precompiled(pch_text, pch_flags, state);

    {
        Lock lock;
        ++counters().compilations;
    }
    bool scan = needs_preprocessor(q.source);
    std::vector<KernelName> kernels = find_kernels(q.source);
    if (scan || (kernels.empty() && q.expressions.empty())) {
        scan = true;
        kernels = preprocessed_kernels(folder, q, flags);
    }
    int mode = cast_names | section;
    for (int tries = 0; tries < 4; ++tries) {
        result.ok = attempt(folder, q, "", body, kernels, mode, flags, header, result);
        if (result.ok) break;
        const std::string &log = result.log;
        if ((mode & section) && log.find("section type conflict") != std::string::npos) {
            mode &= ~section;
        } else if (log.find("cudasim_table") != std::string::npos && !scan) {
            scan = true;
            kernels = preprocessed_kernels(folder, q, flags);
        } else if (log.find("cudasim_table") != std::string::npos && (mode & cast_names)) {
            mode &= ~cast_names;
        } else {
            break;
        }
    }
    result.log = translated(replaced(result.log, folder.path + "/kernel.cu", q.name));
    if (result.ok) {
        std::string mine = stored + "." + std::to_string(getpid()) + "." + std::to_string((uintptr_t)&result);
        write_file(mine, stored_form(result));
        rename(mine.c_str(), stored.c_str());
    }
    return result;
}

}  // namespace sim
