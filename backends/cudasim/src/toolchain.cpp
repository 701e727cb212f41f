#include "toolchain.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include "../include/cudasim/abi.h"

extern char **environ;

namespace sim {

namespace {

// Contents of all files below a folder, in order.
void collect(const std::string &folder, Strings &parts) {
    DIR *d = opendir(folder.c_str());
    if (!d) return;
    Strings names;
    while (dirent *e = readdir(d))
        if (e->d_name[0] != '.') names.push_back(e->d_name);
    closedir(d);
    std::sort(names.begin(), names.end());
    for (const std::string &n : names) {
        struct stat st;
        std::string path = folder + "/" + n;
        if (stat(path.c_str(), &st) != 0) continue;
        if (S_ISDIR(st.st_mode)) {
            collect(path, parts);
        } else {
            parts.push_back(n);
            parts.push_back(read_file(path));
        }
    }
}

bool watches_races() {
    std::string chosen = environment("CUDASIM_RACES", "0");
    return chosen.find_first_not_of('0') != std::string::npos;
}

void remove_all(const std::string &folder) {
    if (DIR *d = opendir(folder.c_str())) {
        while (dirent *e = readdir(d)) {
            std::string name = e->d_name, child = folder + "/" + name;
            if (name == "." || name == "..") continue;
            if (unlink(child.c_str()) != 0) remove_all(child);
        }
        closedir(d);
    }
    rmdir(folder.c_str());
}

}  // namespace

std::string environment(const char *name, const std::string &otherwise) {
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

std::string read_file(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return file ? text.str() : std::string();
}

void write_file(const std::string &path, const std::string &text) {
    std::ofstream(path, std::ios::binary) << text;
}

// FNV-1a with 128 bits: keys of our own caches, nobody attacks them.
std::string hash(const Strings &parts) {
    unsigned __int128 h = ((unsigned __int128)0x6c62272e07bb0142ull << 64) | 0x62b821756295c58dull;
    const unsigned __int128 prime = ((unsigned __int128)0x1000000ull << 64) | 0x13bull;
    for (const std::string &part : parts) {
        for (unsigned char c : part) h = (h ^ c) * prime;
        h = (h ^ 0x1ff) * prime;
    }
    char text[33];
    snprintf(text, sizeof text, "%016llx%016llx", (unsigned long long)(h >> 64), (unsigned long long)h);
    return text;
}

void make_folder(const std::string &path) {
    for (size_t i = path.find('/', 1); i != std::string::npos; i = path.find('/', i + 1))
        mkdir(path.substr(0, i).c_str(), 0777);
    mkdir(path.c_str(), 0777);
}

const std::string &include_folder() {
    static const std::string folder = [] {
        // Else next to this library: lib64/libcudasim.so and include/.
        Dl_info info;
        std::string f = environment("CUDASIM_INCLUDE", "");
        if (f.empty() && dladdr((void *)&fingerprint, &info) && info.dli_fname) {
            std::string library = info.dli_fname;
            f = library.substr(0, library.rfind('/')) + "/../include";
        }
        if (access((f + "/cudasim_prelude.h").c_str(), R_OK) != 0)
            fprintf(stderr, "cudasim: there is no cudasim_prelude.h in %s: set CUDASIM_INCLUDE\n", f.c_str());
        return f;
    }();
    return folder;
}

std::string compiler() { return environment("CUDASIM_CXX", "g++"); }

const std::string &cache_folder() {
    static const std::string folder = [] {
        std::string home = environment("XDG_CACHE_HOME", environment("HOME", "/tmp") + "/.cache");
        std::string f = environment("CUDASIM_CACHE", home + "/lucidgrad/cudasim") + "/kernels";
        make_folder(f);
        return f;
    }();
    return folder;
}

// The files in a folder, for headers that are not ours: what they hold, so that all environments with one version of
// them share what was compiled.
std::string folder_state(const std::string &folder) {
    static std::map<std::string, std::string> known;
    static std::mutex mutex;
    std::lock_guard<std::mutex> lock(mutex);
    auto found = known.find(folder);
    if (found != known.end()) return found->second;
    Strings parts;
    if (DIR *d = opendir(folder.c_str())) {
        while (dirent *e = readdir(d)) {
            struct stat st;
            std::string path = folder + "/" + e->d_name;
            if (stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode))
                parts.push_back(std::string(e->d_name) + " " + hash({read_file(path)}));
        }
        closedir(d);
    }
    std::sort(parts.begin(), parts.end());
    return known[folder] = hash(parts);
}

int run(const Strings &command, const std::string &output, const std::string &errors) {
    std::vector<char *> arguments;
    for (const std::string &a : command) arguments.push_back(const_cast<char *>(a.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_addopen(&actions, 2, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    // Messages in English, whatever the user's language: parts of them are looked at.
    Strings settings;
    std::vector<char *> variables;
    for (char **e = environ; *e; ++e)
        if (strncmp(*e, "LC_ALL=", 7) != 0 && strncmp(*e, "LANGUAGE=", 9) != 0) variables.push_back(*e);
    static char locale[] = "LC_ALL=C";
    variables.push_back(locale);
    variables.push_back(nullptr);
    pid_t pid;
    int failed = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), variables.data());
    posix_spawn_file_actions_destroy(&actions);
    if (failed) {
        write_file(errors, "cannot run the compiler " + command[0] + ": " + strerror(failed) + "\n");
        return 127;
    }
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return 126;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}

Strings base_flags(const std::string &standard, size_t length) {
    // Optimising takes more than its share of time where a kernel is very long.
    std::string level = environment("CUDASIM_OPT", length > 50000 ? "-O0" : "-O1");
    Strings flags = {"-x", "c++", "-std=gnu++" + standard.substr(3), level, "-fPIC", "-fno-exceptions", "-fno-rtti",
            "-fno-strict-aliasing", "-fwrapv", "-ffp-contract=off", "-fpermissive", "-fno-gnu-unique",
            "-fno-semantic-interposition", "-fno-threadsafe-statics", "-fno-asynchronous-unwind-tables",
            "-fno-math-errno", "-Ulinux", "-Uunix", "-Wno-attributes", "-Wunused-variable", "-I" + include_folder()};
    // Every access to memory is a call, which races.cpp answers.
    if (watches_races())
        append(flags, {"-fsanitize=thread", "--param=tsan-instrument-func-entry-exit=0", "-DCUDASIM_RACES"});
    return flags;
}

void append(Strings &to, const Strings &from) { to.insert(to.end(), from.begin(), from.end()); }

// A header that includes the prelude and maybe others, precompiled, in a folder of its own. Built once; processes
// that build it at the same time each write their own file and rename it.
std::string precompiled(const std::string &text, const Strings &flags, const std::string &state) {
    static std::mutex mutex;
    std::lock_guard<std::mutex> lock(mutex);
    Strings key = flags;
    key.push_back(text);
    key.push_back(state);
    key.push_back(fingerprint());
    std::string folder = cache_folder() + "/pch-" + hash(key), header = folder + "/prelude.h", gch = header + ".gch";
    if (access(gch.c_str(), R_OK) == 0) return header;
    make_folder(folder);
    std::string mine = folder + "/" + std::to_string(getpid());
    write_file(mine + ".h", text);
    rename((mine + ".h").c_str(), header.c_str());
    Strings command = {compiler()};
    append(command, flags);
    command[2] = "c++-header";
    append(command, {header, "-o", mine + ".gch"});
    int status = run(command, "/dev/null", mine + ".log");
    if (status == 0) {
        rename((mine + ".gch").c_str(), gch.c_str());
    } else {
        unlink((mine + ".gch").c_str());  // goes on with the header itself; what is wrong with it is in the log
        if (!environment("CUDASIM_KEEP", "").empty()) fprintf(stderr, "%s", read_file(mine + ".log").c_str());
    }
    unlink((mine + ".log").c_str());
    return header;
}

Folder::Folder() {
    std::string name = environment("TMPDIR", "/tmp") + "/cudasim-XXXXXX";
    if (mkdtemp(&name[0])) path = name;
    else fprintf(stderr, "cudasim: no temporary folder can be made in %s\n", environment("TMPDIR", "/tmp").c_str());
}

Folder::~Folder() {
    if (path.empty()) return;
    if (environment("CUDASIM_KEEP", "").empty()) remove_all(path);
    else fprintf(stderr, "cudasim: kept %s\n", path.c_str());
}

std::string fingerprint() {
    static const std::string text = [] {
        Strings parts = {"cudasim " + std::to_string(cudasim::abi_version), compiler(), environment("CUDASIM_OPT", ""),
                         watches_races() ? "races" : ""};
        collect(include_folder(), parts);
        Folder folder;
        run({compiler(), "--version"}, folder.path + "/version", "/dev/null");
        parts.push_back(read_file(folder.path + "/version"));
        return hash(parts);
    }();
    return text;
}

}  // namespace sim
