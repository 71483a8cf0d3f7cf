#include "executorch/export_pte.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "executorch/constant_method.h"
#include "executorch/delegate_regions.h"
#include "executorch/export_request.h"
#include "executorch/in_place.h"
#include "executorch/payloads.h"
#include "executorch/plan_emitter.h"
#include "executorch/shared_state.h"
#include "executorch/stored_data.h"
#include "executorch/weights.h"
#include "formats/pt2/write_model.h"
#include "formats/pte/kernels.h"
#include "formats/pte/verify_pte.h"
#include "interpreter/interpreter.h"
#include "lower/lower.h"
#include "passes/fold_constants.h"
#include "passes/remove_dead_code.h"
#include "verify/verify.h"
#include "xnnpack/quantized_weight.h"

namespace tenon {
namespace {

using namespace executorch;  // NOLINT: this folder's own names

// What folding may add to the file: a constant is loaded with the file, a node
// runs at every call.
constexpr uint64_t kMaxFoldGrowthBytes = uint64_t{1} << 20;

bool IsControlFlow(std::string_view op) {
  return op == "higher_order.cond" || op == "higher_order.while_loop" ||
         op == "higher_order.map_impl" || op == "higher_order.map" ||
         op == "higher_order.scan";
}

bool CanEmit(std::string_view op) {
  return FindPteKernelOf(op) != nullptr || HasPrimitive(op) ||
         IsControlFlow(op);
}

// One error for all nodes without a kernel: which, where in the model, and what
// else would take them.
Status CheckKernels(const Program& program, Diagnostics& diags) {
  const std::vector<MissingKernel> missing =
      FindMissingKernels(program, CanEmit);
  if (missing.empty()) return {};
  std::vector<std::string> ops;
  bool runs_elsewhere = true;
  for (const MissingKernel& m : missing) {
    runs_elsewhere &= WhyNotInterpretable(program, m.node).empty();
    if (std::find(ops.begin(), ops.end(), m.op) == ops.end()) {
      ops.push_back(m.op);
    }
  }
  std::string list;
  for (const std::string& op : ops) list += (list.empty() ? "" : ", ") + op;
  auto error = diags.Error(
      Rule::kPte31,
      Place::Node(program.Describe(missing[0].graph, missing[0].node)));
  error << missing.size() << (missing.size() == 1 ? " node has" : " nodes have")
        << " no kernel in the stock runtime: " << list
        << (runs_elsewhere
                ? "; backends cpu and reference run them, in a .pt2"
                : "; not all of them have one in Tenon's other backends");
  constexpr size_t kMaxNotes = 50;
  for (size_t i = 0; i < missing.size() && i < kMaxNotes; ++i) {
    const MissingKernel& m = missing[i];
    const std::string why = WhyNotInterpretable(program, m.node);
    error.Note(Place::Node(program.Describe(m.graph, m.node)),
               m.op + (m.line.empty() ? "" : ", from " + m.line) +
                   (why.empty() ? "" : "; other backends: " + why));
  }
  return Failure{};
}

uint64_t ArenaBytes(const PtePlan& plan) {
  uint64_t bytes = 0;
  for (const int64_t b : plan.arena_bytes) bytes += static_cast<uint64_t>(b);
  return bytes;
}

// Findings about memory are mistakes of ours, whatever the rule's severity.
bool IsOurMistake(Rule rule) {
  return rule == Rule::kLintPte02 || rule == Rule::kLintPte08;
}

Status VerifyWritten(const PteProgram& program, const PtdFile* data,
                     Diagnostics& diags) {
  PteVerifyOptions options;
  options.lint = true;
  if (data != nullptr) {
    TENON_TRY(VerifyPtd(*data, diags));
    options.external_data.push_back(data);
  }
  Diagnostics found;
  const Status status = VerifyPte(program, options, found);
  for (const Diagnostic& d : found.all()) {
    if (d.severity == Severity::kError) diags.Report(d);
    if (d.severity == Severity::kWarning && IsOurMistake(d.rule)) {
      Diagnostic error = d;
      error.severity = Severity::kError;
      diags.Report(std::move(error));
    }
  }
  return status && !diags.has_errors() ? Status() : Failure{};
}

Expected<Program> Lower(const Program& program, std::vector<std::string>* notes,
                        Diagnostics& diags) {
  Program lowered = program.Clone();
  TENON_ASSIGN(const LowerReport lower, LowerProgram(&lowered, diags));
  *notes = lower.notes;
  return lowered;
}

Status FoldAndPrune(const SharedNames& shared, bool keeps_weights,
                    Program* lowered, Diagnostics& diags) {
  FoldConstantsOptions fold;
  fold.weights = true;
  fold.max_growth_bytes = kMaxFoldGrowthBytes;
  if (keeps_weights) fold.keeps = xnnpack::MayDequantizeWeight;
  {
    const UnchangedState unchanged(shared, lowered);
    TENON_TRY(FoldConstants(lowered, fold, diags));
  }
  RemoveDeadCode(lowered);
  return {};
}

// What backends may take stays as they know it.
Status Fold(const SharedNames& shared, bool has_backends, Program* lowered,
            Diagnostics& diags) {
  if (!has_backends) TENON_TRY(LowerLeftovers(lowered, diags));
  TENON_TRY(FoldAndPrune(shared, has_backends, lowered, diags));
  CopyOldState(lowered);
  return Verify(*lowered, VerifyOptions(), diags);
}

// What no backend took, as kernels know it.
Status LowerRest(const SharedNames& shared, Program* lowered,
                 Diagnostics& diags) {
  TENON_TRY(LowerLeftovers(lowered, diags));
  TENON_TRY(FoldAndPrune(shared, false, lowered, diags));
  return Verify(*lowered, VerifyOptions(), diags);
}

// XNNPACK's kernels read up to as much behind their tensors.
constexpr int64_t kOverReadBytes = 64;

bool OverReads(const PtePlan& plan) {
  return std::any_of(plan.delegates.begin(), plan.delegates.end(),
                     [](const PteDelegate& d) {
                       return d.backend == RuntimeNameOf("xnnpack");
                     });
}

// Methods that share memory have arenas of one size.
void AddOverRead(std::vector<PtePlan>* plans) {
  constexpr size_t kStateArena = 2;
  const bool any = std::any_of(plans->begin(), plans->end(), OverReads);
  for (PtePlan& plan : *plans) {
    if (OverReads(plan)) plan.arena_bytes[1] += kOverReadBytes;
    if (any && plan.arena_bytes.size() > kStateArena) {
      plan.arena_bytes[kStateArena] += kOverReadBytes;
    }
  }
}

// All methods of one file, step by step.
class FileMaker {
 public:
  FileMaker(std::span<const PteMethod> methods, const PteFileOptions& options,
            PteExportReport* report, Diagnostics& diags)
      : methods_(methods),
        options_(options),
        report_(*report),
        diags_(diags),
        weights_(options.weights) {}

  Expected<MadePte> Make() {
    TENON_TRY(CheckRequest(methods_, options_, diags_));
    report_.methods.resize(methods_.size());
    for (size_t m = 0; m < methods_.size(); ++m) TENON_TRY(LowerMethod(m));
    TENON_ASSIGN(shared_,
                 FindSharedState(methods_, lowered_, options_, diags_));
    for (size_t m = 0; m < methods_.size(); ++m) TENON_TRY(FoldAndCut(m));
    state_ = PlaceState(lowered_, shared_);
    for (size_t m = 0; m < methods_.size(); ++m) TENON_TRY(EmitMethod(m));
    AddOverRead(&made_.program.plans);
    for (const PteConstantMethod& method : options_.constants) {
      TENON_ASSIGN(PtePlan plan, MakeConstantMethod(method, &weights_, diags_));
      made_.program.plans.push_back(std::move(plan));
    }
    TENON_TRY(AddData());
    ReportWhole();
    const PtdFile* data = made_.data ? &*made_.data : nullptr;
    TENON_TRY(VerifyWritten(made_.program, data, diags_));
    return std::move(made_);
  }

 private:
  Status LowerMethod(size_t m) {
    const PteMethod& method = methods_[m];
    PteMethodReport& report = report_.methods[m];
    report.name = method.name;
    report.num_nodes =
        static_cast<uint32_t>(method.program->CountNodes(Program::kRoot));
    TENON_ASSIGN(Program lowered,
                 Lower(*method.program, &report.notes, diags_));
    lowered_.push_back(std::move(lowered));
    return {};
  }

  Status FoldAndCut(size_t m) {
    PteMethodReport& report = report_.methods[m];
    Program& lowered = lowered_[m];
    const PteExportOptions& options = methods_[m].options;
    const bool has_backends = !options.backends.empty();
    TENON_TRY(Fold(shared_, has_backends, &lowered, diags_));
    std::vector<DelegateRegion> regions;
    {
      const UnchangedState unchanged(shared_, &lowered);
      TENON_ASSIGN(regions, CutForDelegates(&lowered,
                                            {options.backends, options.requests,
                                             options.cuda_device},
                                            &report.notes, diags_));
    }
    for (const DelegateRegion& region : regions) {
      report.regions.push_back({region.runtime_name, region.num_nodes});
    }
    if (has_backends) TENON_TRY(LowerRest(shared_, &lowered, diags_));
    TENON_TRY(CheckKernels(lowered, diags_));
    regions_.push_back(std::move(regions));
    return {};
  }

  Status EmitMethod(size_t m) {
    const PteMethod& method = methods_[m];
    const Program& lowered = lowered_[m];
    PteMethodReport& report = report_.methods[m];
    PlanEmitter emitter({method.name, lowered, regions_[m], method.options,
                         state_.empty() ? nullptr : &state_[m]},
                        &weights_, &mutable_data_, diags_);
    TENON_ASSIGN(PtePlan plan, emitter.Emit());
    PteConvention convention;
    if (lowered.in_spec) convention.inputs = PrintTreeSpec(*lowered.in_spec);
    if (lowered.out_spec) {
      convention.outputs = PrintTreeSpec(*lowered.out_spec);
    }
    plan.convention = std::move(convention);
    report.num_instructions =
        static_cast<uint32_t>(plan.chains[0].instructions.size());
    report.num_in_place = emitter.num_in_place();
    report.copies = emitter.copies();
    report.device_state = emitter.device_state();
    report.traffic = TrafficOf(plan, emitter.fills());
    report.notes.insert(report.notes.end(), emitter.notes().begin(),
                        emitter.notes().end());
    report.arena_bytes = ArenaBytes(plan);
    report.peak_live_bytes = emitter.peak_live_bytes();
    made_.program.plans.push_back(std::move(plan));
    return {};
  }

  // Segments: constants, initial state, payloads, what payloads ask for.
  Status AddData() {
    PteProgram& program = made_.program;
    // What payloads ask for goes to the weights, too, and is known afterwards.
    weights_.AddConstantsTo(&program, &report_);
    if (!mutable_data_.empty()) {
      PteSubsegments initial;
      initial.segment = static_cast<uint32_t>(program.segments.size());
      initial.offsets = mutable_data_.offsets();
      program.mutable_data.push_back(std::move(initial));
      report_.state_bytes = mutable_data_.size_bytes();
      program.segments.push_back(mutable_data_.TakeSegment());
    }
    Payloads payloads(options_.inline_payloads, &program);
    for (size_t m = 0; m < methods_.size(); ++m) {
      TENON_TRY(payloads.Add(regions_[m], &weights_, &program.plans[m],
                             &report_, diags_));
    }
    weights_.AddNamedDataTo(&program, &report_);
    made_.data = weights_.TakeDataFile(&report_);
    return {};
  }

  void ReportWhole() {
    report_.num_constant_methods =
        static_cast<uint32_t>(options_.constants.size());
    report_.shared_state.assign(shared_.begin(), shared_.end());
    if (!state_.empty()) report_.shared_bytes = state_[0].size_bytes;
    if (made_.data) report_.data_path = options_.data_path;
  }

  const std::span<const PteMethod> methods_;
  const PteFileOptions& options_;
  PteExportReport& report_;
  Diagnostics& diags_;
  SharedNames shared_;
  std::vector<Program> lowered_;  // by method
  std::vector<std::vector<DelegateRegion>> regions_;
  std::vector<StateArena> state_;  // by method, or none
  Weights weights_;
  StoredData mutable_data_{1};
  MadePte made_;
};

}  // namespace

uint64_t PteMethodReport::copied_bytes() const {
  return std::accumulate(
      copies.begin(), copies.end(), uint64_t{0},
      [](uint64_t sum, const PteStateCopy& c) { return sum + c.bytes; });
}

Expected<Program> LowerForPte(const Program& program, Diagnostics& diags) {
  std::vector<std::string> notes;
  TENON_ASSIGN(Program lowered, Lower(program, &notes, diags));
  TENON_TRY(Fold({}, false, &lowered, diags));
  TENON_TRY(CheckKernels(lowered, diags));
  return lowered;
}

Expected<MadePte> MakePte(std::span<const PteMethod> methods,
                          const PteFileOptions& options,
                          PteExportReport* report, Diagnostics& diags) {
  return FileMaker(methods, options, report, diags).Make();
}

Expected<PteProgram> MakePte(const Program& program,
                             const PteExportOptions& options,
                             PteExportReport* report, Diagnostics& diags) {
  const PteMethod method = {"forward", &program, options};
  TENON_ASSIGN(MadePte made,
               MakePte(std::span(&method, 1), PteFileOptions(), report, diags));
  return std::move(made.program);
}

Expected<PteExportReport> ExportPte(std::span<const PteMethod> methods,
                                    const std::string& path,
                                    const PteFileOptions& options,
                                    Diagnostics& diags) {
  PteExportReport report;
  TENON_ASSIGN(const MadePte made, MakePte(methods, options, &report, diags));
  PteWriteOptions write;
  if (made.data) {
    write.data = &*made.data;
    write.data_path = options.data_path;
  }
  write.check = [&](const std::string& written,
                    const std::string& data_path) -> Status {
    std::optional<PtdFile> data;
    if (!data_path.empty()) {
      TENON_ASSIGN(data, ReadPtd(data_path, diags));
    }
    TENON_ASSIGN(const PteProgram back, ReadPte(written, diags));
    return VerifyWritten(back, data ? &*data : nullptr, diags);
  };
  TENON_TRY(WritePte(made.program, path, write, diags));
  return report;
}

Expected<PteExportReport> ExportPte(const Program& program,
                                    const std::string& path,
                                    const PteExportOptions& options,
                                    Diagnostics& diags) {
  const PteMethod method = {"forward", &program, options};
  return ExportPte(std::span(&method, 1), path, PteFileOptions(), diags);
}

}  // namespace tenon
