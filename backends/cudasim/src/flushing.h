// Flush-to-zero: a kernel that is compiled with -ftz=true (CuPy always asks for it) takes float32 numbers below 2^-126
// for zeros, as operands and as results.
#pragma once
#include <string>
#include <vector>

namespace sim {

// Whether code in the host's assembly language computes with float32. Code that does not is run as it is: the
// processor's switch is for both precisions, and float64 is never flushed on a GPU.
bool uses_single(const std::string &assembly);
// Options of the linker that lead calls of the C library's mathematics to functions which know of the switch.
std::vector<std::string> flushing_link_options();

// While one exists, float32 is flushed on this host thread, if `on`.
class Flushing {
public:
    explicit Flushing(bool on);
    ~Flushing();
    static void end();  // after a fault, which runs no destructors
};

}  // namespace sim
