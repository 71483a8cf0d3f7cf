#include "backends/backend.h"

#include "backends/cpu/cpu_backend.h"
#include "backends/echo/echo_backend.h"
#include "backends/reference/reference_backend.h"

namespace tenon {
namespace {

// In the order in which a partition tries them by default.
std::span<const Backend* const> AllBackends() {
  static const auto* cpu = new CpuBackend();
  static const auto* reference = new ReferenceBackend();
  static const auto* echo = new EchoBackend();
  static const Backend* const all[] = {cpu, reference, echo};
  return all;
}

}  // namespace

std::string_view Name(RefusalReason reason) {
  switch (reason) {
    case RefusalReason::kOperatorUnknown:
      return "operator unknown";
    case RefusalReason::kDtype:
      return "dtype";
    case RefusalReason::kLayout:
      return "layout";
    case RefusalReason::kRank:
      return "rank";
    case RefusalReason::kDynamicShape:
      return "dynamic shape";
    case RefusalReason::kDataDependentOutput:
      return "data-dependent output";
    case RefusalReason::kAttributeValue:
      return "attribute value";
    case RefusalReason::kEffect:
      return "effect";
    case RefusalReason::kScalarBoundary:
      return "scalar boundary";
    case RefusalReason::kRegionTooSmall:
      return "region too small";
    case RefusalReason::kUserChoice:
      return "user's choice";
    case RefusalReason::kTooManyRegions:
      return "too many regions";
  }
  return "?";
}

const Backend* FindBackend(std::string_view name) {
  for (const Backend* backend : AllBackends()) {
    if (backend->name() == name) return backend;
  }
  return nullptr;
}

std::vector<std::string_view> AllBackendNames() {
  std::vector<std::string_view> names;
  for (const Backend* backend : AllBackends()) names.push_back(backend->name());
  return names;
}

}  // namespace tenon
