#include "lower/remove_asserts.h"

#include <string_view>

#include "lower/live_graphs.h"

namespace tenon::lower {
namespace {

constexpr std::string_view kAsserts[] = {
    "aten._assert_tensor_metadata.default",
    "aten._assert_scalar.default",
    "aten._assert_async.msg",
    "aten._assert_async.default",
    "aten.sym_constrain_range_for_size.default",
    "aten.sym_constrain_range.default",
};

bool IsAssert(const Program& program, NodeId n) {
  if (program.node(n).kind != NodeKind::kOp) return false;
  for (const std::string_view op : kAsserts) {
    if (program.op_name(n) == op) return true;
  }
  return false;
}

}  // namespace

uint32_t RemoveAsserts(Program* program) {
  uint32_t count = 0;
  for (const GraphId g : LiveGraphs(*program)) {
    for (const NodeId n : program->nodes(g)) {
      if (!IsAssert(*program, n)) continue;
      bool is_used = false;
      const ValueRange results = program->node(n).results;
      for (uint32_t i = 0; i < results.count; ++i) {
        is_used |= program->value(results[i]).num_uses > 0;
      }
      if (is_used) continue;
      program->Erase(g, n);
      ++count;
    }
  }
  return count;
}

}  // namespace tenon::lower
