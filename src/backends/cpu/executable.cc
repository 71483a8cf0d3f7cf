#include "backends/cpu/executable.h"

#include <omp.h>

#include <algorithm>
#include <bit>

#include "backends/cpu/narrow_types.h"
#include "backends/cpu/plan_builder.h"
#include "backends/in_place_updates.h"
#include "backends/region_payload.h"
#include "interpreter/interpreter.h"

namespace tenon::cpu {
namespace {

constexpr size_t kMaxPlans = 8;

// oneDNN asks OpenMP how many threads it may use; the caller's own setting is
// restored.
class ThreadCount {
 public:
  explicit ThreadCount(int count) : before_(omp_get_max_threads()) {
    if (count != before_) omp_set_num_threads(count);
  }
  ~ThreadCount() {
    if (omp_get_max_threads() != before_) omp_set_num_threads(before_);
  }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  const int before_;
};

// Infinities and NaN have all bits of the exponent set.
template <typename Bits>
bool AreFinite(const Bits* x, Bits exponent, int64_t count) {
  Bits found = 0;
  for (int64_t i = 0; i < count; ++i) {
    found = static_cast<Bits>(found | ((x[i] & exponent) == exponent ? 1 : 0));
  }
  return found == 0;
}

// From dimension `d` on.
template <typename Bits>
bool AreFinite(const Tensor& t, const Bits* x, Bits exponent, int64_t d) {
  if (d == t.dim()) return AreFinite(x, exponent, 1);
  if (d == t.dim() - 1 && t.stride(d) == 1) {
    return AreFinite(x, exponent, t.size(d));
  }
  for (int64_t i = 0; i < t.size(d); ++i) {
    if (!AreFinite(t, x + i * t.stride(d), exponent, d + 1)) return false;
  }
  return true;
}

template <typename Bits>
bool AreFinite(const Tensor& t, Bits exponent) {
  const auto* x = reinterpret_cast<const Bits*>(t.raw());
  return t.is_dense() ? AreFinite(x, exponent, t.numel())
                      : AreFinite(t, x, exponent, 0);
}

}  // namespace

bool CpuExecutable::IsFinite(size_t input, const Tensor& t) {
  const auto look = [&] {
    if (t.dtype() == DType::kFloat32) {
      return tenon::cpu::AreFinite<uint32_t>(t, 0x7f800000);
    }
    const bool is_bfloat16 = t.dtype() == DType::kBFloat16;
    return tenon::cpu::AreFinite<uint16_t>(t, is_bfloat16 ? 0x7f80 : 0x7c00);
  };
  if (t.storage()->writable()) return look();
  SeenInput& seen = seen_inputs_[input];
  if (seen.data != t.raw() || seen.sizes != t.sizes() ||
      seen.strides != t.strides() || seen.storage.owner_before(t.storage()) ||
      t.storage().owner_before(seen.storage)) {
    seen = {t.storage(), t.raw(), t.sizes(), t.strides(), look()};
  }
  return seen.is_finite;
}

bool CpuExecutable::AreFinite(std::span<const RuntimeValue> inputs) {
  seen_inputs_.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_tensor()) continue;
    const Tensor& t = inputs[i].tensor();
    const bool is_checked = t.dtype() == DType::kFloat32 || IsHalf(t.dtype());
    if (is_checked && t.numel() > 0 && !IsFinite(i, t)) {
      return false;
    }
  }
  return true;
}

CpuExecutable::CpuExecutable(Program region,
                             std::span<const DeclaredWrite> writes,
                             std::vector<DeclaredWrite> replaced,
                             const BackendOptions& options)
    : shared_(MakeShared(std::move(region), writes, std::move(replaced),
                         options)) {}

std::shared_ptr<const CpuExecutable::Shared> CpuExecutable::MakeShared(
    Program region, std::span<const DeclaredWrite> writes,
    std::vector<DeclaredWrite> replaced, const BackendOptions& options) {
  auto shared = std::make_shared<Shared>(std::move(region), options);
  for (const DeclaredWrite& write : writes) {
    shared->written_inputs.push_back(write.input);
  }
  for (const DeclaredWrite& write : replaced) {
    shared->written_inputs.push_back(write.input);
  }
  shared->in_place_updates = FindInPlaceUpdates(shared->region, replaced);
  shared->replaced = std::move(replaced);
  for (const NodeId n : shared->region.nodes(Program::kRoot)) {
    if (shared->region.node(n).kind == NodeKind::kOutput) continue;
    shared->has_convolutions =
        shared->has_convolutions ||
        shared->region.op_name(n).starts_with("aten.conv");
    shared->sees_storages =
        shared->sees_storages ||
        shared->region.op_name(n).starts_with("aten.as_strided");
  }
  return shared;
}

std::unique_ptr<Executable> CpuExecutable::Fork() const {
  shared_->packed_weights.Share();
  return std::unique_ptr<Executable>(new CpuExecutable(shared_));
}

bool CpuExecutable::set_undo_log(UndoLog* log) {
  undo_log_ = log;
  for (CachedPlan& cached : plans_) cached.plan->set_undo_log(log);
  return true;
}

void CpuExecutable::set_step_observer(StepObserver* observer) {
  observer_ = observer;
  for (CachedPlan& cached : plans_) cached.plan->set_observer(observer);
}

std::optional<PlanListing> CpuExecutable::last_listing() const {
  if (plans_.empty()) return std::nullopt;
  PlanListing listing = plans_[0].plan->Listing();
  listing.packed_bytes = shared_->packed_weights.size_bytes();
  return listing;
}

const Plan* CpuExecutable::last_plan() const {
  return plans_.empty() ? nullptr : plans_[0].plan.get();
}

void CpuExecutable::DescribeInputs(std::span<const RuntimeValue> inputs) {
  geometry_.clear();
  geometry_.push_back(shared_->has_convolutions && !AreFinite(inputs));
  for (const RuntimeValue& input : inputs) {
    geometry_.push_back(static_cast<int64_t>(input.variant().index()));
    if (input.is_tensor()) {
      const Tensor& t = input.tensor();
      // Dtype and rank are the region's, checked before.
      geometry_.insert(geometry_.end(), t.sizes().begin(), t.sizes().end());
      geometry_.insert(geometry_.end(), t.strides().begin(), t.strides().end());
      geometry_.push_back(static_cast<int64_t>(t.storage()->size_bytes()) -
                          t.offset() *
                              static_cast<int64_t>(SizeBytes(t.dtype())));
      if (shared_->sees_storages) geometry_.push_back(t.offset());
    } else if (input.is_int()) {
      geometry_.push_back(input.int_value());
    } else if (input.is_float()) {
      geometry_.push_back(std::bit_cast<int64_t>(input.float_value()));
    } else if (input.is_bool()) {
      geometry_.push_back(input.bool_value() ? 1 : 0);
    }
  }
}

Plan* CpuExecutable::FindPlan() {
  const auto at = std::find_if(
      plans_.begin(), plans_.end(),
      [&](const CachedPlan& p) { return p.geometry == geometry_; });
  if (at == plans_.end()) return nullptr;
  if (at != plans_.begin()) std::rotate(plans_.begin(), at, at + 1);
  return plans_[0].plan.get();
}

Expected<Plan*> CpuExecutable::MakePlan(std::span<const RuntimeValue> inputs,
                                        Diagnostics& diags) {
  PlanRequest request;
  request.region = &shared_->region;
  request.inputs = inputs;
  request.packed_weights = &shared_->packed_weights;
  request.written_inputs = shared_->written_inputs;
  request.replaced = shared_->replaced;
  request.in_place_updates = &shared_->in_place_updates;
  request.keeps_nan = geometry_[0] != 0;
  request.sees_storages = shared_->sees_storages;
  TENON_ASSIGN(auto plan, PlanBuilder::Build(request, diags));
  plan->set_observer(observer_);
  plan->set_undo_log(undo_log_);
  ++num_allocations_;
  if (plans_.size() == kMaxPlans) plans_.pop_back();
  plans_.insert(plans_.begin(), CachedPlan{geometry_, std::move(plan)});
  return plans_[0].plan.get();
}

Status CpuExecutable::ReserveArena(size_t size_bytes, Diagnostics& diags) {
  if (arena_ != nullptr && arena_->size_bytes() >= size_bytes) return {};
  arena_.reset();
  arena_ = Storage::Allocate(size_bytes, false);
  if (arena_ == nullptr) {
    return diags.Error(Rule::kRun01)
           << "backend cpu: no memory for " << size_bytes
           << " bytes of intermediate results";
  }
  ++num_allocations_;
  return {};
}

Expected<std::vector<RuntimeValue>> CpuExecutable::Run(
    std::span<const RuntimeValue> inputs, Diagnostics& diags) {
  TENON_TRY(CheckRegionInputs(shared_->region, inputs, diags));
  if (!HaveStatedDtypes(shared_->region, inputs)) {
    if (undo_log_ != nullptr) {
      for (const uint32_t i : shared_->written_inputs) {
        undo_log_->Save(inputs[i].tensor());
      }
    }
    return Interpret(shared_->region, Program::kRoot,
                     std::vector<RuntimeValue>(inputs.begin(), inputs.end()),
                     InterpreterOptions{}, diags);
  }
  const ThreadCount threads(std::max(shared_->options.num_threads, 1));
  DescribeInputs(inputs);
  Plan* plan = FindPlan();
  if (plan == nullptr) {
    TENON_ASSIGN(plan, MakePlan(inputs, diags));
  }
  TENON_TRY(ReserveArena(plan->sizes().arena_bytes, diags));
  std::vector<RuntimeValue> outputs;
  std::string error;
  if (!plan->Run(inputs, arena_->mutable_data(), &outputs, &error)) {
    return diags.Error(Rule::kRun01) << "backend cpu: " << error;
  }
  return outputs;
}

}  // namespace tenon::cpu
