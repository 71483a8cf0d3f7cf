// Builds small regions for tests: each operator is run by its reference kernel
// as it is added, so that results get the types that they have.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"
#include "kernels/elements.h"
#include "kernels/kernel.h"
#include "tensor/value.h"

namespace tenon {

// One argument by parameter name: a value of the region, a literal, or a list
// of such.
struct TestArg {
  TestArg(std::string n, ValueId v) : name(std::move(n)), value(v) {}
  TestArg(std::string n, RuntimeValue l)
      : name(std::move(n)), literal(std::move(l)) {}
  TestArg(std::string n, int i) : TestArg(std::move(n), int64_t{i}) {}
  TestArg(std::string n, int64_t i) : TestArg(std::move(n), RuntimeValue(i)) {}
  TestArg(std::string n, double f) : TestArg(std::move(n), RuntimeValue(f)) {}
  TestArg(std::string n, bool b) : TestArg(std::move(n), RuntimeValue(b)) {}
  TestArg(std::string n, DType d) : TestArg(std::move(n), RuntimeValue(d)) {}
  TestArg(std::string n, const char* s)
      : TestArg(std::move(n), RuntimeValue(std::string(s))) {}
  TestArg(std::string n, std::vector<int64_t> ints) : name(std::move(n)) {
    is_list = true;
    tag = ListTag::kInts;
    for (const int64_t i : ints) items.emplace_back("", i);
  }
  // An invalid id stands for None.
  TestArg(std::string n, std::vector<ValueId> values,
          ListTag list_tag = ListTag::kTensors)
      : name(std::move(n)) {
    is_list = true;
    tag = list_tag;
    for (const ValueId v : values) items.emplace_back("", v);
  }

  std::string name;
  ValueId value;
  RuntimeValue literal;
  bool is_list = false;
  ListTag tag = ListTag::kInts;
  std::vector<TestArg> items;
};

class RegionBuilder {
 public:
  RegionBuilder() : program_(std::make_shared<Context>()) {
    program_.name = "region";
    root_ =
        program_.num_graphs() == 0 ? program_.AddGraph("root") : Program::kRoot;
  }

  // An input with a sample of its value.
  ValueId Input(RuntimeValue sample) {
    const ValueId v = program_.AddInput(root_, TypeOf(sample), NextName());
    program_.signature.inputs.push_back(InputSpec());
    inputs.push_back(sample);
    Remember(v, std::move(sample));
    return v;
  }

  // The results of one operator call; empty after a failed expectation.
  std::vector<ValueId> Ops(const std::string& name, std::vector<TestArg> args) {
    Context& context = program_.context();
    const OpSchema* schema = FindCallSchema(name);
    if (schema == nullptr || FindKernel(name) == nullptr) {
      ADD_FAILURE() << "no reference kernel for " << name;
      return {};
    }
    const NodeId node = program_.NewOp(context.InternOp(name), NextName());
    const ArgRange range = program_.NewArgs(static_cast<uint32_t>(args.size()));
    std::vector<RuntimeValue> values(schema->args.size());
    std::vector<bool> present(schema->args.size());
    for (uint32_t i = 0; i < args.size(); ++i) {
      const int at = schema->FindArg(args[i].name);
      if (at < 0) {
        ADD_FAILURE() << name << " has no parameter " << args[i].name;
        return {};
      }
      program_.SetArgLabel(range[i], context.Intern(args[i].name),
                           PassKind::kUnstated);
      Set(range[i], node, args[i]);
      values[static_cast<size_t>(at)] = Sample(args[i]);
      present[static_cast<size_t>(at)] = true;
    }
    program_.SetArgRange(node, range);
    std::string error;
    EXPECT_TRUE(CompleteArgs(*schema, &values, present, &error)) << error;
    KernelCall call(*schema, std::move(values));
    if (!FindKernel(name)(call)) {
      ADD_FAILURE() << name << ": " << call.error();
      return {};
    }
    return AddResults(node, call.results());
  }

  ValueId Op(const std::string& name, std::vector<TestArg> args) {
    const auto results = Ops(name, std::move(args));
    return results.empty() ? ValueId() : results[0];
  }

  Program Finish(const std::vector<ValueId>& outputs) {
    const ArgRange range =
        program_.NewArgs(static_cast<uint32_t>(outputs.size()));
    const NodeId output = program_.graph(root_).output;
    for (uint32_t i = 0; i < outputs.size(); ++i) {
      program_.SetValueArg(range[i], output, outputs[i]);
      program_.signature.outputs.push_back(OutputSpec());
    }
    program_.SetOutputs(root_, range);
    return std::move(program_);
  }

  // What the reference kernels gave.
  const RuntimeValue& sample(ValueId v) const { return samples_[v.index]; }

  std::vector<RuntimeValue> inputs;

 private:
  StringId NextName() {
    return program_.context().Intern("v" + std::to_string(next_name_++));
  }

  TypeId TypeOf(const RuntimeValue& value) {
    Type type;
    if (value.is_int()) {
      type.kind = TypeKind::kSymInt;
      type.sym = SymInt::Symbolic(
          program_.context().exprs.Symbol("s" + std::to_string(next_name_),
                                          "integer=True"),
          value.int_value());
      return program_.context().types.Intern(std::move(type));
    }
    if (!value.is_tensor()) return program_.context().none_type();
    const Tensor& t = value.tensor();
    type.kind = TypeKind::kTensor;
    type.dtype = t.dtype();
    type.device.type = program_.context().Intern("cpu");
    for (const int64_t s : t.sizes()) {
      type.sizes.push_back(SymInt::Literal(s));
    }
    for (const int64_t s : t.strides()) {
      type.strides.push_back(SymInt::Literal(s));
    }
    type.storage_offset = SymInt::Literal(t.offset());
    return program_.context().types.Intern(std::move(type));
  }

  void Remember(ValueId v, RuntimeValue sample) {
    samples_.resize(program_.num_values());
    samples_[v.index] = std::move(sample);
  }

  RuntimeValue Sample(const TestArg& arg) const {
    if (arg.value.valid()) return samples_[arg.value.index];
    if (!arg.is_list) return arg.literal;
    RuntimeValue::List items;
    for (const TestArg& item : arg.items) items.push_back(Sample(item));
    return items;
  }

  void Set(ArgId at, NodeId node, const TestArg& arg) {
    if (arg.value.valid()) {
      program_.SetValueArg(at, node, arg.value);
      return;
    }
    Arg literal;
    if (arg.is_list) {
      const ArgRange items =
          program_.NewArgs(static_cast<uint32_t>(arg.items.size()));
      for (uint32_t i = 0; i < arg.items.size(); ++i) {
        Set(items[i], node, arg.items[i]);
      }
      literal = Arg::OfList(arg.tag, items);
    } else if (arg.literal.is_int()) {
      literal = Arg::Int(arg.literal.int_value());
    } else if (arg.literal.is_float()) {
      literal = Arg::Float(arg.literal.float_value());
    } else if (arg.literal.is_bool()) {
      literal = Arg::Bool(arg.literal.bool_value());
    } else if (arg.literal.is_dtype()) {
      literal = Arg::Dtype(arg.literal.dtype());
    } else if (arg.literal.is_memory_format()) {
      literal = Arg::OfMemoryFormat(arg.literal.memory_format());
    } else if (arg.literal.is_string()) {
      literal = Arg::String(program_.context().Intern(arg.literal.string()));
    }
    program_.SetArg(at, literal, /*keep_label=*/true);
  }

  std::vector<ValueId> AddResults(NodeId node,
                                  std::vector<RuntimeValue>& results) {
    Form form;
    std::vector<RuntimeValue> flat;
    bool is_plain = true;
    for (RuntimeValue& result : results) {
      if (!result.is_list()) {
        form.push_back({FormItem::Kind::kValue, 0});
        flat.push_back(std::move(result));
        continue;
      }
      is_plain = false;
      form.push_back(
          {FormItem::Kind::kList, static_cast<uint32_t>(result.list().size())});
      for (RuntimeValue& item : result.list()) flat.push_back(std::move(item));
    }
    if (!is_plain) {
      program_.mutable_node(node).form = program_.context().InternForm(form);
    }
    const ValueRange range =
        program_.NewResults(node, static_cast<uint32_t>(flat.size()));
    program_.Append(root_, node);
    std::vector<ValueId> ids;
    for (uint32_t i = 0; i < flat.size(); ++i) {
      Value& value = program_.mutable_value(range[i]);
      value.type = TypeOf(flat[i]);
      value.name = NextName();
      Remember(range[i], std::move(flat[i]));
      ids.push_back(range[i]);
    }
    return ids;
  }

  Program program_;
  GraphId root_;
  std::vector<RuntimeValue> samples_;
  int next_name_ = 0;
};

// Values that repeat from run to run.
class RandomTensors {
 public:
  RandomTensors() = default;
  // What Floats gives.
  explicit RandomTensors(DType floats) : floats_(floats) {}

  Tensor Floats(Sizes sizes, float low = -2, float high = 2) {
    Tensor t = Tensor::Empty(DType::kFloat32, std::move(sizes));
    std::uniform_real_distribution<float> draw(low, high);
    for (int64_t i = 0; i < t.numel(); ++i) {
      t.mutable_data<float>()[i] = draw(engine_);
    }
    return Cast(t, floats_);
  }
  Tensor Ints(Sizes sizes, int64_t low, int64_t high) {
    Tensor t = Tensor::Empty(DType::kInt64, std::move(sizes));
    std::uniform_int_distribution<int64_t> draw(low, high);
    for (int64_t i = 0; i < t.numel(); ++i) {
      t.mutable_data<int64_t>()[i] = draw(engine_);
    }
    return t;
  }
  Tensor Bools(Sizes sizes) {
    Tensor t = Tensor::Empty(DType::kBool, std::move(sizes));
    for (int64_t i = 0; i < t.numel(); ++i) {
      t.mutable_data<uint8_t>()[i] = engine_() & 1;
    }
    return t;
  }

 private:
  DType floats_ = DType::kFloat32;
  std::mt19937 engine_{20240229};
};

}  // namespace tenon
