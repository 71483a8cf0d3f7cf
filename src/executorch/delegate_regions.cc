#include "executorch/delegate_regions.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "ir/clone.h"
#include "link/join.h"
#include "link/outline.h"
#include "link/replaceable.h"
#include "partition/partition.h"
#include "tenon_delegate/tenon_delegate.h"
#include "xnnpack/stored_tensor.h"
#include "xnnpack/xnnpack_backend.h"

namespace tenon::executorch {
namespace {

struct Known {
  std::string_view name, runtime_name;
  const Backend* backend;
};

std::span<const Known> AllKnown() {
  static const XnnpackBackend xnnpack, xnnpack_q8(true);
  static const TenonDelegate tenon;
  static const Known known[] = {{"xnnpack", "XnnpackBackend", &xnnpack},
                                {"xnnpack_q8", "XnnpackBackend", &xnnpack_q8},
                                {"tenon", "TenonBackend", &tenon}};
  return known;
}

const Known* Find(std::string_view name) {
  const auto known = AllKnown();
  const auto at = std::find_if(known.begin(), known.end(),
                               [&](const Known& k) { return k.name == name; });
  return at == known.end() ? nullptr : &*at;
}

class Cutter {
 public:
  Cutter(Program* program, std::span<const Backend* const> backends,
         std::vector<std::string>* notes, Diagnostics& diags)
      : program_(*program),
        backends_(backends),
        notes_(*notes),
        diags_(diags) {}

  Expected<std::vector<DelegateRegion>> Run() {
    const ReplaceableInputs replaceable(program_);
    PartitionOptions options;
    for (const Backend* backend : backends_) {
      options.backends.emplace_back().backend = backend;
    }
    TENON_ASSIGN(const PartitionPlan plan,
                 PlanPartition(program_, options, diags_));
    std::vector<RegionNodes> cut;
    for (const PlannedRegion& region : plan.regions) {
      cut.push_back({"region_" + std::to_string(cut.size()),
                     std::string(region.backend->name()), region.nodes});
    }
    TENON_ASSIGN(const std::vector<Outlined> outlined,
                 OutlineRegions(&program_, Program::kRoot, cut, diags_));
    std::vector<DelegateRegion> out;
    for (size_t i = 0; i < outlined.size(); ++i) {
      Diagnostics reasons;
      auto compiled = plan.regions[i].backend->Compile(
          ExtractGraph(program_, outlined[i].child),
          OptionsFor(outlined[i].call, replaceable), reasons);
      if (!compiled) {
        notes_.push_back(cut[i].name +
                         " stays with the kernels: " + reasons.FirstError());
        continue;
      }
      DelegateRegion region;
      region.runtime_name = RuntimeNameOf(cut[i].backend);
      region.num_nodes = static_cast<uint32_t>(cut[i].nodes.size());
      region.compiled = std::move(*compiled);
      AddDelegate(cut[i], outlined[i]);
      out.push_back(std::move(region));
    }
    TENON_TRY(JoinAll(&program_, diags_));
    return out;
  }

 private:
  BackendOptions OptionsFor(NodeId call,
                            const ReplaceableInputs& replaceable) const {
    BackendOptions options;
    options.replaceable = replaceable.Of(program_, call);
    const auto args = program_.args(call);
    for (uint32_t i = 0; i < args.size(); ++i) {
      if (!args[i].is_value()) continue;
      Tensor tensor = xnnpack::StoredTensor(program_, args[i].value());
      if (tensor.defined()) options.constants.push_back({i, std::move(tensor)});
    }
    return options;
  }

  // The payload stays outside: the program is written as a .pte only.
  void AddDelegate(const RegionNodes& nodes, const Outlined& outlined) {
    Delegate d;
    d.name = program_.context().Intern(nodes.name);
    d.backend = program_.context().Intern(nodes.backend);
    d.source = outlined.child;
    for (const ValueId v : program_.graph(outlined.child).inputs) {
      d.inputs.push_back(program_.value(v).type);
    }
    const ValueRange results = program_.node(outlined.call).results;
    for (uint32_t i = 0; i < results.count; ++i) {
      d.outputs.push_back(program_.value(results[i]).type);
    }
    Node& call = program_.mutable_node(outlined.call);
    call.kind = NodeKind::kDelegateCall;
    call.child = GraphId();
    call.delegate = DelegateId(program_.delegates.size());
    program_.delegates.push_back(std::move(d));
  }

  Program& program_;
  const std::span<const Backend* const> backends_;
  std::vector<std::string>& notes_;
  Diagnostics& diags_;
};

}  // namespace

const Backend* FindDelegateBackend(std::string_view name) {
  const Known* known = Find(name);
  return known == nullptr ? nullptr : known->backend;
}

std::string_view RuntimeNameOf(std::string_view backend) {
  const Known* known = Find(backend);
  return known == nullptr ? std::string_view() : known->runtime_name;
}

bool DelegateRegion::Absorbs(uint32_t input) const {
  const auto& absorbed = compiled.absorbed_inputs;
  return std::find(absorbed.begin(), absorbed.end(), input) != absorbed.end();
}

Expected<std::vector<DelegateRegion>> CutForDelegates(
    Program* lowered, std::span<const Backend* const> backends,
    std::vector<std::string>* notes, Diagnostics& diags) {
  if (backends.empty()) return std::vector<DelegateRegion>();
  return Cutter(lowered, backends, notes, diags).Run();
}

std::vector<bool> FindAbsorbed(const Program& lowered,
                               const std::vector<DelegateRegion>& regions) {
  std::vector<uint32_t> left(lowered.num_values());
  for (const ValueId v : lowered.root().inputs) {
    left[v.index] = lowered.value(v).num_uses;
  }
  std::vector<bool> out(lowered.num_values());
  for (const NodeId n : lowered.nodes(Program::kRoot)) {
    const Node& node = lowered.node(n);
    if (node.kind != NodeKind::kDelegateCall) continue;
    const DelegateRegion& region = regions[node.delegate.index];
    const auto args = lowered.args(n);
    for (uint32_t i = 0; i < args.size(); ++i) {
      if (!args[i].is_value() || !region.Absorbs(i)) continue;
      const uint32_t v = args[i].value().index;
      if (left[v] > 0 && --left[v] == 0) out[v] = true;
    }
  }
  return out;
}

}  // namespace tenon::executorch
