// The host's compiler as a process, its files and the caches.
#pragma once
#include <string>
#include <vector>

namespace sim {

using Strings = std::vector<std::string>;

std::string environment(const char *name, const std::string &otherwise);
std::string read_file(const std::string &path);  // empty if there is none
void write_file(const std::string &path, const std::string &text);
std::string hash(const Strings &parts);
void make_folder(const std::string &path);
void append(Strings &to, const Strings &from);

const std::string &include_folder();  // the device prelude
const std::string &cache_folder();
std::string compiler();
// What has changed if headers in a folder have: for headers that are not ours.
std::string folder_state(const std::string &folder);

struct Folder {  // temporary; goes away with its files
    std::string path;
    Folder();
    ~Folder();
};

// Runs a command with its output in files; returns its exit status.
int run(const Strings &command, const std::string &output, const std::string &errors);
// Flags of every compilation of kernels, given the standard and the length of the source.
Strings base_flags(const std::string &standard, size_t length);
// A precompiled header with this text; returns the path to include.
std::string precompiled(const std::string &text, const Strings &flags, const std::string &state);

// A text that changes whenever kernels must be compiled anew: CuPy makes it part of its own cache's keys.
std::string fingerprint();

}  // namespace sim
