#include "formats/pte/kernels.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "support/assert.h"

namespace tenon {
namespace {

struct KernelRow {
  std::string_view name;
  std::string_view declaration;
  std::string_view library;
  std::string_view functional;
};

// Sorted by name; made by scripts/make_executorch_kernels.py.
constexpr KernelRow kRows[] = {
#include "formats/pte/kernels.inc"
};

std::vector<PteKernel> ParseRows() {
  std::vector<PteKernel> kernels;
  kernels.reserve(std::size(kRows));
  for (const KernelRow& row : kRows) {
    PteKernel& kernel = kernels.emplace_back();
    kernel.name = row.name;
    kernel.library = row.library;
    kernel.functional = row.functional;
    const bool is_parsed = ParseSchema(row.declaration, &kernel.schema);
    TENON_ASSERT(is_parsed, "the table of kernels holds schemas");
  }
  return kernels;
}

const std::vector<PteKernel>& AllKernels() {
  static const std::vector<PteKernel> kernels = ParseRows();
  return kernels;
}

}  // namespace

std::string KernelName(const PteOperator& op) {
  return op.overload.empty() ? op.name : op.name + "." + op.overload;
}

bool PteKernel::repeats_result() const {
  return library != "runtime" || !schema.returns.empty();
}

bool PteKernel::returns_scalar() const {
  return schema.returns.size() == 1 &&
         schema.returns[0].type != SchemaType::kTensor;
}

const PteKernel* FindPteKernel(std::string_view name) {
  const std::vector<PteKernel>& kernels = AllKernels();
  const auto found = std::lower_bound(
      kernels.begin(), kernels.end(), name,
      [](const PteKernel& k, std::string_view n) { return k.name < n; });
  return found == kernels.end() || found->name != name ? nullptr : &*found;
}

const PteKernel* FindPteKernelOf(std::string_view functional) {
  static const auto by_functional = [] {
    std::unordered_map<std::string_view, const PteKernel*> table;
    for (const PteKernel& kernel : AllKernels()) {
      if (!kernel.functional.empty()) table[kernel.functional] = &kernel;
    }
    return table;
  }();
  const auto found = by_functional.find(functional);
  return found == by_functional.end() ? nullptr : found->second;
}

}  // namespace tenon
