// A plan: a region lowered for inputs of one geometry.
//
// All sizes, strides and scalars are known when a plan is made, so it is a
// flat list of steps over numbered buffers: no names, types or sizes are looked
// at when it runs. A buffer is a region input, a stretch of the arena, a
// constant computed while planning, or fresh memory that leaves the region as
// an output. Views are free: a place in a buffer is a number and an offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/profile.h"
#include "tensor/undo_log.h"
#include "tensor/value.h"

namespace tenon::cpu {

// A place in a buffer.
struct Ref {
  uint32_t buffer = 0;
  int64_t offset_bytes = 0;
  friend bool operator==(const Ref&, const Ref&) = default;
};

// What steps see of a run.
struct Frame {
  std::byte* const* bases = nullptr;  // by buffer
  std::span<const RuntimeValue> inputs;
  UndoLog* undo_log = nullptr;  // null: what is overwritten is gone
  std::string error;

  template <typename T>
  T* at(Ref ref) const {
    return reinterpret_cast<T*>(bases[ref.buffer] + ref.offset_bytes);
  }
  // `return frame.Fail("...");`
  bool Fail(std::string message) {
    error = std::move(message);
    return false;
  }
};

class Step {
 public:
  virtual ~Step() = default;
  // False after frame.Fail. Allocates nothing of its own.
  virtual bool Run(Frame& frame) = 0;
  // For listings of a plan.
  virtual std::string_view name() const = 0;
};

enum class BufferKind : uint8_t {
  kArena,
  kInput,
  kOutput,
  kConstant,
  kKept,  // the plan's own between runs (kept_values.h)
};

struct Buffer {
  BufferKind kind = BufferKind::kArena;
  size_t size_bytes = 0;
  size_t arena_offset = 0;    // kArena
  uint32_t first_step = ~0u;  // that reads or writes it
  uint32_t last_step = 0;
  uint32_t input = 0;  // kInput: the region's input
  // kInput: how many elements of the input's storage, before its first, the
  // buffer has; see PlanRequest::sees_storages.
  int64_t elements_before = 0;
  std::shared_ptr<Storage> storage;  // kConstant
};

// How a region output is made of buffers.
struct PlannedOutput {
  // A tensor's geometry; its storage is that of `buffer`. Anything else is a
  // scalar that is known from the plan.
  RuntimeValue value;
  uint32_t buffer = 0;
};

struct PlanSizes {
  size_t arena_bytes = 0;
  // What no arena can be smaller than.
  size_t peak_live_bytes = 0;
  // What the arena would be if no two buffers shared memory.
  size_t unshared_bytes = 0;
  size_t num_steps = 0;
};

class KeptValues;

class Plan {
 public:
  Plan();
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  // Runs on inputs of the geometry that the plan was made for. `arena` has at
  // least arena_bytes(), 64-byte aligned. False with `error` set.
  bool Run(std::span<const RuntimeValue> inputs, std::byte* arena,
           std::vector<RuntimeValue>* outputs, std::string* error);

  const PlanSizes& sizes() const { return sizes_; }
  // One line per step.
  std::string ToString() const;
  PlanListing Listing() const;
  // Null: runs aren't observed.
  void set_observer(StepObserver* observer) { observer_ = observer; }
  void set_undo_log(UndoLog* log) { frame_.undo_log = log; }

 private:
  friend class PlanBuilder;

  bool Bind(std::span<const RuntimeValue> inputs, std::byte* arena,
            std::string* error);
  bool RunSteps();

  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<ListedStep> listed_;  // by step, as yet without names
  StepObserver* observer_ = nullptr;
  std::vector<Buffer> buffers_;
  std::vector<PlannedOutput> outputs_;
  std::vector<uint32_t> written_inputs_;
  std::vector<std::unique_ptr<KeptValues>> kept_values_;
  PlanSizes sizes_;
  // Kept between runs; rewritten where a run differs from the last.
  std::vector<std::byte*> bases_;
  std::vector<std::shared_ptr<Storage>> output_storages_;  // by buffer
  Frame frame_;
};

}  // namespace tenon::cpu
