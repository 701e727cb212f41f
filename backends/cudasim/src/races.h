// Races: two threads touch the same memory, at least one of them writes, and nothing orders the two accesses.
#pragma once
#include <string>

#include "grid.h"

namespace sim {

// Called by the scheduler while `settings().races`: a launch begins; all threads of the running block, or of the grid,
// have met; it ends.
void watch_launch(const Launch &launch, const cudasim::Place &place);
void watch_barrier();
void watch_grid_barrier();
void watch_end();

std::string found_races();  // one in a line, each kind of each kernel once
void forget_races();

}  // namespace sim
