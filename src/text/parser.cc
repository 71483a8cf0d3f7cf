#include "text/parser.h"

#include <algorithm>
#include <charconv>

#include "support/utf8.h"
#include "text/spelling.h"

namespace tenon {
namespace {

// The source line is shown with an error when the place isn't further right.
constexpr size_t kMaxShownColumn = 400;

}  // namespace

Parser::Parser(std::string_view text, const std::string& file_name,
               std::shared_ptr<Context> context, const PayloadSource& payloads,
               const ReadLimits& limits, Diagnostics* diags)
    : lexer_(text),
      file_name_(file_name),
      payloads_(payloads),
      limits_(limits),
      diags_(*diags),
      shared_context_(std::move(context)),
      context_(*shared_context_),
      program_(shared_context_),
      parameter_names_(&context_),
      hints_(&context_) {}

Place Parser::PlaceOf(size_t at) const {
  const std::string_view text = lexer_.text();
  at = std::min(at, text.size());
  const std::string_view before = text.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t newline = before.rfind('\n');
  const size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  const size_t column = at - begin + 1;
  std::string source;
  if (column <= kMaxShownColumn) {
    const size_t end = std::min(text.find('\n', at), text.size());
    source = text.substr(begin, std::min(end - begin, kMaxShownColumn));
  }
  return Place::Text(file_name_, static_cast<uint32_t>(line),
                     static_cast<uint32_t>(column), std::move(source));
}

bool Parser::Error(size_t at, const std::string& message) {
  if (!failed_) diags_.Error(Rule::kText, PlaceOf(at)) << message;
  failed_ = true;
  return false;
}

std::string Parser::Found() const {
  if (token_.kind == TokenKind::kEnd) return "the end of the text";
  constexpr size_t kMaxShown = 40;
  std::string_view text =
      lexer_.text().substr(token_.begin, token_.end - token_.begin);
  std::string out = "'";
  for (const char c : text.substr(0, kMaxShown)) {
    out += c >= 0x20 && c != 0x7F ? c : '?';
  }
  return out + (text.size() > kMaxShown ? "...'" : "'");
}

bool Parser::FailExpecting(std::string_view what) {
  if (token_.kind == TokenKind::kBad) return Error(token_.begin, token_.error);
  size_t at = token_.begin;
  if (token_.kind == TokenKind::kEnd) {
    // Behind the last word, not on an empty line below it.
    const size_t last = lexer_.text().find_last_not_of(" \t\r\n");
    at = last == std::string_view::npos ? 0 : last + 1;
  }
  return Error(at, "found " + Found() + ", expected " + std::string(what));
}

bool Parser::NotFound(char sigil, const Mention& m, const std::string& what) {
  std::string name;
  AppendName(sigil, context_.view(m.label), m.ordinal, &name);
  return Error(m.at, "found '" + name + "', expected " + what);
}

bool Parser::Accept(char punct) {
  if (!token_.is(punct)) return false;
  Advance();
  return true;
}

bool Parser::Accept(std::string_view word) {
  if (!token_.is(word)) return false;
  Advance();
  return true;
}

bool Parser::Expect(char punct) {
  if (Accept(punct)) return true;
  return FailExpecting(punct == '>' ? std::string("'->'")
                                    : std::string("'") + punct + "'");
}

bool Parser::Expect(std::string_view word) {
  if (Accept(word)) return true;
  return FailExpecting("'" + std::string(word) + "'");
}

bool Parser::Int(int64_t* out) {
  if (token_.kind != TokenKind::kInteger) return FailExpecting("an integer");
  const char* end = token_.text.data() + token_.text.size();
  if (std::from_chars(token_.text.data(), end, *out).ec != std::errc()) {
    return Error(token_.begin, "found " + Found() +
                                   ", expected an integer of at most 64 bits");
  }
  Advance();
  return true;
}

bool Parser::Uint32(uint32_t* out) {
  const size_t at = token_.begin;
  int64_t value = 0;
  if (!Int(&value)) return false;
  // The largest one stands for "none" in ids.
  if (value < 0 || value >= int64_t{0xFFFFFFFF}) {
    return Error(at, "found " + std::to_string(value) +
                         ", expected a number from 0 to 4294967294");
  }
  *out = static_cast<uint32_t>(value);
  return true;
}

bool Parser::Strings(std::vector<std::string>* out) {
  if (!Expect('[')) return false;
  out->clear();
  return Items(']', [&] { return String(&out->emplace_back()); });
}

bool Parser::String(std::string* out) {
  if (token_.kind != TokenKind::kString) {
    return FailExpecting("a string in quotes");
  }
  *out = token_.has_escapes ? Unescape(token_.text) : std::string(token_.text);
  Advance();
  return true;
}

StringId Parser::InternText(const Token& token) {
  return context_.Intern(token.has_escapes ? Unescape(token.text) : token.text);
}

bool Parser::InternString(StringId* out) {
  if (token_.kind != TokenKind::kString) {
    return FailExpecting("a string in quotes");
  }
  *out = InternText(token_);
  Advance();
  return true;
}

bool Parser::WordOrString(StringId* out) {
  if (token_.kind != TokenKind::kWord && token_.kind != TokenKind::kString) {
    return FailExpecting("a word or a string in quotes");
  }
  *out = InternText(token_);
  Advance();
  return true;
}

bool Parser::Deeper() {
  if (++depth_ <= limits_.max_depth) return true;
  return Error(token_.begin, "nested too deep, " +
                                 BeyondLimit(limits_, &ReadLimits::max_depth));
}

Parser::Mention Parser::MentionOf(const Token& token) {
  return {InternText(token), token.ordinal, token.begin};
}

bool Parser::FindState(StateId* out) {
  if (token_.kind != TokenKind::kString) {
    return FailExpecting("a name of the state in quotes");
  }
  const Mention m = MentionOf(token_);
  *out = states_.Find(m.label, m.ordinal);
  if (!out->valid())
    return FailExpecting(
        "a parameter, buffer or constant "
        "that was defined before");
  Advance();
  return true;
}

bool Parser::FindDelegate(DelegateId* out) {
  if (token_.kind != TokenKind::kAt) return FailExpecting("a delegate's name");
  const Mention m = MentionOf(token_);
  *out = delegates_.Find(m.label, m.ordinal);
  if (!out->valid()) {
    return FailExpecting("a delegate that was defined before");
  }
  Advance();
  return true;
}

bool Parser::FindGraph(const Mention& m, GraphId* out) {
  *out = graphs_.Find(m.label, m.ordinal);
  if (out->valid()) return true;
  return NotFound('@', m, "the name of a graph of this text");
}

bool Parser::FindInGraph(GraphId g, const Mention& m, ValueId* out) {
  const auto key = [](StringId label, uint32_t ordinal) {
    return static_cast<uint64_t>(label.index) << 32 | ordinal;
  };
  const auto [it, is_new] = finished_graphs_.try_emplace(g);
  auto& values = it->second;
  if (is_new) {
    LabelCounter counter;
    const auto add = [&](ValueId v) {
      const StringId label = program_.value(v).name;
      values.emplace(
          key(label.valid() ? label : context_.Intern(""), counter.Next(label)),
          v);
    };
    for (const ValueId v : program_.graph(g).inputs) add(v);
    for (const NodeId n : program_.nodes(g)) {
      const ValueRange results = program_.node(n).results;
      for (uint32_t i = 0; i < results.count; ++i) add(results[i]);
    }
  }
  const auto found = values.find(key(m.label, m.ordinal));
  if (found == values.end()) {
    return NotFound('%', m,
                    "the name of a value of graph '" +
                        std::string(context_.view(program_.graph(g).name)) +
                        "'");
  }
  *out = found->second;
  return true;
}

bool Parser::ResolveForeign() {
  for (const ForeignFixup& f : foreign_fixups_) {
    GraphId graph;
    ValueId value;
    if (!FindGraph(f.mention.graph, &graph)) return false;
    if (!FindInGraph(graph, f.mention.value, &value)) return false;
    program_.SetValueArg(f.arg, f.user, value);
  }
  return true;
}

bool Parser::ResolveModuleCalls() {
  for (const ModuleCallFixup& f : module_call_fixups_) {
    GraphId graph = Program::kRoot;
    if (f.mention.is_foreign && !FindGraph(f.mention.graph, &graph)) {
      return false;
    }
    ModuleCall& call = program_.module_calls[f.call];
    auto& arguments = f.is_input ? call.inputs : call.outputs;
    if (!FindInGraph(graph, f.mention.value, &arguments[f.argument].value)) {
      return false;
    }
  }
  return true;
}

bool Parser::Resolve() {
  for (const GraphFixup& f : graph_fixups_) {
    GraphId graph;
    if (!FindGraph(f.graph, &graph)) return false;
    switch (f.target) {
      case GraphFixup::Target::kArg:
        program_.SetArg(ArgId(f.index), Arg::OfGraph(graph),
                        /*keep_label=*/true);
        break;
      case GraphFixup::Target::kChild:
        program_.mutable_node(NodeId(f.index)).child = graph;
        break;
      case GraphFixup::Target::kSource:
        program_.delegates[f.index].source = graph;
        break;
    }
  }
  for (const MetadataFixup& f : metadata_fixups_) {
    const auto it = metadata_.find(f.number);
    if (it == metadata_.end()) {
      return Error(f.at, "found '#" + std::to_string(f.number) +
                             "', expected the number of a 'meta' of this text");
    }
    program_.mutable_node(f.node).metadata = it->second;
  }
  return ResolveForeign() && ResolveModuleCalls();
}

bool Parser::Statement() {
  struct Row {
    std::string_view word;
    bool (Parser::*parse)();
  };
  static constexpr Row kRows[] = {
      {"graph", &Parser::ParseGraph},
      {"meta", &Parser::Meta},
      {"storage", &Parser::Storage},
      {"program", &Parser::ProgramName},
      {"file", &Parser::File},
      {"guard", &Parser::Guard},
      {"module_metadata", &Parser::ModuleMetadata},
      {"namedtuple_fields", &Parser::NamedtupleFields},
      {"unknown", &Parser::Unknown},
      {"member", &Parser::Member},
      {"named_nodes", &Parser::NamedNodes},
      {"symbol", &Parser::Symbol},
      {"range", &Parser::Range},
      {"region", &Parser::Region},
      {"delegate", &Parser::ParseDelegate},
      {"in_spec", &Parser::InSpec},
      {"out_spec", &Parser::OutSpec},
      {"forward_args", &Parser::ForwardArgs},
      {"no_root_module_call", &Parser::NoRootModuleCall},
      {"module_call", &Parser::ParseModuleCall},
      {"extra_input", &Parser::ExtraInput},
      {"extra_output", &Parser::ExtraOutput},
  };
  if (token_.kind == TokenKind::kWord) {
    for (const Row& row : kRows) {
      if (token_.text != row.word) continue;
      Advance();
      return (this->*row.parse)();
    }
    if (const auto kind = FindStateKind(token_.text)) {
      Advance();
      return State(*kind);
    }
  }
  return FailExpecting(
      "a statement: graph, parameter, buffer, symbol, ... or the end");
}

Expected<Program> Parser::Parse() {
  Advance();
  if (!Expect("tenon")) return Failure{};
  if (token_.kind != TokenKind::kInteger || token_.text != "1") {
    FailExpecting("the text form's version, 1");
    return Failure{};
  }
  // Files couldn't say it either; strings have escapes for single bytes.
  const size_t bad = FindBadUtf8(lexer_.text());
  if (bad != std::string_view::npos) {
    Error(bad, "a byte that isn't UTF-8");
    return Failure{};
  }
  Advance();
  while (token_.kind != TokenKind::kEnd) {
    if (!Statement()) return Failure{};
  }
  if (program_.num_graphs() == 0) {
    FailExpecting("a graph");
    return Failure{};
  }
  if (!Resolve()) return Failure{};
  return std::move(program_);
}

}  // namespace tenon
