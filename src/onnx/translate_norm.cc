// Norms and softmax. Statistics of half precision are computed in float32.
#include "onnx/task.h"

namespace tenon::onnx {
namespace {

// An affine parameter, spread over the dimensions behind the channel.
std::string PerChannel(Task& t, const std::string& x, int64_t rank) {
  std::vector<int64_t> behind;
  for (int64_t d = 1; d + 1 < rank; ++d) behind.push_back(d);
  return behind.empty() ? x : t.build.Unsqueeze(x, behind);
}

// A parameter, or what stands for it when it is left out: as many of `value`.
std::string Parameter(Task& t, std::string_view parameter, DType dtype,
                      int64_t count, double value) {
  if (t.Has(parameter)) return t.In(parameter, dtype);
  return t.build.Add("Expand",
                     {t.build.Number(dtype, value), t.build.Ints({count})});
}

// Results that nobody reads have no name.
WhyNot NoneElseUsed(const Task& t) {
  for (uint32_t i = 1; i < t.num_results(); ++i) {
    if (t.is_used(i)) return "statistics that are read";
  }
  return {};
}

WhyNot BatchNorm(Task& t, std::string_view) {
  if (WhyNot why = NoneElseUsed(t)) return why;
  const auto eps = t.read.Number("eps");
  if (!eps) return "an eps that is computed";
  const DType wide = WideDtype(t.dtype());
  const auto channels = LiteralSize(t.TypeOf("running_mean"), 0);
  if (!channels) return "a number of channels that varies";
  t.Give(t.build.Add(
      "BatchNormalization",
      {t.In("input", wide), Parameter(t, "weight", wide, *channels, 1),
       Parameter(t, "bias", wide, *channels, 0), t.In("running_mean", wide),
       t.In("running_var", wide)},
      {FloatAttribute("epsilon", *eps)}));
  return {};
}

// In float64, step by step: ONNX's operator computes statistics in float32.
WhyNot ExactLayerNorm(Task& t, int64_t count, double eps) {
  GraphBuilder& b = t.build;
  const DType dtype = DType::kFloat64;
  std::vector<int64_t> last;
  for (int64_t d = -count; d < 0; ++d) last.push_back(d);
  const auto mean_of = [&](const std::string& x) {
    return b.Add("ReduceMean", {x, b.Ints(last)},
                 {IntAttribute("keepdims", 1)});
  };
  const std::string x = t.In("input");
  const std::string mean = mean_of(x), off = b.Add("Sub", {x, mean});
  const std::string variance = mean_of(b.Add("Mul", {off, off}));
  const std::string rate =
      b.Add("Reciprocal",
            {b.Add("Sqrt", {b.Add("Add", {variance, b.Number(dtype, eps)})})});
  std::string y = b.Add("Mul", {off, rate});
  if (t.Has("weight")) y = b.Add("Mul", {y, t.In("weight", dtype)});
  if (t.Has("bias")) y = b.Add("Add", {y, t.In("bias", dtype)});
  t.Give(0, y);
  if (t.num_results() > 1) t.Give(1, mean);
  if (t.num_results() > 2) t.Give(2, rate);
  return {};
}

// Over the last dimensions; the statistics keep them with size 1, as
// PyTorch's do.
WhyNot LayerNorm(Task& t, std::string_view) {
  GraphBuilder& b = t.build;
  const auto eps = t.read.Number("eps");
  if (!eps) return "an eps that is computed";
  const auto count = static_cast<int64_t>(t.Items("normalized_shape").size());
  if (count == 0) return "a norm over no dimension";
  const DType dtype = t.dtype(), wide = WideDtype(dtype);
  if (dtype == DType::kFloat64) return ExactLayerNorm(t, count, *eps);
  std::vector<std::string> operands = {t.In("input", wide)};
  if (t.Has("weight")) {
    operands.push_back(t.In("weight", wide));
  } else {
    operands.push_back(b.Add(
        "Expand", {b.Number(wide, int64_t{1}), t.IntList("normalized_shape")}));
  }
  if (t.Has("bias")) operands.push_back(t.In("bias", wide));
  const DType dtypes[] = {wide, wide, wide};
  const size_t used = t.is_used(2) ? 3 : t.is_used(1) ? 2 : 1;
  const auto y =
      b.AddMany("LayerNormalization", operands,
                {IntAttribute("axis", -count), FloatAttribute("epsilon", *eps)},
                std::span(dtypes).first(used));
  for (uint32_t i = 0; i < t.num_results(); ++i) {
    if (i < used) {
      t.Give(i, y[i]);
    } else {
      b.Set(t.result(i), "");
    }
  }
  return {};
}

// Groups as instances: [N, G, rest] is normalised over the rest.
WhyNot GroupNorm(Task& t, std::string_view) {
  GraphBuilder& b = t.build;
  if (WhyNot why = NoneElseUsed(t)) return why;
  const auto eps = t.read.Number("eps");
  const auto groups = t.read.Int("group");
  if (!eps || !groups) return "a parameter that is computed";
  for (const SymInt& s : t.TypeOf("input").sizes) {
    if (s.is_literal() && s.value == 0) return "an empty tensor";
  }
  const DType wide = WideDtype(t.dtype());
  const std::string x = t.In("input", wide);
  const std::string rows = b.Add("Reshape", {x, b.Ints({0, *groups, -1})});
  const std::string one =
      b.Add("Expand", {b.Number(wide, int64_t{1}), b.Ints({*groups})});
  const std::string zero =
      b.Add("Expand", {b.Number(wide, int64_t{0}), b.Ints({*groups})});
  std::string y = b.Add("InstanceNormalization", {rows, one, zero},
                        {FloatAttribute("epsilon", *eps)});
  y = b.Add("Reshape", {y, b.Shape(x)});
  const int64_t rank = t.rank("input");
  if (t.Has("weight")) {
    y = b.Add("Mul", {y, PerChannel(t, t.In("weight", wide), rank)});
  }
  if (t.Has("bias")) {
    y = b.Add("Add", {y, PerChannel(t, t.In("bias", wide), rank)});
  }
  t.Give(y);
  return {};
}

WhyNot Softmax(Task& t, std::string_view onnx) {
  const DType wide = WideDtype(t.dtype());
  std::string x = t.In("self", wide);
  const int64_t rank = t.rank("self");
  if (rank == 0) x = t.build.Reshape(x, {1});
  std::string y =
      t.build.Add(onnx, {x}, {IntAttribute("axis", t.Dim("dim", rank))});
  if (rank == 0) y = t.build.Reshape(y, {});
  t.Give(y);
  return {};
}

constexpr Translation kTable[] = {
    {"aten._native_batch_norm_legit_no_training.default", BatchNorm},
    {"aten.native_layer_norm.default", LayerNorm},
    {"aten.native_group_norm.default", GroupNorm},
    {"aten._softmax.default", Softmax, "Softmax"},
    {"aten._log_softmax.default", Softmax, "LogSoftmax"},
};

}  // namespace

std::span<const Translation> NormTranslations() { return kTable; }

}  // namespace tenon::onnx
