#include "backends/interpreted_region.h"

#include <utility>
#include <vector>

#include "backends/region_payload.h"
#include "interpreter/interpreter.h"

namespace tenon {
namespace {

class InterpretedRegion : public Executable {
 public:
  explicit InterpretedRegion(std::shared_ptr<const Program> region)
      : region_(std::move(region)) {}

  Expected<std::vector<RuntimeValue>> Run(std::span<const RuntimeValue> inputs,
                                          Diagnostics& diags) override {
    TENON_TRY(CheckRegionInputs(*region_, inputs, diags));
    return Interpret(*region_, Program::kRoot,
                     std::vector<RuntimeValue>(inputs.begin(), inputs.end()),
                     InterpreterOptions{}, diags);
  }

  std::unique_ptr<Executable> Fork() const override {
    return std::make_unique<InterpretedRegion>(region_);
  }

 private:
  const std::shared_ptr<const Program> region_;
};

}  // namespace

Expected<std::unique_ptr<Executable>> LoadInterpretedRegion(
    std::string_view backend, Bytes payload, Diagnostics& diags) {
  TENON_ASSIGN(Program region, ReadRegionPayload(backend, payload, diags));
  return std::unique_ptr<Executable>(std::make_unique<InterpretedRegion>(
      std::make_shared<const Program>(std::move(region))));
}

}  // namespace tenon
