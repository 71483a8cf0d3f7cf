// Appends nodes to a graph: operands in, results out.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/program.h"

namespace tenon::testing {

// One operand: a value, a literal, or a list of operands.
struct Operand {
  Arg literal;
  ValueId value;
  std::vector<Operand> items;
  bool is_list = false;

  Operand() = default;                           // None
  Operand(ValueId v) : value(v) {}               // NOLINT: implicit on purpose
  Operand(const Arg& l) : literal(l) {}          // NOLINT
  Operand(int64_t i) : literal(Arg::Int(i)) {}   // NOLINT
  Operand(int i) : literal(Arg::Int(i)) {}       // NOLINT
  Operand(double f) : literal(Arg::Float(f)) {}  // NOLINT
  Operand(bool b) : literal(Arg::Bool(b)) {}     // NOLINT
  Operand(const void*) = delete;

  // Ints become as_ints, or as_sym_ints where one of them is a value.
  static Operand Ints(std::vector<Operand> items);
  static Operand Tensors(std::span<const ValueId> values);
  static Operand OptionalTensors(std::vector<Operand> items);

 private:
  static Operand List(ListTag tag, std::vector<Operand> items);
};

struct Keyword {
  std::string_view name;
  Operand operand;
};

class Emitter {
 public:
  Emitter(Program* program, GraphId graph) : program_(program), graph_(graph) {}

  Program& program() const { return *program_; }
  GraphId graph() const { return graph_; }

  // Appends a call of `op`. Positional operands get their parameters' names
  // from the operator's schema, where it has one. One result per type.
  NodeId Emit(OpId op, std::span<const Operand> positional,
              std::span<const Keyword> keywords,
              std::span<const TypeId> results);
  // For operators with one result.
  ValueId Emit(std::string_view op, std::initializer_list<Operand> positional,
               TypeId result, std::initializer_list<Keyword> keywords = {});
  NodeId Emit(std::string_view op, std::initializer_list<Operand> positional,
              std::initializer_list<Keyword> keywords,
              std::initializer_list<TypeId> results);
  // The same with one return that is a list of all results.
  NodeId EmitListReturn(std::string_view op,
                        std::initializer_list<Operand> positional,
                        std::span<const TypeId> results);
  // A call of a child graph of the program.
  NodeId EmitCall(GraphId child, std::span<const ValueId> operands,
                  std::span<const TypeId> results);

  // Makes `operands` what the graph returns.
  void Return(std::span<const Operand> operands);

  ValueId result(NodeId node, uint32_t i = 0) const {
    return program_->node(node).results[i];
  }

 private:
  void Set(ArgId at, NodeId user, const Operand& operand);
  StringId ParameterName(OpId op, size_t position);
  NodeId Append(NodeId node, std::span<const TypeId> results);

  Program* program_;
  GraphId graph_;
  std::unordered_map<OpId, std::vector<StringId>> parameters_;
};

// float32[sizes] on the CPU, row-major.
TypeId TensorType(Context& context, DType dtype,
                  std::span<const int64_t> sizes);
TypeId TensorType(Context& context, DType dtype,
                  std::initializer_list<int64_t> sizes);

}  // namespace tenon::testing
