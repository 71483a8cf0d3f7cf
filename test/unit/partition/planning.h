// Programs as text, and backends that take what a test says.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "partition/partition.h"
#include "text/text.h"

namespace tenon {

// Takes nodes by a predicate over their operators' names; compiles nothing.
class PickyBackend : public Backend {
 public:
  using Takes = std::function<bool(std::string_view op)>;

  explicit PickyBackend(std::string name, Takes takes = nullptr)
      : name_(std::move(name)), takes_(std::move(takes)) {}

  std::string_view name() const override { return name_; }
  std::optional<Refusal> Refuses(const Program& program,
                                 NodeId node) const override {
    const std::string_view op = program.op_name(node);
    if (!takes_ || takes_(op)) return std::nullopt;
    return Refusal{RefusalReason::kDtype, std::string(op)};
  }
  ScalarBoundary scalar_boundary() const override { return scalars; }
  bool preserves_aliasing() const override { return preserves; }
  Expected<CompiledRegion> Compile(const Program&, const BackendOptions&,
                                   Diagnostics&) const override {
    return CompiledRegion{};
  }
  Expected<std::unique_ptr<Executable>> Load(Bytes, std::shared_ptr<const void>,
                                             const BackendOptions&,
                                             Diagnostics&) const override {
    return std::unique_ptr<Executable>();
  }

  ScalarBoundary scalars = ScalarBoundary::kScalar;
  bool preserves = true;

 private:
  std::string name_;
  Takes takes_;
};

// All operators but one.
inline PickyBackend::Takes AllBut(std::string op) {
  return [op = std::move(op)](std::string_view name) { return name != op; };
}

inline Program ParseText(const std::string& text) {
  Diagnostics diags;
  const PayloadSource no_payloads = [](const Digest&) {
    return std::pair<Bytes, std::shared_ptr<const void>>();
  };
  auto program = ParseProgram("tenon 1\n" + text, "test",
                              std::make_shared<Context>(), no_payloads, diags);
  if (program) return std::move(*program);
  ADD_FAILURE() << diags.ToString();
  Program empty(std::make_shared<Context>());
  empty.AddGraph("main");
  return empty;
}

inline std::string NameOf(const Program& program, NodeId n) {
  const Node& node = program.node(n);
  if (node.results.count == 0) return std::string(program.view(node.name));
  return std::string(program.view(program.value(node.results[0]).name));
}

// "a b | c": the regions by first node, each with the names of its nodes.
inline std::string Regions(const Program& program, const PartitionPlan& plan) {
  std::string text;
  for (const PlannedRegion& region : plan.regions) {
    if (&region != &plan.regions.front()) text += " | ";
    for (const NodeId n : region.nodes) {
      if (n != region.nodes.front()) text += " ";
      text += NameOf(program, n);
    }
  }
  return text;
}

// "c: user's choice (aten.relu.default)", one line for each refusal.
inline std::string Refusals(const Program& program, const PartitionPlan& plan) {
  std::string text;
  for (const NodeRefusal& r : plan.refusals) {
    text += NameOf(program, r.node) + ": " +
            std::string(Name(r.refusal.reason)) + " (" + r.refusal.detail +
            ")\n";
  }
  return text;
}

inline PartitionPlan Plan(const Program& program,
                          std::vector<BackendRequest> requests) {
  PartitionOptions options;
  options.backends = std::move(requests);
  Diagnostics diags;
  auto plan = PlanPartition(program, options, diags);
  EXPECT_TRUE(plan.ok()) << diags.ToString();
  return plan ? std::move(*plan) : PartitionPlan();
}

inline BackendRequest Ask(const Backend& backend) {
  BackendRequest request;
  request.backend = &backend;
  return request;
}

}  // namespace tenon
