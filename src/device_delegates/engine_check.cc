#include "device_delegates/engine_check.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace tenon {
namespace {

// The n of "input_n"; nothing for other names.
std::optional<size_t> NumberOf(std::string_view name, std::string_view stem) {
  if (!name.starts_with(stem)) return std::nullopt;
  name.remove_prefix(stem.size());
  size_t n = 0;
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data(), end, n);
  return error == std::errc() && rest == end ? std::optional(n) : std::nullopt;
}

class EngineCheck {
 public:
  EngineCheck(const EngineContainer& container, const RegionBlob& region,
              const Place& place, Diagnostics& diags)
      : container_(container), region_(region), place_(place), diags_(diags) {}

  Expected<std::vector<DeclaredWrite>> Run(int8_t cuda_device) {
    if (container_.device_id != cuda_device) {
      Error() << "the engine was built for cuda:" << container_.device_id
              << ", the target is cuda:" << int{cuda_device};
    }
    CheckList("input", "input_", container_.inputs, region_.inputs);
    CheckList("output", "output_", container_.outputs, region_.outputs);
    if (!is_fine_) return Failure{};
    for (const EngineAlias& alias : container_.aliases) AddWrite(alias);
    if (!is_fine_) return Failure{};
    return std::move(writes_);
  }

 private:
  DiagnosticBuilder Error(Rule rule = Rule::kEngine02) {
    is_fine_ = false;
    return diags_.Error(rule, place_);
  }

  void CheckList(const char* what, std::string_view stem,
                 const std::vector<EngineBinding>& bound,
                 const std::vector<BoundaryTensor>& tensors) {
    if (bound.size() != tensors.size()) {
      Error() << "the engine binds " << bound.size() << " " << what
              << "s, the region has " << tensors.size();
      return;
    }
    for (size_t i = 0; i < bound.size(); ++i) {
      const auto number = NumberOf(bound[i].name, stem);
      if (number && *number != i) {
        Error() << what << " " << i << " of the engine is called '"
                << bound[i].name << "': bindings are out of order";
      }
      CheckBinding(what, bound[i], tensors[i]);
    }
  }

  void CheckBinding(const char* what, const EngineBinding& binding,
                    const BoundaryTensor& tensor) {
    const auto dtype = FindDType(binding.dtype);
    if (dtype && *dtype != tensor.dtype) {
      Error() << what << " '" << binding.name << "' is " << binding.dtype
              << " in the engine and " << Name(tensor.dtype)
              << " in the region";
    }
    if (binding.shape.empty()) return;
    if (binding.shape.size() != tensor.rank()) {
      Error() << what << " '" << binding.name << "' has "
              << binding.shape.size() << " dimensions in the engine and "
              << tensor.rank() << " in the region";
      return;
    }
    for (size_t d = 0; d < tensor.rank(); ++d) {
      const int64_t size = binding.shape[d];
      const bool fits =
          size == -1 || (size == tensor.min[d] && size == tensor.max[d]);
      if (fits) continue;
      Error() << what << " '" << binding.name << "' has size " << size
              << " in dimension " << d << " in the engine; the region needs "
              << tensor.min[d] << " to " << tensor.max[d];
    }
  }

  static uint32_t PositionOf(const std::vector<EngineBinding>& list,
                             std::string_view name) {
    const auto at =
        std::find_if(list.begin(), list.end(),
                     [&](const EngineBinding& b) { return b.name == name; });
    return static_cast<uint32_t>(at - list.begin());
  }

  // The container's own checks found both names.
  void AddWrite(const EngineAlias& alias) {
    DeclaredWrite write;
    write.input = PositionOf(container_.inputs, alias.input);
    write.output = PositionOf(container_.outputs, alias.output);
    write.kind = alias.kind;
    const bool is_wanted =
        std::any_of(region_.writes.begin(), region_.writes.end(),
                    [&](const DeclaredWrite& w) {
                      return w.input == write.input && w.output == write.output;
                    });
    if (!is_wanted) {
      Error(Rule::kEngine03)
          << "the engine writes output '" << alias.output << "' over input '"
          << alias.input
          << "', which is read afterwards or isn't what it replaces";
      return;
    }
    const BoundaryTensor& cache = region_.inputs[write.input];
    if (alias.kind == WriteKind::kKvCacheUpdate &&
        (cache.rank() != 4 || cache.min != cache.max)) {
      Error(Rule::kEngine03)
          << "output '" << alias.output << "' is a kv_cache_update of a cache "
          << "that isn't of 4 dimensions of fixed sizes";
      return;
    }
    writes_.push_back(write);
  }

  const EngineContainer& container_;
  const RegionBlob& region_;
  const Place& place_;
  Diagnostics& diags_;
  std::vector<DeclaredWrite> writes_;
  bool is_fine_ = true;
};

}  // namespace

Expected<std::vector<DeclaredWrite>> CheckEngine(
    const EngineContainer& container, const RegionBlob& region,
    int8_t cuda_device, const Place& place, Diagnostics& diags) {
  return EngineCheck(container, region, place, diags).Run(cuda_device);
}

}  // namespace tenon
