// How the processes of the emulated NCCL meet and wake each other. Each has a datagram socket with an abstract name, which
// goes with the process, and a thread that listens there. Who makes a unique id is the host of its communicator: the
// others send their rank to it, and when all have come, each gets the file of the shared memory. Nothing has a name in a
// file system, so nothing is left behind by a process that is killed; and that one is gone shows when it is rung.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

#include "nccl.h"

namespace sim::nccl {

namespace {

const int tick = 200;  // milliseconds between looks at those that are waited for

enum class What : uint32_t { ring, join, welcome, refuse };
struct Token {
    uint64_t high, low;
    bool operator<(const Token &other) const { return high != other.high ? high < other.high : low < other.low; }
};
struct Message {
    What what;
    int32_t rank, ranks, result;
    Token token;
    char address[64], text[200];
};
struct Ticket {  // what a unique id holds
    char magic[8];
    Token token;
    char address[64];
};
static_assert(sizeof(Ticket) <= sizeof(UniqueId));

struct Gathering {  // at the host: those that came
    int ranks = 0, file = -1;
    std::map<int, std::string> members;  // those that have not got their welcome yet, once all have come
};

struct Arrival {  // at a rank: its welcome
    int file = -1, result = SUCCESS;
    std::string text;
};

struct Post {
    int socket = -1, process = 0;
    std::string address;
    std::map<Token, Gathering> gatherings;
    std::map<std::pair<Token, int>, Arrival> arrivals;
};

Post &post() {
    static auto &one = *new Post;
    return one;
}

sockaddr_un name_of(const std::string &address, socklen_t &length) {
    sockaddr_un name = {};
    name.sun_family = AF_UNIX;
    memcpy(name.sun_path + 1, address.data(), address.size());  // a leading null byte: abstract
    length = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + address.size());
    return name;
}

// 0, or what went wrong: EAGAIN if its queue is full, ECONNREFUSED if it is gone.
int send_to(const std::string &address, const void *data, size_t size, int file = -1) {
    socklen_t length;
    sockaddr_un name = name_of(address, length);
    iovec part = {const_cast<void *>(data), size};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header = {};
    header.msg_name = &name;
    header.msg_namelen = length;
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (file >= 0) {
        header.msg_control = control;
        header.msg_controllen = sizeof control;
        cmsghdr *item = CMSG_FIRSTHDR(&header);
        item->cmsg_level = SOL_SOCKET;
        item->cmsg_type = SCM_RIGHTS;
        item->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(item), &file, sizeof(int));
    }
    return sendmsg(post().socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? errno : 0;
}

bool gone(int error) { return error == ECONNREFUSED || error == ENOENT || error == ECONNRESET; }

Message message(What what, Token token, int rank = 0, int ranks = 0) {
    Message m = {};
    m.what = what;
    m.rank = rank;
    m.ranks = ranks;
    m.token = token;
    snprintf(m.address, sizeof m.address, "%s", post().address.c_str());
    return m;
}

int ring_address(const char *address) {
    const What what = What::ring;
    return send_to(address, &what, sizeof what);
}

void answer(const Message &joining, int result, const std::string &text) {
    Message m = message(What::refuse, joining.token, joining.rank);
    m.result = result;
    snprintf(m.text, sizeof m.text, "%s", text.c_str());
    send_to(joining.address, &m, sizeof m);
}

void refuse_members(Gathering &gathering, Token token, int result, const std::string &text) {
    for (auto &[rank, address] : gathering.members) {
        Message joining = message(What::join, token, rank);
        snprintf(joining.address, sizeof joining.address, "%s", address.c_str());
        answer(joining, result, text);
    }
}

bool open_segment(Gathering &gathering) {
    gathering.file = memfd_create("cudasim-nccl", MFD_CLOEXEC);
    if (gathering.file < 0 || ftruncate(gathering.file, off_t(Segment::size_for(gathering.ranks)))) return false;
    auto shared = Segment::map(dup(gathering.file), gathering.ranks);
    if (!shared) return false;
    for (auto &[rank, address] : gathering.members)
        snprintf(shared->rank(rank).address, sizeof RankState::address, "%s", address.c_str());
    return true;
}

// Send welcomes that are due; true if all have theirs.
bool welcome(Gathering &gathering, Token token) {
    for (auto member = gathering.members.begin(); member != gathering.members.end();) {
        Message m = message(What::welcome, token, member->first, gathering.ranks);
        int error = send_to(member->second, &m, sizeof m, gathering.file);
        member = error && !gone(error) ? std::next(member) : gathering.members.erase(member);
    }
    return gathering.members.empty();
}

void close_gathering(Token token) {
    auto found = post().gatherings.find(token);
    if (found->second.file >= 0) close(found->second.file);
    post().gatherings.erase(found);
}

void receive_join(const Message &m) {
    auto found = post().gatherings.find(m.token);
    if (found == post().gatherings.end()) {  // who has its welcome, and asked again meanwhile, doesn't mind
        answer(m, INVALID_ARGUMENT, "this unique id has been used already");
        return;
    }
    Gathering &gathering = found->second;
    if (gathering.file >= 0) return;
    if (gathering.ranks == 0) gathering.ranks = m.ranks;
    auto [member, fresh] = gathering.members.emplace(m.rank, m.address);
    std::string complaint;
    if (m.ranks != gathering.ranks)
        complaint = "rank " + std::to_string(m.rank) + " joins a communicator of " + std::to_string(m.ranks) +
                    " ranks, others one of " + std::to_string(gathering.ranks);
    else if (!fresh && member->second != m.address)
        complaint = "two processes join a communicator as rank " + std::to_string(m.rank);
    if (!complaint.empty()) {
        answer(m, INVALID_ARGUMENT, complaint);
        refuse_members(gathering, m.token, INVALID_ARGUMENT, complaint);
        close_gathering(m.token);
        return;
    }
    if (int(gathering.members.size()) < gathering.ranks) return;
    if (!open_segment(gathering)) {
        refuse_members(gathering, m.token, SYSTEM_ERROR, std::string("no shared memory: ") + strerror(errno));
        close_gathering(m.token);
    } else if (welcome(gathering, m.token)) {
        close_gathering(m.token);
    }
}

void receive(const Message &m, int file) {
    if (m.what == What::join) receive_join(m);
    if (m.what != What::welcome && m.what != What::refuse) return;
    auto found = post().arrivals.find({m.token, m.rank});
    if (found == post().arrivals.end() || found->second.file >= 0 || found->second.result) {
        if (file >= 0) close(file);
        return;
    }
    found->second.file = file;
    found->second.result = m.what == What::refuse ? m.result : SUCCESS;
    found->second.text = m.text;
}

bool receive_one() {
    Message m = {};
    iovec part = {&m, sizeof m};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header = {};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    ssize_t size = recvmsg(post().socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0) return false;
    int file = -1;
    if (cmsghdr *item = CMSG_FIRSTHDR(&header); item && item->cmsg_type == SCM_RIGHTS)
        memcpy(&file, CMSG_DATA(item), sizeof file);
    if (size_t(size) == sizeof m) receive(m, file);
    return true;
}

// Those that are waited for: are they still there, and for how long does it take already?
void look_after() {
    for (auto &[token, gathering] : std::map<Token, Gathering>(post().gatherings)) {
        Gathering &own = post().gatherings[token];
        if (own.file >= 0) {
            if (welcome(own, token)) close_gathering(token);
            continue;
        }
        for (auto &[rank, address] : gathering.members)
            if (gone(ring_address(address.c_str()))) {
                refuse_members(own, token, REMOTE_ERROR, "rank " + std::to_string(rank) + " has ended");
                close_gathering(token);
                break;
            }
    }
    for (auto &comm : communicators()) {
        if (comm->queue.empty() || !comm->queue.front()->began || comm->error || comm->aborted) continue;
        const double waited = double(now() - comm->queue.front()->began) * 1e-9;
        std::string missing;
        for (int r = 0; r < comm->ranks; ++r) {
            if (!comm->awaited[size_t(r)]) continue;
            if (gone(ring_address(comm->shared->rank(r).address))) comm->dead[size_t(r)] = true;
            missing += " " + std::to_string(r);
        }
        if (waited > patience_seconds())
            comm->fail(SYSTEM_ERROR, comm->queue.front()->tasks[0].text() + " on rank " + std::to_string(comm->rank) +
                                         " has waited " + std::to_string(int(waited)) + " s for" + missing);
    }
}

void go_on() {
    if (!settings().lazy) return resume();
    std::vector<std::shared_ptr<Operation>> asked;
    for (auto &comm : communicators())
        for (auto &operation : comm->queue)
            if (operation->end && wanted(*operation)) asked.push_back(operation);
    for (auto &operation : asked) run_in_background(operation->stream, operation->end->order);
}

void serve() {
    int64_t last_look = now();
    for (;;) {
        pollfd waiting = {post().socket, POLLIN, 0};
        poll(&waiting, 1, tick);
        Lock lock;
        while (receive_one()) {}
        if (now() - last_look >= int64_t(tick) * 1000000) {
            look_after();
            last_look = now();
        }
        go_on();
        announce_change();
    }
}

bool start() {
    if (post().socket >= 0 && post().process == getpid()) return true;
    if (post().socket >= 0) {  // a fork has neither the thread nor the communicators
        close(post().socket);
        post() = {};
        communicators().clear();
    }
    uint64_t noise[1];
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || getrandom(noise, sizeof noise, 0) != ssize_t(sizeof noise)) return false;
    char text[64];
    snprintf(text, sizeof text, "cudasim-nccl-%d-%016llx", int(getpid()), (unsigned long long)noise[0]);
    socklen_t length;
    sockaddr_un name = name_of(text, length);
    if (bind(fd, reinterpret_cast<sockaddr *>(&name), length)) {
        close(fd);
        return false;
    }
    post().socket = fd;
    post().process = getpid();
    post().address = text;
    set_kick(ring_own);
    sigset_t all, before;  // signals are for the threads of the program, but for faults in device work
    sigfillset(&all);
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE}) sigdelset(&all, signal);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread(serve).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return true;
}

thread_local std::string said;
thread_local int said_about = SUCCESS;

}  // namespace

int refuse(int result, const char *format, ...) {
    char text[2000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    said = text;
    said_about = result;
    remember(text);
    return result;
}

std::string detail_of(int result) {
    if (result != said_about) return "";
    said_about = SUCCESS;
    return std::move(said);
}

std::vector<std::shared_ptr<Comm>> &communicators() {
    static auto &all = *new std::vector<std::shared_ptr<Comm>>;
    return all;
}

double patience_seconds() {
    static const double seconds = [] {
        const char *text = getenv("CUDASIM_NCCL_TIMEOUT");
        double value = text && *text ? atof(text) : 300;
        if (value > 0) return value;
        fprintf(stderr, "cudasim: CUDASIM_NCCL_TIMEOUT=%s is not a number of seconds; 300 is used\n", text);
        return 300.0;
    }();
    return seconds;
}

void ring_rank(Comm &comm, int rank) {
    RankState &other = comm.shared->rank(rank);
    if (other.unfinished.load() && gone(ring_address(other.address))) comm.dead[size_t(rank)] = true;
}

void look_at_peers(Comm &comm) {
    for (int r = 0; r < comm.ranks; ++r) {
        const RankState &other = comm.shared->rank(r);
        const uint32_t presence = other.presence.load();
        if (r == comm.rank || presence == LEFT) continue;
        if (presence == ABORTED || gone(ring_address(other.address)))
            comm.fail(REMOTE_ERROR, "rank " + std::to_string(r) + " of " + std::to_string(comm.ranks) +
                                        (presence == ABORTED ? " has aborted its communicator" : " has ended"));
    }
}

void ring_own() { ring_address(post().address.c_str()); }

int make_unique_id(UniqueId &id) {
    memset(&id, 0, sizeof id);
    if (!start()) return refuse(SYSTEM_ERROR, "no socket can be made: %s", strerror(errno));
    Ticket ticket = {{'c', 'u', 'd', 'a', 's', 'i', 'm', '1'}, {}, {}};
    if (getrandom(&ticket.token, sizeof ticket.token, 0) != ssize_t(sizeof ticket.token))
        return refuse(SYSTEM_ERROR, "no random numbers: %s", strerror(errno));
    snprintf(ticket.address, sizeof ticket.address, "%s", post().address.c_str());
    memcpy(&id, &ticket, sizeof ticket);
    post().gatherings[ticket.token] = {};
    return SUCCESS;
}

void forget_unique_id(const UniqueId &id) {
    Ticket ticket;
    memcpy(&ticket, &id, sizeof ticket);
    if (post().gatherings.count(ticket.token)) close_gathering(ticket.token);
}

int join(std::vector<Joining> &all) {
    if (!start()) return refuse(SYSTEM_ERROR, "no socket can be made: %s", strerror(errno));
    std::vector<Ticket> tickets(all.size());
    for (size_t i = 0; i < all.size(); ++i) {
        memcpy(&tickets[i], &all[i].id, sizeof(Ticket));
        if (memcmp(tickets[i].magic, "cudasim1", 8) || !memchr(tickets[i].address, 0, sizeof tickets[i].address))
            return refuse(INVALID_ARGUMENT, "this unique id was not made by ncclGetUniqueId of the emulated device");
        if (!post().arrivals.insert({{tickets[i].token, all[i].rank}, {}}).second)
            return refuse(INVALID_ARGUMENT, "this process joins a communicator twice as rank %d", all[i].rank);
    }
    const int64_t began = now();
    int result = SUCCESS;
    auto arrival = [&](size_t i) -> Arrival & { return post().arrivals[{tickets[i].token, all[i].rank}]; };
    int64_t asked = 0;
    for (;;) {
        size_t open = 0;
        const bool ask = now() - asked >= int64_t(tick) * 1000000;
        for (size_t i = 0; i < all.size() && !result; ++i) {
            Arrival &own = arrival(i);
            if (own.result) result = refuse(own.result, "%s", own.text.c_str());
            if (own.file >= 0 || own.result) continue;
            open++;
            if (!ask) continue;
            Message m = message(What::join, tickets[i].token, all[i].rank, all[i].ranks);
            if (gone(send_to(tickets[i].address, &m, sizeof m)))
                result = refuse(SYSTEM_ERROR, "the process that made the unique id has ended");
        }
        if (result || !open) break;
        if (ask) asked = now();
        if (double(now() - began) * 1e-9 > patience_seconds()) {
            result = refuse(SYSTEM_ERROR, "not all %d ranks of a communicator have come within %d s", all[0].ranks,
                            int(patience_seconds()));
            break;
        }
        wait_for_change();  // the thread announces one at every tick
    }
    for (size_t i = 0; i < all.size(); ++i) {
        if (arrival(i).file >= 0) {
            all[i].shared = Segment::map(arrival(i).file, all[i].ranks);
            if (!all[i].shared && !result) result = refuse(SYSTEM_ERROR, "the shared memory can't be mapped");
        }
        post().arrivals.erase({tickets[i].token, all[i].rank});
    }
    return result;
}

// -- shared memory -----------------------------------------------------------------------------------------------------
void Segment::lay_out(int n) {
    ranks = n;
    channels = size_t(n) * sizeof(RankState);
    const size_t end = channels + size_t(n) * size_t(n) * sizeof(Channel);
    chunks = (end + 4095) / 4096 * 4096;
    rings = chunks + size_t(n) * 2 * chunk;
    size = rings + size_t(n) * size_t(n) * ring;
}

size_t Segment::size_for(int ranks) {
    Segment plan;
    plan.lay_out(ranks);
    return plan.size;
}

std::shared_ptr<Segment> Segment::map(int file, int ranks) {
    auto made = std::make_shared<Segment>();
    made->lay_out(ranks);
    struct stat state;
    void *base = MAP_FAILED;
    if (file >= 0 && fstat(file, &state) == 0 && size_t(state.st_size) >= made->size)
        base = mmap(nullptr, made->size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    if (base == MAP_FAILED) return nullptr;
    made->base = static_cast<char *>(base);
    return made;
}

Segment::~Segment() {
    if (base) munmap(base, size);
}

}  // namespace sim::nccl
