#include "export/export.h"

#include <algorithm>
#include <optional>
#include <random>

#include "analysis/effects.h"
#include "export/pipeline.h"
#include "ir/clone.h"
#include "link/declare_writes.h"
#include "link/join.h"
#include "link/lift.h"
#include "link/outline.h"
#include "link/replaceable.h"
#include "text/text.h"

namespace tenon {
namespace {

class Exporter : public Pipeline {
 public:
  Exporter(const Program& source, const ExportOptions& options,
           Diagnostics& diags)
      : Pipeline(source, diags), options_(options) {}

  Status Run() {
    // One digest for the whole way: no phase rewrites an expression (T-3).
    const Phase phases[] = {
        {"verify", [this] { return VerifyNow(); }, Check::kNever},
        {"partition", [this] { return Plan(); }, Check::kNever},
        {"outline", [this] { return CutRegions(); }, Check::kAlways},
        {"compile", [this] { return Compile(); }, Check::kAlways},
        {"join", [this] { return Join(); }, Check::kAlways},
        {"lift", [this] { return Lift(&program_, diags_); }, Check::kAlways},
        {"prove", [this] { return Prove(); }, Check::kNever},
    };
    return RunPhases(phases, options_.stop_after, false);
  }

 private:
  Status Plan() {
    if (!options_.fixed_regions.empty()) return UseFixedRegions();
    if (options_.backends.empty() || options_.num_random_colors > 0) {
      PlanRandom();
      return {};
    }
    PartitionOptions partition;
    partition.backends = options_.backends;
    auto plan = PlanPartition(program_, partition, diags_);
    if (!plan) return Failure{};
    plan_ = std::move(*plan);
    report_.refusals = GroupRefusals(program_, plan_);
    return {};
  }

  Status UseFixedRegions() {
    const Backend* backend =
        options_.backends.empty() ? nullptr : options_.backends[0].backend;
    bool ok = true;
    for (const std::vector<NodeId>& nodes : options_.fixed_regions) {
      for (const NodeId n : nodes) {
        const auto refused =
            backend == nullptr ? std::nullopt : backend->Refuses(program_, n);
        if (!refused) continue;
        ok = false;
        diags_.Error(Rule::kP3,
                     Place::Node(program_.Describe(Program::kRoot, n)))
            << "backend '" << backend->name()
            << "' doesn't take the node: " << Name(refused->reason) << ": "
            << refused->detail;
      }
      plan_.regions.push_back({backend, nodes});
    }
    if (!ok) return Failure{};
    return {};
  }

  // Every node gets a color by chance; regions of each color alternate over
  // the backends asked for, or have none.
  void PlanRandom() {
    const uint32_t num_colors = std::max(options_.num_random_colors, 2u);
    std::mt19937_64 random(options_.cut_seed);
    std::vector<uint32_t> color;
    const NodeId output = program_.root().output;
    for (const NodeId n : program_.nodes(Program::kRoot)) {
      if (n == output) break;
      // One color more than there are backends means: stays in the graph.
      const auto c = static_cast<uint32_t>(random() % (num_colors + 1));
      const bool takable =
          program_.node(n).kind == NodeKind::kOp &&
          (options_.backends.empty() || !BackendOf(c)->Refuses(program_, n));
      color.push_back(c < num_colors && takable ? c : kUncolored);
    }
    for (ColoredRegion& region :
         CutByColor(program_, Program::kRoot, color, num_colors)) {
      plan_.regions.push_back(
          {options_.backends.empty() ? nullptr : BackendOf(region.color),
           std::move(region.nodes)});
    }
  }

  const Backend* BackendOf(uint32_t color) const {
    return options_.backends[color % options_.backends.size()].backend;
  }

  Status CutRegions() {
    positions_ = NodePositions(program_, Program::kRoot);
    replaceable_.emplace(program_);
    std::vector<RegionNodes> regions;
    for (size_t i = 0; i < plan_.regions.size(); ++i) {
      const Backend* backend = plan_.regions[i].backend;
      RegionNodes region;
      region.backend = backend == nullptr ? "" : backend->name();
      region.name = "region_" + std::to_string(i);
      region.nodes = plan_.regions[i].nodes;
      regions.push_back(std::move(region));
    }
    auto outlined = OutlineRegions(&program_, Program::kRoot, regions, diags_);
    if (!outlined) return Failure{};
    outlined_ = std::move(*outlined);
    for (size_t i = 0; i < outlined_.size(); ++i) {
      if (plan_.regions[i].backend == nullptr) continue;
      outlined_[i].call =
          ReturnWrittenInputs(&program_, Program::kRoot, outlined_[i].call);
    }
    for (size_t i = 0; i < outlined_.size(); ++i) {
      report_.regions.push_back(DescribeRegion(regions[i], outlined_[i]));
    }
    return {};
  }

  Status Compile() {
    bool ok = true;
    for (size_t i = 0; i < outlined_.size(); ++i) {
      const Backend* backend = plan_.regions[i].backend;
      RegionReport& region = report_.regions[i];
      if (options_.progress) {
        options_.progress(i, outlined_.size(), region.name);
      }
      if (backend == nullptr) continue;
      ok = CompileRegion(*backend, outlined_[i], &region) && ok;
    }
    if (!ok) return Failure{};
    return {};
  }

  // By the backend that the region was cut for or, where it gives up, the next
  // that takes all of it. False when the export must fail for it (D-7).
  bool CompileRegion(const Backend& backend, const Outlined& outlined,
                     RegionReport* region) {
    const Program standalone = ExtractGraph(program_, outlined.child);
    BackendOptions backend_options = options_.backend_options;
    backend_options.replaceable = replaceable_->Of(program_, outlined.call);
    const auto& requests = options_.backends;
    size_t at = 0;
    while (at < requests.size() && requests[at].backend != &backend) ++at;
    for (const Backend* candidate = &backend; candidate != nullptr;) {
      Diagnostics reasons;
      auto compiled = candidate->Compile(standalone, backend_options, reasons);
      if (compiled) {
        region->backend = candidate->name();
        program_.regions[outlined.region.index].backend =
            program_.context().Intern(candidate->name());
        AddDelegate(*candidate, outlined, std::move(*compiled), region);
        return true;
      }
      const bool is_first = region->fallback_reason.empty();
      region->fallback_reason +=
          (is_first ? ""
                    : "; backend '" + std::string(candidate->name()) + "': ") +
          reasons.FirstError();
      if (!options_.allow_fallback) {
        diags_.Error(Rule::kD7, Place::Node(region->name))
            << "backend '" << candidate->name()
            << "' can't compile the region: " << region->fallback_reason;
        return false;
      }
      candidate = nullptr;
      while (candidate == nullptr && ++at < requests.size()) {
        if (TakesWhole(standalone, requests[at])) {
          candidate = requests[at].backend;
        }
      }
    }
    region->backend = "";
    return true;
  }

  void AddDelegate(const Backend& backend, const Outlined& outlined,
                   CompiledRegion compiled, RegionReport* region) {
    Context& context = program_.context();
    Delegate d;
    d.name = context.Intern(region->name);
    d.backend = context.Intern(backend.name());
    const auto payload = std::make_shared<const std::vector<std::byte>>(
        std::move(compiled.payload));
    d.payload = *payload;
    d.payload_owner = payload;
    d.payload_digest = HashBytes(payload->data(), payload->size());
    d.source = outlined.child;
    d.writes = std::move(compiled.writes);
    for (const ValueId v : program_.graph(outlined.child).inputs) {
      d.inputs.push_back(program_.value(v).type);
    }
    const ValueRange results = program_.node(outlined.call).results;
    for (uint32_t i = 0; i < results.count; ++i) {
      d.outputs.push_back(program_.value(results[i]).type);
    }
    region->payload_bytes = payload->size();
    region->payload_digest = d.payload_digest.ToHex();
    region->writes = d.writes;
    report_.num_nodes_delegated += region->num_nodes;
    Node& call = program_.mutable_node(outlined.call);
    call.kind = NodeKind::kDelegateCall;
    call.child = GraphId();
    call.delegate = DelegateId(program_.delegates.size());
    program_.delegates.push_back(std::move(d));
  }

  Status Join() {
    TENON_TRY(JoinAll(&program_, diags_));
    // Without delegates every node is where it was; with them the order is
    // that of the contracted graph.
    if (program_.delegates.empty() && HasAllPositions()) {
      RestoreOrder(&program_, Program::kRoot, positions_);
    }
    if (options_.backends.empty()) ForgetRegions();
    KeepModuleCalls();
    return {};
  }

  // Cuts that were joined back at once leave no trace.
  void ForgetRegions() {
    program_.regions = source_.regions;
    for (const NodeId n : program_.nodes(Program::kRoot)) {
      program_.mutable_node(n).region =
          n.index < source_.num_nodes() ? source_.node(n).region : RegionId();
    }
  }

  // Recorded calls of submodules refer to values of the root graph. What went
  // into a region is referred to by the call's result, or, if it never leaves
  // the region, not at all: then that submodule's record has lost its meaning.
  void KeepModuleCalls() {
    if (program_.module_calls.empty()) return;
    std::vector<ValueId> now(program_.num_values());
    for (const ValueId v : program_.root().inputs) now[v.index] = v;
    for (const NodeId n : program_.nodes(Program::kRoot)) {
      const Node& node = program_.node(n);
      for (uint32_t i = 0; i < node.results.count; ++i) {
        now[node.results[i].index] = node.results[i];
      }
      if (node.kind != NodeKind::kDelegateCall) continue;
      const GraphId source = program_.delegates[node.delegate.index].source;
      const auto outputs = program_.outputs(source);
      for (uint32_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i].is_value() && i < node.results.count) {
          now[outputs[i].v.value.index] = node.results[i];
        }
      }
    }
    for (ModuleCall& call : program_.module_calls) {
      bool is_whole = true;
      for (auto* list : {&call.inputs, &call.outputs}) {
        for (ModuleCall::Argument& arg : *list) {
          if (!arg.value.valid()) continue;
          arg.value = now[arg.value.index];
          is_whole = is_whole && arg.value.valid();
        }
      }
      if (is_whole) continue;
      report_.notes.push_back("the recorded signature of submodule '" +
                              std::string(program_.view(call.fqn)) +
                              "' was left out: its values are inside regions");
      ModuleCall bare;
      bare.fqn = call.fqn;
      call = std::move(bare);
    }
  }

  bool HasAllPositions() const {
    const NodeId output = program_.root().output;
    for (const NodeId n : program_.nodes(Program::kRoot)) {
      if (n != output && (n.index >= positions_.size() ||
                          positions_[n.index] == kNoPosition)) {
        return false;
      }
    }
    return true;
  }

  // --- the report ---

  RegionReport DescribeRegion(const RegionNodes& region,
                              const Outlined& outlined) const {
    RegionReport out;
    out.name = region.name;
    out.backend = region.backend;
    out.num_nodes = static_cast<uint32_t>(region.nodes.size());
    program_.ForEachOperand(outlined.call, [&](ValueId v) {
      out.inputs.push_back(DescribeBoundary(program_, v));
    });
    const ValueRange results = program_.node(outlined.call).results;
    for (uint32_t i = 0; i < results.count; ++i) {
      out.outputs.push_back(DescribeBoundary(program_, results[i]));
    }
    return out;
  }

  const ExportOptions& options_;
  PartitionPlan plan_;
  std::vector<Outlined> outlined_;
  std::vector<uint32_t> positions_;
  std::optional<ReplaceableInputs> replaceable_;
};

}  // namespace

Expected<ExportReport> ExportProgram(Program* program,
                                     const ExportOptions& options,
                                     Diagnostics& diags) {
  Exporter exporter(*program, options, diags);
  TENON_TRY(exporter.Run());
  *program = exporter.TakeProgram();
  return exporter.TakeReport();
}

}  // namespace tenon
