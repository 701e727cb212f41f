// What the parts of the emulated NCCL share: communicators, the memory that the processes of one share, and the
// operations that are queued in streams.
#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "runtime.h"

namespace sim::nccl {

// -- public numbers ------------------------------------------------------------------------------------------------
enum Result {
    SUCCESS = 0, CUDA_ERROR = 1, SYSTEM_ERROR = 2, INTERNAL_ERROR = 3, INVALID_ARGUMENT = 4, INVALID_USAGE = 5,
    REMOTE_ERROR = 6,
};
enum Type { INT8, UINT8, INT32, UINT32, INT64, UINT64, FLOAT16, FLOAT32, FLOAT64, BFLOAT16, TYPES };
enum Reduction { SUM, PROD, MAX, MIN, AVG, REDUCTIONS };
struct UniqueId {
    char bytes[128];
};
size_t width(int type);
const char *type_name(int type);
const char *reduction_name(int reduction);

// Combine `parts` in their order, element by element. Each step is rounded to the type, as a GPU does it; an average of
// floating-point numbers is a sum of numbers that were multiplied by 1/n, one of integers is divided at the end.
void reduce(int type, int reduction, const std::vector<const char *> &parts, size_t count, char *out);

// -- memory that the ranks of a communicator share: a file without a name, which goes with the last process ---------
const size_t chunk = 1 << 20, ring = 256 << 10;  // of a collective, and between two ranks
const int most_ranks = 256;

struct Signature {  // what a rank calls; all ranks must call the same
    uint64_t number, count;
    int32_t kind, type, reduction, root;
};
enum Presence : uint32_t { PRESENT = 0, LEFT = 1, ABORTED = 2 };

struct alignas(64) RankState {
    std::atomic<uint64_t> arrived;  // the last round of a collective for which this rank's input is in place
    std::atomic<uint64_t> wanted;   // the last collective that something on this rank waits for
    std::atomic<uint32_t> presence, unfinished;  // operations that are queued: others ring if there are any
    Signature signature[2];
    char address[64];
};

struct alignas(64) Channel {  // messages from one rank to another, as a ring of bytes
    std::atomic<uint64_t> written, read;
    std::atomic<uint64_t> wanted_message, wanted_room;  // number of the message that the receiver, the sender waits for
};

class Segment {
public:
    static size_t size_for(int ranks);
    static std::shared_ptr<Segment> map(int file, int ranks);  // null if that fails; closes the file
    ~Segment();
    RankState &rank(int r) { return reinterpret_cast<RankState *>(base)[r]; }
    Channel &channel(int from, int to) { return reinterpret_cast<Channel *>(base + channels)[from * ranks + to]; }
    char *ring_of(int from, int to) { return base + rings + size_t(from * ranks + to) * ring; }
    char *chunk_of(int r, uint64_t round) { return base + chunks + (size_t(r) * 2 + round % 2) * chunk; }

private:
    char *base = nullptr;
    int ranks = 0;
    size_t channels = 0, chunks = 0, rings = 0, size = 0;
    void lay_out(int n);
};

// -- communicators and their operations ------------------------------------------------------------------------------
enum Kind : int32_t { ALL_REDUCE, REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, SEND, RECEIVE };
const char *kind_name(int kind);

struct Task {
    Kind kind;
    const char *send;
    char *receive;
    size_t count;  // elements, as in the call: of one block for all-gather and reduce-scatter
    int type, reduction, root;  // root: the peer of a send or receive
    // How far it has come.
    uint64_t number = 0;     // of the collective in its communicator, or of the message from this rank to that one
    size_t position = 0;     // bytes of the call's `count`
    bool arrived = false;    // collective: the input of this round is in place; message: its header has been passed
    uint64_t end = 0;        // send: where the message ends in the channel
    bool done = false;

    bool collective() const { return kind < SEND; }
    size_t bytes() const { return count * width(type); }
    std::string text() const;
};

struct Comm;
struct Operation {  // what one call, or one group of calls, asks of a communicator
    std::shared_ptr<Comm> comm;
    std::vector<Task> tasks;
    StreamRef stream;
    std::shared_ptr<Recording> end;
    int64_t began = 0;  // when it was tried for the first time
};

struct Comm {
    std::shared_ptr<Segment> shared;
    int rank = 0, ranks = 0, device = 0;
    bool aborted = false;
    int error = SUCCESS;  // for good
    std::string error_text;
    uint64_t collectives = 0, round = 1;            // calls so far; the round that is next
    std::vector<uint64_t> sends, receives;          // messages so far, by peer
    std::vector<uint64_t> sends_done, receives_done;
    std::vector<bool> dead, awaited;                // peers that are gone, and those that the first operation waits for
    std::deque<std::shared_ptr<Operation>> queue;   // in the order of the calls: one at a time
    int fail(int result, std::string text);         // returns the result
};

void number(Comm &comm, Task &task);        // give it its place in the order of calls
int attempt(const std::shared_ptr<Operation> &operation);  // go on: OK, an error of the runtime, or LATER
bool wanted(const Operation &operation);    // does another rank wait for it?

// -- other processes (nccl_processes.cpp) ----------------------------------------------------------------------------
void ring_rank(Comm &comm, int rank);       // something changed that it may wait for
void look_at_peers(Comm &comm);              // one that has ended or aborted is an error, whoever waits for it
void ring_own();                            // wake the thread of this process
int make_unique_id(UniqueId &id);
void forget_unique_id(const UniqueId &id);  // nobody will join
struct Joining {                            // one rank on its way into a communicator
    UniqueId id;
    int rank, ranks;
    std::shared_ptr<Segment> shared;
};
int join(std::vector<Joining> &all);        // waits for all ranks of each, without the lock
std::vector<std::shared_ptr<Comm>> &communicators();  // of this process
double patience_seconds();                  // CUDASIM_NCCL_TIMEOUT
int refuse(int result, const char *format, ...) __attribute__((format(printf, 2, 3)));
std::string detail_of(int result);          // what `refuse` said last in this thread

}  // namespace sim::nccl
