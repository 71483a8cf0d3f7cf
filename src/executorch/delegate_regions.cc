#include "executorch/delegate_regions.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "executorch/state_chains.h"
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
  const Backend* backend;  // null: made by who has what it needs
  bool is_on_device = false;
};

std::span<const Known> AllKnown() {
  static const XnnpackBackend xnnpack, xnnpack_q8(true);
  static const TenonDelegate tenon;
  static const Known known[] = {{"xnnpack", "XnnpackBackend", &xnnpack},
                                {"xnnpack_q8", "XnnpackBackend", &xnnpack_q8},
                                {"tenon", "TenonBackend", &tenon},
                                {"tensorrt", "TensorRTBackend", nullptr, true},
                                {"cuda", "CudaBackend", nullptr, true}};
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
  Cutter(Program* program, const CutOptions& options,
         std::vector<std::string>* notes, Diagnostics& diags)
      : program_(*program), options_(options), notes_(*notes), diags_(diags) {}

  Expected<std::vector<DelegateRegion>> Run() {
    const ReplaceableInputs replaceable(program_);
    PartitionOptions options;
    for (const Backend* backend : options_.backends) {
      const auto request = options_.requests.find(backend->name());
      options.backends.push_back(request == options_.requests.end()
                                     ? BackendRequest()
                                     : request->second);
      options.backends.back().backend = backend;
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
    FindReplaceable();
    std::vector<DelegateRegion> out;
    for (size_t i = 0; i < outlined.size(); ++i) {
      auto region = CompileByAny(&cut[i], outlined[i], options.backends,
                                 plan.regions[i].backend, replaceable);
      if (!region) continue;
      AddDelegate(cut[i], outlined[i]);
      out.push_back(std::move(*region));
    }
    TENON_TRY(JoinAll(&program_, diags_));
    return out;
  }

 private:
  // By its own backend, or the next one that takes all of it (D-7).
  std::optional<DelegateRegion> CompileByAny(
      RegionNodes* cut, const Outlined& outlined,
      const std::vector<BackendRequest>& requests, const Backend* first,
      const ReplaceableInputs& replaceable) {
    Program extracted = ExtractGraph(program_, outlined.child);
    bool has_turn = false;
    for (const BackendRequest& request : requests) {
      has_turn = has_turn || request.backend == first;
      if (!has_turn ||
          (request.backend != first && !TakesWhole(extracted, request))) {
        continue;
      }
      const Known& known = *Find(request.backend->name());
      // Engines are asked for by the region's name.
      extracted.name = known.is_on_device ? cut->name : "model";
      Diagnostics reasons;
      auto compiled = request.backend->Compile(
          extracted, OptionsFor(outlined.call, known.is_on_device, replaceable),
          reasons);
      if (!compiled) {
        notes_.push_back(cut->name + " isn't for backend " +
                         std::string(known.name) + ": " + reasons.FirstError());
        continue;
      }
      cut->backend = known.name;
      DelegateRegion region;
      region.name = cut->name;
      region.runtime_name = known.runtime_name;
      region.num_nodes = static_cast<uint32_t>(cut->nodes.size());
      if (known.is_on_device) region.device = options_.cuda_device;
      region.compiled = std::move(*compiled);
      return region;
    }
    notes_.push_back(cut->name + " stays with the kernels");
    return std::nullopt;
  }

  void FindReplaceable() {
    for (const StateChain& chain : FindStateChains(program_)) {
      for (const StateLink& link : chain.links) {
        replaceable_[link.call.index].push_back({link.input, link.output});
      }
    }
  }

  BackendOptions OptionsFor(NodeId call, bool is_on_device,
                            const ReplaceableInputs& replaceable) const {
    BackendOptions options;
    if (!is_on_device) options.replaceable = replaceable.Of(program_, call);
    const auto writes = replaceable_.find(call.index);
    if (is_on_device && writes != replaceable_.end()) {
      options.replaceable = writes->second;
    }
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
  const CutOptions& options_;
  std::map<uint32_t, std::vector<DeclaredWrite>> replaceable_;  // by call
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
    Program* lowered, const CutOptions& options,
    std::vector<std::string>* notes, Diagnostics& diags) {
  if (options.backends.empty()) return std::vector<DelegateRegion>();
  return Cutter(lowered, options, notes, diags).Run();
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
