// Settings, the lock, errors and counters, and the functions by which Python looks at them and changes them.
#include <condition_variable>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "races.h"
#include "runtime.h"

namespace sim {

namespace {

long number(const char *name, long otherwise) {
    const char *text = getenv(name);
    if (!text || !*text) return otherwise;
    char *end;
    long value = strtol(text, &end, 10);
    if (*end == 0 && value >= 0) return value;
    fprintf(stderr, "cudasim: %s=%s is not a number; %ld is used\n", name, text, otherwise);
    return otherwise;
}

int capability(int otherwise) {  // "80" or "8.0"
    std::string text = getenv("CUDASIM_CC") ? getenv("CUDASIM_CC") : "", digits;
    for (char c : text)
        if (c >= '0' && c <= '9') digits += c;
    return digits.size() >= 2 && digits.size() <= 3 ? atoi(digits.c_str()) : otherwise;
}

Settings from_environment() {
    Settings s;
    s.devices = int(number("CUDASIM_DEVICES", s.devices));
    s.memory = size_t(number("CUDASIM_MEM_MB", long(s.memory >> 20))) << 20;
    s.capability = capability(s.capability);
    s.processors = int(number("CUDASIM_SM", s.processors));
    s.lazy = number("CUDASIM_LAZY", 0) != 0;
    s.poison = number("CUDASIM_POISON", 0) != 0;
    s.guard = number("CUDASIM_GUARD", 0) != 0;
    s.flush = number("CUDASIM_FTZ", 1) != 0;
    s.races = number("CUDASIM_RACES", 0) != 0;
    s.trace = number("CUDASIM_TRACE", 0) != 0;
    return s;
}

// Never destroyed: Python may call us after the destructors of static objects have run.
std::mutex &mutex = *new std::mutex;
std::condition_variable_any &change = *new std::condition_variable_any;
std::string &fault = *new std::string;
thread_local int levels = 0;
thread_local int last_error = OK;
thread_local int detail_code = OK;
thread_local std::string detail;
thread_local bool called = false;

struct Plain {  // the lock as a condition variable wants it
    void lock() { mutex.lock(); }
    void unlock() { mutex.unlock(); }
};

}  // namespace

Settings &settings() {
    static Settings &s = *new Settings(from_environment());
    return s;
}

Lock::Lock() {
    if (levels++ == 0) mutex.lock();
}

Lock::~Lock() {
    if (--levels == 0) mutex.unlock();
}

Unlocked::Unlocked() : levels(sim::levels) {
    sim::levels = 0;
    if (levels) mutex.unlock();
}

Unlocked::~Unlocked() {
    if (levels) mutex.lock();
    sim::levels = levels;
}

int lock_levels() { return levels; }

void set_lock_levels(int value) { levels = value; }

void wait_for_change() {
    int held = levels;
    levels = 0;
    Plain plain;
    change.wait(plain);
    levels = held;
}

void announce_change() { change.notify_all(); }

Call::Call(const char *name) {
    called = true;
    if (settings().trace) fprintf(stderr, "cudasim: %s\n", name);
}

int initialised() { return called; }

int fail(int code, const char *format, ...) {
    char text[2000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    Lock lock;
    last_error = detail_code = code;
    fault = detail = text;
    if (settings().trace) fprintf(stderr, "cudasim: error %d: %s\n", code, text);
    return code;
}

void remember(const std::string &text) {
    Lock lock;
    fault = text;
    if (settings().trace) fprintf(stderr, "cudasim: %s\n", text.c_str());
}

std::string take_detail(int code) {
    if (code != detail_code) return "";
    detail_code = OK;
    return std::move(detail);
}

int get_last_error(bool clear) {
    int code = last_error;
    if (clear) last_error = OK;
    return code;
}

int unsupported(const char *name) {
    Lock lock;
    static std::set<std::string> &said = *new std::set<std::string>;
    if (said.insert(name).second) fprintf(stderr, "cudasim: %s is not emulated\n", name);
    return fail(NOT_SUPPORTED, "%s is not emulated", name);
}

Counters &counters() {
    static Counters c = {};
    return c;
}

std::map<std::string, uint64_t> &launches() {
    static auto &by_name = *new std::map<std::string, uint64_t>;
    return by_name;
}

void count_launch(const std::string &kernel) {
    Lock lock;
    counters().launches++;
    launches()[kernel]++;
}

void count_library(const char *function) {
    Lock lock;
    counters().library_calls++;
    launches()[function]++;
}

}  // namespace sim

using namespace sim;

namespace {

size_t give(const std::string &text, char *buffer, size_t size) {  // returns the size that is needed
    if (buffer && size) {
        size_t n = text.size() < size ? text.size() : size - 1;
        memcpy(buffer, text.data(), n);
        buffer[n] = 0;
    }
    return text.size() + 1;
}

}  // namespace

SIM_API int cudasim_set_lazy(int lazy) {
    Lock lock;
    int old = settings().lazy;
    settings().lazy = lazy != 0;
    if (old && !lazy) drain_device(-1);  // eager work must not overtake what is still queued
    return old;
}

SIM_API int cudasim_set_poison(int poison) {
    Lock lock;
    int old = settings().poison;
    settings().poison = poison != 0;
    return old;
}

SIM_API int cudasim_set_guard(int guard) {
    Lock lock;
    int old = settings().guard;
    apply_guard(guard != 0);
    return old;
}

SIM_API int cudasim_set_flush(int flush) {
    Lock lock;
    int old = settings().flush;
    if (old != flush) drain_device(-1);  // what was queued runs as it was when it was queued
    settings().flush = flush != 0;
    return old;
}

SIM_API int cudasim_counters(uint64_t *out, int n) {
    Lock lock;
    const int all = sizeof(Counters) / sizeof(uint64_t);
    memcpy(out, &counters(), sizeof(uint64_t) * size_t(n < all ? n : all));
    return all;
}

SIM_API const char *cudasim_counter_names() {
    return "bytes_to_device,bytes_to_host,bytes_on_device,copies_to_device,copies_to_host,copies_on_device,"
           "allocations,frees,synchronisations,launches,library_calls,compilations,memsets,callbacks,waits,"
           "graph_launches,graph_nodes,nccl_calls,nccl_bytes";
}

SIM_API size_t cudasim_launches(char *buffer, size_t size) {
    Lock lock;
    std::string text;
    for (auto &[name, count] : launches()) text += std::to_string(count) + " " + name + "\n";
    return give(text, buffer, size);
}

SIM_API void cudasim_reset() {
    Lock lock;
    counters() = {};
    launches().clear();
    forget_races();
    fault.clear();
}

SIM_API size_t cudasim_last_fault(char *buffer, size_t size) {
    Lock lock;
    return give(fault, buffer, size);
}

SIM_API size_t cudasim_races(char *buffer, size_t size) {
    Lock lock;
    return give(found_races(), buffer, size);
}

SIM_API int cudasim_synchronise_all() {
    Lock lock;
    return drain_device(-1);
}
