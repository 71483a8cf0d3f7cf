// A program: graphs over shared tables, state, signature, specs, symbols.
//
// All nodes, values, arguments and uses of all graphs of a program lie in four
// tables and are named by typed ids. A graph is a linked list of nodes that
// ends in an output node. So moving nodes from one graph to another is
// relinking a list, whatever its length, and cloning a program is copying
// arrays.
//
// Def-use chains can't go stale: an argument that holds a value is linked into
// that value's list of uses when it is set and unlinked when it is changed or
// its node is erased; a node can be erased only when its results are unused.
//
// Nodes that call graphs are few among many, so each graph has a list of them
// that inserting, unlinking and moving nodes keep up: who is after calls
// needn't walk over all nodes.
//
// Names are labels. They may repeat, and nothing is found by them; whoever
// writes a format that refers by name asks AssignNames (naming.h) for unique
// ones.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/context.h"
#include "ir/delegate.h"
#include "ir/ids.h"
#include "ir/kinds.h"
#include "ir/signature.h"
#include "ir/state.h"
#include "ir/tree_spec.h"
#include "support/assert.h"

namespace tenon {

enum class ArgKind : uint8_t {
  kNone,
  kValue,  // a value of the same graph
  kInt,
  kFloat,
  kBool,
  kString,
  kComplex,  // two kFloat items in `list`
  kDtype,    // in `i`, as DType
  kLayout,
  kMemoryFormat,
  kDevice,
  kGraph,     // a nested graph
  kOperator,  // an operator as a value
  kObject,    // an inline opaque object: name and class
  kList,
  kDict,  // items carry their key in `name`
};

// How the file passed a node's argument.
enum class PassKind : uint8_t { kUnstated, kUnknown, kPositional, kKeyword };

// One argument, or one item of a list argument. 16 bytes; plain data.
struct Arg {
  struct ValueUse {
    ValueId value;
    UseId use;
  };
  struct DeviceRef {
    StringId type;
    int32_t index;
  };
  struct ObjectRef {
    StringId name;
    StringId class_fqn;
  };

  ArgKind kind = ArgKind::kNone;
  ListTag list_tag = ListTag::kTensors;  // kList
  PassKind pass = PassKind::kUnstated;   // a node's direct arguments
  uint8_t unused = 0;
  // Direct arguments: the parameter's name, "" for positional ones of
  // higher-order operators. Items of a dict: the key.
  StringId name;
  union {
    int64_t i = 0;     // kInt, kBool, kDtype, kLayout, kMemoryFormat
    double f;          // kFloat
    ValueUse v;        // kValue
    StringId text;     // kString
    DeviceRef device;  // kDevice
    GraphId graph;     // kGraph
    OpId op;           // kOperator
    ObjectRef object;  // kObject
    ArgRange list;     // kList, kDict, kComplex
  };

  Arg() : i(0) {}
  static Arg None() { return Arg(); }
  static Arg Int(int64_t v) { return Scalar(ArgKind::kInt, v); }
  static Arg Bool(bool v) { return Scalar(ArgKind::kBool, v ? 1 : 0); }
  static Arg Float(double v) {
    Arg a;
    a.kind = ArgKind::kFloat;
    a.f = v;
    return a;
  }
  static Arg String(StringId v) {
    Arg a;
    a.kind = ArgKind::kString;
    a.text = v;
    return a;
  }
  static Arg Dtype(DType v) {
    return Scalar(ArgKind::kDtype, static_cast<int64_t>(v));
  }
  static Arg OfLayout(Layout v) {
    return Scalar(ArgKind::kLayout, static_cast<int64_t>(v));
  }
  static Arg OfMemoryFormat(MemoryFormat v) {
    return Scalar(ArgKind::kMemoryFormat, static_cast<int64_t>(v));
  }
  static Arg OfDevice(StringId type, int32_t index) {
    Arg a;
    a.kind = ArgKind::kDevice;
    a.device = {type, index};
    return a;
  }
  static Arg OfGraph(GraphId g) {
    Arg a;
    a.kind = ArgKind::kGraph;
    a.graph = g;
    return a;
  }
  static Arg Operator(OpId op) {
    Arg a;
    a.kind = ArgKind::kOperator;
    a.op = op;
    return a;
  }
  static Arg Object(StringId name, StringId class_fqn) {
    Arg a;
    a.kind = ArgKind::kObject;
    a.object = {name, class_fqn};
    return a;
  }
  static Arg OfList(ListTag tag, ArgRange items) {
    Arg a;
    a.kind = ArgKind::kList;
    a.list_tag = tag;
    a.list = items;
    return a;
  }

  bool is_value() const { return kind == ArgKind::kValue; }
  bool has_items() const {
    return kind == ArgKind::kList || kind == ArgKind::kDict ||
           kind == ArgKind::kComplex;
  }
  ValueId value() const {
    return kind == ArgKind::kValue ? v.value : ValueId();
  }
  DType dtype() const { return static_cast<DType>(i); }
  Layout layout() const { return static_cast<Layout>(i); }
  MemoryFormat memory_format() const { return static_cast<MemoryFormat>(i); }

 private:
  static Arg Scalar(ArgKind kind, int64_t v) {
    Arg a;
    a.kind = kind;
    a.i = v;
    return a;
  }
};
static_assert(sizeof(Arg) == 16);

enum class NodeKind : uint8_t {
  kOp,            // an operator, a Python function, a higher-order operator
  kChildCall,     // a call of a child graph
  kDelegateCall,  // a call of a delegate
  kGetState,      // a reference to a state entry that isn't lifted yet
  kOutput,        // ends a graph; its arguments are what the graph returns
};

// `is_hop_single_tensor_return` of the file, which has three states.
enum class SingleReturn : uint8_t { kUnstated, kFalse, kTrue };

struct Node {
  NodeKind kind = NodeKind::kOp;
  SingleReturn single_return = SingleReturn::kUnstated;
  bool has_name = false;  // the file stated a name for the node itself
  bool in_graph = false;
  // One of them, by kind.
  OpId op;
  GraphId child;
  DelegateId delegate;
  StateId state;
  StringId name;
  ArgRange args;
  ValueRange results;
  FormId form;  // structure of the results; FormId() = one value per return
  NodeId prev, next;
  MetadataId metadata;
  RegionId region;  // where the node came from (J-13)
  CallerId caller;  // its entry in a graph's list of callers
};
static_assert(sizeof(Node) == 64, "a node is a cache line");

struct Value {
  TypeId type;
  StringId name;
  NodeId def;          // invalid for graph inputs
  uint32_t index = 0;  // position among the node's results or graph's inputs
  UseId first_use;
  uint32_t num_uses = 0;

  bool is_input() const { return !def.valid(); }
};

// One argument that holds a value, as a member of the value's list of uses.
struct Use {
  NodeId user;
  ArgId arg;
  UseId prev, next;
};

// By what a call binds an input of the graph that it calls (J-1).
struct Parameter {
  StringId name;  // of a keyword argument
  // What the input is when a call leaves it out: a literal that belongs to the
  // graph. Invalid: calls must pass the input.
  ArgId value = ArgId();
};

// A node that calls or may hold graphs, as a member of its graph's list.
struct Caller {
  NodeId node;
  CallerId prev, next;
};

struct Graph {
  StringId name;  // label; of nested graphs, the attribute name in the file
  std::vector<ValueId> inputs;
  // One per input, or none at all: inputs are positional only, without
  // defaults.
  std::vector<Parameter> parameters;
  NodeId first;            // first node; `output` when there is no other
  NodeId output;           // the output node, last
  uint32_t num_nodes = 0;  // the output node isn't counted
  CallerId first_caller, last_caller;
  // A nested graph returns the bare value, not a tuple of one.
  bool returns_single = false;
  bool is_erased = false;
};

struct Region {
  StringId name;
  StringId backend;
};

// The allowed values of an expression, inclusive; nullopt = unbounded.
struct SymbolRange {
  ExprId expr;      // a symbol, or a derived expression as some files list it
  std::string key;  // as the file spells it
  std::optional<int64_t> min, max;
};

// A submodule's calling convention as the file recorded it.
struct ModuleCall {
  StringId fqn;
  bool has_signature = false;
  // References into the root graph; a value that was removed is invalid.
  struct Argument {
    ValueId value;  // invalid: `json` holds the argument verbatim
    std::string json;
  };
  std::vector<Argument> inputs, outputs;
  std::optional<TreeSpec> in_spec, out_spec;
  std::vector<std::string> forward_arg_names;
  bool has_forward_arg_names = false;
};

// What a file says beside graph and state; carried verbatim.
struct FileInfo {
  int64_t schema_major = 8;
  int64_t schema_minor = 14;
  std::string torch_version = "2.9.0";
  std::vector<std::string> verifiers = {"TRAINING"};
  std::vector<std::pair<std::string, int64_t>> opset_version = {{"aten", 10}};
  std::vector<std::string> guards_code;
  bool has_guards_code = true;  // older files don't state any
  std::vector<std::pair<std::string, std::string>> graph_module_metadata;
  // JSON text; "" when absent.
  std::string treespec_namedtuple_fields;
  // JSON members that this version doesn't know: path of the record, member
  // name, JSON text.
  struct UnknownMember {
    std::string path, member, json;
  };
  std::vector<UnknownMember> unknown_members;
  // Archive members beside model, weights and constants: example inputs,
  // extra files. Names are relative to the root folder.
  struct Member {
    std::string name;
    Bytes bytes;
    std::shared_ptr<const void> owner;
  };
  std::vector<Member> members;
};

// Range-for over the nodes of a graph, the output node included. Erasing the
// current node inside the loop is allowed.
class Program;
class NodeRange {
 public:
  class Iterator {
   public:
    Iterator(const Program* program, NodeId at);
    NodeId operator*() const { return at_; }
    Iterator& operator++();
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const Program* program_;
    NodeId at_, next_;
  };
  NodeRange(const Program* program, NodeId first)
      : program_(program), first_(first) {}
  Iterator begin() const { return {program_, first_}; }
  Iterator end() const { return {program_, NodeId()}; }

 private:
  const Program* program_;
  NodeId first_;
};

class Program {
 public:
  explicit Program(std::shared_ptr<Context> context);
  Program(Program&&) = default;
  Program& operator=(Program&&) = default;

  // A deep copy that shares the context, payloads and weights. Ids stay valid.
  Program Clone() const { return Program(*this); }
  // The same with a copy of the context: what is done to one, or made for it,
  // doesn't touch what the other reads, so that two threads may work on them.
  Program CloneApart() const {
    Program copy(*this);
    copy.context_ = context_->Clone();
    return copy;
  }

  Context& context() const { return *context_; }
  const std::shared_ptr<Context>& shared_context() const { return context_; }

  // --- the parts beside the graphs: plain data ---
  StateTable state;
  Signature signature;
  std::optional<TreeSpec> in_spec, out_spec;
  std::vector<std::string> forward_arg_names;
  std::vector<SymbolRange> ranges;
  std::vector<ModuleCall> module_calls;  // without the root's entry
  bool has_root_module_call = true;
  bool has_forward_arg_names = false;
  std::vector<Delegate> delegates;
  std::vector<Region> regions;
  FileInfo file;
  std::string name = "model";  // the method's name in its file

  // --- reading ---
  static constexpr GraphId kRoot{0u};
  const Graph& root() const { return graphs_[0]; }
  const Graph& graph(GraphId id) const { return graphs_[id.index]; }
  size_t num_graphs() const { return graphs_.size(); }
  const Node& node(NodeId id) const { return nodes_[id.index]; }
  const Value& value(ValueId id) const { return values_[id.index]; }
  const Arg& arg(ArgId id) const { return args_[id.index]; }
  const Use& use(UseId id) const { return uses_[id.index]; }
  // Table sizes, for dense side tables indexed by id; erased entries count.
  size_t num_nodes() const { return nodes_.size(); }
  size_t num_values() const { return values_.size(); }
  size_t num_args() const { return args_.size(); }
  size_t num_uses() const { return uses_.size(); }

  NodeRange nodes(GraphId g) const { return {this, graph(g).first}; }
  // Not counting the output node.
  size_t CountNodes(GraphId g) const { return graph(g).num_nodes; }
  std::span<const Arg> args(ArgRange range) const {
    return {args_.data() + range.begin, range.count};
  }
  std::span<const Arg> args(NodeId n) const { return args(node(n).args); }
  const Type& type(TypeId id) const { return context_->types.get(id); }
  const Type& type(ValueId id) const { return type(value(id).type); }
  std::string_view view(StringId id) const { return context_->view(id); }
  std::string_view op_name(NodeId n) const {
    return context_->op_name(node(n).op);
  }
  const OpSchema* schema(NodeId n) const {
    return context_->op(node(n).op).schema;
  }
  // The argument passed as `parameter`, or null.
  const Arg* FindArg(NodeId n, std::string_view parameter) const;

  // Calls visit(const Arg&, ArgId) for each argument of `range` and, after a
  // list or dict, for its items, in order.
  template <typename Visit>
  void ForEachArg(ArgRange range, Visit&& visit) const {
    for (uint32_t i = 0; i < range.count; ++i) {
      const ArgId id = range[i];
      visit(arg(id), id);
      if (arg(id).has_items()) ForEachArg(arg(id).list, visit);
    }
  }
  // Calls visit(ValueId) for each value that the node takes, in order.
  template <typename Visit>
  void ForEachOperand(NodeId n, Visit&& visit) const {
    ForEachArg(node(n).args, [&](const Arg& a, ArgId) {
      if (a.is_value()) visit(a.v.value);
    });
  }
  // Calls visit(GraphId) for each graph that the node calls or holds.
  template <typename Visit>
  void ForEachNestedGraph(NodeId n, Visit&& visit) const {
    if (node(n).child.valid()) visit(node(n).child);
    ForEachArg(node(n).args, [&](const Arg& a, ArgId) {
      if (a.kind == ArgKind::kGraph) visit(a.graph);
    });
  }
  // Calls visit(NodeId) for each node of the graph that calls or may hold
  // graphs: calls of children and delegates, and operators that the schema
  // table doesn't know. In the order in which they were appended; one that was
  // inserted elsewhere is last, unless that was before another caller.
  template <typename Visit>
  void ForEachCaller(GraphId g, Visit&& visit) const {
    for (CallerId c = graph(g).first_caller; c.valid();) {
      const Caller caller = callers_[c.index];
      visit(caller.node);
      c = caller.next;
    }
  }
  // Calls visit(UseId) for each use of the value, newest first.
  template <typename Visit>
  void ForEachUse(ValueId v, Visit&& visit) const {
    for (UseId u = value(v).first_use; u.valid();) {
      const UseId next = use(u).next;
      visit(u);
      u = next;
    }
  }
  // The graph's outputs: the output node's arguments.
  std::span<const Arg> outputs(GraphId g) const {
    return args(graph(g).output);
  }
  // "graph/%name", for diagnostics.
  std::string Describe(GraphId g, NodeId n) const;

  // --- building and changing ---
  Graph& mutable_graph(GraphId id) { return graphs_[id.index]; }
  Value& mutable_value(ValueId id) { return values_[id.index]; }
  // Everything but args, results and list links may be changed through it. In a
  // graph, only a node that is a caller may become a call or get an operator
  // that may hold graphs.
  Node& mutable_node(NodeId id) { return nodes_[id.index]; }

  // Makes room for so many more of each: for speed, when many are to come.
  void Reserve(size_t more_nodes, size_t more_values, size_t more_args);
  // A new graph with an output node without arguments. The first is the root.
  GraphId AddGraph(std::string_view name);
  ValueId AddInput(GraphId g, TypeId type, StringId name);
  // The graph must not be referred to any more; its nodes are erased.
  void EraseGraph(GraphId g);

  // A node outside any graph; see Append and InsertBefore.
  NodeId NewNode(NodeKind kind);
  NodeId NewOp(OpId op, StringId name);
  // `count` arguments, all None, to be set one by one.
  ArgRange NewArgs(uint32_t count);
  // Makes `range` the node's direct arguments; the node must have none yet.
  void SetArgRange(NodeId n, ArgRange range);
  // Makes `range` the node's direct arguments, dropping those it has.
  void ReplaceArgs(NodeId n, ArgRange range);
  // Stores a literal or list. What was there is unlinked; name and pass of the
  // place are kept when `keep_label`, else taken from `literal`.
  void SetArg(ArgId at, const Arg& literal, bool keep_label = false);
  // Stores a use of `v` by `user`; name and pass of the place are kept.
  void SetValueArg(ArgId at, NodeId user, ValueId v);
  void SetArgLabel(ArgId at, StringId name, PassKind pass);
  // `count` new values as the node's results; the node must have none yet.
  ValueRange NewResults(NodeId n, uint32_t count);
  // A deep copy of `range` for `user`, each value through `map(ValueId)`, each
  // nested graph through `map_graph(GraphId)`.
  template <typename MapValue, typename MapGraph>
  ArgRange CopyArgs(ArgRange range, NodeId user, MapValue&& map,
                    MapGraph&& map_graph);

  // A deep copy of one argument, label included; values and graphs stay.
  void CopyArg(ArgId from, ArgId to, NodeId user);

  void Append(GraphId g, NodeId n);  // before the output node
  void InsertBefore(GraphId g, NodeId anchor, NodeId n);
  // Takes the node out of its graph's list; it stays alive.
  void Unlink(GraphId g, NodeId n);
  // Moves all nodes of `from` but its output node before `anchor` of `to`, by
  // relinking: constant time (J-12).
  void SpliceBefore(GraphId to, NodeId anchor, GraphId from);
  // Unlinks and drops the node and its uses; its results must be unused.
  void Erase(GraphId g, NodeId n);

  // Every use of `from` becomes one of `to`.
  void ReplaceAllUses(ValueId from, ValueId to);
  // One use becomes a literal or list.
  void ReplaceUse(UseId u, const Arg& literal);
  void ReplaceUse(UseId u, ValueId to);
  // New arguments for a graph's output node, replacing what it returns.
  void SetOutputs(GraphId g, ArgRange range);

 private:
  Program(const Program&) = default;

  void LinkUse(ArgId at, NodeId user, ValueId v);
  void UnlinkUse(ArgId at);
  void ClearArgs(ArgRange range);
  bool MayCall(const Node& node) const;
  void LinkCaller(GraphId g, NodeId anchor, NodeId n);
  void UnlinkCaller(GraphId g, NodeId n);
  // Puts a chain of callers before the one that is `anchor`, or last.
  void LinkCallers(GraphId g, NodeId anchor, CallerId first, CallerId last);

  std::shared_ptr<Context> context_;
  std::vector<Graph> graphs_;
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<Arg> args_;
  std::vector<Use> uses_;
  std::vector<Caller> callers_;
};

inline NodeRange::Iterator::Iterator(const Program* program, NodeId at)
    : program_(program), at_(at) {
  if (at_.valid()) next_ = program_->node(at_).next;
}

inline NodeRange::Iterator& NodeRange::Iterator::operator++() {
  at_ = next_;
  if (at_.valid()) next_ = program_->node(at_).next;
  return *this;
}

template <typename MapValue, typename MapGraph>
ArgRange Program::CopyArgs(ArgRange range, NodeId user, MapValue&& map,
                           MapGraph&& map_graph) {
  const ArgRange out = NewArgs(range.count);
  for (uint32_t i = 0; i < range.count; ++i) {
    const Arg source = arg(range[i]);  // a copy: the table may move
    SetArgLabel(out[i], source.name, source.pass);
    if (source.is_value()) {
      SetValueArg(out[i], user, map(source.v.value));
      continue;
    }
    Arg literal = source;
    if (source.has_items()) {
      literal.list = CopyArgs(source.list, user, map, map_graph);
    } else if (source.kind == ArgKind::kGraph) {
      literal.graph = map_graph(source.graph);
    }
    SetArg(out[i], literal);
  }
  return out;
}

}  // namespace tenon
