// What the files of the runtime part share among themselves: streams, events, captures and the memory below them.
#pragma once
#include <deque>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "sim.h"

namespace sim {

// -- every public function begins with one of these: it takes the lock, marks the thread and prints a trace --------
struct Call {
    explicit Call(const char *name);
    Lock lock;
};
int lock_levels();               // how often this thread holds the lock
void set_lock_levels(int levels);  // after a fault has skipped destructors
void wait_for_change();          // give up the lock until another thread has finished an operation
void announce_change();
int get_last_error(bool clear);

// -- streams -------------------------------------------------------------------------------------------------------
struct Stream;
struct Capture;
struct Graph;
using StreamRef = std::shared_ptr<Stream>;

struct Recording {  // one cudaEventRecord: what a wait for the event refers to, also when it is recorded again
    StreamRef stream;
    uint64_t order = 0;
    bool done = false;
    int64_t time = 0;
    int queries = 0;
};

struct Node {  // a piece of work on its way to a stream, or in a graph
    std::string what;
    Work work;
    Tally tally;
    bool host = false;  // a host function: runs without the lock and may not touch the device
    // Instead of `work`, for what has to be made anew by each launch of a graph: gives it to the stream, with what the
    // work needs to keep.
    std::function<int(const StreamRef &, std::shared_ptr<void>)> launch = {};
};

struct Op {
    uint64_t order;  // in which order the host submitted things; a dependency always has a smaller one
    Node node;
    std::shared_ptr<Recording> wait;
    bool delayed = false;  // it was tried, and waits for another process
};

struct Stream {
    void *handle = nullptr;
    int device = 0;
    unsigned flags = 0;
    int priority = 0;
    bool legacy = false, blocking = true, destroyed = false;
    std::deque<Op> queue;
    bool busy = false;  // the first operation of the queue is under way
    std::thread::id runner;
    std::shared_ptr<Capture> capture;
    int queries = 0;
};

const uint64_t everything = ~uint64_t(0);
StreamRef stream_of(void *handle);  // null if there is no such stream
StreamRef legacy_stream(int device);
std::vector<StreamRef> streams_of(int device);
int new_stream(void **handle, unsigned flags, int priority);
int destroy_stream(void *handle);
int enqueue(const StreamRef &stream, Node node, std::shared_ptr<Recording> wait = nullptr);
int drain(const StreamRef &stream, uint64_t limit = everything);
int poke(const StreamRef &stream, uint64_t limit);  // the same, but never waits for another thread's host function
int drain_device(int device);  // -1: all
// For a thread of our own: go on where eager work was left. What fails there is reported to the next one who waits.
void resume(const Stream *except = nullptr);
void run_in_background(const StreamRef &stream, uint64_t limit);
int take_deferred();                  // such a failure, once
void set_kick(void (*kick)());        // wakes that thread: another one has finished what it was stuck at
bool idle(const StreamRef &stream);  // nothing to do, and nothing that it would wait for
uint64_t last_order();
bool anything_pending();
int run_now(int device, const char *what, const Work &work);
int bad_stream(const char *function, void *handle);
// A poll (cudaStreamQuery, cudaEventQuery) doesn't run deferred work, or a look at an event would hide a missing wait;
// but a loop of polls must come to its end, so the last of this many in a row does.
const int patience = 256;

// -- capture ---------------------------------------------------------------------------------------------------------
int capture_node(Stream &stream, Node node);
void spoil(Capture &capture);
int invalidate(Stream &stream, int code, const char *function);  // spoils the capture of the stream; returns the code
int check_legacy_use(const Stream &stream, const char *function, bool spoiling = true);
int check_capture_free(const char *function);                 // for calls that a strict capture forbids
int check_device_capture(int device, const char *function);   // for calls that wait for a whole device
struct EventState;
int capture_event(Stream &stream, EventState &event);
int capture_wait(const StreamRef &stream, EventState &event);
bool own_in_capture(Stream &stream, void *pointer);  // memory that lives as long as the captured graph
bool free_in_graph(void *pointer);                   // leave such memory to its graph; false if it is not such memory

struct EventState {
    unsigned flags = 0;
    int device = 0;
    std::shared_ptr<Recording> last;
    std::shared_ptr<Capture> capture;  // recorded in a captured stream
    std::map<const Stream *, size_t> seen;
};
int64_t now();

// -- memory ----------------------------------------------------------------------------------------------------------
int allocate(int device, size_t size, void **out, const char *function);
int allocate_host(size_t size, Kind kind, void **out, const char *function);
bool owned(const void *pointer);                  // an allocation of ours begins here
bool release(void *pointer);                      // any kind; false if no allocation begins there
bool reserved(const void *address);               // in the range of a device, allocated or not
int register_host(void *pointer, size_t size);
int unregister_host(void *pointer);
size_t used_memory(int device);
void fill(void *begin, int value, size_t size);   // for poison: with device memory accessible
struct Access {                                   // while one exists, guarded device memory can be touched
    Access();
    ~Access();
};
int access_depth();
void set_access_depth(int depth);                 // after a fault has skipped destructors
void apply_guard(bool guard);

int allocate_patiently(int device, size_t size, void **out, const char *function);  // after queued frees, if need be
int fill_ipc_handle(void *out, const void *pointer);
void pool_released(void *pointer);  // an allocation of a stream-ordered pool has gone

struct Device {
    int previous;
    explicit Device(int device);
    ~Device();
};

}  // namespace sim
