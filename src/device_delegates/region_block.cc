#include "device_delegates/region_block.h"

#include <algorithm>
#include <optional>

#include "device_delegates/node_dtypes.h"
#include "executorch/size_bounds.h"
#include "region_blob/region_blob.h"

namespace tenon {
namespace {

class BlockMaker {
 public:
  BlockMaker(const Program& region, const DeviceTarget& target,
             Diagnostics& diags)
      : region_(region), bounds_(region), diags_(diags) {
    ExprPool& exprs = region.context().exprs;
    for (size_t i = 0; i < exprs.size(); ++i) {
      const Expr& e = exprs.get(ExprId(i));
      if (e.kind != ExprKind::kSymbol) continue;
      const auto limit = target.bounds.find(std::string(region.view(e.text)));
      if (limit != target.bounds.end()) {
        bounds_.Limit(ExprId(i), limit->second);
      }
    }
  }

  Status AddInputs(std::span<const RegionConstant> constants) {
    const auto& inputs = region_.root().inputs;
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      const auto constant =
          std::find_if(constants.begin(), constants.end(),
                       [&](const RegionConstant& c) { return c.input == i; });
      if (constant != constants.end()) {
        position_.push_back(std::nullopt);
        AddConstant(*constant);
        continue;
      }
      position_.push_back(static_cast<uint32_t>(blob_.inputs.size()));
      const ValueId v = inputs[i];
      TENON_ASSIGN(
          auto tensor,
          BoundaryOf(v, "input " + std::to_string(i) + " '" +
                            std::string(region_.view(region_.value(v).name)) +
                            "'"));
      blob_.inputs.push_back(std::move(tensor));
    }
    return {};
  }

  Status AddOutputs() {
    const auto outputs = region_.outputs(Program::kRoot);
    for (uint32_t j = 0; j < outputs.size(); ++j) {
      const std::string what = "output " + std::to_string(j);
      if (!outputs[j].is_value()) {
        return Error() << what << " is no tensor";
      }
      TENON_ASSIGN(auto tensor, BoundaryOf(outputs[j].value(), what));
      blob_.outputs.push_back(std::move(tensor));
    }
    return {};
  }

  Status AddWrites(std::span<const DeclaredWrite> writes) {
    for (const DeclaredWrite& write : writes) {
      if (write.input >= position_.size() || !position_[write.input]) {
        return Error() << "a constant would be written";
      }
      blob_.writes.push_back(
          {*position_[write.input], write.output, write.kind});
    }
    return {};
  }

  std::vector<std::byte> Write(Bytes program) {
    blob_.program = program;
    return WriteRegionBlob(blob_);
  }

 private:
  DiagnosticBuilder Error(Rule rule = Rule::kUnsupported) {
    return diags_.Error(rule);
  }

  void AddConstant(const RegionConstant& c) {
    dense_.push_back(c.tensor.Contiguous());
    const Tensor& tensor = dense_.back();
    BlobConstant constant;
    constant.input = c.input;
    constant.dtype = tensor.dtype();
    constant.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
    constant.bytes = Bytes(tensor.raw(), static_cast<size_t>(tensor.numel()) *
                                             SizeBytes(tensor.dtype()));
    blob_.constants.push_back(std::move(constant));
  }

  Expected<BoundaryTensor> BoundaryOf(ValueId v, const std::string& what) {
    const Type& type = region_.type(v);
    if (!type.is_tensor()) {
      return Error() << what
                     << " is a number; delegates on devices take tensors alone";
    }
    if (!IsDeviceDtype(type.dtype)) {
      return Error() << what << " is " << Name(type.dtype)
                     << ", which the delegate doesn't have";
    }
    BoundaryTensor out;
    out.dtype = type.dtype;
    for (size_t d = 0; d < type.sizes.size(); ++d) {
      const auto range = bounds_.Of(type.sizes[d]);
      if (!range.max) {
        return Error(Rule::kPte32)
               << "dimension " << d << " of " << what << " is "
               << region_.context().exprs.PrintInfix(type.sizes[d].expr)
               << ", which has no upper bound";
      }
      out.min.push_back(std::max<int64_t>(range.min.value_or(0), 0));
      out.max.push_back(std::max(*range.max, out.min.back()));
    }
    return out;
  }

  const Program& region_;
  executorch::SizeBounds bounds_;
  Diagnostics& diags_;
  RegionBlob blob_;
  std::vector<Tensor> dense_;  // what the blob's constants are views of
  // Among the inputs that calls pass, by the region's own.
  std::vector<std::optional<uint32_t>> position_;
};

}  // namespace

Expected<std::vector<std::byte>> MakeRegionBlock(
    const Program& region, std::span<const RegionConstant> constants,
    std::span<const DeclaredWrite> writes, Bytes program,
    const DeviceTarget& target, Diagnostics& diags) {
  BlockMaker maker(region, target, diags);
  TENON_TRY(maker.AddInputs(constants));
  TENON_TRY(maker.AddOutputs());
  TENON_TRY(maker.AddWrites(writes));
  return maker.Write(program);
}

Program WithoutLabels(const Program& region) {
  Program out = region.Clone();
  out.name = "model";
  out.regions.clear();
  out.mutable_graph(Program::kRoot).name = out.context().Intern("main");
  Context& context = out.context();
  for (uint32_t i = 0; i < out.num_values(); ++i) {
    out.mutable_value(ValueId(i)).name =
        context.Intern("v" + std::to_string(i));
  }
  for (uint32_t i = 0; i < out.num_nodes(); ++i) {
    Node& node = out.mutable_node(NodeId(i));
    node.has_name = false;
    node.name = StringId();
    node.region = RegionId();
  }
  return out;
}

}  // namespace tenon
