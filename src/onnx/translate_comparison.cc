// Comparisons and choices. Both sides are compared in the dtype that PyTorch
// promotes them to.
#include "analysis/promote.h"
#include "onnx/task.h"

namespace tenon::onnx {
namespace {

void AddOperand(const Task& t, std::string_view parameter,
                Promotion* promotion) {
  const Arg& a = *t.arg(parameter);
  if (a.is_value() && t.program.type(a.value()).is_tensor()) {
    const Type& type = t.program.type(a.value());
    promotion->AddTensor(type.dtype, type.rank() > 0);
    return;
  }
  const DType dtype = t.DtypeOf(parameter);
  promotion->AddNumber(dtype == DType::kFloat64 ? DType::kFloat32 : dtype);
}

DType Promoted(const Task& t, std::string_view a, std::string_view b) {
  Promotion promotion;
  AddOperand(t, a, &promotion);
  AddOperand(t, b, &promotion);
  return promotion.Result();
}

WhyNot Compare(Task& t, std::string_view onnx) {
  const DType dtype = Promoted(t, "self", "other");
  if (dtype == DType::kUnknown || IsComplex(dtype)) {
    return "a comparison of dtypes that have none in common";
  }
  // Past int64's range an unsigned number would be negative to engines, which
  // compare in int64.
  if (dtype == DType::kUInt64) return "a comparison of uint64";
  const bool is_unequal = onnx == "NotEqual";
  const std::string result = t.build.Add(
      is_unequal ? "Equal" : onnx, {t.In("self", dtype), t.In("other", dtype)});
  t.Give(is_unequal ? t.build.Not(result) : result);
  return {};
}

WhyNot Where(Task& t, std::string_view) {
  t.Give(t.build.Where(t.In("condition", DType::kBool), t.In("self", t.dtype()),
                       t.In("other", t.dtype())));
  return {};
}

WhyNot MaskedFill(Task& t, std::string_view) {
  t.Give(t.build.Where(t.In("mask", DType::kBool), t.In("value", t.dtype()),
                       t.In("self", t.dtype())));
  return {};
}

constexpr Translation kTable[] = {
    {"aten.eq.Tensor", Compare, "Equal"},
    {"aten.eq.Scalar", Compare, "Equal"},
    {"aten.ne.Tensor", Compare, "NotEqual"},
    {"aten.ne.Scalar", Compare, "NotEqual"},
    {"aten.lt.Tensor", Compare, "Less"},
    {"aten.lt.Scalar", Compare, "Less"},
    {"aten.le.Tensor", Compare, "LessOrEqual"},
    {"aten.le.Scalar", Compare, "LessOrEqual"},
    {"aten.gt.Tensor", Compare, "Greater"},
    {"aten.gt.Scalar", Compare, "Greater"},
    {"aten.ge.Tensor", Compare, "GreaterOrEqual"},
    {"aten.ge.Scalar", Compare, "GreaterOrEqual"},
    {"aten.where.self", Where},
    {"aten.masked_fill.Scalar", MaskedFill},
    {"aten.masked_fill.Tensor", MaskedFill},
};

}  // namespace

std::span<const Translation> ComparisonTranslations() { return kTable; }

}  // namespace tenon::onnx
