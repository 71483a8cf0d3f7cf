#include "onnx/op_dtypes.h"

#include <algorithm>
#include <iterator>

namespace tenon::onnx {
namespace {

template <size_t N>
bool IsAmong(const std::string_view (&list)[N], std::string_view op) {
  return std::find(std::begin(list), std::end(list), op) != std::end(list);
}

// They move elements about and don't look at them.
constexpr std::string_view kMoves[] = {
    "Cast",
    "Concat",
    "Gather",
    "GatherElements",
    "GatherND",
    "Identity",
    "If",
    "Loop",
    "Reshape",
    "Scan",
    "Scatter",
    "ScatterND",
    "ScatterElements",
    "Shape",
    "Size",
    "Slice",
    "Split",
    "Squeeze",
    "Transpose",
    "Unsqueeze",
    "DequantizeLinear",
    "QuantizeLinear",
};

// Those that move float8, too.
constexpr std::string_view kFloat8Moves[] = {
    "Cast",           "DequantizeLinear", "Identity", "If",   "Loop",
    "QuantizeLinear", "Reshape",          "Shape",    "Size",
};

// On integers engines have them for 32 and 64 bits.
constexpr std::string_view kArithmetic[] = {
    "Add",       "Sub",        "Mul",         "Div",
    "Mod",       "Neg",        "Abs",         "Sign",
    "Pow",       "Max",        "Min",         "Clip",
    "Less",      "Greater",    "LessOrEqual", "GreaterOrEqual",
    "Equal",     "Where",      "ReduceSum",   "ReduceMax",
    "ReduceMin", "ReduceProd", "CumSum",      "TopK",
    "ArgMax",    "ArgMin",     "MatMul",      "Range",
    "Relu",      "Pad",        "Trilu",       "Tile",
    "Expand",
};

constexpr std::string_view kComparisons[] = {
    "Less",  "Greater", "LessOrEqual", "GreaterOrEqual", "Equal",
    "IsNaN", "IsInf",   "ArgMax",      "ArgMin",
};

}  // namespace

DType ComputeDtype(std::string_view op, DType dtype, bool widen_bfloat16) {
  if (IsFloating(dtype) && SizeBytes(dtype) == 1) {
    // float32 holds them all.
    return IsAmong(kFloat8Moves, op) ? dtype : DType::kFloat32;
  }
  if (IsAmong(kMoves, op)) return dtype;
  // IsInf got half precision with opset 20.
  if (op == "IsInf" && SizeBytes(dtype) == 2) return DType::kFloat32;
  if (dtype == DType::kBFloat16) {
    return widen_bfloat16 ? DType::kFloat32 : dtype;
  }
  if (!IsAmong(kArithmetic, op)) return dtype;
  switch (dtype) {
    case DType::kBool:
      // Equal has it; the others have no numbers to compare.
      return op == "Equal" || op == "Expand" || op == "Tile" || op == "Trilu"
                 ? dtype
                 : DType::kInt32;
    case DType::kInt8:
    case DType::kUInt8:
    case DType::kInt16:
    case DType::kUInt16:
      return op == "Expand" || op == "Tile" ? dtype : DType::kInt32;
    case DType::kUInt32:
      return op == "Expand" || op == "Tile" ? dtype : DType::kInt64;
    case DType::kInt32:
      return op == "Trilu" ? DType::kInt64 : dtype;
    default:
      return dtype;
  }
}

bool IsComputedOperand(std::string_view op, size_t operand) {
  if (op == "Where") return operand > 0;
  constexpr std::string_view kFirstOnly[] = {
      "ReduceSum",  "ReduceMax", "ReduceMin", "ReduceProd",
      "ReduceMean", "CumSum",    "TopK",      "Trilu",
      "Tile",       "Expand",    "Dropout",
  };
  if (op == "Pad") return operand == 0 || operand == 2;
  if (op == "Resize") return operand == 0;
  return operand == 0 || !IsAmong(kFirstOnly, op);
}

bool ResultFollowsOperands(std::string_view op) {
  return !IsAmong(kComparisons, op);
}

int FirstOpsetOf(std::string_view op) {
  if (op == "GridSample") return 20;  // "linear" instead of "bilinear"
  return 18;
}

int FirstOpsetOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E5M2:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2FNUZ:
      return 19;
    case DType::kFloat8E8M0FNU:
      return 24;
    default:
      return 18;
  }
}

}  // namespace tenon::onnx
