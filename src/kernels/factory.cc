#include "kernels/factory.h"

#include <vector>

#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {

bool ReadOptions(KernelCall& call, DType* dtype) {
  const OpSchema& schema = call.schema();
  const auto given = [&](std::string_view name) -> const RuntimeValue* {
    const int at = schema.FindArg(name);
    if (at < 0 || call.is_none(static_cast<size_t>(at))) return nullptr;
    return &call.arg(static_cast<size_t>(at));
  };
  if (const auto* value = given("dtype")) *dtype = value->dtype();
  if (const auto* layout = given("layout")) {
    if (layout->layout() != Layout::kStrided) {
      return call.Fail("no layout '" + std::string(Name(layout->layout())) +
                       "', only strided");
    }
  }
  if (const auto* device = given("device")) {
    const std::string& type =
        device->is_string() ? device->string() : device->device().type;
    if (type != "cpu") return call.Fail("no device '" + type + "', only cpu");
  }
  return true;
}

bool ReadLikeStrides(KernelCall& call, const Tensor& self, Sizes* strides) {
  const int at = call.schema().FindArg("memory_format");
  MemoryFormat format = MemoryFormat::kPreserve;
  if (at >= 0 && !call.is_none(static_cast<size_t>(at))) {
    format = call.arg(static_cast<size_t>(at)).memory_format();
  }
  if ((format == MemoryFormat::kChannelsLast && self.dim() != 4) ||
      (format == MemoryFormat::kChannelsLast3d && self.dim() != 5)) {
    return call.Fail(std::string(Name(format)) + " doesn't fit a tensor of " +
                     std::to_string(self.dim()) + " dimensions");
  }
  *strides = format == MemoryFormat::kPreserve
                 ? LikeStrides(self)
                 : StridesFor(self.sizes(), format);
  return true;
}

std::span<const KernelEntry> FactoryKernels() {
  static const auto* all = [] {
    auto* entries = new std::vector<KernelEntry>();
    for (const auto part : {FilledKernels(), RangeKernels(), RandomKernels()}) {
      entries->insert(entries->end(), part.begin(), part.end());
    }
    return entries;
  }();
  return *all;
}

}  // namespace tenon
