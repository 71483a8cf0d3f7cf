// Backends that are wrong on purpose: what `tenon run --check` is there to
// find. Each runs a region by the reference kernels, after replacing some
// operators by others.
#pragma once

#include <functional>
#include <string_view>
#include <utility>

#include "backends/backend.h"
#include "ir/program.h"

namespace tenon {

class WrongBackend : public Backend {
 public:
  // Changes a copy of the region.
  using Spoil = std::function<void(Program* region)>;
  explicit WrongBackend(Spoil spoil) : spoil_(std::move(spoil)) {}

  std::string_view name() const override { return "wrong"; }
  std::optional<Refusal> Refuses(const Program& program,
                                 NodeId node) const override {
    return reference().Refuses(program, node);
  }
  bool preserves_aliasing() const override {
    return reference().preserves_aliasing();
  }
  Expected<CompiledRegion> Compile(const Program& region,
                                   const BackendOptions& options,
                                   Diagnostics& diags) const override {
    Program spoilt = region.CloneApart();
    spoil_(&spoilt);
    return reference().Compile(spoilt, options, diags);
  }
  Expected<std::unique_ptr<Executable>> Load(
      Bytes payload, std::shared_ptr<const void> owner,
      const BackendOptions& options, Diagnostics& diags) const override {
    return reference().Load(payload, std::move(owner), options, diags);
  }

  // Every `from` becomes `to`, which takes the same arguments.
  static void Replace(Program* region, std::string_view from,
                      std::string_view to) {
    for (const NodeId n : region->nodes(Program::kRoot)) {
      if (region->node(n).kind == NodeKind::kOp && region->op_name(n) == from) {
        region->mutable_node(n).op = region->context().InternOp(to);
      }
    }
  }
  static bool Has(const Program& region, std::string_view op) {
    for (const NodeId n : region.nodes(Program::kRoot)) {
      if (region.node(n).kind == NodeKind::kOp && region.op_name(n) == op) {
        return true;
      }
    }
    return false;
  }

 private:
  static const Backend& reference() { return *FindBackend("reference"); }

  Spoil spoil_;
};

}  // namespace tenon
