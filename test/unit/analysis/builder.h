// Small programs by hand.
#pragma once

#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/program.h"

namespace tenon {

class Builder {
 public:
  Builder() : context(std::make_shared<Context>()), program(context) {
    program.AddGraph("main");
  }

  static SymInt Lit(int64_t v) { return SymInt::Literal(v); }
  SymInt Sym(std::string_view name) {
    return SymInt::Symbolic(context->exprs.Symbol(name, "integer=True"), {});
  }

  TypeId Tensor(DType dtype, std::vector<SymInt> sizes) {
    Type t;
    t.kind = TypeKind::kTensor;
    t.dtype = dtype;
    t.device.type = context->Intern("cpu");
    int64_t stride = 1;
    t.strides.resize(sizes.size());
    for (size_t d = sizes.size(); d-- > 0;) {
      t.strides[d] = Lit(stride);
      if (sizes[d].is_literal() && sizes[d].value > 0) stride *= sizes[d].value;
    }
    t.sizes = std::move(sizes);
    t.storage_offset = Lit(0);
    return context->types.Intern(std::move(t));
  }
  TypeId F32(std::initializer_list<int64_t> sizes) {
    return Literals(DType::kFloat32, sizes);
  }
  TypeId Literals(DType dtype, std::initializer_list<int64_t> sizes) {
    std::vector<SymInt> out;
    for (const int64_t s : sizes) out.push_back(Lit(s));
    return Tensor(dtype, std::move(out));
  }
  TypeId Scalar(TypeKind kind) {
    Type t;
    t.kind = kind;
    t.sym = kind == TypeKind::kSymFloat ? SymInt() : Sym("u0");
    return context->types.Intern(std::move(t));
  }

  ValueId Input(TypeId type, std::string_view name,
                GraphId g = Program::kRoot) {
    const ValueId v = program.AddInput(g, type, context->Intern(name));
    if (g == Program::kRoot) program.signature.inputs.push_back({});
    return v;
  }

  // An argument: a literal, a value, or a list of both.
  struct Item {
    Item(ValueId v) : value(v) {}                                      // NOLINT
    Item(Arg a) : literal(a) {}                                        // NOLINT
    Item(int v) : literal(Arg::Int(v)) {}                              // NOLINT
    Item(double v) : literal(Arg::Float(v)) {}                         // NOLINT
    Item(bool v) : literal(Arg::Bool(v)) {}                            // NOLINT
    Item(DType v) : literal(Arg::Dtype(v)) {}                          // NOLINT
    Item(std::vector<Item> v) : items(std::move(v)), is_list(true) {}  // NOLINT
    ValueId value;
    Arg literal;
    std::vector<Item> items;
    bool is_list = false;
  };
  void Set(ArgId at, NodeId user, const Item& item) {
    if (item.is_list) {
      const ArgRange range =
          program.NewArgs(static_cast<uint32_t>(item.items.size()));
      for (size_t i = 0; i < item.items.size(); ++i) {
        Set(range[i], user, item.items[i]);
      }
      program.SetArg(at, Arg::OfList(ListTag::kTensors, range), true);
    } else if (item.value.valid()) {
      program.SetValueArg(at, user, item.value);
    } else {
      program.SetArg(at, item.literal, true);
    }
  }
  void SetArgs(NodeId n, const std::vector<Item>& args) {
    const ArgRange range = program.NewArgs(static_cast<uint32_t>(args.size()));
    program.SetArgRange(n, range);
    for (size_t i = 0; i < args.size(); ++i) Set(range[i], n, args[i]);
  }

  NodeId Node(NodeId n, const std::vector<Item>& args,
              const std::vector<TypeId>& results, GraphId g) {
    SetArgs(n, args);
    const ValueRange range =
        program.NewResults(n, static_cast<uint32_t>(results.size()));
    for (size_t i = 0; i < results.size(); ++i) {
      program.mutable_value(range[i]).type = results[i];
    }
    program.Append(g, n);
    return n;
  }
  NodeId Op(std::string_view name, const std::vector<Item>& args,
            const std::vector<TypeId>& results, GraphId g = Program::kRoot) {
    return Node(program.NewOp(context->InternOp(name), context->Intern("")),
                args, results, g);
  }
  // The node's first result.
  ValueId Value(std::string_view name, const std::vector<Item>& args,
                TypeId type, GraphId g = Program::kRoot) {
    return program.node(Op(name, args, {type}, g)).results[0];
  }
  void Return(const std::vector<Item>& outputs, GraphId g = Program::kRoot) {
    const ArgRange range =
        program.NewArgs(static_cast<uint32_t>(outputs.size()));
    program.SetOutputs(g, range);
    for (size_t i = 0; i < outputs.size(); ++i) {
      Set(range[i], program.graph(g).output, outputs[i]);
    }
    if (g == Program::kRoot) {
      program.signature.outputs.resize(outputs.size());
    }
  }

  std::shared_ptr<Context> context;
  Program program;
};

}  // namespace tenon
