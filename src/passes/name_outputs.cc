#include "passes/name_outputs.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/naming.h"

namespace tenon {
namespace {

class Namer {
 public:
  Namer(const std::vector<std::string>& names, Program* program,
        Diagnostics& diags)
      : program_(*program), diags_(diags) {
    for (const std::string& name : names) {
      names_.push_back(name.empty() ? StringId()
                                    : program->context().Intern(name));
    }
  }

  Status Run() {
    FindPlaces();
    TENON_TRY(Check());
    FreeNames();
    std::unordered_set<ValueId> is_named;
    for (size_t i = 0; i < names_.size(); ++i) {
      if (!names_[i].valid()) continue;
      const ArgId place = places_[i];
      ValueId v = program_.arg(place).value();
      if (program_.value(v).is_input() || !is_named.insert(v).second) {
        v = AddAlias(place);
      }
      Relabel(v, names_[i]);
    }
    return CheckNames();
  }

 private:
  // The output node's arguments that are user outputs.
  void FindPlaces() {
    const Node& output = program_.node(program_.root().output);
    for (uint32_t i = 0; i < output.args.count; ++i) {
      const OutputKind kind = i < program_.signature.outputs.size()
                                  ? program_.signature.outputs[i].kind
                                  : OutputKind::kUserOutput;
      if (kind == OutputKind::kUserOutput || kind == OutputKind::kLossOutput) {
        places_.push_back(output.args[i]);
      }
    }
  }

  Status Check() {
    if (names_.size() != places_.size()) {
      return diags_.Error(Rule::kUsage)
             << names_.size() << " names for outputs, and the program has "
             << places_.size();
    }
    bool ok = true;
    std::unordered_set<StringId> inputs, seen;
    std::unordered_set<ValueId> values;
    for (const ValueId v : program_.root().inputs) {
      inputs.insert(program_.value(v).name);
    }
    for (size_t i = 0; i < names_.size(); ++i) {
      if (!names_[i].valid()) continue;
      const std::string_view name = program_.view(names_[i]);
      const auto fail = [&](std::string_view what) {
        ok = false;
        diags_.Error(Rule::kUsage)
            << "output " << i << " can't be called '" << name << "': " << what;
      };
      if (!IsPythonIdentifier(name)) fail("that is no Python identifier");
      if (inputs.count(names_[i]) > 0) fail("an input is called so");
      if (!seen.insert(names_[i]).second) fail("another output is called so");
      const Arg& arg = program_.arg(places_[i]);
      if (!arg.is_value()) {
        fail("it is a literal");
      } else if (NeedsAlias(arg.value(), &values) &&
                 !program_.type(arg.value()).is_tensor()) {
        fail("it is no tensor, and bears another name already");
      }
    }
    if (!ok) return Failure{};
    return {};
  }

  bool NeedsAlias(ValueId v, std::unordered_set<ValueId>* named) const {
    return program_.value(v).is_input() || !named->insert(v).second;
  }

  // Whatever else bears one of the names is called otherwise.
  void FreeNames() {
    std::unordered_set<StringId> wanted;
    for (const StringId name : names_) {
      if (name.valid()) wanted.insert(name);
    }
    std::unordered_map<StringId, StringId> others;
    const auto other = [&](StringId name) {
      StringId& id = others[name];
      for (size_t suffix = 1; !id.valid(); ++suffix) {
        const StringId candidate = program_.context().Intern(
            std::string(program_.view(name)) + "_" + std::to_string(suffix));
        if (wanted.count(candidate) == 0) id = candidate;
      }
      return id;
    };
    for (const NodeId n : program_.nodes(Program::kRoot)) {
      Node& node = program_.mutable_node(n);
      if (wanted.count(node.name) > 0) node.name = other(node.name);
      for (uint32_t i = 0; i < node.results.count; ++i) {
        Value& v = program_.mutable_value(node.results[i]);
        if (wanted.count(v.name) > 0) v.name = other(v.name);
      }
      program_.ForEachNestedGraph(n, [&](GraphId g) {
        Graph& graph = program_.mutable_graph(g);
        if (wanted.count(graph.name) > 0) graph.name = other(graph.name);
      });
    }
  }

  ValueId AddAlias(ArgId place) {
    const ValueId v = program_.arg(place).value();
    Context& context = program_.context();
    const NodeId n =
        program_.NewOp(context.InternOp("aten.alias.default"), StringId());
    const ArgRange args = program_.NewArgs(1);
    program_.SetArgLabel(args[0], context.Intern("self"),
                         PassKind::kPositional);
    program_.SetArgRange(n, args);
    program_.SetValueArg(args[0], n, v);
    const ValueId result = program_.NewResults(n, 1)[0];
    Type type = program_.type(v);
    program_.mutable_value(result).type = context.types.Intern(std::move(type));
    const NodeId output = program_.root().output;
    program_.InsertBefore(Program::kRoot, output, n);
    program_.SetValueArg(place, output, result);
    return result;
  }

  void Relabel(ValueId v, StringId name) {
    program_.mutable_value(v).name = name;
    const NodeId def = program_.value(v).def;
    if (IsCalledLikeResult(program_, program_.node(def))) {
      program_.mutable_node(def).name = name;
    }
  }

  // In a file whose names have to be identifiers, each output has its own.
  Status CheckNames() {
    const NameTable table(program_, NameTable::Rule::kPythonIdentifier);
    bool ok = true;
    for (size_t i = 0; i < names_.size(); ++i) {
      if (!names_[i].valid()) continue;
      const ValueId v = program_.arg(places_[i]).value();
      if (table.value(v) == program_.view(names_[i])) continue;
      ok = false;
      diags_.Error(Rule::kUsage)
          << "output " << i << " can't be called '" << program_.view(names_[i])
          << "': in a file something else would be called so";
    }
    if (!ok) return Failure{};
    return {};
  }

  Program& program_;
  Diagnostics& diags_;
  std::vector<StringId> names_;
  std::vector<ArgId> places_;
};

}  // namespace

Status NameOutputs(const std::vector<std::string>& names, Program* program,
                   Diagnostics& diags) {
  Program named = program->Clone();
  TENON_TRY(Namer(names, &named, diags).Run());
  *program = std::move(named);
  return {};
}

}  // namespace tenon
