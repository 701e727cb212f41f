// Streams as queues of operations, and the rules that decide when one runs. Eager: as soon as it is submitted. Lazy:
// when something waits for it, and not before; what may run in any order then runs in the order that hides the least.
#include <algorithm>
#include <chrono>

#include "runtime.h"

namespace sim {

namespace {

struct Everything {
    std::vector<std::vector<StreamRef>> by_device;
    std::vector<StreamRef> legacy;
    std::map<void *, StreamRef> by_handle;
    uint64_t order = 0;
    size_t pending = 0;
    bool stuck = false;  // an operation had to be left in its queue: another thread is in a host function, or a
                         // communication waits for another process
    int deferred = OK;   // what failed in the background
    std::string deferred_text;
    void (*kick)() = nullptr;
};

Everything &all() {
    static Everything *e = nullptr;
    if (!e) {
        e = new Everything;
        e->by_device.resize(size_t(settings().devices));
        for (int device = 0; device < settings().devices; device++) {
            auto stream = std::make_shared<Stream>();
            stream->device = device;
            stream->legacy = true;
            e->legacy.push_back(stream);
            e->by_device[size_t(device)].push_back(stream);
        }
    }
    return *e;
}

thread_local int device_of_thread = 0;

void forget_if_done(const StreamRef &stream) {
    if (!stream->destroyed || !stream->queue.empty()) return;
    auto &streams = all().by_device[size_t(stream->device)];
    streams.erase(std::remove(streams.begin(), streams.end(), StreamRef(stream)), streams.end());
}

struct OwnStreams {  // the per-thread default streams; queued work outlives the thread
    std::map<int, StreamRef> by_device;
    ~OwnStreams() {
        Lock lock;
        for (auto &[device, stream] : by_device) {
            stream->destroyed = true;
            forget_if_done(stream);
        }
    }
};
thread_local OwnStreams own_streams;

StreamRef per_thread_stream(int device) {
    StreamRef &stream = own_streams.by_device[device];
    if (!stream) {
        stream = std::make_shared<Stream>();
        stream->device = device;
        stream->handle = reinterpret_cast<void *>(2);
        all().by_device[size_t(device)].push_back(stream);
    }
    return stream;
}

bool finished(const StreamRef &stream, uint64_t limit) {
    return stream->queue.empty() || stream->queue.front().order > limit;
}

enum Manner { patient, impatient };  // impatient: leave the operation if it waits for a thread or a process
int drain(const StreamRef &stream, uint64_t limit, Manner manner);

int keep_first(int first, int second) { return first ? first : second; }

// The streams among `some` with work up to `limit`, the one whose work was submitted last in front: nothing orders
// them, so a consumer that forgot to wait runs before its producer.
std::vector<StreamRef> adversarial(const std::vector<StreamRef> &some, uint64_t limit, bool blocking_only) {
    std::vector<StreamRef> found;
    for (auto &stream : some)
        if (!finished(stream, limit) && (!blocking_only || (stream->blocking && !stream->legacy)))
            found.push_back(stream);
    std::sort(found.begin(), found.end(), [](const StreamRef &a, const StreamRef &b) {
        return a->queue.front().order > b->queue.front().order;
    });
    return found;
}

// Run what an operation waits for. False if that could not be finished (impatient only).
bool run_before(Stream &stream, const Op &op, Manner manner, int &code) {
    if (all().pending == 1) return true;  // there is nothing else
    std::vector<std::pair<StreamRef, uint64_t>> needed;
    if (stream.legacy) {
        for (auto &other : adversarial(all().by_device[size_t(stream.device)], op.order, true))
            needed.push_back({other, op.order});
    } else if (stream.blocking) {
        needed.push_back({legacy_stream(stream.device), op.order});
    }
    if (op.wait && !op.wait->done) needed.push_back({op.wait->stream, op.wait->order});
    for (auto &[other, limit] : needed) {
        code = keep_first(code, drain(other, limit, manner));
        if (!finished(other, limit)) return false;
    }
    return true;
}

int run(Stream &stream, const Op &op) {
    const Node &node = op.node;
    if (!node.work) return OK;
    if (settings().trace) fprintf(stderr, "cudasim:     runs %s on device %d\n", node.what.c_str(), stream.device);
    if (!node.host) return run_now(stream.device, node.what.c_str(), node.work);
    Device scope(stream.device);
    counters().callbacks++;
    Unlocked unlocked;
    return node.work();
}

// Lazily, what a stream will wait for runs before the work in front of that wait, as far as it waits for nothing itself:
// nothing orders the two, and if it should have waited, that has to show.
int run_ahead(const StreamRef &stream, uint64_t limit, Manner manner) {
    auto waits = [](const Op &op) { return op.wait && !op.wait->done; };
    std::vector<std::pair<StreamRef, uint64_t>> ahead;
    for (auto &op : stream->queue) {
        if (op.order > limit) break;
        if (!waits(op) || op.wait->stream == stream) continue;
        uint64_t until = op.wait->order;
        for (auto &other : op.wait->stream->queue)
            if (waits(other) && other.order <= until) until = other.order - 1;
        ahead.push_back({op.wait->stream, until});
    }
    int result = OK;
    for (auto &[other, until] : ahead) result = keep_first(result, drain(other, until, manner));
    return result;
}

int drain(const StreamRef &stream, uint64_t limit, Manner manner) {
    int result = settings().lazy && all().pending > 1 ? run_ahead(stream, limit, manner) : OK;
    while (!finished(stream, limit)) {
        if (stream->busy) {
            if (manner == impatient) {
                all().stuck = true;
                return result;
            }
            if (stream->runner == std::this_thread::get_id())
                return fail(NOT_PERMITTED, "a host function can't wait for the stream that runs it");
            wait_for_change();
            continue;
        }
        stream->busy = true;
        stream->runner = std::this_thread::get_id();
        Op &op = stream->queue.front();
        bool ready = run_before(*stream, op, manner, result);
        bool slow = op.node.host || op.delayed, done = false;
        if (ready) {
            int code = run(*stream, op);
            done = code != LATER;
            if (done) {
                result = keep_first(result, code);
                stream->queue.pop_front();
                all().pending--;
            } else {
                op.delayed = true;
            }
        }
        stream->busy = false;
        if (ready && !done && manner == patient) {  // no announcement: two that wait would wake each other for ever
            wait_for_change();
            continue;
        }
        announce_change();
        if (!done) {
            all().stuck = true;
            return result;
        }
        if (!all().stuck) continue;
        if (settings().lazy) {
            all().stuck = false;
            if (all().kick) all().kick();
        } else if (slow) {
            resume(stream.get());
        }
    }
    forget_if_done(stream);
    return result;
}

}  // namespace

int current_device() { return device_of_thread; }

int set_device(int device) {
    if (device < 0 || device >= settings().devices)
        return fail(INVALID_DEVICE, "device %d: there are %d", device, settings().devices);
    device_of_thread = device;
    return OK;
}

Device::Device(int device) : previous(device_of_thread) { device_of_thread = device; }

Device::~Device() { device_of_thread = previous; }

int64_t now() {
    auto time = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

uint64_t last_order() { return all().order; }

bool anything_pending() { return all().pending > 0; }

StreamRef legacy_stream(int device) { return all().legacy[size_t(device)]; }

std::vector<StreamRef> streams_of(int device) { return all().by_device[size_t(device)]; }

StreamRef stream_of(void *handle) {
    uintptr_t value = uintptr_t(handle);
    if (settings().devices <= 0) return nullptr;
    if (value <= 1) return legacy_stream(device_of_thread);
    if (value == 2) return per_thread_stream(device_of_thread);
    auto found = all().by_handle.find(handle);
    return found == all().by_handle.end() ? nullptr : found->second;
}

int stream_device(void *handle) {
    Lock lock;
    StreamRef stream = stream_of(handle);
    return stream ? stream->device : -1;
}

int bad_stream(const char *function, void *handle) {
    return fail(INVALID_RESOURCE, "%s: %p is not a stream", function, handle);
}

int new_stream(void **handle, unsigned flags, int priority) {
    auto stream = std::make_shared<Stream>();
    stream->device = device_of_thread;
    stream->flags = flags;
    stream->blocking = !(flags & 1);
    stream->priority = priority;
    stream->handle = stream.get();
    all().by_handle[stream->handle] = stream;
    all().by_device[size_t(stream->device)].push_back(stream);
    *handle = stream->handle;
    return OK;
}

// The work that is queued stays: it will be done whenever something waits for it.
int destroy_stream(void *handle) {
    auto found = all().by_handle.find(handle);
    if (found == all().by_handle.end()) return bad_stream("cudaStreamDestroy", handle);
    StreamRef stream = found->second;
    if (stream->capture) invalidate(*stream, CAPTURE_INVALIDATED, "cudaStreamDestroy");
    stream->destroyed = true;
    all().by_handle.erase(found);
    forget_if_done(stream);
    return OK;
}

bool idle(const StreamRef &stream) {
    if (!stream->queue.empty()) return false;
    if (stream->legacy) return adversarial(all().by_device[size_t(stream->device)], everything, true).empty();
    return !stream->blocking || legacy_stream(stream->device)->queue.empty();
}

int enqueue(const StreamRef &stream, Node node, std::shared_ptr<Recording> wait) {
    if (stream->capture) return capture_node(*stream, std::move(node));
    if (int code = check_legacy_use(*stream, node.what.c_str())) return code;
    if (node.tally) node.tally();
    stream->queue.push_back({++all().order, std::move(node), std::move(wait)});
    all().pending++;
    return settings().lazy ? OK : drain(stream, everything, impatient);
}

int drain(const StreamRef &stream, uint64_t limit) {
    int code = drain(stream, limit, patient);
    return keep_first(code, take_deferred());
}

void run_in_background(const StreamRef &stream, uint64_t limit) {
    int code = drain(stream, limit, impatient);
    if (!code || all().deferred) return;
    all().deferred = code;
    all().deferred_text = take_detail(code);
}

void resume(const Stream *except) {
    all().stuck = false;
    for (auto &streams : all().by_device)
        for (auto &stream : std::vector<StreamRef>(streams))
            if (stream.get() != except) run_in_background(stream, everything);
}

int take_deferred() {
    if (!all().deferred) return OK;
    int code = all().deferred;
    all().deferred = OK;
    return fail(code, "%s", all().deferred_text.c_str());
}

void set_kick(void (*kick)()) { all().kick = kick; }

int poke(const StreamRef &stream, uint64_t limit) {
    int result = OK;
    if (stream->legacy)
        for (auto &other : adversarial(all().by_device[size_t(stream->device)], limit, true))
            result = keep_first(result, drain(other, limit, impatient));
    return keep_first(result, drain(stream, limit, impatient));
}

int drain_device(int device) {
    uint64_t limit = all().order;
    int result = OK;
    for (;;) {
        std::vector<StreamRef> streams;
        for (size_t d = 0; d < all().by_device.size(); d++)
            if (device < 0 || size_t(device) == d)
                streams.insert(streams.end(), all().by_device[d].begin(), all().by_device[d].end());
        streams = adversarial(streams, limit, false);
        if (streams.empty()) return keep_first(result, take_deferred());
        int code = drain(streams[0], limit, patient);
        result = keep_first(result, code);
        if (code == NOT_PERMITTED) return result;  // called by a host function: its own stream can't be waited for
    }
}

int run_now(int device, const char *what, const Work &work) {
    Device scope(device);
    if (access_depth()) return work();
    Access access;
    int levels = lock_levels(), depth = access_depth();
    int code = guarded(what, work);
    set_lock_levels(levels);
    set_access_depth(depth);
    return code;
}

int submit(void *handle, const char *what, Work work, Tally tally) {
    Lock lock;
    StreamRef stream = stream_of(handle);
    if (!stream) return bad_stream(what, handle);
    return enqueue(stream, {what, std::move(work), std::move(tally), false});
}

int synchronise(void *handle) {
    Lock lock;
    StreamRef stream = stream_of(handle);
    if (!stream) return bad_stream("cudaStreamSynchronize", handle);
    if (stream->capture) return invalidate(*stream, CAPTURE_UNSUPPORTED, "cudaStreamSynchronize");
    if (int code = check_legacy_use(*stream, "cudaStreamSynchronize")) return code;
    counters().synchronisations++;
    if (!stream->legacy) return drain(stream, all().order);
    // Nothing may be queued in the legacy stream itself; waiting for it still waits for the blocking streams.
    int result = OK;
    uint64_t limit = all().order;
    for (auto &other : adversarial(all().by_device[size_t(stream->device)], limit, true))
        result = keep_first(result, drain(other, limit, patient));
    return keep_first(result, drain(stream, limit));
}

int at_once(const char *what, const Work &work) {
    Lock lock;
    return run_now(current_device(), what, work);
}

bool capturing(void *handle) {
    Lock lock;
    StreamRef stream = stream_of(handle);
    return stream && stream->capture;
}

}  // namespace sim
