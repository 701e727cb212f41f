// The processor flushes what it computes itself (MXCSR: FTZ and DAZ). The C library's functions would take apart
// subnormal numbers whose products are zeros then, and answer nonsense: they run with the switch off, and their
// float32 arguments and results are flushed here. Those of float64 are exact.
#include "flushing.h"

#include <math.h>
#include <cstring>
#include <map>
#include <set>
#include <sstream>

#include "sim.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#define FLOAT_1(_) \
    _(acosf) _(acoshf) _(asinf) _(asinhf) _(atanf) _(atanhf) _(cbrtf) _(ceilf) _(cosf) _(coshf) _(erff) _(erfcf) _(expf) \
    _(exp2f) _(exp10f) _(expm1f) _(floorf) _(j0f) _(j1f) _(lgammaf) _(logf) _(log10f) _(log1pf) _(log2f) _(logbf) \
    _(nearbyintf) _(rintf) _(roundf) _(sinf) _(sinhf) _(sqrtf) _(tanf) _(tanhf) _(tgammaf) _(truncf) _(y0f) _(y1f)
#define FLOAT_2(_) _(atan2f) _(fdimf) _(fmaxf) _(fminf) _(fmodf) _(hypotf) _(powf) _(remainderf)
#define DOUBLE_1(_) \
    _(acos) _(acosh) _(asin) _(asinh) _(atan) _(atanh) _(cbrt) _(cos) _(cosh) _(erf) _(erfc) _(exp) _(exp2) _(exp10) \
    _(expm1) _(j0) _(j1) _(lgamma) _(log) _(log10) _(log1p) _(log2) _(logb) _(sin) _(sinh) _(sqrt) _(tan) _(tanh) \
    _(tgamma) _(y0) _(y1)
#define DOUBLE_2(_) _(atan2) _(fdim) _(fmod) _(hypot) _(pow) _(remainder)

namespace sim {

namespace {

#if defined(__x86_64__)
const unsigned flush_bits = 0x8040;  // FTZ and DAZ
unsigned control() { return _mm_getcsr(); }
void set_control(unsigned value) { _mm_setcsr(value); }
#else
const unsigned flush_bits = 0;  // not on this machine
unsigned control() { return 0; }
void set_control(unsigned) {}
#endif

struct Exact {  // the switch is off while a function of the C library runs
    unsigned before = control();
    bool flushed = before & flush_bits;
    Exact() {
        if (flushed) set_control(before & ~flush_bits);
    }
    ~Exact() {
        if (flushed) set_control(before);
    }
    float operator()(float x) const {
        uint32_t bits;
        memcpy(&bits, &x, 4);
        if (!flushed || (bits & 0x7f800000u)) return x;
        bits &= 0x80000000u;
        memcpy(&x, &bits, 4);
        return x;
    }
};

const char *const single_functions[] = {
#define NAME(name) #name,
    FLOAT_1(NAME) FLOAT_2(NAME) "fmaf", "sincosf", "ldexpf", "scalbnf", "scalblnf", "frexpf", "modff"};
const char *const double_functions[] = {DOUBLE_1(NAME) DOUBLE_2(NAME) "fma", "sincos", "ldexp", "scalbn"};
#undef NAME

bool starts(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

struct Code {  // of one function, in assembly language
    bool single = false;
    std::vector<std::string> names;  // that it calls, or whose addresses it takes
    void take(const char *line);
};

void Code::take(const char *line) {
    static const std::set<std::string> library(std::begin(single_functions), std::end(single_functions));
    static const char *const arithmetic[] = {"add", "sub", "mul", "div", "sqrt", "rsqrt", "rcp", "min", "max", "cmp",
                                             "comi", "ucomi", "vadd", "vsub", "vmul", "vdiv"};
    size_t length = strcspn(line, "\t ");
    bool last = length > 3 && line[length - 1] == 's' && (line[length - 2] == 's' || line[length - 2] == 'p');
    for (const char *name : arithmetic) single |= last && starts(line, name);
    for (const char *name : {"cvtss", "cvtps", "cvttss", "cvtsd2ss", "cvtpd2ps"}) single |= starts(line, name);
    if (!starts(line, "call") && !starts(line, "jmp") && !starts(line, "lea") && !starts(line, "mov")) return;
    const char *word = line + length + strspn(line + length, "\t *$");
    std::string name(word, strcspn(word, "@(\t ,+"));
    single |= library.count(name) != 0;
    names.push_back(name);
}

}  // namespace

bool uses_single(const std::string &assembly) {
    // CuPy puts helpers for all types in front of its kernels: only what kernels reach counts.
    std::map<std::string, Code> functions;
    std::vector<std::string> reached;
    Code *code = nullptr;
    std::istringstream lines(assembly);
    for (std::string line; std::getline(lines, line);) {
        if (line.empty()) continue;
        if (line[0] != '\t') {  // a label: of a function, unless it is the compiler's own
            std::string name = line.substr(0, line.find(':'));
            if (line[0] == '.' || line[0] == '#') continue;
            code = &functions[name];
            if (name.find("3runEPPv") != std::string::npos) reached.push_back(name);
        } else if (code && line[1] != '.') {
            code->take(line.c_str() + 1);
        }
    }
    std::set<std::string> seen(reached.begin(), reached.end());
    while (!reached.empty()) {
        const Code &next = functions[reached.back()];
        reached.pop_back();
        if (next.single) return true;
        for (const std::string &name : next.names)
            if (functions.count(name) && seen.insert(name).second) reached.push_back(name);
    }
    return false;
}

std::vector<std::string> flushing_link_options() {
    std::vector<std::string> options;
    for (const char *name : single_functions) options.push_back(std::string("-Wl,--wrap=") + name);
    for (const char *name : double_functions) options.push_back(std::string("-Wl,--wrap=") + name);
    return options;
}

namespace {
unsigned host_bits = 0;  // what the host's program has chosen for itself; one grid runs at a time
}

Flushing::Flushing(bool on) {
    host_bits = control() & flush_bits;
    if (on) set_control(control() | flush_bits);
}
Flushing::~Flushing() { end(); }
void Flushing::end() { set_control((control() & ~flush_bits) | host_bits); }

}  // namespace sim

using sim::Exact;

#define WRAP_FLOAT_1(name) \
    SIM_API float __wrap_##name(float x) { Exact e; return e(name(e(x))); }
#define WRAP_FLOAT_2(name) \
    SIM_API float __wrap_##name(float x, float y) { Exact e; return e(name(e(x), e(y))); }
#define WRAP_DOUBLE_1(name) \
    SIM_API double __wrap_##name(double x) { Exact e; return name(x); }
#define WRAP_DOUBLE_2(name) \
    SIM_API double __wrap_##name(double x, double y) { Exact e; return name(x, y); }
FLOAT_1(WRAP_FLOAT_1)
FLOAT_2(WRAP_FLOAT_2)
DOUBLE_1(WRAP_DOUBLE_1)
DOUBLE_2(WRAP_DOUBLE_2)
SIM_API float __wrap_fmaf(float x, float y, float z) { Exact e; return e(fmaf(e(x), e(y), e(z))); }
SIM_API double __wrap_fma(double x, double y, double z) { Exact e; return fma(x, y, z); }
SIM_API void __wrap_sincosf(float x, float *s, float *c) {
    Exact e;
    sincosf(e(x), s, c);
    *s = e(*s);
}
SIM_API void __wrap_sincos(double x, double *s, double *c) { Exact e; sincos(x, s, c); }
SIM_API float __wrap_ldexpf(float x, int n) { Exact e; return e(ldexpf(e(x), n)); }
SIM_API float __wrap_scalbnf(float x, int n) { Exact e; return e(scalbnf(e(x), n)); }
SIM_API float __wrap_scalblnf(float x, long n) { Exact e; return e(scalblnf(e(x), n)); }
SIM_API double __wrap_ldexp(double x, int n) { Exact e; return ldexp(x, n); }
SIM_API double __wrap_scalbn(double x, int n) { Exact e; return scalbn(x, n); }
SIM_API float __wrap_frexpf(float x, int *n) { Exact e; return e(frexpf(e(x), n)); }
SIM_API float __wrap_modff(float x, float *whole) { Exact e; return e(modff(e(x), whole)); }
