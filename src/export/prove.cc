#include <string>

#include "analysis/digest.h"
#include "export/export.h"
#include "text/text.h"

namespace tenon {
namespace {

std::string DescribeRoot(const Program& program, const WiringRoot* root) {
  if (root == nullptr) return "nothing";
  if (root->node.valid()) return PrintNode(program, root->node);
  if (root->value.valid()) {
    return "input %" + std::string(program.view(program.value(root->value).name));
  }
  return "a literal";
}

std::string Where(const WiringRoot& root) {
  return (root.kind == WiringRoot::Kind::kOutput ? "output " : "effect ") +
         std::to_string(root.index);
}

}  // namespace

Status ProveEqual(const Program& source, const Program& result,
                  Diagnostics& diags) {
  const Wiring a = ComputeWiring(source);
  const Wiring b = ComputeWiring(result);
  if (a.digest == b.digest) return {};
  if (!(a.calling_convention == b.calling_convention)) {
    const auto before = DescribeSignature(source);
    const auto after = DescribeSignature(result);
    for (size_t i = 0; i < std::max(before.size(), after.size()); ++i) {
      const std::string& x = i < before.size() ? before[i] : "nothing";
      const std::string& y = i < after.size() ? after[i] : "nothing";
      if (x != y) {
        return diags.Error(Rule::kT2, Place::Node("signature"))
               << "the source has '" << x << "', the result has '" << y << "'";
      }
    }
    return diags.Error(Rule::kT2, Place::Node("signature"))
           << "the calling conventions differ in specs or ranges";
  }
  for (size_t i = 0; i < std::max(a.roots.size(), b.roots.size()); ++i) {
    const WiringRoot* x = i < a.roots.size() ? &a.roots[i] : nullptr;
    const WiringRoot* y = i < b.roots.size() ? &b.roots[i] : nullptr;
    if (x != nullptr && y != nullptr && x->digest == y->digest) continue;
    return diags.Error(Rule::kT2, Place::Node(Where(x ? *x : *y)))
           << "the source computes " << DescribeRoot(source, x)
           << ", the result computes " << DescribeRoot(result, y);
  }
  return diags.Error(Rule::kT2) << "the digests differ: "
                                << a.digest.ToHex() << " and "
                                << b.digest.ToHex();
}

}  // namespace tenon
