// State of several methods: what they have in common, and where it lies.
//
// A runtime may give all methods of a program the same memory (Module's
// share_memory_arenas; Python's runtime always does). So the state of a program
// with several methods lies in an arena of its own, the second one, of one size
// in all of them:
//
//             arena 1                  arena 2
//   prefill   what this call needs     | k cache | v cache | prefill's count |
//   decode    what this call needs     | k cache | v cache | prefill's count |
//
// A buffer that is shared has one place; what is a method's own lies where no
// other method writes. Programs of one method keep their state in arena 1.
//
// A method that only reads a shared buffer has to know that it is no constant:
// while the program is folded and compiled, the buffer is a mutation of itself
// (UnchangedState). No program that holds the rules says so of a buffer that
// nothing writes, so that this ends before the program is checked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "diag/diagnostics.h"
#include "executorch/export_pte.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon::executorch {

// FQNs of shared buffers.
using SharedNames = std::set<std::string, std::less<>>;

// What the request comes to. A buffer that can't be shared is an error that
// names it, the methods, and why (V-PTE-34): too few methods have it, none
// writes it, or it isn't the same tensor with the same bytes in all of them.
// The programs are those of the methods, lowered.
Expected<SharedNames> FindSharedState(std::span<const PteMethod> methods,
                                      std::span<const Program> lowered,
                                      const PteFileOptions& options,
                                      Diagnostics& diags);

// Makes mutations of the buffers of `shared` that the program has and doesn't
// write, as long as it lives. The program keeps its other outputs meanwhile.
class UnchangedState {
 public:
  UnchangedState(const SharedNames& shared, Program* program);
  ~UnchangedState();
  UnchangedState(const UnchangedState&) = delete;
  UnchangedState& operator=(const UnchangedState&) = delete;

 private:
  Program& program_;
  uint32_t count_ = 0;  // of the first outputs
};

// Where a program's state, and what it reads of others', lies in the arena that
// state has for itself.
struct StateArena {
  std::map<uint32_t, uint64_t> offsets;  // by StateId
  uint64_t size_bytes = 0;               // one for all methods
};

// By method; empty for a single one, whose state lies in arena 1, and where
// there is no state. The programs are lowered.
std::vector<StateArena> PlaceState(std::span<const Program> lowered,
                                   const SharedNames& shared);

}  // namespace tenon::executorch
