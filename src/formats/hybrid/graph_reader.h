// Graphs of a hybrid document, read when they are called.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/infer.h"
#include "formats/hybrid/hybrid.h"
#include "formats/hybrid/item.h"
#include "formats/hybrid/module.h"
#include "formats/hybrid/state_reader.h"
#include "formats/hybrid/types.h"

namespace tenon::hybrid {

class GraphReader {
 public:
  GraphReader(const JsonInput& json, const HybridReadOptions& options,
              StateReader* state, Types* types, Program* program)
      : json_(json),
        options_(options),
        state_(*state),
        types_(*types),
        program_(*program),
        context_(program->context()),
        inference_(*program) {}

  // The root: inputs are the program's user inputs. `example_types[i]` is used
  // where placeholder i states none; invalid = none. Returns what the graph
  // returns; the graph's outputs are its leaves.
  Expected<Item> ReadRoot(Module* root,
                          const std::vector<TypeId>& example_types);

 private:
  // One graph that is being read.
  struct Scope {
    Module* module;
    GraphId graph;
    std::unordered_map<std::string_view, Item> names;
    RegionId region;          // where its nodes come from (J-13)
    std::string_view node;    // being read
    MetadataId metadata;      // of that node
    std::vector<Item> bound;  // per placeholder
    size_t next_placeholder = 0;
    Item returned;
    bool has_output = false;
  };
  struct NodeMembers;

  // --- graphs ---
  Status ReadNodes(Scope* scope);
  Status ReadNode(Scope* scope, const JsonElement& node, const JsonPath& path);
  Expected<MetadataId> ReadMetadata(const JsonElement& meta,
                                    const JsonPath& path);
  Status SetReturned(Scope* scope, Item returned);
  // `args` are values and literals of the caller, one per placeholder.
  Expected<Instance*> Instantiate(Module* module, const std::vector<Item>& args,
                                  Scope* caller, const JsonPath& path);
  // Of an engine without a graph; `val` states what it returns.
  Expected<Instance*> InstantiateOpaque(Module* module,
                                        const std::vector<Item>& args,
                                        const JsonElement* val,
                                        const JsonPath& path);
  std::string PatternOf(const std::vector<Item>& args) const;
  Status SetPayload(const Module& module, Delegate* delegate,
                    const JsonPath& path);
  RegionId RegionOf(Module* module, const Scope& caller);
  Status MakeDelegate(Module* module, const std::vector<Item>& args,
                      Instance* instance, const JsonPath& path);

  // --- nodes ---
  Expected<Item> GetAttr(Scope* scope, const NodeMembers& m,
                         const JsonPath& path);
  Expected<Item> GetItem(Scope* scope, const NodeMembers& m,
                         const JsonPath& path);
  Expected<Item> CallModule(Scope* scope, const NodeMembers& m,
                            const JsonPath& path);
  Expected<Item> CallOperator(Scope* scope, const NodeMembers& m,
                              const JsonPath& path);
  Expected<std::vector<Item>> BindCall(Scope* scope, Module* module,
                                       const NodeMembers& m,
                                       const JsonPath& path);
  ValueId GetState(Scope* scope, StateId state);
  Expected<Item> SliceOf(const Item& from, const Item& slice,
                         const JsonPath& path);
  Expected<Item> SelectOfTensor(Scope* scope, const Item& tensor,
                                const Item& index, const JsonPath& path);

  // Turns graph operands into nested graphs, and flattens what they get.
  Status ReadNestedGraphs(Scope* scope, std::string_view op,
                          std::vector<Item>* args, const JsonPath& path);
  static void Flatten(Item* item, bool is_rest);
  static void UnrollRest(size_t from, std::vector<Item>* args);
  ValueId SliceStandIn(ValueId v);

  // --- results of operators ---
  Expected<Item> Results(Scope* scope, NodeId n, const JsonElement* val,
                         const JsonPath& path);
  Expected<Item> ListResults(Scope* scope, NodeId n, const JsonElement* val,
                             const JsonPath& path);
  Expected<Item> HigherOrderResults(Scope* scope, NodeId n,
                                    const JsonElement* val,
                                    const JsonPath& path);
  static bool IsNoneVal(const JsonElement& val);
  Item AddResults(Scope* scope, NodeId n, const std::vector<TypeId>& types,
                  Item::Kind kind);
  Expected<TypeId> ResultType(NodeId n, size_t i, const JsonElement* val,
                              const JsonPath& path);
  TypeId CompleteType(const InferredType& inferred);

  // --- arguments ---
  Expected<Item> Read(Scope* scope, const JsonElement& v, const JsonPath& path);
  Expected<Item> ReadKeyed(Scope* scope, const JsonVariant& v,
                           const JsonPath& path);
  Expected<Item> ReadName(const JsonVariant& v, const JsonPath& path);
  Expected<std::vector<Item>> ReadArgs(Scope* scope, const NodeMembers& m,
                                       const JsonPath& path);
  Expected<std::vector<Item>> ReadAll(Scope* scope, const JsonElement& list,
                                      const JsonPath& path);
  Expected<std::vector<std::pair<std::string_view, Item>>> ReadKeywords(
      Scope* scope, const NodeMembers& m, const JsonPath& path);
  Status Store(Scope* scope, NodeId user, ArgId at, const Item& item,
               const SchemaArg* parameter, const JsonPath& path);
  ListTag TagOf(const Item& list, const SchemaArg* parameter) const;
  // A nested graph of control flow; `operands` type what it doesn't state.
  Expected<Instance*> NestedGraph(Scope* scope, Module* module,
                                  const std::vector<Item>& operands,
                                  const JsonPath& path);

  const JsonInput& json_;
  const HybridReadOptions& options_;
  StateReader& state_;
  Types& types_;
  Program& program_;
  Context& context_;
  TypeInference inference_;
  // What the last graph of the higher-order call being read returns.
  Item nested_returns_;
  uint32_t depth_ = 0;
  uint64_t num_nodes_ = 0;
  uint32_t num_delegates_ = 0;
};

}  // namespace tenon::hybrid
