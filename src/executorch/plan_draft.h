// A method under construction: its values and instructions, and beside them
// what tensors share memory with which, which the plan itself doesn't say.
//
// Memory comes last: every tensor belongs to a block, and once all instructions
// are known, PlaceBlocks says where each block lies (plan_memory.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/pte/kernels.h"
#include "formats/pte/pte_program.h"

namespace tenon::executorch {

// Memory of one or more tensors of a plan.
struct MemoryBlock {
  uint64_t size_bytes = 0;
  // Holds its bytes from one call to the next.
  bool is_state = false;
  // Of state that lies in an arena of its own: where there.
  std::optional<uint64_t> state_offset;
  // Memory of the caller, or of a constant: not planned.
  bool is_foreign = false;
  // Holds its bytes from one turn of the loop around it to the next.
  bool outlives_turn = false;
  // On the host, or on the CUDA device of that number.
  int8_t device = kHost;

  static constexpr int8_t kHost = -1;
};

// Instructions from `begin` to `end`, which leads back to `begin`.
struct PlanLoop {
  uint32_t begin = 0, end = 0;
};

class PlanDraft {
 public:
  static constexpr uint32_t kNoBlock = 0xFFFFFFFFu;

  PlanDraft() { plan.chains.emplace_back(); }

  PtePlan plan;
  std::vector<MemoryBlock> blocks;
  std::vector<uint32_t> block_of;  // by value; kNoBlock of what is no tensor
  std::vector<PlanLoop> loops;

  // Each appends a value and returns its index.
  int32_t Add(PteContent content);
  int32_t AddInt(int64_t v) { return Add(PteInt{v}); }
  int32_t AddBool(bool v) { return Add(PteBool{v}); }
  int32_t AddTensor(PteTensor tensor, uint32_t block);
  uint32_t AddBlock(const MemoryBlock& block) {
    blocks.push_back(block);
    return static_cast<uint32_t>(blocks.size() - 1);
  }

  const PteTensor& tensor(int32_t value) const {
    return *plan.values[static_cast<size_t>(value)].tensor();
  }
  MemoryBlock& block(int32_t value) {
    return blocks[block_of[static_cast<size_t>(value)]];
  }

  std::vector<PteInstruction>& instructions() {
    return plan.chains[0].instructions;
  }
  uint32_t next_instruction() const {
    return static_cast<uint32_t>(plan.chains[0].instructions.size());
  }
  // `kernel` is a name that FindPteKernel knows; `args` all of them, the
  // result's repetition included.
  void CallKernel(std::string_view kernel, std::vector<int32_t> args);
  void Move(int32_t from, int32_t to);
  // Returns the jump's place; its target is set by JumpHere.
  uint32_t JumpIfFalse(int32_t condition);
  void JumpHere(uint32_t jump);
  void JumpTo(uint32_t jump, uint32_t target);

 private:
  std::unordered_map<std::string_view, int32_t> operators_;  // by kernel name
};

}  // namespace tenon::executorch
