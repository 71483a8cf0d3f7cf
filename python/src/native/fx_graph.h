// A flat program as an fx.Graph: its nodes by position, each with the target
// and metadata of the fx node that it came from.
//
// Everything that is connected follows the program's values. The fx nodes that
// the program was made of are asked for nothing but their metadata, and for
// their meta["val"] where it describes the same type; else a value gets a new
// one from `make_val`.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "ir/naming.h"
#include "ir/program.h"
#include "operators.h"
#include "value_text.h"

namespace tenon::python {

// How fx objects are made; Python's side decides (see _graph.py).
struct FxFactory {
  nb::object new_graph;   // () -> fx.Graph
  nb::object new_module;  // (fx.Graph, {name: GraphModule}) -> GraphModule
  // (dtype, sizes, strides, device, requires_grad) -> fake tensor, and
  // (kind, expression) -> symbolic scalar
  nb::object make_val;
  nb::object illegal_names;  // a set
  // Whether nodes may be made without Graph.create_node (see _graph.py).
  bool is_direct = false;
  // One per delegate: (operator, constant leading arguments, payload's fqn,
  // payload's val).
  nb::object engines;
};

struct FxResult {
  nb::object graph;
  nb::dict modules;  // nested graphs by attribute
  nb::list inputs;   // (kind, name, fqn, is persistent, value) each
  nb::list outputs;  // (kind, value, target) each
};

class FxGraphBuilder {
 public:
  FxGraphBuilder(const Program& program, const FxFactory& factory,
                 OperatorTable* operators, ValueWriter* values,
                 const std::vector<nb::object>& sources,
                 const std::vector<nb::object>& inputs);

  FxResult Build();

 private:
  // The graph that is being filled.
  struct Scope {
    nb::object graph, root, used_names, names_by_node, table;
    std::unordered_map<PyObject*, nb::object> by_target;
    int64_t num_nodes = 0;
    nb::dict modules;
  };

  void BuildNodes(GraphId g, Scope* scope);
  void BuildNode(NodeId n, Scope* scope);
  void BuildResults(NodeId n, PyObject* node, PyObject* source_val,
                    Scope* scope);
  void Open(Scope* scope);
  void Close(Scope* scope);
  nb::object NestedModule(GraphId g);

  // Borrowed: the graph owns its nodes.
  PyObject* NewNode(Scope* scope, PyObject* op, PyObject* target,
                    nb::object args, nb::object kwargs, std::string_view name,
                    nb::object meta);
  nb::object NameIn(Scope* scope, std::string_view wanted);
  PyObject* Placeholder(Scope* scope, std::string_view name, nb::object val,
                        nb::object meta);
  std::unordered_map<ValueId, PyObject*> SourcesOfInputs() const;

  nb::object ToPython(const Arg& arg, Scope* scope);
  nb::object OutputTuple(GraphId g, Scope* scope, bool is_root);
  nb::object ValOf(TypeId type, PyObject* known);
  bool Describes(PyObject* val, TypeId type);
  bool IsSameSize(const SymInt& size, PyObject* object);
  nb::object SizeOf(const SymInt& size);
  PyObject* SourceOf(NodeId n) const;
  nb::object SourceMeta(PyObject* source) const;
  PyObject* RegionName(RegionId id);

  const Program& program_;
  const FxFactory& factory_;
  OperatorTable& operators_;
  ValueWriter& texts_;
  const std::vector<nb::object>& sources_;
  const std::vector<nb::object>& inputs_;  // the placeholders, in their order
  NameTable names_;
  std::vector<PyObject*> nodes_;          // by value; borrowed
  std::vector<PyObject*> payloads_;       // by delegate
  std::vector<nb::object> region_names_;  // by region, once needed
  std::unordered_map<std::string, ExprId> exprs_;
  SymbolScope symbols_;
  StringId source_key_;
};

}  // namespace tenon::python
