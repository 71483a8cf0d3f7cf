// Tensors of small integers with a scale and a zero point. What
// DequantizeLinear and QuantizeLinear compute is written with them, so that
// engines find it; other ranges and roundings are spelled out.
#include "onnx/task.h"

namespace tenon::onnx {
namespace {

bool IsByte(DType dtype) {
  return dtype == DType::kInt8 || dtype == DType::kUInt8;
}

// A parameter along one axis of a tensor, as 1-d.
std::string AsRow(Task& t, const std::string& x) {
  return t.build.Reshape(x, {-1});
}

// A parameter that multiplies all along `axis`: -1 for none.
std::string Along(Task& t, const std::string& x, int64_t axis, int64_t rank) {
  if (axis < 0) return t.build.Reshape(x, {});
  std::vector<int64_t> sizes(static_cast<size_t>(rank), 1);
  sizes[static_cast<size_t>(axis)] = -1;
  return t.build.Reshape(x, sizes);
}

struct Parameters {
  std::string scale;  // float32
  std::string zero;   // of the stored dtype; empty: none
  int64_t axis = -1;  // -1: one for all
};

WhyNot ReadParameters(Task& t, DType stored, Parameters* out) {
  GraphBuilder& b = t.build;
  const bool is_per_channel = t.program.schema(t.node)->FindArg("axis") >= 0;
  const char* scale = is_per_channel ? "scales" : "scale";
  const char* zero = is_per_channel ? "zero_points" : "zero_point";
  out->scale = t.In(scale, DType::kFloat32);
  if (t.Has(zero)) out->zero = t.In(zero, stored);
  if (!is_per_channel) {
    out->scale = b.Reshape(out->scale, {});
    if (!out->zero.empty()) out->zero = b.Reshape(out->zero, {});
    return {};
  }
  out->axis = t.Dim("axis", t.rank("input"));
  out->scale = AsRow(t, out->scale);
  if (!out->zero.empty()) out->zero = AsRow(t, out->zero);
  return {};
}

WhyNot Dequantize(Task& t, std::string_view) {
  GraphBuilder& b = t.build;
  const DType stored = t.DtypeOf("input");
  const int64_t rank = t.rank("input");
  const std::string q = t.In("input");
  Parameters p;
  if (WhyNot why =
          ReadParameters(t, IsByte(stored) ? stored : DType::kFloat32, &p)) {
    return why;
  }
  if (IsByte(stored)) {
    std::vector<std::string> operands = {q, p.scale};
    if (!p.zero.empty()) operands.push_back(p.zero);
    std::vector<Attribute> attributes;
    if (p.axis >= 0) attributes.push_back(IntAttribute("axis", p.axis));
    t.Give(b.Add("DequantizeLinear", operands, attributes));
    return {};
  }
  std::string x = b.Cast(q, DType::kFloat32);
  if (!p.zero.empty()) {
    x = b.Add("Sub", {x, Along(t, p.zero, p.axis, rank)});
  }
  t.Give(b.Add("Mul", {x, Along(t, p.scale, p.axis, rank)}));
  return {};
}

// round(x * (1 / scale)) + zero, cut to the range.
WhyNot Quantize(Task& t, std::string_view) {
  GraphBuilder& b = t.build;
  const DType stored = t.dtype();
  const int64_t rank = t.rank("input");
  Parameters p;
  if (WhyNot why = ReadParameters(t, DType::kFloat32, &p)) return why;
  std::string x = t.In("input", DType::kFloat32);
  x = b.Add("Mul", {x, b.Add("Reciprocal", {Along(t, p.scale, p.axis, rank)})});
  x = b.Add("Round", {x});
  if (!p.zero.empty()) {
    x = b.Add("Add", {x, Along(t, p.zero, p.axis, rank)});
  }
  x = b.Add("Clip", {x, t.In("quant_min", DType::kFloat32),
                     t.In("quant_max", DType::kFloat32)});
  t.Give(b.Cast(x, stored));
  return {};
}

// Here the zero point is added before rounding.
WhyNot QuantizeToken(Task& t, std::string_view) {
  GraphBuilder& b = t.build;
  const DType wide = DType::kFloat32;
  std::string x = b.Add("Mul", {t.In("input", wide),
                                b.Add("Reciprocal", {t.In("scales", wide)})});
  x = b.Add("Round", {b.Add("Add", {x, t.In("zero_points", wide)})});
  t.Give(b.Add("Clip", {x, t.In("quant_min", wide), t.In("quant_max", wide)}));
  return {};
}

WhyNot DequantizeToken(Task& t, std::string_view) {
  const DType wide = WideDtype(t.dtype());
  GraphBuilder& b = t.build;
  const std::string x =
      b.Add("Sub", {t.In("input", wide), t.In("zero_points", wide)});
  t.Give(b.Add("Mul", {x, t.In("scales", wide)}));
  return {};
}

// The extrema along the last dimension, or of all, and 0.
std::string WithZero(Task& t, std::string_view reduce, bool is_token) {
  GraphBuilder& b = t.build;
  const DType wide = WideDtype(t.DtypeOf("input"));
  std::vector<std::string> operands = {t.In("input", wide)};
  if (is_token) operands.push_back(b.Ints({-1}));
  const std::string at =
      b.Add(reduce, operands, {IntAttribute("keepdims", is_token ? 1 : 0)});
  return b.Add(reduce == "ReduceMin" ? "Min" : "Max",
               {at, b.Number(wide, int64_t{0})});
}

WhyNot ChooseForTensor(Task& t, std::string_view) {
  GraphBuilder& b = t.build;
  const DType wide = DType::kFloat32;
  if (WideDtype(t.DtypeOf("input")) != wide) return "an input of float64";
  const auto low = t.read.Int("quant_min"), high = t.read.Int("quant_max");
  const auto eps = t.read.Number("eps");
  if (!low || !high || !eps) return "a parameter that is computed";
  const std::string least = WithZero(t, "ReduceMin", false),
                    most = WithZero(t, "ReduceMax", false);
  std::string scale =
      b.Add("Div", {b.Add("Sub", {most, least}),
                    b.Number(wide, static_cast<double>(*high - *low))});
  scale = b.Add("Max", {scale, b.Number(wide, *eps)});
  const std::string down = b.Add("Round", {b.Add("Div", {least, scale})});
  const std::string zero =
      b.Add("Clip", {b.Add("Sub", {b.Number(wide, *low), down}),
                     b.Number(wide, *low), b.Number(wide, *high)});
  t.Give(0, b.Reshape(scale, {1}));
  t.Give(1, b.Reshape(zero, {1}));
  return {};
}

WhyNot ChooseForToken(Task& t, std::string_view) {
  GraphBuilder& b = t.build;
  const DType wide = WideDtype(t.DtypeOf("input"));
  const std::string most =
      b.Add("ReduceMax", {b.Add("Abs", {t.In("input", wide)}), b.Ints({-1})},
            {IntAttribute("keepdims", 1)});
  const std::string scale =
      b.Add("Div", {b.Add("Max", {most, b.Number(wide, 1e-5)}),
                    b.Number(wide, int64_t{127})});
  t.Give(0, scale);
  t.Give(1, b.Add("Mul", {scale, b.Number(wide, int64_t{0})}));
  return {};
}

// The end of the range that lies nearer to a whole number decides the zero
// point.
WhyNot ChooseForTokenAsymmetric(Task& t, std::string_view) {
  GraphBuilder& b = t.build;
  constexpr int64_t kLow = -128, kHigh = 127;
  constexpr double kEps = 1.1920928955078125e-07;  // 2^-23
  const DType wide = WideDtype(t.DtypeOf("input"));
  const auto number = [&](double v) { return b.Number(wide, v); };
  const std::string least = WithZero(t, "ReduceMin", true),
                    most = WithZero(t, "ReduceMax", true);
  std::string scale =
      b.Add("Div", {b.Add("Sub", {most, least}), number(kHigh - kLow)});
  scale = b.Add("Max", {scale, number(kEps)});
  const std::string down = b.Add("Div", {least, scale}),
                    up = b.Add("Div", {most, scale});
  const std::string error = b.Add("Add", {b.Add("Add", {down, number(kLow)}),
                                          b.Add("Add", {up, number(kHigh)})});
  const std::string zero = b.Where(b.Add("Greater", {error, number(0)}),
                                   b.Add("Sub", {number(kLow), down}),
                                   b.Add("Sub", {number(kHigh), up}));
  t.Give(0, scale);
  t.Give(1,
         b.Add("Round", {b.Add("Clip", {zero, number(kLow), number(kHigh)})}));
  return {};
}

// Rows of a table of bytes. The rows are taken first, so that the table stays
// as small as it is.
WhyNot EmbeddingOfBytes(Task& t, std::string_view) {
  GraphBuilder& b = t.build;
  const Type& scales = t.TypeOf("weight_scales");
  const auto columns = LiteralSize(t.TypeOf("weight"), 1);
  const auto groups =
      scales.rank() == 2 ? LiteralSize(scales, 1) : std::optional<int64_t>(1);
  if (!columns || !groups || *groups == 0) return "a table of varying size";
  const DType dtype = scales.dtype, wide = WideDtype(dtype);
  const auto rows = [&](std::string_view parameter, int64_t width) {
    const std::string table =
        b.Cast(b.Reshape(t.In(parameter), {-1, width}), wide);
    const std::string taken =
        b.Add("Gather", {table, t.In("indices")}, {IntAttribute("axis", 0)});
    return b.Unsqueeze(taken, {-1});
  };
  const std::string q = b.Add("Gather", {t.In("weight"), t.In("indices")},
                              {IntAttribute("axis", 0)});
  const std::string shape = b.Shape(q);
  const std::string front = b.Slice(shape, 0, 0, -1);
  const std::string grouped =
      b.Add("Concat", {front, b.Ints({*groups, *columns / *groups})},
            {IntAttribute("axis", 0)});
  std::string x = b.Add("Reshape", {b.Cast(q, wide), grouped});
  if (t.Has("weight_zero_points")) {
    x = b.Add("Sub", {x, rows("weight_zero_points", *groups)});
  }
  x = b.Add("Mul", {x, rows("weight_scales", *groups)});
  t.Give(b.Cast(b.Add("Reshape", {x, shape}), dtype));
  return {};
}

constexpr Translation kTable[] = {
    {"quantized_decomposed.quantize_per_tensor.default", Quantize},
    {"quantized_decomposed.quantize_per_tensor.tensor", Quantize},
    {"quantized_decomposed.quantize_per_tensor.tensor2", Quantize},
    {"quantized_decomposed.quantize_per_channel.default", Quantize},
    {"quantized_decomposed.dequantize_per_tensor.default", Dequantize},
    {"quantized_decomposed.dequantize_per_tensor.tensor", Dequantize},
    {"quantized_decomposed.dequantize_per_tensor.tensor2", Dequantize},
    {"quantized_decomposed.dequantize_per_channel.default", Dequantize},
    {"quantized_decomposed.quantize_per_token.default", QuantizeToken},
    {"quantized_decomposed.dequantize_per_token.default", DequantizeToken},
    {"quantized_decomposed.choose_qparams.tensor", ChooseForTensor},
    {"quantized_decomposed.choose_qparams_per_token.default", ChooseForToken},
    {"quantized_decomposed.choose_qparams_per_token_asymmetric.default",
     ChooseForTokenAsymmetric},
    {"quantized_decomposed.embedding_byte.default", EmbeddingOfBytes},
    {"quantized_decomposed.embedding_byte.dtype", EmbeddingOfBytes},
};

}  // namespace

std::span<const Translation> QuantizedTranslations() { return kTable; }

}  // namespace tenon::onnx
