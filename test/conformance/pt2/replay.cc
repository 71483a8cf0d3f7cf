#include "conformance/pt2/replay.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "conformance/pt2/corpus_value.h"
#include "interpreter/interpreter.h"
#include "runtime/session.h"

namespace tenon::conformance {
namespace {

ReplayResult Differs(std::string difference) {
  return {std::move(difference), false};
}

ReplayResult FromErrors(const Diagnostics& diags) {
  for (const Diagnostic& diagnostic : diags.all()) {
    if (diagnostic.severity != Severity::kError) continue;
    return {diagnostic.ToString(), diagnostic.rule == Rule::kUnsupported};
  }
  return Differs("failed without an error");
}

PyTree ToPyTree(const CorpusValue& value) {
  PyTree tree;
  tree.spec = SpecOf(value);
  CollectLeaves(value, &tree.leaves);
  return tree;
}

// The state before a call: copies by FQN.
// Gives containers of `given` the classes that stand at their places in
// `wanted`.
void AdoptClasses(const TreeSpec& wanted, TreeSpec* given) {
  if (wanted.is_leaf || given->is_leaf ||
      wanted.children.size() != given->children.size()) {
    return;
  }
  const bool is_builtin =
      given->is_tuple() || given->is_list() || given->is_dict();
  if (!is_builtin) {
    given->type = wanted.type;
    given->context = wanted.context;
    given->context_is_json = wanted.context_is_json;
  }
  for (size_t i = 0; i < wanted.children.size(); ++i) {
    AdoptClasses(wanted.children[i], &given->children[i]);
  }
}

using StateCopy = std::vector<std::pair<std::string, Tensor>>;

StateCopy CopyState(const Session& session) {
  const Program& program = session.program();
  StateCopy copy;
  for (const StateEntry& entry : program.state.entries) {
    const std::string fqn(program.view(entry.fqn));
    const Tensor tensor = session.State(fqn);
    if (tensor.defined()) copy.emplace_back(fqn, tensor.Clone());
  }
  return copy;
}

class CallReplay {
 public:
  CallReplay(Session& session, const CorpusProgram& entry,
             const Safetensors& recording, size_t call,
             const OutputObserver& observer)
      : session_(session),
        entry_(entry),
        recording_(recording),
        call_(call),
        run_(entry.runs[call]),
        observer_(observer) {}

  ReplayResult Run() {
    if (!Decode(run_.args, &args_) || !Decode(run_.kwargs, &kwargs_) ||
        (run_.error.empty() && !Decode(run_.outputs, &outputs_))) {
      return Differs("the recording: " + error_);
    }
    const StateCopy before = CopyState(session_);
    if (!run_.error.empty()) {
      const ReplayResult refused = Call();
      if (!has_failed_) {
        return Differs("accepted, expected: " + run_.error);
      }
      std::string changed = CompareState(before);
      if (changed.empty()) {
        changed = CompareInputs(args_, "", run_.args, "args");
      }
      return Differs(std::move(changed));
    }
    ReplayResult result = entry_.is_flat ? CallFlat() : Call();
    if (!result.difference.empty()) return result;
    std::string difference = CompareState(before);
    if (difference.empty() && !run_.leaves_after.empty()) {
      return Differs(CompareLeavesAfter());
    }
    if (difference.empty()) {
      difference = CompareInputs(args_, run_.args_after, run_.args, "args");
    }
    if (difference.empty()) {
      difference =
          CompareInputs(kwargs_, run_.kwargs_after, run_.kwargs, "kwargs");
    }
    return Differs(std::move(difference));
  }

 private:
  bool Decode(const std::string& json, CorpusValue* out) {
    return DecodeCorpusValue(json, recording_, out, &error_);
  }

  ReplayResult Call() {
    CallArguments arguments;
    for (const CorpusValue& value : args_.items) {
      arguments.args.push_back(ToPyTree(value));
    }
    for (size_t i = 0; i < kwargs_.items.size(); ++i) {
      // Keys are JSON texts; a parameter's name needs no escapes.
      const std::string& key = kwargs_.keys[i];
      arguments.kwargs.emplace_back(key.substr(1, key.size() - 2),
                                    ToPyTree(kwargs_.items[i]));
    }
    if (entry_.is_sketchy) AdoptClasses(&arguments);
    Diagnostics diags;
    const auto got = session_.Run(arguments, diags);
    has_failed_ = !got && diags.num_errors() > 0;
    if (!got) return FromErrors(diags);
    TreeSpec want = SpecOf(outputs_);
    if (entry_.is_sketchy) conformance::AdoptClasses(got->spec, &want);
    std::string difference = DifferSpecs(got->spec, want, "output");
    if (difference.empty()) difference = CompareOutputs(got->leaves);
    return Differs(std::move(difference));
  }

  void AdoptClasses(CallArguments* arguments) const {
    const auto& in_spec = session_.program().in_spec;
    if (!in_spec || in_spec->children.size() != 2) return;
    const TreeSpec &args = in_spec->children[0], &kwargs = in_spec->children[1];
    for (size_t i = 0;
         i < std::min(arguments->args.size(), args.children.size()); ++i) {
      conformance::AdoptClasses(args.children[i], &arguments->args[i].spec);
    }
    const std::vector<std::string> keys = kwargs.Keys();
    for (auto& [key, value] : arguments->kwargs) {
      const auto at = std::find(keys.begin(), keys.end(), key);
      if (at == keys.end()) continue;
      conformance::AdoptClasses(
          kwargs.children[static_cast<size_t>(at - keys.begin())], &value.spec);
    }
  }

  // Outputs of the graph by position: gradients follow the call's own.
  ReplayResult CallFlat() {
    std::vector<RuntimeValue> inputs;
    CollectLeaves(args_, &inputs);
    CollectLeaves(kwargs_, &inputs);
    Diagnostics diags;
    const auto got = session_.RunFlat(std::move(inputs), diags);
    if (!got) return FromErrors(diags);
    return Differs(CompareOutputs(*got));
  }

  std::string CompareOutputs(const std::vector<RuntimeValue>& got) const {
    std::vector<RuntimeValue> want;
    CollectLeaves(outputs_, &want);
    for (size_t i = 0; observer_ && i < std::min(got.size(), want.size());
         ++i) {
      observer_(call_, i, got[i], want[i]);
    }
    return CompareLeaves(got, outputs_, "output");
  }

  std::string CompareLeaves(const std::vector<RuntimeValue>& got,
                            const CorpusValue& recorded,
                            const std::string& what) const {
    std::vector<RuntimeValue> want;
    CollectLeaves(recorded, &want);
    if (got.size() != want.size()) {
      return what + ": " + std::to_string(got.size()) + " leaves instead of " +
             std::to_string(want.size());
    }
    for (size_t i = 0; i < want.size(); ++i) {
      std::string difference = Differ(
          got[i], want[i], what + " " + std::to_string(i), entry_.tolerance);
      if (!difference.empty()) return difference;
    }
    return "";
  }

  // Another entry over the storage of a changed one, or a constant.
  bool IsUntold(const std::string& fqn, const Tensor& now) const {
    const Program& program = session_.program();
    for (const StateEntry& e : program.state.entries) {
      if (program.view(e.fqn) == fqn && e.kind == StateKind::kConstant) {
        return true;
      }
    }
    for (const auto& [name, json] : run_.state_after) {
      const Tensor told = session_.State(name);
      if (told.defined() && told.SharesStorage(now)) return true;
    }
    return false;
  }

  std::string CompareState(const StateCopy& before) {
    if (!entry_.checks_state) return "";
    std::set<std::string> changed;
    for (const auto& [fqn, json] : run_.state_after) {
      CorpusValue want;
      if (!Decode(json, &want)) return "the recording: " + error_;
      changed.insert(fqn);
      std::string difference = Differ(session_.State(fqn), want.leaf,
                                      "state " + fqn, entry_.tolerance);
      if (!difference.empty()) return difference;
    }
    for (const auto& [fqn, tensor] : before) {
      if (changed.contains(fqn)) continue;
      if (entry_.is_sketchy && IsUntold(fqn, session_.State(fqn))) continue;
      const std::string difference =
          Differ(session_.State(fqn), tensor, fqn, Tolerance());
      if (!difference.empty()) return "state " + difference + " (must not)";
    }
    return "";
  }

  // `passed` shares its tensors with what was passed to the call.
  std::string CompareInputs(const CorpusValue& passed, const std::string& after,
                            const std::string& before, const char* what) {
    CorpusValue want;
    if (!Decode(after.empty() ? before : after, &want)) {
      return "the recording: " + error_;
    }
    std::vector<RuntimeValue> got;
    CollectLeaves(passed, &got);
    return CompareLeaves(got, want, std::string(what) + " after the call");
  }

  std::string CompareLeavesAfter() {
    CorpusValue args, kwargs;
    if (!Decode(run_.args, &args) || !Decode(run_.kwargs, &kwargs)) {
      return "the recording: " + error_;
    }
    std::vector<RuntimeValue> got, want;
    for (const CorpusValue* value : {&args_, &kwargs_}) {
      CollectLeaves(*value, &got);
    }
    for (const CorpusValue* value : {&args, &kwargs}) {
      CollectLeaves(*value, &want);
    }
    for (const auto& [leaf, json] : run_.leaves_after) {
      CorpusValue after;
      if (leaf >= want.size() || !Decode(json, &after)) {
        return "the recording: leaf " + std::to_string(leaf);
      }
      want[leaf] = after.leaf;
    }
    for (size_t i = 0; i < want.size(); ++i) {
      std::string difference =
          Differ(got[i], want[i],
                 "input leaf " + std::to_string(i) + " after the call",
                 entry_.tolerance);
      if (!difference.empty()) return difference;
    }
    return "";
  }

  Session& session_;
  const CorpusProgram& entry_;
  const Safetensors& recording_;
  const size_t call_;
  const RecordedRun& run_;
  const OutputObserver& observer_;
  CorpusValue args_, kwargs_, outputs_;
  bool has_failed_ = false;
  std::string error_;
};

// Of a plan's memory to what it can't be smaller than.
constexpr double kMaxArenaRatio = 1.01;

// "" when no region's plan takes much more memory than it must.
std::string FindWaste(Session& session, size_t num_delegates) {
  for (size_t d = 0; d < num_delegates; ++d) {
    const auto plan = session.executable(DelegateId(d)).last_listing();
    if (!plan) continue;
    const auto bound = static_cast<double>(plan->peak_live_bytes);
    if (static_cast<double>(plan->arena_bytes) <= kMaxArenaRatio * bound) {
      continue;
    }
    return "delegate " + std::to_string(d) + ": an arena of " +
           std::to_string(plan->arena_bytes) + " bytes, though only " +
           std::to_string(plan->peak_live_bytes) + " are alive at once";
  }
  return "";
}

}  // namespace

ReplayResult Replay(std::shared_ptr<const Program> program,
                    const CorpusProgram& entry, const Safetensors& recording,
                    const OutputObserver& observer) {
  Diagnostics diags;
  const size_t num_delegates = program->delegates.size();
  auto session = Session::Load(std::move(program), SessionOptions(), diags);
  if (!session) return FromErrors(diags);
  for (size_t i = 0; i < entry.runs.size(); ++i) {
    if (!entry.carries_state) (*session)->ResetState();
    ReplayResult result =
        CallReplay(**session, entry, recording, i, observer).Run();
    if (result.difference.empty()) continue;
    result.difference = "call " + std::to_string(i) + ": " + result.difference;
    return result;
  }
  return {FindWaste(**session, num_delegates)};
}

std::string FindUnsupported(const Program& program) {
  std::set<std::string> reasons;
  for (uint32_t g = 0; g < program.num_graphs(); ++g) {
    if (program.graph(GraphId(g)).is_erased) continue;
    for (const NodeId n : program.nodes(GraphId(g))) {
      if (program.node(n).kind != NodeKind::kOp) continue;
      std::string reason = WhyNotInterpretable(program, n);
      if (!reason.empty()) reasons.insert(std::move(reason));
    }
  }
  std::string out;
  for (const std::string& reason : reasons) {
    out += (out.empty() ? "" : "; ") + reason;
  }
  return out;
}

}  // namespace tenon::conformance
