#include "ir/naming.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace tenon {
namespace {

constexpr std::string_view kPythonKeywords[] = {
    "False",  "None",   "True",    "and",      "as",       "assert", "async",
    "await",  "break",  "class",   "continue", "def",      "del",    "elif",
    "else",   "except", "finally", "for",      "from",     "global", "if",
    "import", "in",     "is",      "lambda",   "nonlocal", "not",    "or",
    "pass",   "raise",  "return",  "try",      "while",    "with",   "yield"};

bool IsIdentifierChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

std::string ToPythonIdentifier(std::string_view text) {
  std::string out;
  for (const char c : text) out += IsIdentifierChar(c) ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) {
    out.insert(out.begin(), '_');
  }
  // A keyword, and also names that Python can't assign to.
  if (!IsPythonIdentifier(out)) out += '_';
  return out;
}

// "aten.add.Tensor" -> "add".
std::string_view ShortOpName(std::string_view op) {
  const size_t first = op.find('.');
  if (first == std::string_view::npos) return op;
  const std::string_view rest = op.substr(first + 1);
  return rest.substr(0, rest.find('.'));
}

}  // namespace

bool IsCalledLikeResult(const Program& program, const Node& node) {
  if (node.results.count != 1 || node.form.valid()) return false;
  return !node.op.valid() || !program.context().op(node.op).is_higher_order ||
         node.single_return == SingleReturn::kTrue;
}

bool IsPythonIdentifier(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0]))) {
    return false;
  }
  if (!std::all_of(text.begin(), text.end(), IsIdentifierChar)) return false;
  return std::find(std::begin(kPythonKeywords), std::end(kPythonKeywords),
                   text) == std::end(kPythonKeywords);
}

// Two rounds over each graph: first every bearer of a free label keeps it, then
// the rest get suffixes, so that an early "add" with a suffix can't take the
// label "add_1" from a node that bears it.
class NameTable::Namer {
 public:
  Namer(NameTable* table, Rule rule)
      : table_(*table), program_(*table->program_), rule_(rule) {}

  void NameGraph(GraphId g) {
    graph_ = g.index + 1;
    late_.clear();
    for (const ValueId v : program_.graph(g).inputs) {
      Claim(&table_.values_[v.index], program_.value(v).name, "arg");
    }
    for (const NodeId n : program_.nodes(g)) NameNode(n);
    for (const Late& late : late_) *late.place = Suffixed(late.label);
    for (const NodeId n : program_.nodes(g)) {
      const Node& node = program_.node(n);
      if (IsCalledLikeResult(program_, node)) {
        table_.nodes_[n.index] = table_.values_[node.results.begin];
      }
    }
  }

 private:
  struct Late {
    StringId* place;
    StringId label;
  };

  void NameNode(NodeId n) {
    const Node& node = program_.node(n);
    program_.ForEachNestedGraph(n, [&](GraphId nested) {
      if (node.child == nested) return;
      Claim(&table_.graphs_[nested.index], program_.graph(nested).name,
            "graph");
    });
    const std::string_view op =
        node.op.valid() ? ShortOpName(program_.op_name(n)) : "call";
    if (!IsCalledLikeResult(program_, node) && node.kind != NodeKind::kOutput) {
      Claim(&table_.nodes_[n.index], node.name, op);
    }
    for (uint32_t i = 0; i < node.results.count; ++i) {
      const ValueId v = node.results[i];
      StringId label = program_.value(v).name;
      if (!label.valid() && node.results.count == 1) label = node.name;
      Claim(&table_.values_[v.index], label, op);
    }
  }

  void Claim(StringId* place, StringId label, std::string_view fallback) {
    Context& context = program_.context();
    std::string_view text = context.view(label);
    if (text.empty()) {
      label = context.Intern(fallback);
      text = fallback;
    }
    if (rule_ == Rule::kPythonIdentifier && !IsPythonIdentifier(text)) {
      label = context.Intern(ToPythonIdentifier(text));
    }
    if (Take(label)) {
      *place = label;
    } else {
      late_.push_back({place, label});
    }
  }

  // True when the name was free in this graph; it is taken then.
  bool Take(StringId name) {
    if (name.index >= taken_by_.size()) {
      const size_t size = program_.context().strings.size();
      taken_by_.resize(size, 0);
      next_suffix_.resize(size, 1);
    }
    if (taken_by_[name.index] == graph_) return false;
    taken_by_[name.index] = graph_;
    next_suffix_[name.index] = 1;
    return true;
  }

  StringId Suffixed(StringId label) {
    const std::string base(program_.view(label));
    while (true) {
      const uint32_t suffix = next_suffix_[label.index]++;
      const StringId name =
          program_.context().Intern(base + "_" + std::to_string(suffix));
      if (Take(name)) return name;
    }
  }

  NameTable& table_;
  const Program& program_;
  Rule rule_;
  uint32_t graph_ = 0;
  std::vector<Late> late_;
  // By string: the last graph (index + 1) in which it was taken, and the next
  // suffix to try there.
  std::vector<uint32_t> taken_by_;
  std::vector<uint32_t> next_suffix_;
};

NameTable::NameTable(const Program& program, Rule rule)
    : program_(&program),
      values_(program.num_values()),
      nodes_(program.num_nodes()),
      graphs_(program.num_graphs()) {
  Namer namer(this, rule);
  for (uint32_t g = 0; g < program.num_graphs(); ++g) {
    if (!program.graph(GraphId(g)).is_erased) namer.NameGraph(GraphId(g));
  }
}

}  // namespace tenon
