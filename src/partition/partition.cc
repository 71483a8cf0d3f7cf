#include "partition/partition.h"

#include <algorithm>
#include <optional>

#include "analysis/dependencies.h"
#include "partition/cut.h"

namespace tenon {
namespace {

// "aten.add.Tensor" is named by itself and by "aten.add".
bool Names(const std::vector<std::string>& list, std::string_view op) {
  return std::any_of(list.begin(), list.end(), [&](const std::string& item) {
    return op == item ||
           (op.size() > item.size() && op.substr(0, item.size()) == item &&
            op[item.size()] == '.');
  });
}

class Planner {
 public:
  Planner(const Program& program, const PartitionOptions& options,
          Diagnostics& diags)
      : program_(program),
        options_(options),
        diags_(diags),
        dependencies_(program, Program::kRoot),
        cutter_(dependencies_),
        taken_(dependencies_.size(), false),
        refusals_(dependencies_.size()) {}

  Expected<PartitionPlan> Run() {
    PartitionPlan plan;
    bool ok = true;
    for (const BackendRequest& request : options_.backends) {
      TakeRegions(request, &plan);
      ok = CheckDemands(request) && ok;
    }
    if (!ok) return Failure{};
    std::sort(plan.regions.begin(), plan.regions.end(),
              [&](const PlannedRegion& a, const PlannedRegion& b) {
                return dependencies_.position(a.nodes[0]) <
                       dependencies_.position(b.nodes[0]);
              });
    for (uint32_t i = 0; i < dependencies_.size(); ++i) {
      if (taken_[i]) continue;
      for (NodeRefusal& refusal : refusals_[i]) {
        plan.refusals.push_back(std::move(refusal));
      }
    }
    return plan;
  }

 private:
  std::optional<Refusal> Refuses(const BackendRequest& request, uint32_t i) {
    const NodeId n = dependencies_.nodes()[i];
    if (program_.node(n).kind != NodeKind::kOp) {
      return Refusal{RefusalReason::kOperatorUnknown, "not an operator call"};
    }
    const std::string_view op = program_.op_name(n);
    if (Names(request.deny, op) ||
        (!request.allow.empty() && !Names(request.allow, op))) {
      return Refusal{RefusalReason::kUserChoice, std::string(op)};
    }
    if (dependencies_.touches_written_storage(i) &&
        !request.backend->preserves_aliasing()) {
      return Refusal{RefusalReason::kEffect,
                     "shares storage that is written in place"};
    }
    return request.backend->Refuses(program_, n);
  }

  void Refuse(const BackendRequest& request, uint32_t i, Refusal refusal) {
    refusals_[i].push_back(
        {dependencies_.nodes()[i], request.backend, std::move(refusal)});
  }

  void TakeRegions(const BackendRequest& request, PartitionPlan* plan) {
    std::vector<bool> wanted(dependencies_.size(), false);
    for (uint32_t i = 0; i < dependencies_.size(); ++i) {
      if (taken_[i]) continue;
      if (auto refusal = Refuses(request, i)) {
        Refuse(request, i, std::move(*refusal));
      } else {
        wanted[i] = true;
      }
    }
    std::vector<std::vector<uint32_t>> regions = cutter_.Cut(wanted);
    std::vector<std::vector<uint32_t>> kept;
    const auto drop = [&](const std::vector<uint32_t>& region,
                          RefusalReason reason) {
      for (const uint32_t i : region) {
        Refuse(request, i, {reason, std::to_string(region.size()) + " nodes"});
      }
    };
    for (auto& region : regions) {
      if (region.size() < request.min_region_nodes) {
        drop(region, RefusalReason::kRegionTooSmall);
      } else {
        kept.push_back(std::move(region));
      }
    }
    if (request.max_regions > 0 && kept.size() > request.max_regions) {
      std::stable_sort(
          kept.begin(), kept.end(),
          [](const auto& a, const auto& b) { return a.size() > b.size(); });
      for (size_t r = request.max_regions; r < kept.size(); ++r) {
        drop(kept[r], RefusalReason::kTooManyRegions);
      }
      kept.resize(request.max_regions);
    }
    cutter_.Keep(kept);
    for (const auto& region : kept) {
      PlannedRegion planned;
      planned.backend = request.backend;
      for (const uint32_t i : region) {
        taken_[i] = true;
        planned.nodes.push_back(dependencies_.nodes()[i]);
      }
      plan->regions.push_back(std::move(planned));
    }
  }

  bool CheckDemands(const BackendRequest& request) {
    if (!request.must_take_all) return true;
    bool ok = true;
    for (uint32_t i = 0; i < dependencies_.size(); ++i) {
      if (taken_[i]) continue;
      ok = false;
      const Refusal& why = refusals_[i].back().refusal;
      diags_.Error(Rule::kP3, Place::Node(program_.Describe(
                                  Program::kRoot, dependencies_.nodes()[i])))
          << "backend '" << request.backend->name()
          << "' must take all nodes but refuses this one: " << Name(why.reason)
          << (why.detail.empty() ? "" : ", ") << why.detail;
    }
    return ok;
  }

  const Program& program_;
  const PartitionOptions& options_;
  Diagnostics& diags_;
  Dependencies dependencies_;
  Cutter cutter_;
  std::vector<bool> taken_;
  std::vector<std::vector<NodeRefusal>> refusals_;
};

}  // namespace

Expected<PartitionPlan> PlanPartition(const Program& program,
                                      const PartitionOptions& options,
                                      Diagnostics& diags) {
  return Planner(program, options, diags).Run();
}

std::vector<ColoredRegion> CutByColor(const Program& program, GraphId graph,
                                      const std::vector<uint32_t>& color,
                                      uint32_t num_colors) {
  const Dependencies dependencies(program, graph);
  Cutter cutter(dependencies);
  std::vector<ColoredRegion> out;
  for (uint32_t c = 0; c < num_colors; ++c) {
    std::vector<bool> wanted(dependencies.size(), false);
    for (uint32_t i = 0; i < wanted.size(); ++i) wanted[i] = color[i] == c;
    const auto regions = cutter.Cut(wanted);
    cutter.Keep(regions);
    for (const auto& region : regions) {
      ColoredRegion colored;
      colored.color = c;
      for (const uint32_t i : region) {
        colored.nodes.push_back(dependencies.nodes()[i]);
      }
      out.push_back(std::move(colored));
    }
  }
  return out;
}

}  // namespace tenon
