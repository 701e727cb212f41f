// Turning a kernel source into a shared object with the host's compiler.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace sim {

struct Request {
    std::string source, name;
    std::vector<std::string> flags;        // -I, -D, -U, -include, in order
    std::string standard = "c++17";
    bool flush = false;                    // -ftz=true
    std::vector<std::string> expressions;  // names whose kernels are wanted
    std::vector<std::pair<std::string, std::string>> headers;  // name and text
};

struct Compiled {
    bool ok = false;
    std::string image;  // magic, length, shared object
    std::string log;
    std::vector<std::string> lowered;  // one for each expression
};

Compiled compile(const Request &request);

// The shared object in what cuModuleLoadData got; false if it is not one of ours.
bool unpack_image(const void *image, const char **begin, size_t *size);
constexpr size_t image_header = 16;
extern const char image_magic[9];

// The name that the CUDA compiler would give a kernel, from the symbol of its loop; empty if it can't be told.
std::string lowered_name(const void *run);

}  // namespace sim
