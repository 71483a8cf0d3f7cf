// The parser's state. The parts: parser.cc errors, names, statements;
// parse_file.cc file info, symbols, state; parse_calls.cc delegates and calling
// conventions; parse_graph.cc graphs and nodes; parse_arg.cc arguments;
// parse_type.cc types and expressions; parse_tree.cc pytree specs.
//
// One pass over the text. What may be mentioned before it is defined (values,
// graphs, metadata) is noted and filled in when the graph or the text ends.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "text/defaults.h"
#include "text/label_scope.h"
#include "text/lexer.h"
#include "text/text.h"

namespace tenon {

// Every parsing function returns false after it has reported an error. The
// first error ends the parse.
class Parser {
 public:
  Parser(std::string_view text, const std::string& file_name,
         std::shared_ptr<Context> context, const PayloadSource& payloads,
         const ReadLimits& limits, Diagnostics* diags);

  Expected<Program> Parse();

 private:
  // A mention of something by label.
  struct Mention {
    StringId label;
    uint32_t ordinal = 1;
    size_t at = 0;  // byte position, for the error
  };
  // A mention of a value or graph that is looked up later.
  struct LateMention {
    bool is_foreign = false;  // @graph%value, a value of another graph
    Mention graph, value;
  };

  // --- tokens and errors ---
  void Advance() { token_ = lexer_.Next(); }
  bool Error(size_t at, const std::string& message);
  // "found X, expected `what`" at the current token.
  bool FailExpecting(std::string_view what);
  std::string Found() const;
  // Likewise for a name that was mentioned before: "found '%x', expected ...".
  bool NotFound(char sigil, const Mention& m, const std::string& what);
  Place PlaceOf(size_t at) const;
  bool Accept(char punct);
  bool Accept(std::string_view word);
  bool Expect(char punct);
  bool Expect(std::string_view word);
  bool Int(int64_t* out);
  bool Uint32(uint32_t* out);
  bool Double(double* out);
  bool String(std::string* out);                // a quoted string
  bool InternString(StringId* out);             // likewise, interned
  bool WordOrString(StringId* out);             // a word or a quoted string
  bool Strings(std::vector<std::string>* out);  // ["a", "b"]
  StringId InternText(const Token& token);
  // Calls item() for each item up to `close`; the opener is consumed.
  template <typename Item>
  bool Items(char close, Item&& item);
  bool Deeper();  // one level of nesting more; an error when too deep

  // --- statements ---
  bool Statement();
  bool ProgramName();
  bool File();
  bool Opsets();
  bool Guard();
  bool ModuleMetadata();
  bool NamedtupleFields();
  bool Unknown();
  bool Member();
  bool NamedNodes();
  bool Symbol();
  bool Range();
  bool RangeBound(std::optional<int64_t>* out, std::string_view unbounded);
  bool Storage();
  bool State(StateKind kind);
  bool Region();
  bool ParseDelegate();
  bool DelegateBindings(std::vector<TypeId>* types,
                        std::vector<StringId>* names);
  bool DelegateWrite(tenon::Delegate* d);
  bool InSpec();
  bool OutSpec();
  bool ForwardArgs();
  bool NoRootModuleCall();
  bool ParseModuleCall();
  bool ModuleCallArguments(std::vector<ModuleCall::Argument>* out, bool inputs);
  bool Meta();
  bool ExtraInput();
  bool ExtraOutput();
  struct Blob {
    Bytes bytes;
    std::shared_ptr<const void> owner;
  };
  bool ParseBlob(Blob* out);
  bool HexBytes(std::vector<std::byte>* out);
  bool ParseDigest(Digest* out);

  // --- graphs ---
  bool ParseGraph();
  bool DeclareParameter();
  bool Input();
  bool InputTarget(InputSpec* spec);
  bool OutputTarget(OutputSpec* spec);
  bool Return();
  bool Node();
  bool Results();
  bool Result();
  bool Callee(NodeId n);
  bool NodeWords(NodeId n);
  bool RegionWord(NodeId n);
  bool SingleReturnWord(NodeId n);
  bool MetadataWord(NodeId n);
  bool ParseForm(NodeId n);
  bool DefineResults(NodeId n);
  bool Define(const Mention& m, ValueId v);
  bool FinishGraph();

  // --- arguments: parsed into scratch_, then stored in one piece ---
  bool Arguments(NodeId n);
  bool Argument(PassKind usual, size_t position);
  bool ArgValue(Arg* out);
  bool WordValue(Arg* out);
  bool DottedValue(Arg* out);
  bool DeviceValue(Arg* out);
  bool ObjectValue(Arg* out);
  bool AtValue(Arg* out);
  bool ListValue(Arg* out);
  bool DictValue(Arg* out);
  bool ComplexValue(Arg* out);
  bool MentionValue(Arg* out);
  // Moves scratch_[from...] into the program as arguments of node_.
  ArgRange StoreFrom(size_t from);

  // --- types and expressions ---
  bool ParseType(TypeId* out);
  bool TensorType(TypeId* out);
  bool TensorWords(TypeId* out);
  bool ScalarType(Type* type);
  bool ScalarValue(Type* type);
  bool LiteralType(Type* type);
  // From the opening bracket, which is the current token.
  bool Dims(std::vector<SymInt>* out);
  // A size up to `close` or ',' outside parentheses and quotes.
  bool Size(char close, SymInt* out);
  bool SizeFromText(size_t begin, size_t end, SymInt* out);
  bool Expression(size_t begin, size_t end, ExprId* out);
  bool CheckSymbols(ExprId id, size_t at);
  void RestoreSymbols(ExprId id);
  // Up to ',' or `close` outside parentheses and quotes; trims spaces.
  bool ScanExpression(char close, size_t* begin, size_t* end);
  bool EnclosedExpression(ExprId* out);

  bool Tree(TreeSpec* out);
  bool TreeChildren(char close, std::vector<TreeSpec>* out);
  bool TreeDict(TreeSpec* out);
  bool TreeOther(TreeSpec* out);

  // --- references ---
  bool FindState(StateId* out);
  bool FindDelegate(DelegateId* out);
  Mention MentionOf(const Token& token);
  bool Resolve();
  bool ResolveForeign();
  bool ResolveModuleCalls();
  bool FindGraph(const Mention& m, GraphId* out);
  // By scanning the graph once; for mentions from outside of it.
  bool FindInGraph(GraphId g, const Mention& m, ValueId* out);

  Lexer lexer_;
  Token token_;
  std::string file_name_;
  const PayloadSource& payloads_;
  const ReadLimits& limits_;
  Diagnostics& diags_;
  std::shared_ptr<Context> shared_context_;
  Context& context_;
  Program program_;
  uint64_t depth_ = 0;
  bool failed_ = false;
  bool nodes_are_named_ = false;
  uint64_t zero_bytes_ = 0;  // taken up by `zeros`

  ParameterNames parameter_names_;
  HintTable hints_;
  SymbolScope symbols_;            // bare names in expressions
  SymbolScope declared_;           // what they stand for by `symbol` statements
  std::vector<bool> known_exprs_;  // all their symbols are declared
  std::unordered_map<std::string_view, TypeId> tensor_types_;  // by text

  LabelScope<GraphId> graphs_;
  LabelScope<DelegateId> delegates_;
  LabelScope<StateId> states_;
  LabelScope<ValueId> values_;  // of the current graph
  std::unordered_map<uint64_t, MetadataId> metadata_;

  // The graph and node being parsed.
  GraphId graph_;
  NodeId node_;
  struct PendingResult {
    Mention name;
    TypeId type;
  };
  std::vector<PendingResult> results_;
  Form form_;
  std::vector<Arg> scratch_;
  // Of scratch_: a value without definition has the index in v.use, a graph in
  // its id.
  std::vector<LateMention> mentions_;

  // To be filled in at the end of the graph.
  struct ValueFixup {
    ArgId arg;
    NodeId user;
    Mention value;
  };
  std::vector<ValueFixup> value_fixups_;
  // Lists without stated tag that hold one of those, inner ones first.
  std::vector<ArgId> untagged_lists_;

  // To be filled in at the end of the text.
  struct ForeignFixup {
    ArgId arg;
    NodeId user;
    LateMention mention;
  };
  struct GraphFixup {
    enum class Target : uint8_t { kArg, kChild, kSource } target;
    uint32_t index;  // of the argument, node or delegate
    Mention graph;
  };
  struct ModuleCallFixup {
    size_t call, argument;
    bool is_input;
    LateMention mention;
  };
  struct MetadataFixup {
    NodeId node;
    uint64_t number;
    size_t at;
  };
  std::vector<ForeignFixup> foreign_fixups_;
  std::vector<GraphFixup> graph_fixups_;
  std::vector<ModuleCallFixup> module_call_fixups_;
  std::vector<MetadataFixup> metadata_fixups_;
  // The values of graphs that were asked for, by graph, label and number.
  std::unordered_map<GraphId, std::unordered_map<uint64_t, ValueId>>
      finished_graphs_;
};

template <typename Item>
bool Parser::Items(char close, Item&& item) {
  if (Accept(close)) return true;
  while (true) {
    if (!item()) return false;
    if (Accept(close)) return true;
    if (!token_.is(',')) {
      return FailExpecting(std::string("',' or '") + close + "'");
    }
    Advance();
  }
}

}  // namespace tenon
