// A recorded call as a program of one node.
#pragma once

#include <algorithm>
#include <complex>
#include <memory>
#include <string>
#include <vector>

#include "ir/program.h"
#include "ops/schema.h"
#include "tensor/value.h"

namespace tenon {

// Tensors are inputs of the root graph. The results have no types yet, and the
// graph returns nothing.
//
// Sizes of its inputs, and arguments that may be symbolic, are the recorded
// numbers, or symbols named after them ("s7"), the same for equal numbers; 0
// and 1 stay numbers, as torch.export has it. A symbol's hint is another
// number, which finds out who takes it for the size.
enum class Sizing { kNumbers, kSymbols };

class CallProgram {
 public:
  explicit CallProgram(Sizing sizing = Sizing::kNumbers)
      : sizing_(sizing), program_(std::make_shared<Context>()) {
    program_.AddGraph("main");
  }

  const Program& program() const { return program_; }
  Program& program() { return program_; }
  // The tensors that the call passes, in the order of the root's inputs.
  const std::vector<Tensor>& inputs() const { return inputs_; }

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

  // Makes `results`, tensors and lists of them, the types of the node's results
  // and the results the program's outputs.
  void Return(NodeId n, const std::vector<RuntimeValue>& results) {
    Form form;
    for (const RuntimeValue& result : results) {
      FormItem item;
      if (result.is_list()) {
        item.kind = FormItem::Kind::kList;
        item.list_size = static_cast<uint32_t>(result.list().size());
      }
      form.push_back(item);
    }
    if (std::any_of(results.begin(), results.end(),
                    [](const RuntimeValue& v) { return v.is_list(); })) {
      program_.mutable_node(n).form = program_.context().InternForm(form);
    }
    const std::vector<RuntimeValue> flat = Flattened(results);
    const ValueRange values = program_.node(n).results;
    const NodeId output = program_.root().output;
    const ArgRange outputs = program_.NewArgs(values.count);
    program_.SetOutputs(Program::kRoot, outputs);
    for (uint32_t i = 0; i < values.count; ++i) {
      program_.mutable_value(values[i]).type = TypeOf(flat[i].tensor());
      program_.SetValueArg(outputs[i], output, values[i]);
    }
    program_.signature.inputs.resize(program_.root().inputs.size());
    program_.signature.outputs.resize(values.count);
  }

  // The items of lists in place of the lists.
  static std::vector<RuntimeValue> Flattened(
      const std::vector<RuntimeValue>& values) {
    std::vector<RuntimeValue> flat;
    for (const RuntimeValue& value : values) {
      if (!value.is_list()) {
        flat.push_back(value);
        continue;
      }
      const auto items = Flattened(value.list());
      flat.insert(flat.end(), items.begin(), items.end());
    }
    return flat;
  }

  // Whether two computations of the call can be held against each other by
  // their results alone.
  static bool IsComparable(const OpSchema& schema,
                           const std::vector<RuntimeValue>& flat) {
    return !schema.is_mutating() && !schema.nondeterministic &&
           schema.name.find("empty") == std::string::npos && !flat.empty() &&
           std::all_of(flat.begin(), flat.end(), [](const RuntimeValue& v) {
             return v.is_tensor() && v.tensor().defined();
           });
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

 private:
  SymInt SizeOf(int64_t size) {
    if (sizing_ == Sizing::kNumbers || size < 2) return SymInt::Literal(size);
    return SymInt::Symbolic(program_.context().exprs.Symbol(
                                "s" + std::to_string(size), "integer=True"),
                            size + 1);
  }

  void Set(ArgId at, NodeId user, const RuntimeValue& value) {
    Context& context = program_.context();
    if (value.is_tensor() && value.tensor().defined()) {
      inputs_.push_back(value.tensor());
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
  std::vector<Tensor> inputs_;
};

}  // namespace tenon
