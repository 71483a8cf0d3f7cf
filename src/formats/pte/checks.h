// The parts of VerifyPte, a file each.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "diag/diagnostics.h"
#include "formats/pte/kernels.h"
#include "formats/pte/verify_pte.h"

namespace tenon::pte {

// One method under check.
struct PlanCheck {
  const PteProgram& program;
  const PtePlan& plan;
  const PteVerifyOptions& options;
  Diagnostics& diags;
  // The tensors and bytes of all data files, by key.
  const std::unordered_map<std::string_view, const PtdEntry*>& external;
  std::vector<const PteKernel*> kernels;  // by operator; null: unknown

  Place Here() const { return Place::Node(plan.name); }
  // "forward/%3"
  Place ValuePlace(size_t value) const;
  // "forward/12", or "forward/chain 1/12"
  Place InstructionPlace(size_t chain, size_t instruction) const;
  // Null when there is no such value.
  const PteValue* Find(int64_t value) const;
  // Only for indices that are known to be right.
  const PteTensor* Tensor(int32_t value) const {
    return plan.values[value].tensor();
  }
};

// How many bytes a tensor takes; nothing when its sizes make no sense or the
// number doesn't fit 63 bits.
std::optional<uint64_t> TensorBytes(PteScalarType type,
                                    std::span<const int32_t> sizes);
// "f32[2, 3]"
std::string TypeText(PteScalarType type, std::span<const int32_t> sizes);
// V-PTE-11 for a tensor's sizes and order.
bool CheckShape(PteScalarType type, std::span<const int32_t> sizes,
                std::span<const uint8_t> dim_order, const Place& place,
                Diagnostics& diags);

// Each says whether everything held; false when it reported an error.
bool CheckValues(const PlanCheck& check);
bool CheckMemory(const PlanCheck& check);
// Indices, jumps, conditions, moves.
bool CheckInstructions(const PlanCheck& check);
// Arguments of kernel calls. Needs CheckValues and CheckInstructions.
bool CheckKernelCalls(const PlanCheck& check);
// Shapes and dtypes of results. Needs CheckKernelCalls.
bool CheckResults(const PlanCheck& check);
// W-PTE-08, over all methods.
void CheckSharedState(const PteProgram& program, Diagnostics& diags);
// Arguments of delegate calls, and who touches what lies on a device. Needs
// CheckKernelCalls.
bool CheckDelegateCalls(const PlanCheck& check);
// W-PTE-02. Needs all of them.
void CheckLiveMemory(const PlanCheck& check);

}  // namespace tenon::pte
