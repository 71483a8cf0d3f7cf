#include "backends/cpu/support.h"

#include <string>

#include "backends/cpu/lowering.h"
#include "backends/cpu/narrow_types.h"
#include "kernels/kernel.h"

namespace tenon::cpu {
namespace {

bool IsHeld(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 ||
         dtype == DType::kInt64 || dtype == DType::kInt32 ||
         dtype == DType::kBool || IsNarrow(dtype);
}

bool Allows(DTypeRule rule, DType dtype) {
  switch (rule) {
    case DTypeRule::kHeld:
    case DTypeRule::kWidened:
      return true;
    case DTypeRule::kNumbers:
      return dtype != DType::kBool;
    case DTypeRule::kFloating:
      return IsFloating(dtype);
    case DTypeRule::kBits:
      return !IsFloating(dtype);
    case DTypeRule::kFloat32:
      return dtype != DType::kFloat64;
    case DTypeRule::kOnlyFloat32:
      return dtype == DType::kFloat32 || IsHalf(dtype);
  }
  return false;
}

std::optional<Refusal> WhyRefusedType(const Program& program,
                                      const Type& type) {
  switch (type.kind) {
    case TypeKind::kTensor:
      break;
    case TypeKind::kObject:
      return Refusal{RefusalReason::kDtype, "an opaque object"};
    case TypeKind::kString:
    case TypeKind::kSymInt:
    case TypeKind::kSymFloat:
    case TypeKind::kSymBool:
    case TypeKind::kNone:
    case TypeKind::kInt:
    case TypeKind::kFloat:
    case TypeKind::kBool:
      return std::nullopt;
  }
  if (!IsHeld(type.dtype)) {
    return Refusal{RefusalReason::kDtype, std::string(Name(type.dtype))};
  }
  if (type.layout != Layout::kStrided) {
    return Refusal{RefusalReason::kLayout, std::string(Name(type.layout))};
  }
  const std::string_view device = program.view(type.device.type);
  if (device != "cpu") {
    return Refusal{RefusalReason::kLayout, "device " + std::string(device)};
  }
  return std::nullopt;
}

std::optional<Refusal> WhyRefusedArg(const Program& program, const Arg& arg) {
  switch (arg.kind) {
    case ArgKind::kValue:
      return WhyRefusedType(program, program.type(arg.v.value));
    case ArgKind::kDtype:
      if (IsHeld(arg.dtype())) return std::nullopt;
      return Refusal{RefusalReason::kDtype, std::string(Name(arg.dtype()))};
    case ArgKind::kLayout:
      if (arg.layout() == Layout::kStrided) return std::nullopt;
      return Refusal{RefusalReason::kLayout, std::string(Name(arg.layout()))};
    case ArgKind::kDevice:
      if (program.view(arg.device.type) == "cpu") return std::nullopt;
      return Refusal{RefusalReason::kLayout,
                     "device " + std::string(program.view(arg.device.type))};
    case ArgKind::kComplex:
      return Refusal{RefusalReason::kDtype, "a complex number"};
    case ArgKind::kGraph:
    case ArgKind::kOperator:
    case ArgKind::kObject:
    case ArgKind::kDict:
      return Refusal{RefusalReason::kAttributeValue,
                     "a graph, operator, object or dict as argument"};
    case ArgKind::kNone:
    case ArgKind::kInt:
    case ArgKind::kFloat:
    case ArgKind::kBool:
    case ArgKind::kString:
    case ArgKind::kMemoryFormat:
    case ArgKind::kList:
      break;
  }
  return std::nullopt;
}

// The operator's rule concerns the tensors that it computes with: its results
// and, where it has one, its first tensor.
std::optional<Refusal> WhyRefusedDType(const Program& program, NodeId node,
                                       DTypeRule rule) {
  std::optional<Refusal> refusal;
  const auto check = [&](ValueId v) {
    const Type& type = program.type(v);
    if (refusal || !type.is_tensor() || Allows(rule, type.dtype)) return;
    refusal = Refusal{RefusalReason::kDtype, std::string(Name(type.dtype))};
  };
  bool is_first = true;
  program.ForEachOperand(node, [&](ValueId v) {
    if (is_first && program.type(v).is_tensor()) {
      check(v);
      is_first = false;
    }
  });
  const ValueRange results = program.node(node).results;
  // A comparison's result is bool and an index's int64, whatever it compares.
  if (results.count > 0 && rule != DTypeRule::kOnlyFloat32 &&
      program.type(results[0]).dtype != DType::kBool) {
    check(results[0]);
  }
  return refusal;
}

// Together they promote to int16, which no loop computes in. A result of int32
// never was that: products of the two, or a wider operand beside them.
std::optional<Refusal> WhyRefusedMix(const Program& program, NodeId node) {
  const ValueRange results = program.node(node).results;
  if (results.count > 0 && program.type(results[0]).dtype == DType::kInt32) {
    return std::nullopt;
  }
  bool has_signed = false, has_unsigned = false;
  program.ForEachOperand(node, [&](ValueId v) {
    if (!program.type(v).is_tensor()) return;
    has_signed |= program.type(v).dtype == DType::kInt8;
    has_unsigned |= program.type(v).dtype == DType::kUInt8;
  });
  if (!has_signed || !has_unsigned) return std::nullopt;
  return Refusal{RefusalReason::kDtype, "int8 with uint8"};
}

}  // namespace

std::optional<Refusal> WhyRefused(const Program& program, NodeId node) {
  const Node& n = program.node(node);
  if (n.kind != NodeKind::kOp) {
    return Refusal{RefusalReason::kOperatorUnknown, "not an operator call"};
  }
  const std::string name(program.op_name(node));
  const OpSchema* schema = FindCallSchema(name);
  const Lowering* lowering = FindLowering(name);
  if (lowering == nullptr || schema == nullptr) {
    if (schema != nullptr && schema->nondeterministic) {
      return Refusal{RefusalReason::kEffect, name + " is random"};
    }
    if (schema != nullptr && schema->data_dependent_output) {
      return Refusal{RefusalReason::kDataDependentOutput, name};
    }
    return Refusal{RefusalReason::kOperatorUnknown, name};
  }
  if (lowering->kind == LoweringKind::kGeometry &&
      FindKernel(name) == nullptr) {
    return Refusal{RefusalReason::kOperatorUnknown, name};
  }
  std::optional<Refusal> refusal;
  program.ForEachArg(n.args, [&](const Arg& arg, ArgId) {
    if (!refusal) refusal = WhyRefusedArg(program, arg);
  });
  for (uint32_t i = 0; i < n.results.count && !refusal; ++i) {
    refusal = WhyRefusedType(program, program.type(n.results[i]));
  }
  if (!refusal) refusal = WhyRefusedDType(program, node, lowering->dtypes);
  if (!refusal) refusal = WhyRefusedMix(program, node);
  if (!refusal && lowering->refuses != nullptr) {
    refusal = lowering->refuses(program, node);
  }
  return refusal;
}

}  // namespace tenon::cpu
