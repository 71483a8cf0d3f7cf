#include "tenon_delegate/tenon_delegate.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "support/hash.h"
#include "tenon_delegate/delegate_payload.h"

namespace tenon {
namespace {

const Backend& Cpu() {
  static const Backend* const cpu = FindBackend("cpu");
  return *cpu;
}

// A region with its constants in their places.
class ConstantInputs : public Executable {
 public:
  ConstantInputs(std::unique_ptr<Executable> region,
                 std::vector<std::pair<uint32_t, Tensor>> constants)
      : region_(std::move(region)), constants_(std::move(constants)) {}

  Expected<std::vector<RuntimeValue>> Run(std::span<const RuntimeValue> inputs,
                                          Diagnostics& diags) override {
    all_.clear();
    size_t next = 0;
    for (const auto& [input, tensor] : constants_) {
      while (all_.size() < input && next < inputs.size()) {
        all_.push_back(inputs[next++]);
      }
      all_.emplace_back(tensor);
    }
    all_.insert(all_.end(), inputs.begin() + static_cast<ptrdiff_t>(next),
                inputs.end());
    auto outputs = region_->Run(all_, diags);
    // Nothing of the caller's is kept.
    all_.clear();
    return outputs;
  }

 private:
  const std::unique_ptr<Executable> region_;
  const std::vector<std::pair<uint32_t, Tensor>> constants_;  // ascending
  std::vector<RuntimeValue> all_;
};

}  // namespace

std::optional<Refusal> TenonDelegate::Refuses(const Program& program,
                                              NodeId node) const {
  if (auto refusal = Cpu().Refuses(program, node)) return refusal;
  const ValueRange results = program.node(node).results;
  for (uint32_t i = 0; i < results.count; ++i) {
    if (program.type(results[i]).is_tensor()) continue;
    // The host can't be given numbers.
    return Refusal{RefusalReason::kScalarBoundary, "a number as result"};
  }
  return std::nullopt;
}

Expected<CompiledRegion> TenonDelegate::Compile(const Program& region,
                                                const BackendOptions& options,
                                                Diagnostics& diags) const {
  BackendOptions without = options;
  without.constants.clear();
  TENON_ASSIGN(CompiledRegion compiled, Cpu().Compile(region, without, diags));
  // What takes an input's place, as was offered, is that argument to the host;
  // a write to anything else it can't be told.
  for (const DeclaredWrite& write : compiled.writes) {
    const bool is_offered =
        std::any_of(options.replaceable.begin(), options.replaceable.end(),
                    [&](const DeclaredWrite& r) {
                      return r.input == write.input && r.output == write.output;
                    });
    if (is_offered) continue;
    return diags.Error(Rule::kUnsupported)
           << "backend tenon: the region writes an input in place";
  }
  for (const Arg& output : region.outputs(Program::kRoot)) {
    if (output.is_value() && region.type(output.value()).is_tensor()) continue;
    return diags.Error(Rule::kUnsupported)
           << "backend tenon: an output of the region is no tensor";
  }
  DelegatePayload payload;
  payload.num_outputs =
      static_cast<uint32_t>(region.outputs(Program::kRoot).size());
  for (const RegionConstant& c : options.constants) {
    const Tensor dense = c.tensor.Contiguous();
    const Bytes bytes(dense.raw(), static_cast<size_t>(dense.numel()) *
                                       SizeBytes(dense.dtype()));
    // The file can name no empty data, and such an input costs nothing.
    if (bytes.empty()) continue;
    DelegateConstant constant;
    constant.input = c.input;
    constant.dtype = dense.dtype();
    constant.sizes = dense.sizes();
    constant.key = "tenon_" + HashBytes(bytes.data(), bytes.size()).ToHex();
    compiled.absorbed_inputs.push_back(c.input);
    compiled.named_data.push_back({constant.key, bytes, dense.storage()});
    payload.constants.push_back(std::move(constant));
  }
  payload.region = compiled.payload;
  compiled.payload = WriteDelegatePayload(payload);
  return compiled;
}

Expected<std::unique_ptr<Executable>> TenonDelegate::Load(
    Bytes payload, std::shared_ptr<const void>, const BackendOptions& options,
    Diagnostics& diags) const {
  const auto nothing = [&](const std::string& key)
      -> Expected<std::pair<Bytes, std::shared_ptr<const void>>> {
    return diags.Error(Rule::kUnsupported)
           << "the payload asks for data '" << key
           << "', which only a .pte can name";
  };
  TENON_ASSIGN(LoadedDelegate loaded,
               LoadTenonDelegate(payload, nothing, options, diags));
  return std::move(loaded.region);
}

Expected<LoadedDelegate> LoadTenonDelegate(Bytes payload,
                                           const NamedDataSource& data,
                                           const BackendOptions& options,
                                           Diagnostics& diags) {
  TENON_ASSIGN(const DelegatePayload read, ReadDelegatePayload(payload, diags));
  TENON_ASSIGN(auto region, Cpu().Load(read.region, nullptr, options, diags));
  std::vector<std::pair<uint32_t, Tensor>> constants;
  for (const DelegateConstant& c : read.constants) {
    TENON_ASSIGN(auto found, data(c.key));
    auto storage = Storage::BorrowConst(found.first, std::move(found.second));
    Tensor tensor(std::move(storage), c.dtype, c.sizes,
                  ContiguousStrides(c.sizes), 0);
    const bool is_aligned =
        reinterpret_cast<uintptr_t>(tensor.raw()) % SizeBytes(c.dtype) == 0;
    if (!tensor.FitsStorage() ||
        (!is_aligned && !tensor.storage()->MakeWritable())) {
      return diags.Error(Rule::kFile08)
             << "data '" << c.key << "' has " << found.first.size()
             << " bytes, too few for " << tensor.ToString();
    }
    constants.emplace_back(c.input, std::move(tensor));
  }
  return LoadedDelegate{
      std::make_unique<ConstantInputs>(std::move(region), std::move(constants)),
      read.num_outputs};
}

}  // namespace tenon
