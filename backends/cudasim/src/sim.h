// What the parts of the emulated device share. Everything here is ours: no NVIDIA header is used, so handles are void
// pointers, enumerations are ints with the values that the CUDA documentation gives, and each file spells the public
// functions it exports itself, as `extern "C"`.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <string>

#define SIM_API extern "C" __attribute__((visibility("default")))

namespace sim {

// -- settings: read from CUDASIM_* once, changed through cudasim_set_* ---------------------------------------------
struct Settings {
    int devices = 1;
    size_t memory = size_t(4096) << 20;  // bytes per device
    int capability = 80;                 // compute capability, as in sm_80
    int processors = 4;                  // multiprocessors per device
    bool lazy = false;                   // work runs only when something waits for it
    bool poison = false;                 // fresh memory holds 0xA5, freed memory 0x5A
    bool guard = false;                  // device memory can't be touched by the host outside device work
    bool flush = true;                   // kernels compiled with -ftz=true take subnormal float32 for zero
    bool races = false;                  // kernels tell their accesses to memory; read once, at the start
    bool trace = false;                  // print every call
};
Settings &settings();

// -- one lock around everything; a host callback runs outside of it (it may wait for Python's lock) ---------------
struct Lock {
    Lock();
    ~Lock();
};
struct Unlocked {  // gives up all levels that this thread holds, and takes them again at the end
    Unlocked();
    ~Unlocked();
    int levels;
};

// -- errors: codes of the runtime API (cudaError); the driver API has the same values for those we raise ----------
enum Error {
    OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, INVALID_RESOURCE = 400, ILLEGAL_STATE = 401,
    NOT_READY = 600, ILLEGAL_ADDRESS = 700, DEVICE_ASSERT = 710, LAUNCH_FAILURE = 719, NOT_PERMITTED = 800,
    NOT_SUPPORTED = 801, CAPTURE_UNSUPPORTED = 900, CAPTURE_INVALIDATED = 901, CAPTURE_MERGE = 902,
    CAPTURE_UNMATCHED = 903, CAPTURE_UNJOINED = 904, CAPTURE_ISOLATION = 905, CAPTURE_IMPLICIT = 906,
    CAPTURED_EVENT = 907, CAPTURE_WRONG_THREAD = 908,
    LATER = -1,  // not an error: work that waits for another process, and has to be called again
};
// Remember a failure: the code for cudaGetLastError, the sentence for Python's last_fault(). Returns the code.
int fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
// What `fail` said last in this thread, if it was about this code; each sentence is given once. For texts of errors.
std::string take_detail(int code);
// Remember a sentence only: for libraries whose errors are not the runtime's.
void remember(const std::string &text);
// Something that is not emulated: says so on stderr (once per name) and returns NOT_SUPPORTED.
int unsupported(const char *name);

// -- devices and memory ------------------------------------------------------------------------------------------
int current_device();  // of this thread
int initialised();     // has this thread called the runtime? (The driver's current context is null until then.)
int set_device(int device);
int stream_device(void *stream);  // the device that a stream belongs to, -1 if there is no such stream
enum class Kind { unknown = 0, pinned = 1, device = 2, managed = 3 };  // values of cudaMemoryType
struct Block {
    uintptr_t begin;
    size_t size;
    Kind kind;
    int device;
};
const Block *find(const void *address);  // the allocation that holds an address, or null
// Variables of a loaded module are device memory that was not allocated; the driver part announces them.
void adopt(void *pointer, size_t size, int device);
void disown(void *pointer);

// -- work: everything that a device does is given to a stream as a closure that holds copies of its arguments ------
// It runs at once (eager), when something waits (lazy), or each time a graph is launched that captured it. While it
// runs, device memory can be touched, current_device() is the stream's, and it is `guarded`: a fault inside (illegal
// address...) becomes an error code. It returns an error code.
using Work = std::function<int()>;
// `tally` counts the work: it is called when the work is queued and again by each launch of a graph that captured it.
using Tally = std::function<void()>;
int submit(void *stream, const char *what, Work work, Tally tally = {});
// Wait for a stream (counted as a synchronisation), for calls whose results the host reads.
int synchronise(void *stream);
// Run now, outside any stream, with device memory accessible (and `guarded`, unless inside of work already).
int at_once(const char *what, const Work &work);
// Is the stream being captured? (Calls that must not be captured return an error then.)
bool capturing(void *stream);

// -- what happened -----------------------------------------------------------------------------------------------
struct Counters {
    uint64_t bytes_to_device, bytes_to_host, bytes_on_device, copies_to_device, copies_to_host, copies_on_device,
        allocations, frees, synchronisations, launches, library_calls, compilations, memsets, callbacks, waits,
        graph_launches, graph_nodes,  // what graphs give to streams is counted as what it is, too
        nccl_calls, nccl_bytes;       // bytes that the ranks of this process put in
};
Counters &counters();
void count_launch(const std::string &kernel);          // a kernel of a module, under its name
void count_library(const char *function);              // a call of cuBLAS & co that would launch kernels; also by name
std::map<std::string, uint64_t> &launches();           // by name, library calls included

// -- the grid (grid.cpp) -----------------------------------------------------------------------------------------
// Run `work` so that SIGSEGV, SIGBUS and SIGFPE inside become an error code instead of ending the process.
int guarded(const char *what, const Work &work);

}  // namespace sim
