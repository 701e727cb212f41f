// Operations of the emulated NCCL, as state machines: `attempt` goes on as far as the other ranks have come. A collective
// proceeds in rounds: every rank puts a piece of its input into its chunk of the shared memory, and when all have arrived,
// every rank takes what it needs. There are two chunks per rank, used in turn: who has come to round n + 1 knows that all
// arrived at round n, so that nobody reads round n - 1 any more. A message goes through a ring of bytes, and is done for
// its sender when the receiver has it, as NCCL promises no more than that.
#include <algorithm>
#include <cstring>

#include "nccl.h"

namespace sim::nccl {

namespace {

struct MessageHeader {
    uint64_t bytes, number;
};

bool lost(Comm &comm, int rank) {
    return comm.dead[size_t(rank)] || comm.shared->rank(rank).presence.load() != PRESENT;
}

int report_lost(Comm &comm, int rank, const Task &task) {
    const char *how = comm.shared->rank(rank).presence.load() == ABORTED ? "has aborted its communicator"
                      : comm.dead[size_t(rank)]                           ? "has ended"
                                                                          : "has destroyed its communicator";
    return comm.fail(REMOTE_ERROR, task.text() + " on rank " + std::to_string(comm.rank) + ": rank " +
                                       std::to_string(rank) + " " + how);
}

void ring_all(Comm &comm) {
    for (int r = 0; r < comm.ranks; ++r)
        if (r != comm.rank) ring_rank(comm, r);
}

// Wait for a rank unless `ready()`. Returns READY, LATER, or the error if the rank is gone.
const int READY = OK;
template <typename Ready>
int await(Comm &comm, int rank, const Task &task, Ready ready) {
    if (ready()) return READY;
    if (lost(comm, rank) && !ready()) return report_lost(comm, rank, task);  // what it did last counts
    comm.awaited[size_t(rank)] = true;
    return LATER;
}

// -- collectives -----------------------------------------------------------------------------------------------------
size_t piece(const Comm &comm, const Task &task) {  // bytes of `count` that go into one round
    const size_t most = task.kind == REDUCE_SCATTER ? chunk / size_t(comm.ranks) / 8 * 8 : chunk;
    return std::min(most, task.bytes() - task.position);
}

void put_input(Comm &comm, const Task &task) {
    char *own = comm.shared->chunk_of(comm.rank, comm.round);
    const size_t bytes = piece(comm, task);
    if (task.kind == REDUCE_SCATTER) {
        for (int r = 0; r < comm.ranks; ++r)
            std::memcpy(own + size_t(r) * bytes, task.send + size_t(r) * task.bytes() + task.position, bytes);
    } else if (task.kind != BROADCAST || task.root == comm.rank) {
        std::memcpy(own, task.send + task.position, bytes);
    }
}

void take_output(Comm &comm, const Task &task) {
    const size_t bytes = piece(comm, task);
    const bool root = task.root == comm.rank;
    auto chunk_of = [&](int r) { return comm.shared->chunk_of(r, comm.round); };
    switch (task.kind) {
    case ALL_GATHER:
        for (int r = 0; r < comm.ranks; ++r)
            std::memcpy(task.receive + size_t(r) * task.bytes() + task.position, chunk_of(r), bytes);
        return;
    case BROADCAST:
        if (task.receive) std::memcpy(task.receive + task.position, chunk_of(task.root), bytes);
        return;
    case REDUCE:
        if (!root) return;
        break;
    default: break;
    }
    std::vector<const char *> parts;
    const size_t offset = task.kind == REDUCE_SCATTER ? size_t(comm.rank) * bytes : 0;
    for (int r = 0; r < comm.ranks; ++r) parts.push_back(chunk_of(r) + offset);
    reduce(task.type, task.reduction, parts, bytes / width(task.type), task.receive + task.position);
}

bool same(const Signature &a, const Signature &b) {
    return a.number == b.number && a.count == b.count && a.kind == b.kind && a.type == b.type &&
           a.reduction == b.reduction && a.root == b.root;
}

std::string text_of(const Signature &s) {
    Task task{Kind(s.kind), nullptr, nullptr, s.count, s.type, s.reduction, s.root};
    return task.text();
}

int advance_collective(Comm &comm, Task &task, bool &moved) {
    RankState &own = comm.shared->rank(comm.rank);
    own.wanted.store(task.number);
    if (!task.arrived) {
        put_input(comm, task);
        own.signature[comm.round % 2] = {task.number,    task.count, task.kind, task.type, task.reduction, task.root};
        own.arrived.store(comm.round);
        task.arrived = moved = true;
        ring_all(comm);
    }
    int result = READY;
    for (int r = 0; r < comm.ranks; ++r) {
        auto arrived = [&] { return comm.shared->rank(r).arrived.load() >= comm.round; };
        int code = await(comm, r, task, arrived);
        if (code != READY && code != LATER) return code;
        if (code == LATER) result = LATER;
    }
    if (result != READY) return result;
    for (int r = 0; r < comm.ranks; ++r) {
        const Signature &other = comm.shared->rank(r).signature[comm.round % 2];
        if (!same(other, own.signature[comm.round % 2]))
            return comm.fail(INVALID_USAGE, "the ranks of a communicator call different things: rank " +
                                                std::to_string(comm.rank) + " " + task.text() + ", rank " +
                                                std::to_string(r) + " " + text_of(other));
    }
    take_output(comm, task);
    task.position += piece(comm, task);
    task.arrived = false;
    task.done = task.position == task.bytes();
    comm.round++;
    moved = true;
    return READY;
}

// -- messages --------------------------------------------------------------------------------------------------------
void into_ring(char *ring_begin, uint64_t at, const void *from, size_t bytes) {
    const size_t begin = at % ring, first = std::min(bytes, ring - begin);
    std::memcpy(ring_begin + begin, from, first);
    std::memcpy(ring_begin, static_cast<const char *>(from) + first, bytes - first);
}

void out_of_ring(const char *ring_begin, uint64_t at, void *to, size_t bytes) {
    const size_t begin = at % ring, first = std::min(bytes, ring - begin);
    std::memcpy(to, ring_begin + begin, first);
    std::memcpy(static_cast<char *>(to) + first, ring_begin, bytes - first);
}

int advance_send(Comm &comm, Task &task, bool &moved) {
    const int peer = task.root;
    if (task.number != comm.sends_done[size_t(peer)] + 1) return LATER;  // an earlier one of this group comes first
    Channel &channel = comm.shared->channel(comm.rank, peer);
    char *bytes = comm.shared->ring_of(comm.rank, peer);
    channel.wanted_room.store(task.number);
    uint64_t at = channel.written.load();
    const uint64_t before = at;
    if (!task.arrived) {  // the message before has been read, so that there is room
        const MessageHeader header = {task.bytes(), task.number};
        into_ring(bytes, at, &header, sizeof header);
        at += sizeof header;
        task.arrived = true;
        task.end = at + task.bytes();
    }
    const size_t n = std::min(size_t(ring - (at - channel.read.load())), task.bytes() - task.position);
    into_ring(bytes, at, task.send + task.position, n);
    at += n;
    task.position += n;
    if (at != before) {
        channel.written.store(at);
        moved = true;
        ring_rank(comm, peer);
    }
    int code = await(comm, peer, task, [&] { return channel.read.load() >= task.end; });
    if (code != READY) return code;
    task.done = moved = true;
    comm.sends_done[size_t(peer)]++;
    return READY;
}

int advance_receive(Comm &comm, Task &task, bool &moved) {
    const int peer = task.root;
    if (task.number != comm.receives_done[size_t(peer)] + 1) return LATER;
    Channel &channel = comm.shared->channel(peer, comm.rank);
    const char *bytes = comm.shared->ring_of(peer, comm.rank);
    if (channel.wanted_message.exchange(task.number) != task.number) ring_rank(comm, peer);
    uint64_t at = channel.read.load();
    const uint64_t before = at;
    int code = await(comm, peer, task, [&] { return channel.written.load() > at; });
    if (code != READY) return code;
    if (!task.arrived) {
        MessageHeader header;
        out_of_ring(bytes, at, &header, sizeof header);
        if (header.bytes != task.bytes() || header.number != task.number)
            return comm.fail(INVALID_USAGE, task.text() + " on rank " + std::to_string(comm.rank) + ": rank " +
                                                std::to_string(peer) + " sends " + std::to_string(header.bytes) +
                                                " bytes, not " + std::to_string(task.bytes()));
        at += sizeof header;
        task.arrived = true;
    }
    const size_t n = std::min(size_t(channel.written.load() - at), task.bytes() - task.position);
    out_of_ring(bytes, at, task.receive + task.position, n);
    at += n;
    task.position += n;
    if (at != before) {
        channel.read.store(at);
        moved = true;
        ring_rank(comm, peer);
    }
    if (task.position < task.bytes()) return LATER;
    task.done = true;
    comm.receives_done[size_t(peer)]++;
    return READY;
}

// -- operations --------------------------------------------------------------------------------------------------------
int advance(Operation &operation) {
    Comm &comm = *operation.comm;
    std::fill(comm.awaited.begin(), comm.awaited.end(), false);
    for (bool moved = true; moved;) {
        moved = false;
        bool collective = false;  // they go one after the other
        for (Task &task : operation.tasks) {
            if (task.done || (task.collective() && collective)) continue;
            collective = collective || task.collective();
            int code = task.collective()     ? advance_collective(comm, task, moved)
                       : task.kind == SEND ? advance_send(comm, task, moved)
                                           : advance_receive(comm, task, moved);
            if (code != READY && code != LATER) return code;
        }
    }
    auto done = [](const Task &task) { return task.done; };
    return std::all_of(operation.tasks.begin(), operation.tasks.end(), done) ? READY : int(LATER);
}

void finish(const std::shared_ptr<Operation> &operation) {
    Comm &comm = *operation->comm;
    auto &queue = comm.queue;
    queue.erase(std::remove(queue.begin(), queue.end(), operation), queue.end());
    comm.shared->rank(comm.rank).unfinished.store(uint32_t(queue.size()));
    if (!operation->end) return;
    operation->end->done = true;
    operation->end->time = now();
}

}  // namespace

int Comm::fail(int result, std::string text) {
    if (error) return error;
    error = result;
    error_text = std::move(text);
    remember(error_text);
    return result;
}

const char *kind_name(int kind) {
    static const char *const names[] = {"ncclAllReduce",     "ncclReduce", "ncclBroadcast", "ncclAllGather",
                                        "ncclReduceScatter", "ncclSend",   "ncclRecv"};
    return names[kind];
}

std::string Task::text() const {
    std::string text = std::string(kind_name(kind)) + "(count=" + std::to_string(count) + ", " + type_name(type);
    if (kind == ALL_REDUCE || kind == REDUCE || kind == REDUCE_SCATTER)
        text += std::string(", ") + reduction_name(reduction);
    if (kind == REDUCE || kind == BROADCAST) text += ", root=" + std::to_string(root);
    if (!collective()) text += ", peer=" + std::to_string(root);
    return text + ")";
}

void number(Comm &comm, Task &task) {
    const size_t peer = size_t(task.root);
    task.number = task.collective()     ? ++comm.collectives
                  : task.kind == SEND ? ++comm.sends[peer]
                                      : ++comm.receives[peer];
}

bool wanted(const Operation &operation) {
    Comm &comm = *operation.comm;
    auto asked = [&](const Task &task) {
        if (task.done) return false;
        if (task.kind == SEND)
            return comm.shared->channel(comm.rank, task.root).wanted_message.load() >= task.number;
        if (task.kind == RECEIVE) return comm.shared->channel(task.root, comm.rank).wanted_room.load() >= task.number;
        for (int r = 0; r < comm.ranks; ++r)
            if (r != comm.rank && comm.shared->rank(r).wanted.load() >= task.number) return true;
        return false;
    };
    return std::any_of(operation.tasks.begin(), operation.tasks.end(), asked);
}

int attempt(const std::shared_ptr<Operation> &operation) {
    Comm &comm = *operation->comm;
    if (!operation->began) operation->began = now();
    int result = comm.aborted ? READY : comm.error ? comm.error : advance(*operation);
    if (result == LATER) return LATER;
    finish(operation);
    return result == READY ? OK : fail(LAUNCH_FAILURE, "%s", comm.error_text.c_str());
}

}  // namespace sim::nccl
