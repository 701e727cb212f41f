// NVRTC: the functions that CuPy uses.
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "compile.h"
#include "sim.h"
#include "toolchain.h"

namespace {

enum Result {
    SUCCESS = 0, PROGRAM_CREATION_FAILURE = 2, INVALID_INPUT = 3, INVALID_PROGRAM = 4, INVALID_OPTION = 5,
    COMPILATION = 6, NO_NAME_EXPRESSIONS_AFTER_COMPILATION = 8, NO_LOWERED_NAMES_BEFORE_COMPILATION = 9,
    NAME_EXPRESSION_NOT_VALID = 10,
};

const int architectures[] = {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 120, 121};

struct Program {
    sim::Request request;
    sim::Compiled compiled;
    std::map<std::string, std::string> lowered;
    bool done = false, ptx = false, cubin = false, lto = false;
    std::string ptx_text;
};

bool begins(const std::string &s, const char *with) { return s.compare(0, strlen(with), with) == 0; }

// The value of `option` if it is one of the names, written as --name=value, --name value or (short ones) -Ivalue.
bool value_of(const std::string &option, std::initializer_list<const char *> names, int count, const char **options,
              int &i, std::string &value) {
    for (const char *name : names) {
        size_t n = strlen(name);
        if (option.compare(0, n, name) != 0) continue;
        if (option.size() == n) {
            if (i + 1 >= count) return false;
            value = options[++i];
            return true;
        }
        if (option[n] == '=') {
            value = option.substr(n + 1);
            return true;
        }
        if (n == 2 && name[0] == '-' && name[1] != '-') {
            value = option.substr(2);
            return true;
        }
    }
    return false;
}

// Options that don't matter on this device: they are about machine code, precision within bounds, or messages.
bool is_ignored(const std::string &option, int count, const char **options, int &i) {
    static const std::set<std::string> plain = {
        "dc", "device-c", "rdc", "relocatable-device-code", "default-device", "device-as-default-execution-space",
        "prec-sqrt", "prec-div", "fmad", "G", "device-debug", "lineinfo", "generate-line-info",
        "maxrregcount", "dlto", "ptxas-options", "extra-device-vectorization", "modify-stack-limit", "restrict",
        "disable-warnings", "w", "diag-suppress", "diag-error", "diag-warn", "display-error-number",
        "no-display-error-number", "err-no", "opt-info", "version-ident", "pch", "create-pch", "use-pch", "pch-dir",
        "pch-verbose", "pch-messages", "instantiate-templates-in-pch", "extensible-whole-program", "ewp", "dopt",
        "builtin-initializer-list", "builtin-move-forward", "brief-diagnostics", "minimal", "no-source-include",
        "device-int128", "no-cache", "split-compile", "fdevice-time-trace", "time", "static-global-template-stub",
        "frandom-seed", "jump-table-density", "device-stack-protector", "device-float128", "arch-list",
        "no-gen-opt-lto", "gen-opt-lto", "Xptxas", "optix-ir", "fdevice-syntax-only"};
    static const std::set<std::string> with_value = {"maxrregcount", "ptxas-options", "Xptxas", "diag-suppress",
                                                     "diag-error", "diag-warn", "dopt", "pch-dir", "create-pch",
                                                     "use-pch", "split-compile", "fdevice-time-trace"};
    size_t from = option.find_first_not_of('-');
    if (from == std::string::npos || from == 0) return false;
    std::string name = option.substr(from, option.find('=') == std::string::npos ? std::string::npos
                                                                               : option.find('=') - from);
    if (!plain.count(name)) return begins(name, "diag-") || begins(name, "Werror") || begins(name, "W");
    bool alone = option.find('=') == std::string::npos;
    if (with_value.count(name) && alone && i + 1 < count && options[i + 1][0] != '-') ++i;
    return true;
}

bool parse(Program &p, int count, const char **options, std::string &wrong) {
    sim::Request &q = p.request;
    q.flags.clear();
    q.flush = false;
    p.ptx = true;
    p.cubin = p.lto = false;
    for (int i = 0; i < count; ++i) {
        std::string option = options[i], value;
        wrong = option;
        if (option.empty()) continue;
        if (value_of(option, {"-I", "--include-path"}, count, options, i, value)) {
            q.flags.push_back("-I" + value);
        } else if (value_of(option, {"-D", "--define-macro"}, count, options, i, value)) {
            q.flags.push_back("-D" + value);
        } else if (value_of(option, {"-U", "--undefine-macro"}, count, options, i, value)) {
            q.flags.push_back("-U" + value);
        } else if (value_of(option, {"-include", "--pre-include"}, count, options, i, value)) {
            q.flags.push_back("-include");
            q.flags.push_back(value);
        } else if (value_of(option, {"-std", "--std"}, count, options, i, value)) {
            static const std::set<std::string> known = {"c++03", "c++11", "c++14", "c++17", "c++20"};
            if (!known.count(value)) return false;
            q.standard = value == "c++20" ? value : "c++17";  // the prelude needs 17
        } else if (value_of(option, {"-arch", "--gpu-architecture"}, count, options, i, value)) {
            size_t digits = value.find('_');
            if (digits == std::string::npos) return false;
            int number = atoi(value.c_str() + digits + 1);
            bool known = false;
            for (int a : architectures) known |= a == number;
            if (!known || !(begins(value, "sm_") || begins(value, "compute_") || begins(value, "lto_"))) return false;
            p.cubin = begins(value, "sm_");
        } else if (value_of(option, {"-ftz", "--ftz"}, count, options, i, value)) {
            if (value != "true" && value != "false") return false;
            q.flush = value == "true";
        } else if (option == "-use_fast_math" || option == "--use_fast_math") {
            q.flush = true;
        } else if (!is_ignored(option, count, options, i)) {
            return false;
        }
        if (option == "-dlto" || option == "--dlink-time-opt") p.lto = true;
    }
    return true;
}

Program *program(void *handle) { return (Program *)handle; }

int copy_size(void *handle, size_t *size, bool there, const std::string &text) {
    if (!handle || !size) return INVALID_INPUT;
    *size = there ? text.size() + 1 : 0;
    return SUCCESS;
}

int copy_text(void *handle, char *out, bool there, const std::string &text) {
    if (!handle || !out) return INVALID_INPUT;
    if (there) memcpy(out, text.c_str(), text.size() + 1);
    return SUCCESS;
}

}  // namespace

SIM_API const char *nvrtcGetErrorString(int result) {
    static const char *const names[] = {
        "NVRTC_SUCCESS", "NVRTC_ERROR_OUT_OF_MEMORY", "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
        "NVRTC_ERROR_INVALID_INPUT", "NVRTC_ERROR_INVALID_PROGRAM", "NVRTC_ERROR_INVALID_OPTION",
        "NVRTC_ERROR_COMPILATION",
        "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE", "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
        "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION", "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
        "NVRTC_ERROR_INTERNAL_ERROR"};
    return result >= 0 && result < 12 ? names[result] : "NVRTC_ERROR unknown";
}

SIM_API int nvrtcVersion(int *major, int *minor) {
    *major = 12;
    *minor = 9;
    return SUCCESS;
}

SIM_API int nvrtcGetNumSupportedArchs(int *count) {
    *count = int(sizeof architectures / sizeof *architectures);
    return SUCCESS;
}

SIM_API int nvrtcGetSupportedArchs(int *out) {
    memcpy(out, architectures, sizeof architectures);
    return SUCCESS;
}

SIM_API int nvrtcCreateProgram(void **out, const char *source, const char *name, int count, const char **headers,
                               const char **names) {
    if (!out || !source) return INVALID_INPUT;
    Program *p = new Program;
    p->request.source = source;
    p->request.name = name && *name ? name : "default_program";
    for (int i = 0; i < count; ++i) p->request.headers.emplace_back(names[i], headers[i]);
    *out = p;
    return SUCCESS;
}

SIM_API int nvrtcDestroyProgram(void **handle) {
    if (!handle || !*handle) return INVALID_PROGRAM;
    delete program(*handle);
    *handle = nullptr;
    return SUCCESS;
}

SIM_API int nvrtcAddNameExpression(void *handle, const char *name) {
    if (!handle || !name) return INVALID_INPUT;
    if (program(handle)->done) return NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
    program(handle)->request.expressions.push_back(name);
    return SUCCESS;
}

SIM_API int nvrtcCompileProgram(void *handle, int count, const char **options) {
    if (!handle) return INVALID_PROGRAM;
    Program &p = *program(handle);
    std::string wrong;
    if (!parse(p, count, options, wrong)) {
        p.compiled.log = "nvrtc: error: invalid value for option or unknown option: '" + wrong + "'\n";
        return INVALID_OPTION;
    }
    if (p.request.source.find_first_not_of(" \t\r\n") == std::string::npos) {
        // CuPy compiles an empty program to learn which compiler this is, and keeps lines that begin with //.
        p.ptx_text = "//\n// Emulated CUDA device, kernels compiled for the host\n// " + sim::fingerprint() + "\n//\n";
        p.done = true;
        return SUCCESS;
    }
    p.compiled = sim::compile(p.request);
    p.done = true;
    if (!p.compiled.ok) return COMPILATION;
    p.ptx_text = p.compiled.image;
    for (size_t i = 0; i < p.request.expressions.size(); ++i)
        p.lowered[p.request.expressions[i]] = p.compiled.lowered[i];
    return SUCCESS;
}

SIM_API int nvrtcGetLoweredName(void *handle, const char *name, const char **out) {
    if (!handle || !name || !out) return INVALID_INPUT;
    if (!program(handle)->done) return NO_LOWERED_NAMES_BEFORE_COMPILATION;
    auto found = program(handle)->lowered.find(name);
    if (found == program(handle)->lowered.end()) return NAME_EXPRESSION_NOT_VALID;
    *out = found->second.c_str();
    return SUCCESS;
}

SIM_API int nvrtcGetPTXSize(void *p, size_t *size) { return copy_size(p, size, true, program(p)->ptx_text); }
SIM_API int nvrtcGetPTX(void *p, char *out) { return copy_text(p, out, true, program(p)->ptx_text); }
SIM_API int nvrtcGetCUBINSize(void *p, size_t *size) {
    return copy_size(p, size, program(p)->cubin, program(p)->ptx_text);
}
SIM_API int nvrtcGetCUBIN(void *p, char *out) { return copy_text(p, out, program(p)->cubin, program(p)->ptx_text); }
SIM_API int nvrtcGetLTOIRSize(void *p, size_t *size) {
    int code = copy_size(p, size, program(p)->lto, program(p)->ptx_text);
    if (code == SUCCESS && *size) --*size;
    return code;
}
SIM_API int nvrtcGetLTOIR(void *p, char *out) {
    if (program(p)->lto) memcpy(out, program(p)->ptx_text.data(), program(p)->ptx_text.size());
    return SUCCESS;
}
SIM_API int nvrtcGetProgramLogSize(void *p, size_t *size) {
    return copy_size(p, size, true, program(p)->compiled.log);
}
SIM_API int nvrtcGetProgramLog(void *p, char *out) { return copy_text(p, out, true, program(p)->compiled.log); }
