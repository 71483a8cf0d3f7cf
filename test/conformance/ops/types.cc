#include "conformance/ops/types.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include "analysis/infer.h"
#include "conformance/ops/records.h"
#include "ir/program.h"

namespace tenon {
namespace {

using simdjson::dom::element;

// A program of one call. Sizes of its inputs, and arguments that may be
// symbolic, are the recorded numbers, or symbols named after them ("s7"), the
// same for equal numbers; 0 and 1 stay numbers, as torch.export has it. A
// symbol's hint is another number, which finds out who takes it for the size.
enum class Sizing { kNumbers, kSymbols };

class CallProgram {
 public:
  explicit CallProgram(Sizing sizing)
      : sizing_(sizing), program_(std::make_shared<Context>()) {
    program_.AddGraph("main");
  }

  const Program& program() const { return program_; }

  NodeId Build(const OpSchema& schema, const std::vector<RuntimeValue>& args,
               const std::vector<bool>& present, uint32_t num_results) {
    const NodeId n = program_.NewOp(program_.context().InternOp(schema.name),
                                    program_.context().Intern("call"));
    const auto count =
        static_cast<uint32_t>(std::count(present.begin(), present.end(), true));
    const ArgRange range = program_.NewArgs(count);
    program_.SetArgRange(n, range);
    uint32_t next = 0;
    for (size_t i = 0; i < args.size(); ++i) {
      if (!present[i]) continue;
      const ArgId at = range[next++];
      program_.SetArgLabel(at, program_.context().Intern(schema.args[i].name),
                           PassKind::kKeyword);
      is_symbolic_ = sizing_ == Sizing::kSymbols && schema.args[i].symbolic;
      Set(at, n, args[i]);
    }
    const ValueRange results = program_.NewResults(n, num_results);
    const TypeId none = program_.context().types.Intern(Type());
    for (uint32_t i = 0; i < num_results; ++i) {
      program_.mutable_value(results[i]).type = none;
    }
    program_.Append(Program::kRoot, n);
    return n;
  }

 private:
  SymInt SizeOf(int64_t size) {
    if (sizing_ == Sizing::kNumbers || size < 2) return SymInt::Literal(size);
    return SymInt::Symbolic(program_.context().exprs.Symbol(
                                "s" + std::to_string(size), "integer=True"),
                            size + 1);
  }

  TypeId TypeOf(const Tensor& tensor) {
    Type type;
    type.kind = TypeKind::kTensor;
    type.dtype = tensor.dtype();
    type.device.type = program_.context().Intern("cpu");
    for (const int64_t s : tensor.sizes()) {
      type.sizes.push_back(SizeOf(s));
    }
    for (const int64_t s : tensor.strides()) {
      type.strides.push_back(SizeOf(s));
    }
    type.storage_offset = SymInt::Literal(tensor.offset());
    return program_.context().types.Intern(std::move(type));
  }

  void Set(ArgId at, NodeId user, const RuntimeValue& value) {
    Context& context = program_.context();
    if (value.is_tensor() && value.tensor().defined()) {
      program_.SetValueArg(
          at, user,
          program_.AddInput(Program::kRoot, TypeOf(value.tensor()),
                            context.Intern("x")));
    } else if (value.is_list()) {
      SetItems(at, user, value.list());
    } else if (value.is_int() && is_symbolic_ && value.int_value() > 1) {
      Type type;
      type.kind = TypeKind::kSymInt;
      type.sym = SizeOf(value.int_value());
      program_.SetValueArg(
          at, user,
          program_.AddInput(Program::kRoot,
                            context.types.Intern(std::move(type)),
                            context.Intern("n")));
    } else if (value.is_int()) {
      program_.SetArg(at, Arg::Int(value.int_value()), true);
    } else if (value.is_bool()) {
      program_.SetArg(at, Arg::Bool(value.bool_value()), true);
    } else if (value.is_float()) {
      program_.SetArg(at, Arg::Float(value.float_value()), true);
    } else if (value.is_string()) {
      program_.SetArg(at, Arg::String(context.Intern(value.string())), true);
    } else if (value.is_dtype()) {
      program_.SetArg(at, Arg::Dtype(value.dtype()), true);
    } else if (value.is_complex()) {
      SetComplex(at, value.complex_value());
    } else if (value.is_layout()) {
      program_.SetArg(at, Arg::OfLayout(value.layout()), true);
    } else if (value.is_memory_format()) {
      program_.SetArg(at, Arg::OfMemoryFormat(value.memory_format()), true);
    } else if (value.is_device()) {
      program_.SetArg(
          at, Arg::OfDevice(context.Intern(value.device().type), -1), true);
    }  // None is what a new argument holds.
  }

  void SetItems(ArgId at, NodeId user, const RuntimeValue::List& values) {
    const ArgRange items =
        program_.NewArgs(static_cast<uint32_t>(values.size()));
    ListTag tag = ListTag::kInts;
    for (uint32_t i = 0; i < items.count; ++i) {
      Set(items[i], user, values[i]);
      if (values[i].is_tensor()) tag = ListTag::kTensors;
      if (values[i].is_float()) tag = ListTag::kFloats;
      if (values[i].is_none()) tag = ListTag::kOptionalTensors;
    }
    program_.SetArg(at, Arg::OfList(tag, items), true);
  }

  void SetComplex(ArgId at, std::complex<double> value) {
    const ArgRange parts = program_.NewArgs(2);
    program_.SetArg(parts[0], Arg::Float(value.real()));
    program_.SetArg(parts[1], Arg::Float(value.imag()));
    Arg complex = Arg::OfList(ListTag::kFloats, parts);
    complex.kind = ArgKind::kComplex;
    program_.SetArg(at, complex, true);
  }

  Sizing sizing_;
  bool is_symbolic_ = false;  // integers of the argument that is being set
  Program program_;
};

// The recorded results, lists taken apart.
void Flatten(element value, std::vector<element>* out) {
  simdjson::dom::array items;
  if (value["list"].get(items) != simdjson::SUCCESS) {
    out->push_back(value);
    return;
  }
  for (const element item : items) Flatten(item, out);
}

std::vector<int64_t> SizesOf(element value) {
  std::vector<int64_t> out;
  simdjson::dom::array sizes;
  if (value["size"].get(sizes) != simdjson::SUCCESS) return out;
  for (const element size : sizes) out.push_back(int64_t(size));
  return out;
}

// The number that is said of a size; nullopt when none is.
std::optional<int64_t> NumberOf(const InferredSize& size,
                                const ExprPool& exprs) {
  if (size.is_literal()) return size.value;
  if (size.kind != InferredSize::Kind::kExpr) return std::nullopt;
  return std::atoll(exprs.PrintInfix(size.expr).c_str() + 1);
}

// "" or how the type differs; what isn't said agrees.
std::string Differs(const InferredType& said, element value,
                    const ExprPool& exprs, bool* complete, bool* any) {
  std::string_view dtype;
  if (value["dtype"].get(dtype) != simdjson::SUCCESS) {
    *complete = *complete && said.has_kind;
    *any = *any || said.has_kind;
    const bool is_wrong = said.has_kind && said.kind == TypeKind::kTensor;
    return is_wrong ? "a tensor, but the call gave another value" : "";
  }
  if (said.has_kind && said.kind != TypeKind::kTensor) {
    return "no tensor, but the call gave one";
  }
  if (said.dtype == DType::kUnknown) {
    *complete = false;
  } else {
    *any = true;
    if (Name(said.dtype) != dtype) {
      return std::string(Name(said.dtype)) + ", want " + std::string(dtype);
    }
  }
  const std::vector<int64_t> sizes = SizesOf(value);
  if (said.rank < 0) {
    *complete = false;
    return "";
  }
  *any = true;
  if (said.rank != static_cast<int>(sizes.size())) {
    return "rank " + std::to_string(said.rank) + ", want " +
           std::to_string(sizes.size());
  }
  for (size_t d = 0; d < sizes.size() && d < InferredType::kMaxRank; ++d) {
    const auto size = NumberOf(said.sizes[d], exprs);
    if (!size) {
      *complete = false;
    } else if (*size != sizes[d]) {
      return "size " + std::to_string(*size) + " of dimension " +
             std::to_string(d) + ", want " + std::to_string(sizes[d]);
    }
  }
  return "";
}

// "" or what is said and isn't so.
std::string CheckAs(Sizing sizing, const OpSchema& schema,
                    const std::vector<RuntimeValue>& args,
                    const std::vector<bool>& present,
                    const std::vector<element>& results, bool* complete,
                    bool* any) {
  CallProgram call(sizing);
  const NodeId n =
      call.Build(schema, args, present, static_cast<uint32_t>(results.size()));
  const std::vector<InferredType> said = InferTypes(call.program(), n);
  if (said.size() > results.size()) {
    return "types of " + std::to_string(said.size()) + " results, want " +
           std::to_string(results.size());
  }
  *complete = said.size() == results.size();
  for (size_t i = 0; i < said.size(); ++i) {
    const std::string why = Differs(
        said[i], results[i], call.program().context().exprs, complete, any);
    if (!why.empty()) {
      return "type of result " + std::to_string(i) + ": " + why;
    }
  }
  return "";
}

}  // namespace

std::string CheckTypes(const OpSchema& schema,
                       const std::vector<RuntimeValue>& args,
                       const std::vector<bool>& present, element record,
                       TypeCounts* counts) {
  element out;
  if (record["out"].get(out) != simdjson::SUCCESS) return "";
  std::vector<element> results;
  if (!schema.returns.empty()) Flatten(out, &results);
  bool complete = false, any = false;
  std::string why = CheckAs(Sizing::kSymbols, schema, args, present, results,
                            &complete, &any);
  if (!why.empty()) return "with symbolic sizes: " + why;
  any = false;
  why = CheckAs(Sizing::kNumbers, schema, args, present, results, &complete,
                &any);
  if (!why.empty()) return why;
  ++(!any && !results.empty() ? counts->open
     : complete               ? counts->complete
                              : counts->partial);
  return "";
}

}  // namespace tenon
