// State that nothing refers to any more, taken out of a program.
#pragma once

#include <vector>

#include "ir/program.h"

namespace tenon {

// Of the marked state entries, those without any use go: with their graph
// inputs and references, and with storages that no other entry has. `marked`
// has an element for each entry.
void RemoveUnusedState(const std::vector<bool>& marked, Program* program);

}  // namespace tenon
