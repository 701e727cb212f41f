// Reading and changing CUDA source text so that a host compiler takes it.
#pragma once
#include <string>
#include <vector>

namespace sim {

struct KernelName {
    std::string name;        // qualified, with leading ::
    std::string parameters;  // as written, without parentheses
    std::string bound;       // what __launch_bounds__ says of threads, as written; empty: nothing
};

// Comments, literals' contents and (optionally) preprocessor lines become spaces; positions and line ends stay.
std::string blanked(const std::string &text, bool directives);

// Definitions of kernels that are not templates, outside of macros.
std::vector<KernelName> find_kernels(const std::string &text);

// Is a kernel written inside a macro, or hidden by a condition that only the preprocessor knows?
bool needs_preprocessor(const std::string &text);

// Dynamic and static shared memory, clock(), and kernels of CuPy that count on warps in lock-step.
std::string rewrite(const std::string &text);

}  // namespace sim
