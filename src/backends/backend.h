// What a backend is: it says which nodes it takes, compiles a region to bytes,
// and runs those bytes.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/profile.h"
#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"
#include "tensor/undo_log.h"
#include "tensor/value.h"

namespace tenon {

// Why a node is not taken (rule P-2).
enum class RefusalReason : uint8_t {
  kOperatorUnknown,
  kDtype,
  kLayout,
  kRank,
  kDynamicShape,
  kDataDependentOutput,
  kAttributeValue,
  kEffect,
  kScalarBoundary,
  kRegionTooSmall,
  kUserChoice,
  kTooManyRegions,
};
std::string_view Name(RefusalReason reason);

struct Refusal {
  RefusalReason reason = RefusalReason::kOperatorUnknown;
  std::string detail;  // "aten.sort.default", "float64", ...
};

// How int, float and bool values cross the region's boundary (rule D-5).
enum class ScalarBoundary : uint8_t { kScalar, kZeroDimTensor, kNone };

// Bytes that a payload asks for by name: they lie once in the file, whoever
// asks.
struct NamedBytes {
  std::string key;
  Bytes bytes;
  std::shared_ptr<const void> owner;
};

struct CompiledRegion {
  std::vector<std::byte> payload;
  std::vector<DeclaredWrite> writes;
  // Inputs that the payload knows (BackendOptions::constants): calls don't pass
  // them. Only formats that can leave them out offer constants.
  std::vector<uint32_t> absorbed_inputs;
  std::vector<NamedBytes> named_data;
};

// An input of a region whose value no call changes.
struct RegionConstant {
  uint32_t input = 0;
  Tensor tensor;
};

// A loaded payload. Run may be called from several threads when
// `is_thread_safe()`.
class Executable {
 public:
  virtual ~Executable() = default;
  // One value per region input, in order; one result per region output.
  virtual Expected<std::vector<RuntimeValue>> Run(
      std::span<const RuntimeValue> inputs, Diagnostics& diags) = 0;
  virtual bool is_thread_safe() const { return false; }
  // From now on what a run overwrites in its inputs is saved in `log` first,
  // which outlives this. False: runs don't do that, and whoever wants to undo
  // one keeps copies of what it may write.
  virtual bool set_undo_log(UndoLog*) { return false; }
  // Another executable of the same payload, to run in another thread at the
  // same time. What no run changes is shared. May be called while this one
  // runs. Null: there is no cheaper way than to load the payload again.
  virtual std::unique_ptr<Executable> Fork() const { return nullptr; }
  // From now on every step of a run is told to `observer`; null: none is, and
  // that costs nothing. Executables without a plan have no steps.
  virtual void set_step_observer(StepObserver*) {}
  // The plan of the last run.
  virtual std::optional<PlanListing> last_listing() const {
    return std::nullopt;
  }
};

struct BackendOptions {
  int num_threads = 1;
  // For Compile: outputs that may be put into an input's storage, in place of
  // what that holds, as nobody reads the old value after the call, and no other
  // input or output shares the storage. A backend that does so says so in
  // CompiledRegion::writes; none has to.
  std::vector<DeclaredWrite> replaceable;
  // For Compile: inputs that may become part of the payload.
  std::vector<RegionConstant> constants;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  // nullopt: takes the node. Asked once per node of kind kOp; nested graphs of
  // a higher-order operator are part of the node.
  virtual std::optional<Refusal> Refuses(const Program& program,
                                         NodeId node) const = 0;
  virtual ScalarBoundary scalar_boundary() const {
    return ScalarBoundary::kScalar;
  }
  // Whether views that a region returns share the caller's storage, and writes
  // in place reach it, as in the original program. A backend that doesn't is
  // never given a node that touches storage which some node writes (M-5).
  virtual bool preserves_aliasing() const { return false; }
  // `region` is a program of its own: its root graph is the region, its inputs
  // are what the call passes, in order, with symbolic types and ranges.
  virtual Expected<CompiledRegion> Compile(const Program& region,
                                           const BackendOptions& options,
                                           Diagnostics& diags) const = 0;
  virtual Expected<std::unique_ptr<Executable>> Load(
      Bytes payload, std::shared_ptr<const void> owner,
      const BackendOptions& options, Diagnostics& diags) const = 0;
};

// Null when no backend has that name.
const Backend* FindBackend(std::string_view name);
std::vector<std::string_view> AllBackendNames();

}  // namespace tenon
