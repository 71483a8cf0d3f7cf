// Writes Graph records: values' types, nodes, arguments, nested graphs.
#pragma once

#include <string>
#include <string_view>

#include "diag/diagnostics.h"
#include "formats/json/json_output.h"
#include "formats/pt2/write_types.h"
#include "ir/naming.h"
#include "ir/program.h"

namespace tenon {

class GraphWriter {
 public:
  // For schema 8.`minor`, which can say all that the program holds
  // (schema_check.h).
  GraphWriter(const Program* program, const NameTable* names, int64_t minor,
              Diagnostics* diags)
      : program_(*program),
        names_(*names),
        minor_(minor),
        diags_(*diags),
        types_(&program->context(), minor) {}

  // What the schema has no form for is an error that names the node: calls of
  // child graphs, lists of mixed items.
  Status Graph(GraphId g, std::string* out);

  // The Argument union.
  Status Argument(const Arg& arg, std::string* out);
  // The Argument that refers to a value; the literal itself for literal
  // inputs, when `literal_inputs`.
  void Reference(ValueId v, bool literal_inputs, std::string* out);
  // {"as_int": 3} and the like, for literal types.
  void Literal(const Type& type, std::string* out);
  // {"name": ...}
  void Named(ValueId v, std::string* out);
  void Object(std::string_view name, StringId class_fqn, std::string* out);

  TypeWriter& types() { return types_; }
  // Members of nodes' records that nobody knows: written, or left out.
  size_t num_unknown_written() const { return num_unknown_written_; }
  size_t num_unknown_left_out() const { return num_unknown_left_out_; }

 private:
  Status GraphBody(GraphId g, std::string* out);
  template <typename Visit>
  void ForEachValue(GraphId g, Visit&& visit) const;
  void TypeMap(GraphId g, TypeKind kind, std::string* out);
  Status Node(GraphId g, NodeId n, std::string* out);
  Status Inputs(NodeId n, std::string* out);
  Status Outputs(NodeId n, std::string* out);
  bool ReturnsTupleOfOne(const tenon::Node& node) const;
  Status OutputValue(ValueId v, std::string* out);
  void Metadata(NodeId n, JsonObjectOut* node_record, std::string* out);
  void UnknownMembers(MetadataId metadata, size_t start, std::string* out);
  Status List(const Arg& list, std::string* out);
  Status ListOf(ListTag tag, std::span<const Arg> items, std::string* out);
  // The stored tag where all items fit it, else one that they fit.
  Expected<ListTag> ChooseTag(const Arg& list) const;
  void SymItem(const Arg& item, std::string* out);
  DiagnosticBuilder Error() const;

  const Program& program_;
  const NameTable& names_;
  const int64_t minor_;
  Diagnostics& diags_;
  TypeWriter types_;
  size_t num_unknown_written_ = 0;
  size_t num_unknown_left_out_ = 0;
  // Where we are, for messages.
  GraphId graph_;
  NodeId node_;
};

}  // namespace tenon
