#include <algorithm>
#include <cstring>

#include "text/printer.h"
#include "text/spelling.h"
#include "text/tree_text.h"

namespace tenon {
namespace {

bool IsAllZero(Bytes bytes) {
  return bytes.empty() ||
         (bytes[0] == std::byte{0} &&
          std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

// Assumptions that stand in parentheses as they are.
bool IsPlainAssumptions(std::string_view text) {
  return !text.empty() && text.front() != ' ' && text.back() != ' ' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return IsNameChar(c) || c == '=' || c == ',' || c == ' ';
         });
}

}  // namespace

void Printer::PrintProgram() {
  Put("tenon 1\n");
  if (program_.name != "model") {
    Put("program ");
    Quoted(program_.name);
    Put("\n");
  }
  if (options_.metadata) PrintFileInfo();
  if (nodes_are_named_) Put("named_nodes\n");
  PrintSymbols();
  PrintState();
  PrintRegions();
  for (size_t i = 0; i < program_.delegates.size(); ++i) PrintDelegate(i);
  PrintSpecs();
  for (uint32_t g = 0; g < program_.num_graphs(); ++g) {
    if (program_.graph(GraphId(g)).is_erased) continue;
    Put("\n");
    PrintGraph(GraphId(g));
  }
  if (!program_.module_calls.empty()) Put("\n");
  current_ = Program::kRoot;
  for (const ModuleCall& call : program_.module_calls) PrintModuleCall(call);
  PrintMetadataTable();
}

void Printer::PrintFileInfo() {
  const FileInfo& f = program_.file;
  Put("file schema ");
  AppendInt(f.schema_major, &out_);
  Put(".");
  AppendInt(f.schema_minor, &out_);
  Put(" torch ");
  Quoted(f.torch_version);
  Put(" verifiers ");
  Strings(f.verifiers);
  Put(" opsets {");
  for (size_t i = 0; i < f.opset_version.size(); ++i) {
    if (i > 0) Put(", ");
    AppendWord(f.opset_version[i].first, &out_);
    Put(": ");
    AppendInt(f.opset_version[i].second, &out_);
  }
  Put("}\n");
  for (const std::string& guard : f.guards_code) {
    Put("guard ");
    Quoted(guard);
    Put("\n");
  }
  for (const auto& [key, text] : f.graph_module_metadata) {
    Put("module_metadata ");
    Quoted(key);
    Put(" = ");
    Quoted(text);
    Put("\n");
  }
  if (!f.treespec_namedtuple_fields.empty()) {
    Put("namedtuple_fields ");
    Quoted(f.treespec_namedtuple_fields);
    Put("\n");
  }
  for (const FileInfo::UnknownMember& u : f.unknown_members) {
    Put("unknown ");
    Quoted(u.path);
    Put(" ");
    Quoted(u.member);
    Put(" = ");
    Quoted(u.json);
    Put("\n");
  }
  for (const FileInfo::Member& m : f.members) {
    Put("member ");
    Quoted(m.name);
    Put(" = ");
    Blob(m.bytes);
    Put("\n");
  }
}

void Printer::Symbol(ExprId symbol) {
  const Expr& e = context_.exprs.get(symbol);
  const std::string_view assumptions = View(e.assumptions);
  Put("symbol ");
  Put(View(e.text));
  if (IsPlainAssumptions(assumptions)) {
    Put(" (");
    Put(assumptions);
    Put(")");
  } else if (!assumptions.empty()) {
    Put(" ");
    Quoted(assumptions);
  }
  if (const auto hint = types_.hints().Get(symbol)) {
    Put(" hint ");
    AppendInt(*hint, &out_);
  }
  Put("\n");
}

void Printer::Enclosed(ExprId expr) {
  if (!expr.valid()) {
    Put("()");
    return;
  }
  const std::string& text = types_.Text(expr);
  const bool is_name =
      context_.exprs.get(expr).kind == ExprKind::kSymbol && IsWord(text);
  if (!is_name) Put("(");
  Put(text);
  if (!is_name) Put(")");
}

void Printer::PrintSymbols() {
  for (const ExprId symbol : types_.symbols()) Symbol(symbol);
  for (const SymbolRange& range : program_.ranges) {
    Put("range ");
    Enclosed(range.expr);
    Put(" in [");
    if (range.min) {
      AppendInt(*range.min, &out_);
    } else {
      Put("-oo");
    }
    Put(", ");
    if (range.max) {
      AppendInt(*range.max, &out_);
    } else {
      Put("oo");
    }
    Put("]");
    const std::string usual =
        range.expr.valid() ? context_.exprs.PrintInfix(range.expr) : "";
    if (range.key != usual) {
      Put(" key ");
      Quoted(range.key);
    }
    Put("\n");
  }
}

void Printer::Blob(Bytes bytes) {
  AppendInt(static_cast<int64_t>(bytes.size()), &out_);
  Put(" bytes");
  if (!options_.state_bytes) {
    Put(" omitted");
  } else if (bytes.size() <= options_.inline_limit_bytes) {
    Put(" ");
    AppendHex(bytes, &out_);
  } else if (IsAllZero(bytes)) {
    Put(" zeros");
  } else {
    const Digest digest = HashBytes(bytes.data(), bytes.size());
    if (options_.side_file) options_.side_file(digest, bytes);
    Put(" digest hex\"");
    Put(digest.ToHex());
    Put("\"");
  }
}

void Printer::PrintState() {
  const StateTable& state = program_.state;
  for (size_t i = 0; i < state.storages.size(); ++i) {
    Put("storage @");
    AppendInt(static_cast<int64_t>(i), &out_);
    Put(" = ");
    if (state.storages[i].is_weightless) {
      Put("weightless");
    } else {
      Blob(state.storages[i].bytes);
    }
    Put("\n");
  }
  for (size_t i = 0; i < state.entries.size(); ++i) {
    const StateEntry& entry = state.entries[i];
    Put(Name(entry.kind));
    Put(" ");
    StateRef(StateId(i));
    Put(" : ");
    Put(types_.Text(entry.type));
    if (entry.storage.valid()) {
      Put(" = @");
      AppendInt(entry.storage.index, &out_);
    }
    if (entry.is_param != (entry.kind == StateKind::kParameter)) {
      Put(entry.is_param ? " is_param" : " not_param");
    }
    if (entry.is_pickled) Put(" pickled");
    Put("\n");
  }
}

void Printer::PrintRegions() {
  for (size_t i = 0; i < program_.regions.size(); ++i) {
    Put("region ");
    AppendInt(static_cast<int64_t>(i), &out_);
    Put(" ");
    Quoted(View(program_.regions[i].name));
    Put(" backend ");
    Quoted(View(program_.regions[i].backend));
    Put("\n");
  }
}

void Printer::PrintDelegate(size_t index) {
  const Delegate& d = program_.delegates[index];
  Put("delegate ");
  DelegateRef(DelegateId(index));
  Put(" backend ");
  Quoted(View(d.backend));
  if (d.source.valid()) {
    Put(" source ");
    GraphRef(d.source);
  }
  Put("\n");
  const Digest digest = HashBytes(d.payload.data(), d.payload.size());
  if (!d.payload.empty() || !(d.payload_digest == digest)) {
    Put("  payload ");
    Blob(d.payload);
    if (!(d.payload_digest == digest)) {
      Put(" stated_digest hex\"");
      Put(d.payload_digest.ToHex());
      Put("\"");
    }
    Put("\n");
  }
  const auto bindings = [&](const char* word, const std::vector<TypeId>& types,
                            const std::vector<StringId>& names) {
    Put("  ");
    Put(word);
    Put(" (");
    for (size_t i = 0; i < types.size(); ++i) {
      if (i > 0) Put(", ");
      Put(types_.Text(types[i]));
    }
    Put(")");
    if (!names.empty()) {
      std::vector<std::string> texts;
      for (const StringId name : names) texts.emplace_back(View(name));
      Put(" names ");
      Strings(texts);
    }
    Put("\n");
  };
  bindings("inputs", d.inputs, d.input_names);
  bindings("outputs", d.outputs, d.output_names);
  for (const DeclaredWrite& w : d.writes) {
    Put("  write input ");
    AppendInt(w.input, &out_);
    Put(" output ");
    AppendInt(w.output, &out_);
    if (w.kind == WriteKind::kKvCacheUpdate) Put(" kv_cache_update");
    Put("\n");
  }
  for (const auto& [key, text] : d.metadata) {
    Put("  metadata ");
    Quoted(View(key));
    Put(" = ");
    Quoted(View(text));
    Put("\n");
  }
}

void Printer::PrintSpecs() {
  if (program_.in_spec) {
    Put("in_spec ");
    AppendTree(*program_.in_spec, &out_);
    Put("\n");
  }
  if (program_.out_spec) {
    Put("out_spec ");
    AppendTree(*program_.out_spec, &out_);
    Put("\n");
  }
  if (program_.has_forward_arg_names) {
    Put("forward_args ");
    Strings(program_.forward_arg_names);
    Put("\n");
  }
  if (!program_.has_root_module_call) Put("no_root_module_call\n");
}

void Printer::PrintModuleCall(const ModuleCall& call) {
  Put("module_call ");
  Quoted(View(call.fqn));
  if (call.has_signature) {
    const auto arguments = [&](const std::vector<ModuleCall::Argument>& args) {
      Put("(");
      for (size_t i = 0; i < args.size(); ++i) {
        if (i > 0) Put(", ");
        if (args[i].value.valid()) {
          ValueRef(args[i].value);
        } else if (args[i].json.empty()) {
          Put("_");
        }
        if (!args[i].json.empty()) {
          if (args[i].value.valid()) Put(" ");
          Put("json ");
          Quoted(args[i].json);
        }
      }
      Put(")");
    };
    Put(" ");
    arguments(call.inputs);
    Put(" -> ");
    arguments(call.outputs);
    if (call.in_spec) {
      Put(" in_spec ");
      AppendTree(*call.in_spec, &out_);
    }
    if (call.out_spec) {
      Put(" out_spec ");
      AppendTree(*call.out_spec, &out_);
    }
    if (call.has_forward_arg_names) {
      Put(" forward_args ");
      Strings(call.forward_arg_names);
    }
  }
  Put("\n");
}

// One literal per line of the text; the parser joins them.
void Printer::PrintMetadataText(std::string_view text) {
  do {
    const size_t newline = text.find('\n');
    const size_t size =
        newline == std::string_view::npos ? text.size() : newline + 1;
    Quoted(text.substr(0, size));
    text.remove_prefix(size);
    if (!text.empty()) Put("\n    ");
  } while (!text.empty());
}

void Printer::PrintMetadataTable() {
  for (size_t i = 0; i < used_metadata_.size(); ++i) {
    Put(i == 0 ? "\nmeta #" : "meta #");
    AppendInt(static_cast<int64_t>(i), &out_);
    Put(" {\n");
    for (const auto& [key, text] : context_.metadata(used_metadata_[i])) {
      Put("  ");
      AppendWord(View(key), &out_);
      const std::string_view value = View(text);
      Put(value.find('\n') < value.size() - 1 ? ":\n    " : ": ");
      PrintMetadataText(value);
      Put("\n");
    }
    Put("}\n");
  }
}

void Printer::Strings(const std::vector<std::string>& strings) {
  Put("[");
  for (size_t i = 0; i < strings.size(); ++i) {
    if (i > 0) Put(", ");
    Quoted(strings[i]);
  }
  Put("]");
}

void Printer::Quoted(std::string_view text) { AppendQuoted(text, &out_); }

}  // namespace tenon
