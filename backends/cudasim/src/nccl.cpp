// NCCL's functions: communicators, groups, and the calls that become operations in streams.
#include "nccl.h"

#include <algorithm>
#include <cstring>

SIM_API int cudaEventCreateWithFlags(void **, unsigned);
SIM_API int cudaEventRecord(void *, void *);
SIM_API int cudaEventDestroy(void *);
SIM_API int cudaStreamWaitEvent(void *, void *, unsigned);

using namespace sim;
using namespace sim::nccl;

namespace {

using CommRef = std::shared_ptr<Comm>;

struct Config {  // the part of ncclConfig_t that matters; the first fields are those of all versions
    size_t size;
    unsigned magic, version;
    int blocking;
};

struct Pending {  // a call inside of a group
    CommRef comm;
    Task task;
    StreamRef stream;
};

struct Entering {
    Joining joining;
    CommRef comm;
};

struct Splitting {
    CommRef comm, made;
    int color, key;
};

struct Group {
    int depth = 0, error = SUCCESS;
    std::vector<Pending> calls;
    std::vector<Entering> entering;
    std::vector<Splitting> splitting;
};
thread_local Group group;

CommRef comm_of(const void *handle) {
    for (auto &comm : communicators())
        if (comm.get() == handle) return comm;
    return nullptr;
}

int bad_comm(const char *function, const void *handle) {
    return refuse(INVALID_ARGUMENT, "%s: %p is not a communicator (any more)", function, handle);
}

int broken(const Comm &comm) { return refuse(comm.error, "%s", comm.error_text.c_str()); }

CommRef new_comm(int rank, int ranks, int device) {
    auto comm = std::make_shared<Comm>();
    comm->rank = rank;
    comm->ranks = ranks;
    comm->device = device;
    for (auto *counts : {&comm->sends, &comm->receives, &comm->sends_done, &comm->receives_done})
        counts->assign(size_t(ranks), 0);
    comm->dead.assign(size_t(ranks), false);
    comm->awaited.assign(size_t(ranks), false);
    return comm;
}

// -- operations --------------------------------------------------------------------------------------------------------
void count(const Comm &comm, const Task &task) {
    counters().nccl_calls++;
    const bool puts_in = task.kind != RECEIVE && (task.kind != BROADCAST || task.root == comm.rank);
    counters().nccl_bytes += puts_in ? task.bytes() * (task.kind == REDUCE_SCATTER ? size_t(comm.ranks) : 1) : 0;
    count_library(kind_name(task.kind));
}

int give(const CommRef &comm, const std::vector<Task> &tasks, const StreamRef &stream, std::shared_ptr<void> owner) {
    const char *what = kind_name(tasks[0].kind);
    if (stream->capture) {
        auto launch = [comm, tasks](const StreamRef &target, std::shared_ptr<void> graph) {
            int result = give(comm, tasks, target, graph);
            return result == SUCCESS ? OK : fail(LAUNCH_FAILURE, "%s", detail_of(result).c_str());
        };
        return capture_node(*stream, {what, {}, {}, false, launch}) ? CUDA_ERROR : SUCCESS;
    }
    if (comm->aborted) return refuse(INVALID_USAGE, "%s: the communicator was aborted", what);
    if (comm->error) return broken(*comm);
    if (check_legacy_use(*stream, what)) return CUDA_ERROR;
    auto operation = std::make_shared<Operation>();
    operation->comm = comm;
    operation->tasks = tasks;
    for (Task &task : operation->tasks) number(*comm, task);
    operation->stream = stream;
    operation->end = std::make_shared<Recording>();
    operation->end->stream = stream;
    operation->end->order = last_order() + 1;
    auto before = comm->queue.empty() ? nullptr : comm->queue.back()->end;
    comm->queue.push_back(operation);
    comm->shared->rank(comm->rank).unfinished.store(uint32_t(comm->queue.size()));
    auto work = [operation, owner] { return attempt(operation); };
    auto tally = [comm, tasks] {
        for (const Task &task : tasks) count(*comm, task);
    };
    const int code = enqueue(stream, {what, work, tally, false}, before);
    if (comm->error) return broken(*comm);
    if (code) return CUDA_ERROR;
    if (settings().lazy && wanted(*operation)) ring_own();  // another rank waits already
    return SUCCESS;
}

// Let a stream wait for another one, as with an event, in captures too.
int order(const StreamRef &first, const StreamRef &second) {
    const uint64_t waits = counters().waits;
    void *event;
    Device scope(first->device);
    auto handle = [](const StreamRef &stream) { return stream->legacy ? nullptr : stream->handle; };
    int code = cudaEventCreateWithFlags(&event, 2);
    if (!code) code = cudaEventRecord(event, handle(first));
    if (!code) code = cudaStreamWaitEvent(handle(second), event, 0);
    cudaEventDestroy(event);
    counters().waits = waits;
    return code ? CUDA_ERROR : SUCCESS;
}

int give_all(std::vector<Pending> calls) {
    int result = SUCCESS;
    while (!calls.empty() && !result) {  // all that was asked of one communicator is one operation
        const CommRef comm = calls[0].comm;
        std::vector<Task> tasks;
        std::vector<StreamRef> streams;
        for (auto &call : calls)
            if (call.comm == comm) {
                tasks.push_back(call.task);
                if (std::find(streams.begin(), streams.end(), call.stream) == streams.end())
                    streams.push_back(call.stream);
            }
        auto belongs = [&](const Pending &call) { return call.comm == comm; };
        calls.erase(std::remove_if(calls.begin(), calls.end(), belongs), calls.end());
        for (size_t i = 1; i < streams.size() && !result; ++i) result = order(streams[i], streams[0]);
        if (!result) result = give(comm, tasks, streams[0], nullptr);
        for (size_t i = 1; i < streams.size() && !result; ++i) result = order(streams[0], streams[i]);
    }
    return result;
}

int check_buffer(const Comm &comm, const Task &task, const void *buffer, size_t bytes, const char *which) {
    const char *name = kind_name(task.kind);
    if (!buffer) return refuse(INVALID_ARGUMENT, "%s: the %s buffer is null", name, which);
    const Block *block = find(buffer);
    if (!block || uintptr_t(buffer) + bytes > block->begin + block->size)
        return refuse(INVALID_ARGUMENT, "%s: the %s buffer %p of %zu bytes is not (wholly) memory of a device", name,
                      which, buffer, bytes);
    if (block->kind == sim::Kind::device && block->device != comm.device)
        return refuse(INVALID_ARGUMENT, "%s: the %s buffer is memory of device %d, the communicator's is device %d",
                      name, which, block->device, comm.device);
    return SUCCESS;
}

int check(const Comm &comm, const Task &task) {
    const char *name = kind_name(task.kind);
    if (task.type < 0 || task.type >= TYPES) return refuse(INVALID_ARGUMENT, "%s: no data type %d", name, task.type);
    if (task.reduction < 0 || task.reduction >= REDUCTIONS)
        return refuse(INVALID_ARGUMENT, "%s: no reduction %d", name, task.reduction);
    if (task.root < 0 || task.root >= comm.ranks)
        return refuse(INVALID_ARGUMENT, "%s: rank %d of %d", name, task.root, comm.ranks);
    if (task.count > ~size_t(0) / 8 / size_t(comm.ranks))
        return refuse(INVALID_ARGUMENT, "%s: count %zu", name, task.count);
    if (task.count == 0) return SUCCESS;
    const bool root = task.root == comm.rank;
    const size_t one = task.bytes(), all = one * size_t(comm.ranks);
    const bool sends = task.kind != RECEIVE && (task.kind != BROADCAST || root);
    const bool receives = task.kind != SEND && (task.kind != REDUCE || root);
    int result = SUCCESS;
    if (sends) result = check_buffer(comm, task, task.send, task.kind == REDUCE_SCATTER ? all : one, "send");
    if (receives && !result)
        result = check_buffer(comm, task, task.receive, task.kind == ALL_GATHER ? all : one, "receive");
    return result;
}

int call(const void *handle, void *stream_handle, Task task) {
    Call mark(kind_name(task.kind));
    auto failed = [](int result) {
        if (group.depth && !group.error) group.error = result;
        return result;
    };
    const CommRef comm = comm_of(handle);
    if (!comm) return failed(bad_comm(kind_name(task.kind), handle));
    if (comm->error) return failed(broken(*comm));
    if (int result = check(*comm, task)) return failed(result);
    Device scope(comm->device);  // the default stream is the one of the communicator's device
    const StreamRef stream = stream_of(stream_handle);
    if (!stream)
        return failed(refuse(INVALID_ARGUMENT, "%s: %p is not a stream", kind_name(task.kind), stream_handle));
    if (stream->device != comm->device)
        return failed(refuse(INVALID_USAGE, "%s: the stream belongs to device %d, the communicator to device %d",
                             kind_name(task.kind), stream->device, comm->device));
    if (task.count == 0) return SUCCESS;  // every rank passes over it
    if (group.depth) {
        group.calls.push_back({comm, task, stream});
        return SUCCESS;
    }
    return give_all({{comm, task, stream}});
}

// -- communicators -----------------------------------------------------------------------------------------------------
int check_config(const char *function, const Config *config) {
    if (!config) return SUCCESS;
    if (config->magic != 0xcafebeef) return refuse(INVALID_ARGUMENT, "%s: the configuration is not set up", function);
    if (config->blocking == 0) {
        unsupported("a communicator that doesn't block (ncclConfig_t.blocking = 0)");
        return refuse(INVALID_ARGUMENT, "%s: blocking = 0 is not emulated", function);
    }
    return SUCCESS;
}

int enter_all(std::vector<Entering> &entering) {
    if (entering.empty()) return SUCCESS;
    std::vector<Joining> joining;
    for (auto &one : entering) joining.push_back(one.joining);
    if (int result = join(joining)) return result;
    for (size_t i = 0; i < entering.size(); ++i) {
        entering[i].comm->shared = joining[i].shared;
        communicators().push_back(entering[i].comm);
    }
    return SUCCESS;
}

struct Card {  // what a rank says to the others when a communicator is split
    int color, key;
    UniqueId id;
};

// Exchange the cards of several communicators of this process with all their ranks.
int exchange(std::vector<Splitting> &splitting, const std::vector<Card> &own, std::vector<std::vector<Card>> &all) {
    std::vector<std::shared_ptr<Operation>> open;
    for (size_t i = 0; i < splitting.size(); ++i) {
        const CommRef comm = splitting[i].comm;
        while (!comm->queue.empty()) {
            auto last = comm->queue.back();
            drain(last->stream, last->end->order);
        }
        if (comm->error) return broken(*comm);
        all[i].resize(size_t(comm->ranks));
        auto operation = std::make_shared<Operation>();
        operation->comm = comm;
        operation->tasks = {{ALL_GATHER, reinterpret_cast<const char *>(&own[i]),
                             reinterpret_cast<char *>(all[i].data()), sizeof(Card), INT8, SUM, 0}};
        number(*comm, operation->tasks[0]);
        comm->queue.push_back(operation);
        comm->shared->rank(comm->rank).unfinished.store(1);
        open.push_back(operation);
    }
    int result = SUCCESS;
    for (;;) {
        auto finished = [&](const std::shared_ptr<Operation> &operation) {
            const int code = attempt(operation);
            if (code != LATER && code != OK && !result) result = broken(*operation->comm);
            return code != LATER;
        };
        open.erase(std::remove_if(open.begin(), open.end(), finished), open.end());
        if (open.empty()) return result;
        wait_for_change();
    }
}

int split_all(std::vector<Splitting> &splitting) {
    if (splitting.empty()) return SUCCESS;
    std::vector<Card> own(splitting.size());
    std::vector<std::vector<Card>> cards(splitting.size());
    int result = SUCCESS;
    for (size_t i = 0; i < splitting.size() && !result; ++i) {
        own[i] = {splitting[i].color, splitting[i].key, {}};
        result = make_unique_id(own[i].id);
    }
    if (!result) result = exchange(splitting, own, cards);
    std::vector<Entering> entering;
    for (size_t i = 0; i < splitting.size() && !result; ++i) {
        const Comm &parent = *splitting[i].comm;
        std::vector<int> members;
        for (int r = 0; r < parent.ranks; ++r)
            if (cards[i][size_t(r)].color == own[i].color) members.push_back(r);
        std::stable_sort(members.begin(), members.end(),
                         [&](int a, int b) { return cards[i][size_t(a)].key < cards[i][size_t(b)].key; });
        const int rank = int(std::find(members.begin(), members.end(), parent.rank) - members.begin());
        if (own[i].color < 0 || rank != 0) forget_unique_id(own[i].id);  // the first one is the host
        if (own[i].color < 0) continue;
        CommRef made = splitting[i].made;
        *made = *new_comm(rank, int(members.size()), parent.device);
        entering.push_back({{cards[i][size_t(members[0])].id, rank, made->ranks, nullptr}, made});
    }
    return result ? result : enter_all(entering);
}

void leave(const CommRef &comm, Presence presence) {
    comm->shared->rank(comm->rank).presence.store(presence);
    auto &all = communicators();
    all.erase(std::remove(all.begin(), all.end(), comm), all.end());
    for (int r = 0; r < comm->ranks; ++r)
        if (r != comm->rank) ring_rank(*comm, r);
}

}  // namespace

SIM_API int ncclGetVersion(int *version) {
    if (!version) return refuse(INVALID_ARGUMENT, "ncclGetVersion: no place for the result");
    *version = 22501;
    return SUCCESS;
}

SIM_API const char *ncclGetErrorString(int result) {
    static const char *const texts[] = {
        "no error", "unhandled cuda error", "unhandled system error", "internal error", "invalid argument",
        "invalid usage", "remote process exited or there was a network error",
    };
    static thread_local std::string text;
    Lock lock;
    text = result >= 0 && result <= REMOTE_ERROR ? texts[result] : "unknown result code";
    if (std::string detail = detail_of(result); !detail.empty()) text += " (" + detail + ")";
    return text.c_str();
}

SIM_API int ncclGetUniqueId(UniqueId *id) {
    Call mark("ncclGetUniqueId");
    return id ? make_unique_id(*id) : refuse(INVALID_ARGUMENT, "ncclGetUniqueId: no place for the result");
}

SIM_API int ncclGroupStart() {
    group.depth++;
    return SUCCESS;
}

SIM_API int ncclGroupEnd() {
    Call mark("ncclGroupEnd");
    if (group.depth == 0) return refuse(INVALID_USAGE, "ncclGroupEnd: no group was started");
    if (--group.depth) return SUCCESS;
    Group whole = std::move(group);
    group = {};
    int result = whole.error;
    if (!result) result = enter_all(whole.entering);
    if (!result) result = split_all(whole.splitting);
    return result ? result : give_all(std::move(whole.calls));
}

SIM_API int ncclCommInitRankConfig(void **out, int ranks, UniqueId id, int rank, const void *config) {
    Call mark("ncclCommInitRankConfig");
    if (!out || ranks < 1 || ranks > most_ranks || rank < 0 || rank >= ranks)
        return refuse(INVALID_ARGUMENT, "ncclCommInitRank: rank %d of %d (at most %d)", rank, ranks, most_ranks);
    if (int result = check_config("ncclCommInitRankConfig", static_cast<const Config *>(config))) return result;
    if (settings().devices < 1) return refuse(CUDA_ERROR, "ncclCommInitRank: there is no device");
    for (auto &one : group.entering)
        if (!memcmp(&one.joining.id, &id, sizeof id) && one.comm->device == current_device())
            return refuse(INVALID_USAGE, "ncclCommInitRank: two ranks of a communicator on device %d",
                          current_device());
    Entering one = {{id, rank, ranks, nullptr}, new_comm(rank, ranks, current_device())};
    *out = one.comm.get();
    if (group.depth) {
        group.entering.push_back(one);
        return SUCCESS;
    }
    std::vector<Entering> alone = {one};
    const int result = enter_all(alone);
    if (result) *out = nullptr;
    return result;
}

SIM_API int ncclCommInitRank(void **out, int ranks, UniqueId id, int rank) {
    return ncclCommInitRankConfig(out, ranks, id, rank, nullptr);
}

SIM_API int ncclCommInitAll(void **out, int ranks, const int *devices) {
    Call mark("ncclCommInitAll");
    UniqueId id;
    if (!out || ranks < 1 || ranks > settings().devices)
        return refuse(INVALID_ARGUMENT, "ncclCommInitAll: %d devices of %d", ranks, settings().devices);
    if (int result = make_unique_id(id)) return result;
    std::vector<Entering> entering;
    std::set<int> seen;
    for (int rank = 0; rank < ranks; ++rank) {
        const int device = devices ? devices[rank] : rank;
        if (device < 0 || device >= settings().devices || !seen.insert(device).second) {
            forget_unique_id(id);
            return refuse(INVALID_USAGE, "ncclCommInitAll: device %d is not there, or given twice", device);
        }
        entering.push_back({{id, rank, ranks, nullptr}, new_comm(rank, ranks, device)});
    }
    const int result = enter_all(entering);
    for (int rank = 0; rank < ranks; ++rank) out[rank] = result ? nullptr : entering[size_t(rank)].comm.get();
    return result;
}

SIM_API int ncclCommSplit(void *handle, int color, int key, void **out, const void *config) {
    Call mark("ncclCommSplit");
    const CommRef comm = comm_of(handle);
    if (!comm) return bad_comm("ncclCommSplit", handle);
    if (!out || color < -1) return refuse(INVALID_ARGUMENT, "ncclCommSplit: color %d", color);
    if (int result = check_config("ncclCommSplit", static_cast<const Config *>(config))) return result;
    if (comm->error) return broken(*comm);
    for (auto &other : group.splitting)
        if (other.comm == comm) return refuse(INVALID_USAGE, "ncclCommSplit: twice in one group");
    Splitting one = {comm, std::make_shared<Comm>(), color, key};
    *out = color < 0 ? nullptr : one.made.get();
    if (group.depth) {
        group.splitting.push_back(one);
        return SUCCESS;
    }
    std::vector<Splitting> alone = {one};
    const int result = split_all(alone);
    if (result) *out = nullptr;
    return result;
}

SIM_API int ncclCommDestroy(void *handle) {
    Call mark("ncclCommDestroy");
    const CommRef comm = comm_of(handle);
    if (!comm) return bad_comm("ncclCommDestroy", handle);
    while (!comm->queue.empty()) {  // it waits for what is under way
        auto last = comm->queue.back();
        if (!last->end) break;  // a split, which another thread waits for
        if (drain(last->stream, last->end->order) && !comm->queue.empty() && comm->queue.back() == last) break;
    }
    leave(comm, LEFT);
    return comm->error ? broken(*comm) : SUCCESS;
}

SIM_API int ncclCommAbort(void *handle) {
    Call mark("ncclCommAbort");
    const CommRef comm = comm_of(handle);
    if (!comm) return bad_comm("ncclCommAbort", handle);
    comm->aborted = true;
    leave(comm, ABORTED);
    ring_own();  // what waits in this process ends as it is
    announce_change();
    return SUCCESS;
}

SIM_API int ncclCommGetAsyncError(void *handle, int *error) {
    Call mark("ncclCommGetAsyncError");
    const CommRef comm = comm_of(handle);
    if (!comm || !error) return bad_comm("ncclCommGetAsyncError", handle);
    if (!comm->error) look_at_peers(*comm);
    *error = comm->error ? broken(*comm) : SUCCESS;
    return SUCCESS;
}

SIM_API int ncclCommCount(void *handle, int *value) {
    Lock lock;
    const CommRef comm = comm_of(handle);
    if (!comm || !value) return bad_comm("ncclCommCount", handle);
    *value = comm->ranks;
    return SUCCESS;
}

SIM_API int ncclCommCuDevice(void *handle, int *value) {
    Lock lock;
    const CommRef comm = comm_of(handle);
    if (!comm || !value) return bad_comm("ncclCommCuDevice", handle);
    *value = comm->device;
    return SUCCESS;
}

SIM_API int ncclCommUserRank(void *handle, int *value) {
    Lock lock;
    const CommRef comm = comm_of(handle);
    if (!comm || !value) return bad_comm("ncclCommUserRank", handle);
    *value = comm->rank;
    return SUCCESS;
}

SIM_API int ncclAllReduce(const char *send, char *receive, size_t n, int type, int reduction, void *comm,
                          void *stream) {
    return call(comm, stream, {ALL_REDUCE, send, receive, n, type, reduction, 0});
}

SIM_API int ncclReduce(const char *send, char *receive, size_t n, int type, int reduction, int root, void *comm,
                       void *stream) {
    return call(comm, stream, {REDUCE, send, receive, n, type, reduction, root});
}

SIM_API int ncclBroadcast(const char *send, char *receive, size_t n, int type, int root, void *comm, void *stream) {
    return call(comm, stream, {BROADCAST, send, receive, n, type, SUM, root});
}

SIM_API int ncclBcast(char *buffer, size_t n, int type, int root, void *comm, void *stream) {
    return call(comm, stream, {BROADCAST, buffer, buffer, n, type, SUM, root});
}

SIM_API int ncclReduceScatter(const char *send, char *receive, size_t n, int type, int reduction, void *comm,
                              void *stream) {
    return call(comm, stream, {REDUCE_SCATTER, send, receive, n, type, reduction, 0});
}

SIM_API int ncclAllGather(const char *send, char *receive, size_t n, int type, void *comm, void *stream) {
    return call(comm, stream, {ALL_GATHER, send, receive, n, type, SUM, 0});
}

SIM_API int ncclSend(const char *send, size_t n, int type, int peer, void *comm, void *stream) {
    return call(comm, stream, {SEND, send, nullptr, n, type, SUM, peer});
}

SIM_API int ncclRecv(char *receive, size_t n, int type, int peer, void *comm, void *stream) {
    return call(comm, stream, {RECEIVE, nullptr, receive, n, type, SUM, peer});
}
