// Stream capture and graphs. A graph is the list of the captured work in the order of the calls, which respects every
// dependency that the streams of the capture expressed; a launch gives it to a stream again.
#include <utility>

#include "runtime.h"

namespace sim {

namespace {

// Memory that was allocated while capturing is needed by every launch of the graph: a free only notes that it goes with
// the graph. What was not freed is left to its user then.
std::map<void *, bool> &freed_in_graph() {
    static auto &all = *new std::map<void *, bool>;
    return all;
}

}  // namespace

struct Graph {
    std::vector<Node> nodes;
    std::vector<int> streams;   // for the picture: which stream of the capture a node came from
    std::vector<void *> owned;  // allocated while capturing
    ~Graph() {
        for (void *pointer : owned) {
            bool freed = freed_in_graph()[pointer];
            freed_in_graph().erase(pointer);
            if (!freed) continue;
            pool_released(pointer);
            release(pointer);
        }
    }
};

struct Capture {
    Stream *origin;
    int mode;  // 0 global, 1 of the thread, 2 relaxed
    bool invalid = false, ended = false;
    std::thread::id thread;
    std::shared_ptr<Graph> graph = std::make_shared<Graph>();
    std::vector<StreamRef> members;
    // How much each stream has captured, and how much of every other stream it has waited for: a fork that the origin
    // has not seen the end of is not joined.
    std::map<const Stream *, size_t> length;
    std::map<const Stream *, std::map<const Stream *, size_t>> seen;
};

namespace {

std::set<Capture *> &active() {
    static auto &all = *new std::set<Capture *>;
    return all;
}

std::map<void *, std::shared_ptr<Graph>> &graphs() {
    static auto &all = *new std::map<void *, std::shared_ptr<Graph>>;
    return all;
}

struct Executable {
    std::shared_ptr<Graph> graph;
};

std::map<void *, std::shared_ptr<Executable>> &executables() {
    static auto &all = *new std::map<void *, std::shared_ptr<Executable>>;
    return all;
}

void merge(std::map<const Stream *, size_t> &into, const std::map<const Stream *, size_t> &from) {
    for (auto &[stream, length] : from)
        if (into[stream] < length) into[stream] = length;
}

void finish(Capture &capture) {
    capture.ended = true;
    active().erase(&capture);
    for (auto &stream : std::vector<StreamRef>(std::move(capture.members))) stream->capture = nullptr;
    capture.members.clear();
}

}  // namespace

void spoil(Capture &capture) { capture.invalid = true; }

int invalidate(Stream &stream, int code, const char *function) {
    if (stream.capture) stream.capture->invalid = true;
    return fail(code, "%s: not possible while the stream is being captured", function);
}

int capture_node(Stream &stream, Node node) {
    Capture &capture = *stream.capture;
    if (capture.invalid) return fail(CAPTURE_INVALIDATED, "%s: the capture is invalid", node.what.c_str());
    size_t member = 0;
    while (capture.members[member].get() != &stream) member++;
    capture.graph->nodes.push_back(std::move(node));
    capture.graph->streams.push_back(int(member));
    capture.seen[&stream][&stream] = ++capture.length[&stream];
    return OK;
}

bool own_in_capture(Stream &stream, void *pointer) {
    if (!stream.capture) return false;
    if (pointer) {
        stream.capture->graph->owned.push_back(pointer);
        freed_in_graph()[pointer] = false;
    }
    return true;
}

bool free_in_graph(void *pointer) {
    auto found = freed_in_graph().find(pointer);
    if (found == freed_in_graph().end()) return false;
    found->second = true;
    return true;
}

// The legacy stream waits for the blocking streams of its device, which can't be captured.
int check_legacy_use(const Stream &stream, const char *function, bool spoiling) {
    if (!stream.legacy || active().empty()) return OK;
    bool conflict = false;
    for (Capture *capture : active())
        for (auto &member : capture->members)
            if (member->blocking && member->device == stream.device) {
                conflict = true;
                if (spoiling) capture->invalid = true;
            }
    if (!conflict) return OK;
    return fail(CAPTURE_IMPLICIT, "%s: the default stream would wait for a blocking stream that is being captured",
                function);
}

int check_capture_free(const char *function) {
    int code = OK;
    for (Capture *capture : active()) {
        bool strict = capture->mode == 0 || (capture->mode == 1 && capture->thread == std::this_thread::get_id());
        if (!strict) continue;
        capture->invalid = true;
        code = CAPTURE_UNSUPPORTED;
    }
    return code ? fail(code, "%s: not allowed while a stream is captured (unless in relaxed mode)", function) : OK;
}

int check_device_capture(int device, const char *function) {
    int code = OK;
    for (Capture *capture : active())
        for (auto &member : capture->members)
            if (member->device == device) {
                capture->invalid = true;
                code = CAPTURE_UNSUPPORTED;
            }
    return code ? fail(code, "%s: a stream of device %d is being captured", function, device) : OK;
}

int capture_event(Stream &stream, EventState &event) {
    if (stream.capture->invalid) return fail(CAPTURE_INVALIDATED, "cudaEventRecord: the capture is invalid");
    event.last = nullptr;
    event.capture = stream.capture;
    event.seen = stream.capture->seen[&stream];
    return OK;
}

int capture_wait(const StreamRef &stream, EventState &event) {
    const char *function = "cudaStreamWaitEvent";
    if (!event.capture) {
        if (!event.last) return OK;
        stream->capture->invalid = true;
        return fail(CAPTURE_ISOLATION, "%s: the event was recorded outside of the capture", function);
    }
    if (event.capture->ended)
        return fail(CAPTURED_EVENT, "%s: the event was last recorded in a capture that has ended", function);
    if (event.capture->invalid) return fail(CAPTURE_INVALIDATED, "%s: the capture is invalid", function);
    if (stream->capture && stream->capture != event.capture) {
        stream->capture->invalid = event.capture->invalid = true;
        return fail(CAPTURE_MERGE, "%s: would merge two captures", function);
    }
    if (!stream->capture) {
        if (stream->legacy) {
            event.capture->invalid = true;
            return fail(CAPTURE_IMPLICIT, "%s: the default stream can't join a capture", function);
        }
        stream->capture = event.capture;
        event.capture->members.push_back(stream);
        event.capture->length[stream.get()] = 0;
        event.capture->seen[stream.get()].clear();
    }
    merge(event.capture->seen[stream.get()], event.seen);
    return OK;
}

}  // namespace sim

using namespace sim;

SIM_API int cudaStreamBeginCapture(void *handle, int mode) {
    Call call("cudaStreamBeginCapture");
    StreamRef stream = stream_of(handle);
    if (!stream) return bad_stream("cudaStreamBeginCapture", handle);
    if (stream->legacy)
        return fail(CAPTURE_UNSUPPORTED, "cudaStreamBeginCapture: the default stream can't be captured");
    if (stream->capture) return fail(ILLEGAL_STATE, "cudaStreamBeginCapture: the stream is being captured already");
    if (mode < 0 || mode > 2) return fail(INVALID_VALUE, "cudaStreamBeginCapture: unknown mode %d", mode);
    auto capture = std::make_shared<Capture>();
    capture->origin = stream.get();
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    capture->members.push_back(stream);
    stream->capture = capture;
    active().insert(capture.get());
    return OK;
}

SIM_API int cudaStreamEndCapture(void *handle, void **graph) {
    Call call("cudaStreamEndCapture");
    if (graph) *graph = nullptr;
    StreamRef stream = stream_of(handle);
    if (!stream) return bad_stream("cudaStreamEndCapture", handle);
    auto capture = stream->capture;
    if (!capture) return fail(ILLEGAL_STATE, "cudaStreamEndCapture: the stream is not being captured");
    if (capture->origin != stream.get()) {
        capture->invalid = true;
        return fail(CAPTURE_UNMATCHED, "cudaStreamEndCapture: the capture began on another stream");
    }
    if (capture->mode != 2 && capture->thread != std::this_thread::get_id())
        return fail(CAPTURE_WRONG_THREAD, "cudaStreamEndCapture: the capture began in another thread");
    bool joined = true;
    for (auto &[member, length] : capture->length)
        joined = joined && (member == stream.get() || capture->seen[stream.get()][member] >= length);
    finish(*capture);
    if (capture->invalid)
        return fail(CAPTURE_INVALIDATED, "cudaStreamEndCapture: the capture was made invalid by an earlier error");
    if (!joined)
        return fail(CAPTURE_UNJOINED, "cudaStreamEndCapture: the stream doesn't wait for the end of every stream that "
                                      "joined the capture");
    *graph = capture->graph.get();
    graphs()[*graph] = capture->graph;
    return OK;
}

SIM_API int cudaStreamIsCapturing(void *handle, int *status) {
    Call call("cudaStreamIsCapturing");
    StreamRef stream = stream_of(handle);
    if (!stream) return bad_stream("cudaStreamIsCapturing", handle);
    *status = 0;
    if (int code = check_legacy_use(*stream, "cudaStreamIsCapturing", false)) return code;
    if (stream->capture) *status = stream->capture->invalid ? 2 : 1;
    return OK;
}

SIM_API int cudaStreamGetCaptureInfo(void *handle, int *status, unsigned long long *id) {
    int code = cudaStreamIsCapturing(handle, status);
    Lock lock;
    if (!code && id && *status) *id = uintptr_t(stream_of(handle)->capture.get());
    return code;
}

SIM_API int cudaThreadExchangeStreamCaptureMode(int *mode) {
    Call call("cudaThreadExchangeStreamCaptureMode");
    static thread_local int current = 0;
    std::swap(*mode, current);
    return OK;
}

SIM_API int cudaGraphInstantiate(void **executable, void *graph, unsigned long long) {
    Call call("cudaGraphInstantiate");
    auto found = graphs().find(graph);
    if (found == graphs().end()) return fail(INVALID_VALUE, "cudaGraphInstantiate: %p is not a graph", graph);
    auto made = std::make_shared<Executable>(Executable{found->second});
    *executable = made.get();
    executables()[*executable] = made;
    return OK;
}

SIM_API int cudaGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags) {
    return cudaGraphInstantiate(executable, graph, flags);
}

SIM_API int cudaGraphUpload(void *executable, void *stream) {
    Call call("cudaGraphUpload");
    if (!executables().count(executable))
        return fail(INVALID_VALUE, "cudaGraphUpload: %p is not an executable graph", executable);
    return stream_of(stream) ? OK : bad_stream("cudaGraphUpload", stream);
}

SIM_API int cudaGraphLaunch(void *executable, void *handle) {
    Call call("cudaGraphLaunch");
    auto found = executables().find(executable);
    if (found == executables().end())
        return fail(INVALID_VALUE, "cudaGraphLaunch: %p is not an executable graph", executable);
    StreamRef stream = stream_of(handle);
    if (!stream) return bad_stream("cudaGraphLaunch", handle);
    auto graph = found->second->graph;  // queued work keeps the memory of the graph
    int result = OK;
    counters().graph_launches++;
    counters().graph_nodes += graph->nodes.size();
    for (Node node : graph->nodes) {
        if (node.work)
            node.work = [graph, work = std::move(node.work)] { return work(); };
        int code = node.launch ? node.launch(stream, graph) : enqueue(stream, std::move(node));
        result = result ? result : code;
    }
    return result;
}

SIM_API int cudaGraphDestroy(void *graph) {
    Call call("cudaGraphDestroy");
    return graphs().erase(graph) ? OK : fail(INVALID_VALUE, "cudaGraphDestroy: %p is not a graph", graph);
}

SIM_API int cudaGraphExecDestroy(void *executable) {
    Call call("cudaGraphExecDestroy");
    if (executables().erase(executable)) return OK;
    return fail(INVALID_VALUE, "cudaGraphExecDestroy: %p is not an executable graph", executable);
}

SIM_API int cudaGraphGetNodes(void *graph, void **nodes, size_t *count) {
    Call call("cudaGraphGetNodes");
    auto found = graphs().find(graph);
    if (found == graphs().end()) return fail(INVALID_VALUE, "cudaGraphGetNodes: %p is not a graph", graph);
    if (!nodes) {
        *count = found->second->nodes.size();
        return OK;
    }
    return unsupported("cudaGraphGetNodes (more than the number of nodes)");
}

SIM_API int cudaGraphDebugDotPrint(void *graph, const char *path, unsigned flags) {
    Call call("cudaGraphDebugDotPrint");
    auto found = graphs().find(graph);
    if (found == graphs().end()) return fail(INVALID_VALUE, "cudaGraphDebugDotPrint: %p is not a graph", graph);
    FILE *file = fopen(path, "w");
    if (!file) return fail(304, "cudaGraphDebugDotPrint: can't write %s", path);
    fprintf(file, "digraph dot {\n");
    auto &g = *found->second;
    for (size_t i = 0; i < g.nodes.size(); i++) {
        fprintf(file, "  node%zu [label=\"%zu %s", i, i, g.nodes[i].what.c_str());
        if (flags) fprintf(file, "\\n%s, stream %d of the capture", g.nodes[i].host ? "host" : "device", g.streams[i]);
        fprintf(file, "\"];\n");
        if (i) fprintf(file, "  node%zu -> node%zu;\n", i - 1, i);
    }
    fprintf(file, "}\n");
    fclose(file);
    return OK;
}
