// A loaded region of the CPU backend.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/packed_weights.h"
#include "backends/cpu/plan.h"

namespace tenon::cpu {

class CpuExecutable : public Executable {
 public:
  // Every node of `region` is one that the backend takes. `writes` are those of
  // its operators; `replaced` inputs get what the outputs hold.
  CpuExecutable(Program region, std::span<const DeclaredWrite> writes,
                std::vector<DeclaredWrite> replaced,
                const BackendOptions& options);

  Expected<std::vector<RuntimeValue>> Run(std::span<const RuntimeValue> inputs,
                                          Diagnostics& diags) override;

  // Shares the region and the packed weights. Plans and their memory, which a
  // run writes, are the fork's own.
  std::unique_ptr<Executable> Fork() const override;
  bool set_undo_log(UndoLog* log) override;
  void set_step_observer(StepObserver* observer) override;
  std::optional<PlanListing> last_listing() const override;

  // Of the plan that ran last; for tests and listings.
  const Plan* last_plan() const;
  // How often a plan was made or the arena grew.
  int num_allocations() const { return num_allocations_; }

 private:
  // What all forks share.
  struct Shared {
    Shared(Program r, const BackendOptions& o)
        : region(std::move(r)), options(o) {}

    const Program region;
    const BackendOptions options;
    std::vector<uint32_t> written_inputs;  // by operators or by replacement
    std::vector<DeclaredWrite> replaced;
    std::vector<bool> in_place_updates;  // FindInPlaceUpdates
    // Such a region has plans of two kinds (PlanRequest::keeps_nan): looking at
    // the inputs first costs less than keeping NaN in every activation.
    bool has_convolutions = false;
    bool sees_storages = false;  // PlanRequest
    mutable PackedWeights packed_weights;
  };
  struct CachedPlan {
    std::vector<int64_t> geometry;
    std::unique_ptr<Plan> plan;
  };

  static std::shared_ptr<const Shared> MakeShared(
      Program region, std::span<const DeclaredWrite> writes,
      std::vector<DeclaredWrite> replaced, const BackendOptions& options);
  explicit CpuExecutable(std::shared_ptr<const Shared> shared)
      : shared_(std::move(shared)) {}

  // Whether all float32 inputs hold finite numbers only. What is read only is
  // looked at once.
  bool AreFinite(std::span<const RuntimeValue> inputs);
  bool IsFinite(size_t input, const Tensor& t);
  void DescribeInputs(std::span<const RuntimeValue> inputs);
  // The plan for the inputs just described, moved to the front of the cache.
  Plan* FindPlan();
  Expected<Plan*> MakePlan(std::span<const RuntimeValue> inputs,
                           Diagnostics& diags);
  Status ReserveArena(size_t size_bytes, Diagnostics& diags);

  const std::shared_ptr<const Shared> shared_;  // outlives the plans
  StepObserver* observer_ = nullptr;
  UndoLog* undo_log_ = nullptr;
  // What was found in a read-only input, by input.
  struct SeenInput {
    std::weak_ptr<Storage> storage;
    const std::byte* data = nullptr;
    Sizes sizes, strides;
    bool is_finite = true;
  };
  std::vector<SeenInput> seen_inputs_;
  // The current inputs in numbers: kinds, dtypes, sizes, strides, scalars.
  std::vector<int64_t> geometry_;
  std::vector<CachedPlan> plans_;  // the one used last is first
  std::shared_ptr<Storage> arena_;
  int num_allocations_ = 0;
};

}  // namespace tenon::cpu
