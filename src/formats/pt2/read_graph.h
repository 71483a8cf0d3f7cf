// Reads a Graph record: values, nodes, nested graphs.
//
// Names are resolved once, here. Each graph of the file has a namespace of its
// own; a flat table from interned name to value serves the innermost graph,
// and what a nested graph overwrites in it is put back when it ends.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "formats/json/json_input.h"
#include "formats/pt2/name_stream.h"
#include "formats/pt2/read_types.h"
#include "ir/program.h"

namespace tenon {

// Metadata keys under which a node keeps its region, and members of its record
// that this version doesn't know (as JSON text): "tenon_member.NAME" of the
// record itself, "tenon_member.@PATH:NAME" of records inside it, where PATH is
// the node's own, like "inputs[0].arg".
constexpr std::string_view kRegionKey = "tenon_region";
constexpr std::string_view kUnknownMemberKey = "tenon_member.";
constexpr char kUnknownMemberPath = '@';
constexpr std::string_view kDelegateTarget =
    "torch.ops.tenon.call_delegate.default";

class GraphReader {
 public:
  // `delegates` by name; regions and delegates of `program` are there already.
  GraphReader(const JsonInput* json, TypeReader* types, Program* program,
              const std::unordered_map<StringId, DelegateId>* delegates);

  // Inputs that are literals have no name of their own in a Graph record:
  // input i is called `literal_names[i]`, or "arg<i>" where that is empty.
  void SetLiteralNames(std::vector<StringId> literal_names) {
    literal_names_ = std::move(literal_names);
  }

  // Fills the empty graph `g`. Its names stay resolvable through Find until
  // the next graph is read.
  Status ReadGraph(GraphId g, const JsonElement& e, const JsonPath& path);

  // The value that the last graph read calls `name`; invalid when none.
  ValueId Find(std::string_view name);
  // An argument record that holds no value and no graph, for the place `at`.
  Status ReadLiteral(const JsonElement& e, const JsonPath& path, ArgId at);
  // The value that an argument record names, whatever its tag; invalid for
  // literals. Unknown names are an error.
  Expected<ValueId> ReadReference(const JsonElement& argument,
                                  const JsonPath& path);

 private:
  // What the current graph knows about a name.
  struct Slot {
    uint32_t scope = 0;  // graph index + 1; other scopes don't count
    TypeId type;
    ValueId value;
  };
  struct Result {
    StringId name;
    TypeId type;
  };
  class Scope;

  Slot& Touch(StringId name);
  const Slot* Look(StringId name) const;

  // Makes room for a graph's nodes and values: for speed alone.
  void ReserveFor(const JsonElement& nodes, const JsonElement& tensors);
  Status ReadTypes(const JsonElement& e, const JsonPath& path, TypeKind kind);
  Status ReadInputs(GraphId g, const JsonElement& e, const JsonPath& path);
  Expected<Type> ReadLiteralType(const JsonVariant& v, const JsonPath& path);
  Status DefineLiteralInput(GraphId g, size_t i, const JsonVariant& v,
                            const JsonPath& path);
  Status DefineInput(GraphId g, StringId id, TypeId type, const JsonPath& path);
  // The id of a name that a node takes.
  StringId UsedName(std::string_view name);
  Status ReadOutputs(GraphId g, const JsonElement& e, const JsonPath& path);

  Status ReadNode(GraphId g, const JsonElement& e, const JsonPath& path);
  Status ReadNamedArgument(const JsonElement& e, const JsonPath& path, ArgId at,
                           NodeId user);
  Status ReadDelegateCall(const JsonArray& inputs, const JsonPath& path,
                          NodeId n);
  Status ReadResults(NodeId n, const JsonElement& e, const JsonPath& path);
  void UnifySingleReturn(NodeId n);
  Status AddResult(std::string_view name, TypeKind kind, const JsonPath& path);
  Status ReadMetadata(NodeId n, const JsonElement& e, const JsonPath& path,
                      Metadata metadata);
  Status ReadRegion(NodeId n, std::string_view text, const JsonPath& path);
  void KeepWithNode(size_t first_unknown, const JsonPath& path,
                    Metadata* metadata);

  // The name in an Argument record that can only be a value; "" for other tags.
  // A symbolic literal is an error.
  Expected<std::string_view> ReadValueName(const JsonVariant& v,
                                           const JsonPath& path);

  Status ReadArg(const JsonElement& e, const JsonPath& path, ArgId at,
                 NodeId user);
  Status ReadArgOf(const JsonVariant& v, const JsonPath& parent, ArgId at,
                   NodeId user);
  Status ReadNamedValue(const JsonElement& e, const JsonPath& path, ArgId at,
                        NodeId user);
  Status UseValue(std::string_view name, const JsonPath& path, ArgId at,
                  NodeId user);
  Status ReadGraphArg(const JsonElement& e, const JsonPath& path, ArgId at);
  Status ReadObjectArg(const JsonElement& e, const JsonPath& path, ArgId at,
                       NodeId user);
  Status ReadDictArg(const JsonElement& e, const JsonPath& path, ArgId at,
                     NodeId user);
  template <typename ReadItem>
  Status ReadList(const JsonElement& e, const JsonPath& path, ArgId at,
                  ListTag tag, ReadItem&& read_item);
  void Set(ArgId at, const Arg& literal) {
    program_.SetArg(at, literal, /*keep_label=*/true);
  }

  OpId Op(std::string_view target);

  const JsonInput& json_;
  TypeReader& types_;
  Program& program_;
  Context& context_;
  const std::unordered_map<StringId, DelegateId>& delegates_;
  std::vector<StringId> literal_names_;

  uint32_t scope_ = 0;
  uint32_t depth_ = 0;       // graphs being read
  std::vector<Slot> slots_;  // by name
  // What the current graph and those around it overwrote.
  std::vector<std::pair<StringId, Slot>> overwritten_;
  std::unordered_map<StringId, OpId> ops_;  // by target
  // Names by where they stand.
  NameStream typed_names_, input_names_, node_names_, result_names_,
      used_names_, found_names_;
  // Scratch of ReadResults: until the next one, what the last node gave.
  std::vector<Result> results_;
  Form form_;
};

}  // namespace tenon
