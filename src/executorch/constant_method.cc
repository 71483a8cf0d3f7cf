#include "executorch/constant_method.h"

#include <cstdint>
#include <string>
#include <utility>

#include "executorch/plan_emitter.h"

namespace tenon::executorch {
namespace {

class ConstantEmitter {
 public:
  ConstantEmitter(const PteConstantMethod& method, Weights* weights,
                  Diagnostics& diags)
      : method_(method), weights_(*weights), diags_(diags) {}

  Expected<PtePlan> Emit() {
    plan_.name = method_.name;
    plan_.convention = PteConvention();
    plan_.chains.emplace_back();
    plan_.arena_bytes = {0};
    for (const PteConstant& value : method_.values) {
      plan_.outputs.push_back(static_cast<int32_t>(plan_.values.size()));
      auto content = std::visit(
          [&](const auto& v) -> Expected<PteContent> { return Of(v); }, value);
      if (!content) return Failure{};
      plan_.values.push_back({std::move(*content)});
    }
    return std::move(plan_);
  }

 private:
  Expected<PteContent> Of(int64_t v) { return PteContent(PteInt{v}); }
  Expected<PteContent> Of(double v) { return PteContent(PteDouble{v}); }
  Expected<PteContent> Of(bool v) { return PteContent(PteBool{v}); }
  Expected<PteContent> Of(const std::string& v) {
    return PteContent(PteString{v});
  }
  Expected<PteContent> Of(const Tensor& v) {
    const Place place = Place::Node(method_.name);
    PteTensor tensor;
    const auto type = ToPteType(v.dtype());
    if (!type) {
      return diags_.Error(Rule::kPte12, place)
             << "ExecuTorch has no tensors of " << Name(v.dtype());
    }
    tensor.type = *type;
    for (const int64_t size : v.sizes()) {
      if (size > INT32_MAX) {
        return diags_.Error(Rule::kPte11, place)
               << "a dimension of " << size
               << "; ExecuTorch holds sizes in 32 bits";
      }
      tensor.dim_order.push_back(static_cast<uint8_t>(tensor.dim_order.size()));
      tensor.sizes.push_back(static_cast<int32_t>(size));
    }
    const Tensor dense = v.Contiguous();
    const Bytes bytes(dense.raw(), static_cast<size_t>(dense.numel()) *
                                       SizeBytes(dense.dtype()));
    const std::string key =
        method_.name + "." + std::to_string(plan_.outputs.size() - 1);
    weights_.Store(method_.name, key, bytes, dense.storage(), &tensor);
    return PteContent(std::move(tensor));
  }

  const PteConstantMethod& method_;
  Weights& weights_;
  Diagnostics& diags_;
  PtePlan plan_;
};

}  // namespace

Expected<PtePlan> MakeConstantMethod(const PteConstantMethod& method,
                                     Weights* weights, Diagnostics& diags) {
  return ConstantEmitter(method, weights, diags).Emit();
}

}  // namespace tenon::executorch
