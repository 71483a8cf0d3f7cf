// The printer's state. The parts: print_program.cc what stands beside the
// graphs, print_graph.cc graphs and nodes, print_arg.cc arguments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "text/defaults.h"
#include "text/label_scope.h"
#include "text/text.h"
#include "text/type_printer.h"

namespace tenon {

class Printer {
 public:
  // Numbers repeated labels and gathers symbols: walks the whole program.
  Printer(const Program& program, const PrintOptions& options);
  // For single nodes in messages: labels without numbers, no walk.
  explicit Printer(const Program& program);

  void PrintProgram();
  void PrintGraph(GraphId g);
  void PrintNode(NodeId n);
  // What the nodes printed so far refer to as #0, #1, ...
  void PrintMetadataTable();

  std::string Take() { return std::move(out_); }

 private:
  // --- beside the graphs ---
  void PrintFileInfo();
  void PrintSymbols();
  void PrintState();
  void PrintRegions();
  void PrintDelegate(size_t index);
  void PrintSpecs();
  void PrintModuleCall(const ModuleCall& call);
  void PrintMetadataText(std::string_view text);
  // "12 bytes hex"..."", or by digest with the bytes given to the side file.
  void Blob(Bytes bytes);
  void Strings(const std::vector<std::string>& strings);
  void Symbol(ExprId symbol);
  // An expression where anything may follow: a symbol's name, else (...).
  void Enclosed(ExprId expr);

  // --- graphs ---
  void CountLabels();
  bool NodesAreNamed() const;
  std::string InputText(GraphId g, size_t i);
  void Returns(GraphId g);
  std::string OutputTarget(const OutputSpec& spec);
  void Node(NodeId n);
  void Result(ValueId v);
  // Returns whether the form was shown by brackets.
  bool Results(NodeId n);
  void Callee(NodeId n);
  void NodeName(NodeId n);
  void FormText(FormId form);

  // --- arguments ---
  // The node's arguments in parentheses; a mark in front of them where the
  // usual pass kind isn't positional.
  void Arguments(NodeId n);
  void Argument(const Arg& arg, OpId op, size_t position, PassKind usual);
  void ArgValue(const Arg& arg);
  void ListValue(const Arg& arg);
  void Items(const Arg& arg);

  // --- references ---
  void ValueRef(ValueId v);
  void GraphRef(GraphId g);
  void DelegateRef(DelegateId d);
  void StateRef(StateId s);
  // The label that the text shows. A result without one may share its node's.
  StringId LabelOf(ValueId v) const;

  void Put(std::string_view text) { out_ += text; }
  void Quoted(std::string_view text);
  std::string_view View(StringId id) const { return context_.view(id); }

  const Program& program_;
  Context& context_;
  PrintOptions options_;
  TypePrinter types_;
  ParameterNames parameter_names_;
  std::string out_;
  bool nodes_are_named_ = false;
  GraphId current_;  // the graph being printed
  // Numbers among equal labels, by id. Empty for single nodes.
  std::vector<uint32_t> value_ordinals_, graph_ordinals_, delegate_ordinals_,
      state_ordinals_;
  std::vector<GraphId> graph_of_value_;
  // Numbers of metadata, by id, from 1; and the ids in the order of numbers.
  std::vector<uint32_t> metadata_numbers_;
  std::vector<MetadataId> used_metadata_;
};

}  // namespace tenon
