// Layers: convolutions, normalisation, pooling, resampling, padding.
//
// The kernels know two dimensions of space; one dimension is two, one of them
// of size 1.
#include <string>
#include <vector>

#include "lower/rewrite_rules.h"

namespace tenon::lower {
namespace {

using Ints = std::vector<int64_t>;

// An image without a batch is a batch of one: `make` gets the batched input and
// the sizes of the batched result.
Rewritten Batched(NodeRewrite& r, int64_t spatial, size_t result,
                  const std::function<std::optional<ValueId>(
                      ValueId input, const Shape& sizes)>& make) {
  const ValueId input = r.tensor(0);
  const Shape to = r.result_type(result).sizes;
  if (r.type(0).rank() == spatial + 2) {
    const auto out = make(input, to);
    return out ? r.Done(*out) : Rewritten::kSkip;
  }
  if (r.type(0).rank() != spatial + 1) return Rewritten::kSkip;
  Shape wide = r.type(0).sizes;
  wide.insert(wide.begin(), SymInt::Literal(1));
  const auto batch = r.build.Reshape(input, wide);
  Shape sizes = to;
  sizes.insert(sizes.begin(), SymInt::Literal(1));
  const auto out = batch ? make(*batch, sizes) : std::nullopt;
  const auto single = out ? r.build.Reshape(*out, to) : std::nullopt;
  return single ? r.Done(*single) : Rewritten::kSkip;
}

struct ConvolutionArgs {
  Ints stride, padding, dilation, output_padding;
  bool transposed = false;
  Operand groups;
};

Rewritten Convolve(NodeRewrite& r, int64_t spatial,
                   const ConvolutionArgs& args) {
  if (!r.tensor(1).valid()) return Rewritten::kSkip;
  return Batched(
      r, spatial, 0,
      [&](ValueId input, const Shape& sizes) -> std::optional<ValueId> {
        return r.build.Call(
            "aten.convolution.default",
            {input, r.arg(1), r.arg(2), Operand::Ints(args.stride),
             Operand::Ints(args.padding), Operand::Ints(args.dilation),
             Operand::Bool(args.transposed), Operand::Ints(args.output_padding),
             args.groups},
            r.build.TensorType(r.result_type().dtype, sizes));
      });
}

// (input, weight, bias, stride, padding, dilation, groups)
RewriteRule Convolution(int64_t spatial) {
  return [spatial](NodeRewrite& r) {
    const auto count = static_cast<size_t>(spatial);
    const auto stride = r.Ints(3, count), dilation = r.Ints(5, count);
    auto padding = r.Ints(4, count);
    if (!r.tensor(0).valid() || !r.tensor(1).valid() || !stride || !dilation) {
      return Rewritten::kSkip;
    }
    if (r.String(4) == "valid") padding = Ints(count, 0);
    if (r.String(4) == "same") {
      padding = Ints(count, 0);
      for (size_t d = 0; d < count; ++d) {
        const SymInt size = r.type(1).sizes[d + 2];
        if (!size.is_literal()) return Rewritten::kSkip;
        const int64_t total = (*dilation)[d] * (size.value - 1);
        // One side more than the other: that takes a kernel for padding.
        if (total % 2 != 0) return Rewritten::kSkip;
        (*padding)[d] = total / 2;
      }
    }
    if (!padding) return Rewritten::kSkip;
    ConvolutionArgs args;
    args.stride = *stride;
    args.padding = *padding;
    args.dilation = *dilation;
    args.output_padding = Ints(count, 0);
    args.groups = r.arg(6);
    return Convolve(r, spatial, args);
  };
}

// (input, weight, bias, stride, padding, output_padding, groups, dilation)
RewriteRule TransposedConvolution(int64_t spatial) {
  return [spatial](NodeRewrite& r) {
    const auto count = static_cast<size_t>(spatial);
    const auto stride = r.Ints(3, count), padding = r.Ints(4, count),
               output = r.Ints(5, count), dilation = r.Ints(7, count);
    if (!r.tensor(0).valid() || !stride || !padding || !output || !dilation) {
      return Rewritten::kSkip;
    }
    ConvolutionArgs args;
    args.stride = *stride;
    args.padding = *padding;
    args.dilation = *dilation;
    args.output_padding = *output;
    args.transposed = true;
    args.groups = r.arg(6);
    return Convolve(r, spatial, args);
  };
}

// --- normalisation ----------------------------------------------------------

// Three results of which the first is wanted.
ValueId FirstOfThree(NodeRewrite& r, std::string_view op,
                     std::vector<Operand> operands, TypeId rest) {
  const TypeId types[] = {r.build.TypeLike(r.result()), rest, rest};
  return r.build.CallMany(op, std::move(operands), types)[0];
}

// (input, weight, bias, mean, var, training, momentum, eps, cudnn)
Rewritten BatchNorm(NodeRewrite& r) {
  if (!r.tensor(0).valid() || r.Bool(5) || !r.tensor(3).valid() ||
      !r.tensor(4).valid()) {
    return Rewritten::kSkip;
  }
  const TypeId none = r.build.TensorType(r.type(0).dtype, {SymInt::Literal(0)});
  return r.Done(FirstOfThree(
      r, "aten._native_batch_norm_legit_no_training.default",
      {r.arg(0), r.arg(1), r.arg(2), r.arg(3), r.arg(4), r.arg(6), r.arg(7)},
      none));
}

// In training, by the batch's own statistics, which move the running ones:
// (input, weight, bias, mean, var, training, momentum, eps)
//   -> (out, mean, rstd, new mean, new var)
Rewritten BatchNormFunctional(NodeRewrite& r) {
  const ValueId input = r.tensor(0);
  const auto momentum = r.Number(6), eps = r.Number(7);
  if (!input.valid() || !r.Bool(5) || !momentum || !eps ||
      !r.tensor(3).valid() || !r.tensor(4).valid() || r.type(0).rank() < 2 ||
      !r.type(0).has_static_sizes() || r.type(0).dtype != r.type(3).dtype) {
    return Rewritten::kSkip;
  }
  const Shape sizes = r.type(0).sizes;
  const DType dtype = r.type(0).dtype;
  Ints dims = {0};
  int64_t count = sizes[0].value;
  Shape along(sizes.size(), SymInt::Literal(1));
  along[1] = sizes[1];
  for (size_t d = 2; d < sizes.size(); ++d) {
    dims.push_back(static_cast<int64_t>(d));
    count *= sizes[d].value;
  }
  if (count < 2) return Rewritten::kSkip;
  const TypeId kept = r.build.TensorType(dtype, along);
  const TypeId whole = r.build.TypeLike(input);
  const auto call = [&](std::string_view op, std::vector<Operand> operands,
                        TypeId type) {
    return r.build.Call(op, std::move(operands), type);
  };
  const ValueId mean = call(
      "aten.mean.dim", {input, Operand::Ints(dims), Operand::Bool(true)}, kept);
  const ValueId centred = call("aten.sub.Tensor", {input, mean}, whole);
  const ValueId square = call("aten.mul.Tensor", {centred, centred}, whole);
  const ValueId var =
      call("aten.mean.dim", {square, Operand::Ints(dims), Operand::Bool(true)},
           kept);
  const ValueId rstd =
      call("aten.rsqrt.default",
           {call("aten.add.Scalar", {var, Operand::Float(*eps)}, kept)}, kept);
  ValueId out = call("aten.mul.Tensor", {centred, rstd}, whole);
  if (r.tensor(1).valid()) {
    out = call("aten.mul.Tensor", {out, *r.build.Reshape(r.tensor(1), along)},
               whole);
  }
  if (r.tensor(2).valid()) {
    out = call("aten.add.Tensor", {out, *r.build.Reshape(r.tensor(2), along)},
               whole);
  }
  r.Give(0, out);
  const Shape flat = {sizes[1]};
  const TypeId row = r.build.TensorType(dtype, flat);
  const auto moved = [&](ValueId running, ValueId batch, double factor) {
    const ValueId old =
        call("aten.mul.Scalar", {running, Operand::Float(1 - *momentum)}, row);
    const ValueId fresh = call(
        "aten.mul.Scalar",
        {*r.build.Reshape(batch, flat), Operand::Float(*momentum * factor)},
        row);
    return call("aten.add.Tensor", {old, fresh}, row);
  };
  const auto n = static_cast<double>(count);
  if (r.is_used(1)) r.Give(1, *r.build.Reshape(mean, flat));
  if (r.is_used(2)) r.Give(2, *r.build.Reshape(rstd, flat));
  if (r.is_used(3)) r.Give(3, moved(r.tensor(3), mean, 1));
  if (r.is_used(4)) r.Give(4, moved(r.tensor(4), var, n / (n - 1)));
  return Rewritten::kDone;
}

// (input, shape, weight, bias, eps, cudnn)
Rewritten LayerNorm(NodeRewrite& r) {
  const auto shape = r.Ints(1);
  if (!r.tensor(0).valid() || !shape) return Rewritten::kSkip;
  Shape kept = r.type(0).sizes;
  for (size_t i = 0; i < shape->size() && i < kept.size(); ++i) {
    kept[kept.size() - 1 - i] = SymInt::Literal(1);
  }
  return r.Done(FirstOfThree(r, "aten.native_layer_norm.default",
                             {r.arg(0), r.arg(1), r.arg(2), r.arg(3), r.arg(4)},
                             r.build.TensorType(r.type(0).dtype, kept)));
}

// (input, groups, weight, bias, eps, cudnn)
Rewritten GroupNorm(NodeRewrite& r) {
  const auto groups = r.Int(1);
  if (!r.tensor(0).valid() || !groups || r.type(0).rank() < 2) {
    return Rewritten::kSkip;
  }
  const Shape sizes = r.type(0).sizes;
  const SymInt area = r.build.ProductOf(Shape(sizes.begin() + 2, sizes.end()));
  if (!sizes[1].is_literal() || !area.is_literal()) return Rewritten::kSkip;
  return r.Done(
      FirstOfThree(r, "aten.native_group_norm.default",
                   {r.arg(0), r.arg(2), r.arg(3), r.build.Size(r.tensor(0), 0),
                    Operand::Int(sizes[1].value), Operand::Int(area.value),
                    r.arg(1), r.arg(4)},
                   r.build.TensorType(r.type(0).dtype,
                                      {sizes[0], SymInt::Literal(*groups)})));
}

// (input, shape, weight, eps): self / sqrt(mean(self^2) + eps) * weight
Rewritten RmsNorm(NodeRewrite& r) {
  const auto shape = r.Ints(1);
  if (!r.tensor(0).valid() || !shape || r.type(0).dtype != DType::kFloat32) {
    return Rewritten::kSkip;
  }
  const double eps = r.Number(3).value_or(1.1920928955078125e-07);
  Shape kept = r.type(0).sizes;
  Ints dims;
  for (size_t i = 0; i < shape->size() && i < kept.size(); ++i) {
    kept[kept.size() - 1 - i] = SymInt::Literal(1);
    dims.push_back(-1 - static_cast<int64_t>(i));
  }
  const TypeId whole = r.build.TypeLike(r.result());
  const TypeId narrow = r.build.TensorType(r.type(0).dtype, kept);
  const ValueId square =
      r.build.Call("aten.mul.Tensor", {r.arg(0), r.arg(0)}, whole);
  const ValueId mean =
      r.build.Call("aten.mean.dim",
                   {square, Operand::Ints(dims), Operand::Bool(true)}, narrow);
  const ValueId scale = r.build.Call(
      "aten.rsqrt.default",
      {r.build.Call("aten.add.Scalar", {mean, Operand::Float(eps)}, narrow)},
      narrow);
  ValueId out = r.build.Call("aten.mul.Tensor", {r.arg(0), scale}, whole);
  if (r.tensor(2).valid()) {
    out = r.build.Call("aten.mul.Tensor", {out, r.arg(2)}, whole);
  }
  return r.Done(out);
}

// --- pooling ----------------------------------------------------------------

// (self, kernel, stride, padding, dilation, ceil): the positions are dropped.
Rewritten MaxPool2d(NodeRewrite& r) {
  if (!r.tensor(0).valid()) return Rewritten::kSkip;
  return Batched(
      r, 2, 0,
      [&](ValueId input, const Shape& sizes) -> std::optional<ValueId> {
        std::vector<Operand> args = r.FirstArgs(6);
        args[0] = input;
        const TypeId types[] = {
            r.build.TensorType(r.result_type().dtype, sizes),
            r.build.TensorType(DType::kInt64, sizes)};
        return r.build.CallMany("aten.max_pool2d_with_indices.default",
                                std::move(args), types)[0];
      });
}

// One dimension of space as the second of two.
std::optional<ValueId> Flattened(NodeRewrite& r, Shape* to) {
  Shape sizes = r.type(0).sizes;
  if (sizes.size() < 2) return std::nullopt;
  sizes.insert(sizes.end() - 1, SymInt::Literal(1));
  *to = r.result_type().sizes;
  to->insert(to->end() - 1, SymInt::Literal(1));
  return r.build.Reshape(r.tensor(0), sizes);
}
Operand Pair(int64_t first, int64_t second) {
  return Operand::Ints(Ints{first, second});
}
Rewritten Unflattened(NodeRewrite& r, ValueId v) {
  const auto out = r.build.Reshape(v, r.result_type().sizes);
  return out ? r.Done(*out) : Rewritten::kSkip;
}

// (self, kernel, stride, padding, dilation, ceil)
Rewritten MaxPool1d(NodeRewrite& r) {
  const auto kernel = r.Ints(1, 1), padding = r.Ints(3, 1),
             dilation = r.Ints(4, 1);
  auto stride = r.Ints(2, 1);
  if (!r.tensor(0).valid() || !kernel || !padding || !dilation) {
    return Rewritten::kSkip;
  }
  if (!stride || stride->empty()) stride = kernel;
  Shape to;
  const auto input = Flattened(r, &to);
  if (!input) return Rewritten::kSkip;
  return Unflattened(
      r,
      r.build.Call("aten.max_pool2d.default",
                   {*input, Pair(1, (*kernel)[0]), Pair(1, (*stride)[0]),
                    Pair(0, (*padding)[0]), Pair(1, (*dilation)[0]), r.arg(5)},
                   r.build.TensorType(r.result_type().dtype, to)));
}

// (self, kernel, stride, padding, ceil, count_include_pad)
Rewritten AvgPool1d(NodeRewrite& r) {
  const auto kernel = r.Ints(1, 1), padding = r.Ints(3, 1);
  auto stride = r.Ints(2, 1);
  if (!r.tensor(0).valid() || !kernel || !padding) return Rewritten::kSkip;
  if (!stride || stride->empty()) stride = kernel;
  Shape to;
  const auto input = Flattened(r, &to);
  if (!input) return Rewritten::kSkip;
  return Unflattened(
      r, r.build.Call("aten.avg_pool2d.default",
                      {*input, Pair(1, (*kernel)[0]), Pair(1, (*stride)[0]),
                       Pair(0, (*padding)[0]), r.arg(4), r.arg(5)},
                      r.build.TensorType(r.result_type().dtype, to)));
}

// (self, size)
Rewritten AdaptiveAvgPool1d(NodeRewrite& r) {
  const auto size = r.Ints(1, 1);
  if (!r.tensor(0).valid() || !size || size->empty()) return Rewritten::kSkip;
  Shape to;
  const auto input = Flattened(r, &to);
  if (!input) return Rewritten::kSkip;
  return Unflattened(
      r, r.build.Call("aten._adaptive_avg_pool2d.default",
                      {*input, Pair(1, (*size)[0])},
                      r.build.TensorType(r.result_type().dtype, to)));
}

// --- resampling and padding -------------------------------------------------

// (self, size, scale_h, scale_w) with the size alone.
Rewritten Nearest2d(NodeRewrite& r) {
  if (r.has(2) || r.has(3)) return Rewritten::kSkip;
  return r.Become("aten.upsample_nearest2d.vec",
                  {r.arg(0), r.arg(1), Operand()});
}
// (self, size, align, scale_h, scale_w)
Rewritten Bilinear2d(NodeRewrite& r) {
  if (r.has(3) || r.has(4)) return Rewritten::kSkip;
  return r.Become("aten.upsample_bilinear2d.vec",
                  {r.arg(0), r.arg(1), r.arg(2), Operand()});
}

// (self, pad, mode, value)
Rewritten Pad(NodeRewrite& r) {
  if (!r.arg(1).is_list) return Rewritten::kSkip;
  const std::string_view mode = r.String(2);
  if (mode == "constant") {
    return r.Become(
        "aten.constant_pad_nd.default",
        {r.arg(0), r.arg(1), r.has(3) ? r.arg(3) : Operand::Int(0)});
  }
  const size_t spatial = r.arg(1).items.size() / 2;
  if (spatial < 1 || spatial > 3) return Rewritten::kSkip;
  const std::string name = mode == "reflect"     ? "aten.reflection_pad"
                           : mode == "replicate" ? "aten.replication_pad"
                                                 : "";
  if (name.empty()) return Rewritten::kSkip;
  return r.Become(name + std::to_string(spatial) + "d.default",
                  {r.arg(0), r.arg(1)});
}

}  // namespace

std::vector<RuleRow> NeuralRules() {
  return {
      {"aten.conv1d.default", Convolution(1)},
      {"aten.conv2d.default", Convolution(2)},
      {"aten.conv1d.padding", Convolution(1)},
      {"aten.conv2d.padding", Convolution(2)},
      {"aten.conv_transpose1d.default", TransposedConvolution(1)},
      {"aten.conv_transpose2d.input", TransposedConvolution(2)},
      {"aten.batch_norm.default", BatchNorm},
      {"aten._native_batch_norm_legit_functional.default", BatchNormFunctional},
      {"aten.layer_norm.default", LayerNorm},
      {"aten.group_norm.default", GroupNorm},
      {"aten.rms_norm.default", RmsNorm},
      {"aten.max_pool2d.default", MaxPool2d},
      {"aten.max_pool1d.default", MaxPool1d},
      {"aten.avg_pool1d.default", AvgPool1d},
      {"aten.adaptive_avg_pool1d.default", AdaptiveAvgPool1d},
      {"aten.upsample_nearest2d.default", Nearest2d},
      {"aten.upsample_bilinear2d.default", Bilinear2d},
      {"aten.pad.default", Pad},
  };
}

}  // namespace tenon::lower
