// Tensors of one number, and of numbers in a row.
#include "onnx/task.h"

namespace tenon::onnx {
namespace {

void GiveFilled(Task& t, const std::string& value) {
  const std::string_view sizes = t.arg("size") != nullptr ? "size" : "self";
  const std::string shape =
      sizes == "size" ? t.IntList("size") : t.build.Shape(t.In("self"));
  t.Give(t.build.Add("Expand", {value, shape}));
}

WhyNot Full(Task& t, std::string_view) {
  GiveFilled(t, t.In("fill_value", t.dtype()));
  return {};
}

// What memory that isn't set holds is nobody's business: zeros.
WhyNot FilledWith(Task& t, std::string_view number) {
  const int64_t value = number == "1" ? 1 : 0;
  GiveFilled(t, t.build.Number(t.dtype(), value));
  return {};
}

WhyNot Fill(Task& t, std::string_view) {
  t.Give(t.build.Add("Expand",
                     {t.In("value", t.dtype()), t.build.Shape(t.In("self"))}));
  return {};
}

WhyNot ScalarTensor(Task& t, std::string_view) {
  t.Give(t.In("s", t.dtype()));
  return {};
}

WhyNot CopyOf(Task& t, std::string_view) {
  t.Give(t.build.Add("Expand",
                     {t.In("src", t.dtype()), t.build.Shape(t.In("self"))}));
  return {};
}

// Bounds are cut to the dtype before they are counted from, so for whole
// numbers they must be whole.
WhyNot Arange(Task& t, std::string_view) {
  const DType dtype = t.dtype();
  const DType wide = IsFloating(dtype) ? WideDtype(dtype) : DType::kInt64;
  const bool has_start = t.arg("start") != nullptr;
  for (const std::string_view p : {"start", "end", "step"}) {
    if (t.arg(p) == nullptr) continue;
    if (!IsFloating(dtype) && t.DtypeOf(p) == DType::kFloat64) {
      return "a range of integers between fractions";
    }
  }
  const std::string start =
      has_start ? t.In("start", wide) : t.build.Number(wide, int64_t{0});
  const std::string step = t.arg("step") != nullptr
                               ? t.In("step", wide)
                               : t.build.Number(wide, int64_t{1});
  const auto count = LiteralSize(t.type(), 0);
  if (!IsFloating(dtype) || !count) {
    t.Give(t.build.Add("Range", {start, t.In("end", wide), step}));
    return {};
  }
  // PyTorch counts and multiplies in float64, or the range would end
  // elsewhere.
  GraphBuilder& b = t.build;
  const DType exact = DType::kFloat64;
  const std::string places =
      b.Cast(b.Add("Range", {b.Int(0), b.Int(*count), b.Int(1)}), exact);
  const std::string from =
      has_start ? t.In("start", exact) : b.Number(exact, int64_t{0});
  const std::string by = t.arg("step") != nullptr ? t.In("step", exact)
                                                  : b.Number(exact, int64_t{1});
  t.Give(b.Add("Add", {b.Add("Mul", {places, by}), from}));
  return {};
}

constexpr Translation kTable[] = {
    {"aten.full.default", Full},
    {"aten.full_like.default", Full},
    {"aten.zeros.default", FilledWith, "0"},
    {"aten.zeros_like.default", FilledWith, "0"},
    {"aten.ones.default", FilledWith, "1"},
    {"aten.ones_like.default", FilledWith, "1"},
    {"aten.empty.memory_format", FilledWith, "0"},
    {"aten.fill.Scalar", Fill},
    {"aten.fill.Tensor", Fill},
    {"aten.scalar_tensor.default", ScalarTensor},
    {"aten.copy.default", CopyOf},
    {"aten.arange.default", Arange},
    {"aten.arange.start", Arange},
    {"aten.arange.start_step", Arange},
};

}  // namespace

std::span<const Translation> FactoryTranslations() { return kTable; }

}  // namespace tenon::onnx
