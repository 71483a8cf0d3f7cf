#include "executorch/export_pte.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "executorch/delegate_regions.h"
#include "executorch/in_place.h"
#include "executorch/plan_emitter.h"
#include "executorch/stored_data.h"
#include "formats/pt2/write_model.h"
#include "formats/pte/kernels.h"
#include "formats/pte/verify_pte.h"
#include "interpreter/interpreter.h"
#include "lower/lower.h"
#include "passes/fold_constants.h"
#include "passes/remove_dead_code.h"
#include "verify/verify.h"

namespace tenon {
namespace {

using namespace executorch;  // NOLINT: this folder's own names

constexpr uint64_t kConstantAlignment = 16;
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
Status VerifyWritten(const PteProgram& program, Diagnostics& diags) {
  PteVerifyOptions options;
  options.lint = true;
  Diagnostics found;
  const Status status = VerifyPte(program, options, found);
  for (const Diagnostic& d : found.all()) {
    if (d.severity == Severity::kError) diags.Report(d);
    if (d.severity == Severity::kWarning && d.rule == Rule::kLintPte02) {
      Diagnostic error = d;
      error.severity = Severity::kError;
      diags.Report(std::move(error));
    }
  }
  return status && !diags.has_errors() ? Status() : Failure{};
}

Expected<Program> LowerAndFold(const Program& program, PteExportReport* report,
                               Diagnostics& diags) {
  Program lowered = program.Clone();
  TENON_ASSIGN(const LowerReport lower, LowerProgram(&lowered, diags));
  report->notes = lower.notes;
  FoldConstantsOptions fold;
  fold.weights = true;
  fold.max_growth_bytes = kMaxFoldGrowthBytes;
  TENON_TRY(FoldConstants(&lowered, fold, diags));
  RemoveDeadCode(&lowered);
  CopyOldState(&lowered);
  TENON_TRY(Verify(lowered, VerifyOptions(), diags));
  return lowered;
}

// Payloads, and what they ask for, as segments of the file. The plan's
// delegates know their regions by number so far.
void AddPayloads(const std::vector<DelegateRegion>& regions, PtePlan* plan,
                 PteProgram* out, PteExportReport* report) {
  std::set<std::string> names;
  SharedSegments segments(out);
  KeySeparator separator;
  for (PteDelegate& delegate : plan->delegates) {
    const DelegateRegion& region = regions[delegate.payload.index];
    const std::optional<CompiledRegion> other = separator.Separate(region);
    const CompiledRegion& compiled = other ? *other : region.compiled;
    const auto bytes =
        std::make_shared<const std::vector<std::byte>>(compiled.payload);
    AddDeviceSpecs(region, plan->name, &delegate);
    delegate.payload.place = PtePayloadPlace::kSegment;
    delegate.payload.index =
        segments.Add(*bytes, bytes, &report->payload_bytes);
    for (const NamedBytes& named : compiled.named_data) {
      if (!names.insert(named.key).second) continue;
      const uint32_t at =
          segments.Add(named.bytes, named.owner, &report->named_bytes);
      out->named_data.push_back({named.key, at});
    }
  }
}

// XNNPACK's kernels read up to as much behind their tensors.
constexpr int64_t kOverReadBytes = 64;

}  // namespace

Expected<Program> LowerForPte(const Program& program, PteExportReport* report,
                              Diagnostics& diags) {
  TENON_ASSIGN(Program lowered, LowerAndFold(program, report, diags));
  TENON_TRY(CheckKernels(lowered, diags));
  return lowered;
}

Expected<PteProgram> MakePte(const Program& program,
                             const PteExportOptions& options,
                             PteExportReport* report, Diagnostics& diags) {
  report->num_nodes = static_cast<uint32_t>(program.CountNodes(Program::kRoot));
  TENON_ASSIGN(Program lowered, LowerAndFold(program, report, diags));
  TENON_ASSIGN(
      const std::vector<DelegateRegion> regions,
      CutForDelegates(&lowered,
                      {options.backends, options.requests, options.cuda_device},
                      &report->notes, diags));
  for (const DelegateRegion& region : regions) {
    report->regions.push_back({region.runtime_name, region.num_nodes});
  }
  if (!regions.empty()) TENON_TRY(Verify(lowered, VerifyOptions(), diags));
  TENON_TRY(CheckKernels(lowered, diags));
  StoredData constants(kConstantAlignment);
  StoredData mutable_data(1);
  PlanEmitter emitter(lowered, regions, options.bounds, &constants,
                      &mutable_data, diags);
  TENON_ASSIGN(PtePlan plan, emitter.Emit());
  PteConvention convention;
  if (program.in_spec) convention.inputs = PrintTreeSpec(*program.in_spec);
  if (program.out_spec) convention.outputs = PrintTreeSpec(*program.out_spec);
  plan.convention = std::move(convention);
  report->num_instructions =
      static_cast<uint32_t>(plan.chains[0].instructions.size());
  report->num_in_place = emitter.num_in_place();
  report->num_copied_back = emitter.num_copied_back();
  report->state = emitter.state_places();
  report->traffic = TrafficOf(plan);
  report->arena_bytes = ArenaBytes(plan);
  report->peak_live_bytes = emitter.peak_live_bytes();
  const bool over_reads = std::any_of(
      plan.delegates.begin(), plan.delegates.end(), [](const PteDelegate& d) {
        return d.backend == RuntimeNameOf("xnnpack");
      });
  if (over_reads) plan.arena_bytes[1] += kOverReadBytes;

  PteProgram out;
  PteSubsegments entries;
  entries.offsets = constants.offsets();
  out.constants = std::move(entries);
  out.segments.push_back(constants.TakeSegment());
  report->constant_bytes = out.segments.back().bytes.size();
  if (!mutable_data.empty()) {
    PteSubsegments initial;
    initial.segment = 1;
    initial.offsets = mutable_data.offsets();
    out.mutable_data.push_back(std::move(initial));
    out.segments.push_back(mutable_data.TakeSegment());
    report->state_bytes = out.segments.back().bytes.size();
  }
  AddPayloads(regions, &plan, &out, report);
  out.plans.push_back(std::move(plan));
  TENON_TRY(VerifyWritten(out, diags));
  return out;
}

Expected<PteExportReport> ExportPte(const Program& program,
                                    const std::string& path,
                                    const PteExportOptions& options,
                                    Diagnostics& diags) {
  PteExportReport report;
  TENON_ASSIGN(const PteProgram made,
               MakePte(program, options, &report, diags));
  PteWriteOptions write;
  write.check = [&](const std::string& written) -> Status {
    TENON_ASSIGN(const PteProgram back, ReadPte(written, diags));
    return VerifyWritten(back, diags);
  };
  TENON_TRY(WritePte(made, path, write, diags));
  return report;
}

}  // namespace tenon
