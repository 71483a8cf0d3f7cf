#include "formats/pte/verify_pte.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "formats/pte/checks.h"

namespace tenon {
namespace pte {
namespace {

// What the wheels of the stock runtime register.
constexpr std::string_view kStockBackends[] = {
    "XnnpackBackend", "OpenvinoBackend", "QnnBackend", "TensorRTBackend",
    "CudaBackend"};

class ProgramCheck {
 public:
  ProgramCheck(const PteProgram& program, const PteVerifyOptions& options,
               Diagnostics& diags)
      : program_(program), options_(options), diags_(diags) {
    for (const PtdFile* file : options.external_data) {
      for (const PtdEntry& entry : file->entries) {
        external_.try_emplace(entry.key, &entry);
      }
    }
  }

  Status Check() {
    const size_t num_errors = diags_.num_errors();
    CheckStoredData();
    CheckDataFiles();
    CheckNamedData();
    CheckMethods();
    for (const PtePlan& plan : program_.plans) CheckPlan(plan);
    if (options_.lint) CheckSharedState(program_, diags_);
    return diags_.num_errors() == num_errors ? Status() : Status(Failure{});
  }

 private:
  // V-PTE-08
  bool CheckSegment(uint64_t segment, std::string_view what) {
    if (segment < program_.segments.size()) return true;
    diags_.Error(Rule::kPte08) << what << " refers to segment " << segment
                               << " of " << program_.segments.size();
    return false;
  }

  void CheckStoredData() {
    // The placeholder alone needs no segment.
    const auto& constants = program_.constants;
    const bool in_segment = constants && !constants->offsets.empty();
    if (!in_segment && program_.inline_constants.empty()) {
      // V-PTE-10
      diags_.Error(Rule::kPte10)
          << "there is no constant data, not even the placeholder";
    } else if (!in_segment && options_.lint) {
      // W-PTE-01
      diags_.Warning(Rule::kLintPte01)
          << program_.inline_constants.size()
          << " constants are inside the tables, expected a constant segment";
    }
    if (in_segment && (constants->offsets.size() > 1 || constants->segment > 0))
      CheckSegment(constants->segment, "the constant data");
    for (const PteSubsegments& data : program_.mutable_data) {
      CheckSegment(data.segment, "the mutable data");
    }
  }

  // V-PTE-29
  void CheckNamedData() {
    std::unordered_set<std::string_view> keys;
    for (const PteNamedData& data : program_.named_data) {
      CheckSegment(data.segment, "named data '" + data.key + "'");
      if (data.key.empty()) {
        diags_.Error(Rule::kPte29) << "named data without a key";
      } else if (!keys.insert(data.key).second) {
        diags_.Error(Rule::kPte29)
            << "named data '" << data.key << "' is there twice";
      } else if (external_.contains(data.key)) {
        diags_.Error(Rule::kPte29)
            << "named data '" << data.key << "' is in a data file, too";
      }
    }
  }

  // V-PTE-29: runtimes refuse data files with a key in common.
  void CheckDataFiles() {
    std::unordered_set<std::string_view> keys;
    for (const PtdFile* file : options_.external_data) {
      for (const PtdEntry& entry : file->entries) {
        if (keys.insert(entry.key).second) continue;
        diags_.Error(Rule::kPte29)
            << "named data '" << entry.key << "' is in two data files";
      }
    }
  }

  // V-PTE-17
  void CheckMethods() {
    if (program_.plans.empty()) {
      diags_.Error(Rule::kPte17) << "there is no method";
    }
    std::unordered_set<std::string_view> names;
    for (const PtePlan& plan : program_.plans) {
      if (plan.name.empty()) {
        diags_.Error(Rule::kPte17) << "a method without a name";
      } else if (!names.insert(plan.name).second) {
        diags_.Error(Rule::kPte17)
            << "two methods are called '" << plan.name << "'";
      }
    }
  }

  void CheckPlan(const PtePlan& plan) {
    PlanCheck check = {program_, plan, options_, diags_, external_, {}};
    for (const PteOperator& op : plan.operators) {
      check.kernels.push_back(FindPteKernel(KernelName(op)));
    }
    const bool boundary_holds = CheckBoundary(check);
    CheckDelegates(check);
    const bool values_hold = CheckValues(check);
    const bool memory_holds = CheckMemory(check);
    const bool instructions_hold = CheckInstructions(check);
    if (!boundary_holds || !values_hold || !instructions_hold) return;
    if (!CheckKernelCalls(check) || !CheckResults(check) ||
        !CheckDelegateCalls(check)) {
      return;
    }
    if (memory_holds && options_.lint) CheckLiveMemory(check);
  }

  // V-PTE-18
  bool CheckBoundary(const PlanCheck& check) {
    bool holds = true;
    const auto check_list = [&](const std::vector<int32_t>& list,
                                std::string_view what) {
      for (size_t i = 0; i < list.size(); ++i) {
        if (check.Find(list[i]) != nullptr) continue;
        holds = false;
        diags_.Error(Rule::kPte18, check.Here())
            << what << " " << i << " is value " << list[i] << " of "
            << check.plan.values.size();
      }
    };
    check_list(check.plan.inputs, "input");
    check_list(check.plan.outputs, "output");
    if (!options_.lint) return holds;
    std::unordered_set<int32_t> seen;
    for (const int32_t input : check.plan.inputs) {
      if (seen.insert(input).second) continue;
      // W-PTE-06
      diags_.Warning(Rule::kLintPte06, check.Here())
          << "value " << input << " is more than one input";
    }
    return holds;
  }

  void CheckDelegates(const PlanCheck& check) {
    for (size_t i = 0; i < check.plan.delegates.size(); ++i) {
      const PteDelegate& delegate = check.plan.delegates[i];
      const std::string what = check.plan.name + ": the payload of delegate " +
                               std::to_string(i) + " (" + delegate.backend +
                               ")";
      const PtePayloadRef& ref = delegate.payload;
      if (ref.place == PtePayloadPlace::kSegment) {
        CheckSegment(ref.index, what);
      } else if (ref.index >= program_.inline_payloads.size()) {
        diags_.Error(Rule::kPte08)
            << what << " refers to inline data " << ref.index << " of "
            << program_.inline_payloads.size();
      }
      const bool is_known =
          options_.host_backends.contains(delegate.backend) ||
          std::find(std::begin(kStockBackends), std::end(kStockBackends),
                    delegate.backend) != std::end(kStockBackends);
      if (is_known || !options_.lint) continue;
      // W-PTE-05
      diags_.Warning(Rule::kLintPte05, check.Here())
          << "delegate " << i << " is for '" << delegate.backend
          << "', which the host has to register";
    }
  }

  const PteProgram& program_;
  const PteVerifyOptions& options_;
  Diagnostics& diags_;
  std::unordered_map<std::string_view, const PtdEntry*> external_;
};

}  // namespace

Place PlanCheck::ValuePlace(size_t value) const {
  return Place::Node(plan.name + "/%" + std::to_string(value));
}

Place PlanCheck::InstructionPlace(size_t chain, size_t instruction) const {
  std::string place = plan.name + "/";
  if (plan.chains.size() > 1) place += "chain " + std::to_string(chain) + "/";
  return Place::Node(place + std::to_string(instruction));
}

const PteValue* PlanCheck::Find(int64_t value) const {
  const bool exists =
      value >= 0 && static_cast<uint64_t>(value) < plan.values.size();
  return exists ? &plan.values[value] : nullptr;
}

}  // namespace pte

Status VerifyPte(const PteProgram& program, const PteVerifyOptions& options,
                 Diagnostics& diags) {
  return pte::ProgramCheck(program, options, diags).Check();
}

Status VerifyPtd(const PtdFile& data, Diagnostics& diags) {
  const size_t num_errors = diags.num_errors();
  std::unordered_set<std::string_view> keys;
  for (const PtdEntry& entry : data.entries) {
    const Place place = Place::Node(entry.key);
    if (entry.key.empty()) {
      diags.Error(Rule::kPte29) << "named data without a key";
    } else if (!keys.insert(entry.key).second) {
      diags.Error(Rule::kPte29, place) << "is there twice";
    }
    if (entry.segment >= data.segments.size()) {
      diags.Error(Rule::kPte08, place) << "refers to segment " << entry.segment
                                       << " of " << data.segments.size();
      continue;
    }
    if (!entry.layout) continue;
    const PtdTensorLayout& layout = *entry.layout;
    if (!pte::CheckShape(layout.type, layout.sizes, layout.dim_order, place,
                         diags)) {
      continue;
    }
    const uint64_t wanted = *pte::TensorBytes(layout.type, layout.sizes);
    const uint64_t stored = data.segments[entry.segment].size_bytes();
    if (wanted > stored) {
      // V-PTE-09
      diags.Error(Rule::kPte09, place)
          << pte::TypeText(layout.type, layout.sizes) << " needs " << wanted
          << " bytes, its segment has " << stored;
    }
  }
  return diags.num_errors() == num_errors ? Status() : Status(Failure{});
}

}  // namespace tenon
