#include "check_backends.h"

#include <algorithm>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>

#include "export/call_text.h"
#include "export/expression_text.h"
#include "interpreter/interpreter.h"
#include "ir/clone.h"
#include "link/join.h"
#include "link/outline.h"
#include "runtime/scalar_boundary.h"
#include "runtime/session.h"
#include "support/byte_text.h"
#include "support/counted.h"
#include "tensor_elements.h"

namespace tenon::tools {
namespace {

using Values = std::vector<RuntimeValue>;

// Copies in which tensors share storage as they did before.
class Copier {
 public:
  RuntimeValue Copy(const RuntimeValue& v) {
    if (!v.is_tensor() || !v.tensor().defined()) return v;
    const Tensor& t = v.tensor();
    std::shared_ptr<Storage>& copy = copies_[t.storage().get()];
    if (copy == nullptr) {
      const Storage& from = *t.storage();
      copy = Storage::Allocate(from.size_bytes(), false);
      if (copy == nullptr) return Tensor();
      std::copy_n(from.data(), from.size_bytes(), copy->mutable_data());
    }
    return Tensor(copy, t.dtype(), t.sizes(), t.strides(), t.offset());
  }
  Values CopyAll(std::span<const RuntimeValue> values) {
    Values out;
    for (const RuntimeValue& v : values) out.push_back(Copy(v));
    return out;
  }

 private:
  std::unordered_map<const Storage*, std::shared_ptr<Storage>> copies_;
};

Values CopyAll(std::span<const RuntimeValue> values) {
  return Copier().CopyAll(values);
}

// Keeps the one that is further off.
void Merge(const Comparison& c, Comparison* worst) {
  if (!worst->has_same_kind) return;
  if (!c.has_same_kind) {
    *worst = c;
    return;
  }
  worst->is_identical = worst->is_identical && c.is_identical;
  worst->max_difference = std::max(worst->max_difference, c.max_difference);
  worst->max_relative = std::max(worst->max_relative, c.max_relative);
  worst->max_ulps = std::max(worst->max_ulps, c.max_ulps);
}

Comparison CompareAll(std::span<const RuntimeValue> found,
                      std::span<const RuntimeValue> expected) {
  Comparison worst;
  if (found.size() != expected.size()) {
    worst.has_same_kind = worst.is_identical = false;
    worst.found = Count(found.size(), "result");
    worst.expected = Count(expected.size(), "result");
    return worst;
  }
  for (size_t i = 0; i < found.size(); ++i) {
    Merge(Compare(found[i], expected[i]), &worst);
  }
  return worst;
}

// What one backend makes of programs without state.
class Contest {
 public:
  Contest(const Backend& backend, const CheckOptions& options)
      : backend_(backend), options_(options) {}

  // How far the backend is off; nullopt where it doesn't take the program, or
  // the reference can't run it. Inputs aren't changed.
  std::optional<Comparison> Run(const Program& region, const Values& inputs) {
    Diagnostics unused;
    auto compiled = backend_.Compile(region, options_.backend, unused);
    if (!compiled) return std::nullopt;
    const auto payload = std::make_shared<const std::vector<std::byte>>(
        std::move(compiled->payload));
    const auto executable =
        backend_.Load(*payload, payload, options_.backend, unused);
    if (!executable) return std::nullopt;
    const bool takes_tensors =
        backend_.scalar_boundary() == ScalarBoundary::kZeroDimTensor;
    Values mine = CopyAll(inputs), theirs = CopyAll(inputs);
    const auto expected =
        Interpret(region, Program::kRoot, mine, InterpreterOptions{}, unused);
    if (!expected) return std::nullopt;
    auto found =
        (*executable)
            ->Run(takes_tensors ? ScalarsAsTensors(theirs) : theirs, unused);
    if (!found) return std::nullopt;
    if (takes_tensors) {
      std::vector<TypeId> types;
      for (const Arg& arg : region.outputs(Program::kRoot)) {
        types.push_back(arg.is_value() ? region.value(arg.value()).type
                                       : region.context().none_type());
      }
      TensorsAsScalars(region, types, &*found);
    }
    Comparison worst = CompareAll(*found, *expected);
    Merge(CompareAll(theirs, mine), &worst);
    return worst;
  }

 private:
  const Backend& backend_;
  const CheckOptions& options_;
};

// Looks for the node of a region that its backend gets wrong.
class Search {
 public:
  // `region` is a program of its own; `inputs` are what its call passed.
  Search(const Program& region, const Values& inputs, const Backend& backend,
         const CheckOptions& options)
      : region_(region),
        inputs_(inputs),
        options_(options),
        contest_(backend, options) {
    for (const NodeId n : region.nodes(Program::kRoot)) {
      if (region.node(n).kind != NodeKind::kOutput) nodes_.push_back(n);
    }
  }

  WrongNode Run() {
    if (auto found = FindAlone()) return *found;
    if (auto found = FindTogether()) return *found;
    WrongNode node = Describe(nodes_.empty() ? NodeId() : nodes_[0]);
    node.is_reproduced = false;
    return node;
  }

 private:
  bool IsWrong(const std::optional<Comparison>& c) const {
    return c && (!c->has_same_kind || c->max_relative > options_.tolerance);
  }

  WrongNode Describe(NodeId n) const {
    WrongNode out;
    if (!n.valid()) return out;
    out.node = region_.Describe(Program::kRoot, n);
    out.expression = ExpressionText(region_, n, 0);
    out.source_line = SourceLine(region_, n);
    return out;
  }

  // Interprets the region with a call in the place of each node. Before a call
  // runs, its operands are there, as they are at that time.
  std::optional<WrongNode> FindAlone() {
    Program outlined = region_.Clone();
    std::vector<RegionNodes> single;
    for (const NodeId n : nodes_) {
      single.push_back({"node_" + std::to_string(single.size()), "", {n}});
    }
    Diagnostics unused;
    const auto calls =
        OutlineRegions(&outlined, Program::kRoot, single, unused);
    if (!calls) return std::nullopt;
    std::map<uint32_t, size_t> position;  // by the call's index
    for (size_t i = 0; i < calls->size(); ++i) {
      position[(*calls)[i].call.index] = i;
    }
    std::vector<RuntimeValue> now(outlined.num_values());
    Values copies = CopyAll(inputs_);
    const auto& graph_inputs = outlined.root().inputs;
    for (size_t i = 0; i < graph_inputs.size(); ++i) {
      now[graph_inputs[i].index] = copies[i];
    }
    std::optional<WrongNode> found;
    size_t found_at = nodes_.size();
    InterpreterOptions interpreter;
    interpreter.before_node = [&](NodeId call) {
      const auto at = position.find(call.index);
      if (at == position.end() || at->second >= found_at) return;
      Values operands;
      outlined.ForEachOperand(
          call, [&](ValueId v) { operands.push_back(now[v.index]); });
      const auto c = contest_.Run(
          ExtractGraph(outlined, (*calls)[at->second].child), operands);
      if (!IsWrong(c)) return;
      found = Describe(nodes_[at->second]);
      found->difference = *c;
      found_at = at->second;
    };
    interpreter.observer = [&](NodeId call, std::span<const RuntimeValue> out) {
      const ValueRange results = outlined.node(call).results;
      for (uint32_t i = 0; i < std::min<size_t>(results.count, out.size());
           ++i) {
        now[results[i].index] = out[i];
      }
    };
    if (!Interpret(outlined, Program::kRoot, std::move(copies), interpreter,
                   unused)) {
      return std::nullopt;
    }
    return found;
  }

  // The first `count` nodes as a region.
  std::optional<Comparison> RunFirst(size_t count) {
    Program outlined = region_.Clone();
    RegionNodes first{"first", "", {nodes_.begin(), nodes_.begin() + count}};
    Diagnostics unused;
    const auto calls =
        OutlineRegions(&outlined, Program::kRoot, {first}, unused);
    if (!calls) return std::nullopt;
    Values operands;
    outlined.ForEachOperand((*calls)[0].call, [&](ValueId v) {
      operands.push_back(inputs_[outlined.value(v).index]);
    });
    return contest_.Run(ExtractGraph(outlined, (*calls)[0].child), operands);
  }

  std::optional<WrongNode> FindTogether() {
    size_t right = 0, wrong = nodes_.size();
    auto difference = RunFirst(wrong);
    if (!IsWrong(difference)) return std::nullopt;
    while (wrong - right > 1) {
      const size_t middle = right + (wrong - right) / 2;
      const auto c = RunFirst(middle);
      if (IsWrong(c)) {
        wrong = middle;
        difference = c;
      } else {
        right = middle;
      }
    }
    WrongNode found = Describe(nodes_[wrong - 1]);
    found.num_before = wrong - 1;
    found.difference = *difference;
    return found;
  }

  const Program& region_;
  const Values& inputs_;
  const CheckOptions& options_;
  Contest contest_;
  std::vector<NodeId> nodes_;
};

class Checker {
 public:
  Checker(std::shared_ptr<const Program> program, const CheckOptions& options,
          Diagnostics& diags)
      : program_(std::move(program)),
        sources_(program_->CloneApart()),
        options_(options),
        diags_(diags) {
    report_.tolerance = options.tolerance;
    if (!options_.find_backend) options_.find_backend = FindBackend;
  }

  Expected<CheckReport> Run(const Values& inputs) {
    TENON_TRY(CompareRegions(inputs));
    TENON_TRY(CompareResults(inputs));
    return std::move(report_);
  }

 private:
  SessionOptions Options() const {
    SessionOptions options;
    options.backend = options_.backend;
    options.find_backend = options_.find_backend;
    return options;
  }

  Status CompareRegions(const Values& inputs) {
    SessionOptions options = Options();
    options.delegate_hook = [this](const DelegateCall& call) {
      return CompareCall(call);
    };
    TENON_ASSIGN(const auto session, Session::Load(program_, options, diags_));
    TENON_ASSIGN(expected_, session->RunFlat(CopyAll(inputs), diags_));
    for (const StateEntry& entry : program_->state.entries) {
      const std::string fqn(program_->view(entry.fqn));
      expected_state_.push_back(session->State(fqn));
    }
    return {};
  }

  // The reference gives the call's results and writes its inputs; the backend
  // works on copies of those that it writes.
  Expected<Values> CompareCall(const DelegateCall& call) {
    const Delegate& d = program_->delegates[call.delegate.index];
    CheckedRegion checked;
    checked.name = program_->view(d.name);
    checked.backend = program_->view(d.backend);
    if (!d.source.valid()) {
      report_.regions.push_back(std::move(checked));
      return call.run(call.inputs);
    }
    const Program region = ExtractGraph(sources_, d.source);
    checked.num_nodes = region.CountNodes(Program::kRoot);
    checked.is_compared = true;
    // Others stay as they are: backends keep packed copies of weights that
    // can't change, and that is to be checked, too.
    Values before(call.inputs.begin(), call.inputs.end());
    Values theirs = before;
    Copier for_search, for_backend;
    for (size_t i = 0; i < before.size(); ++i) {
      const bool is_written = std::any_of(
          d.writes.begin(), d.writes.end(), [&](const DeclaredWrite& write) {
            const RuntimeValue& target = call.inputs[write.input];
            return write.input == i ||
                   (target.is_tensor() && before[i].is_tensor() &&
                    target.tensor().SharesStorage(before[i].tensor()));
          });
      if (!is_written) continue;
      before[i] = for_search.Copy(call.inputs[i]);
      theirs[i] = for_backend.Copy(call.inputs[i]);
    }
    auto found = call.run(theirs);
    if (!found) return Failure{};
    auto expected = Interpret(region, Program::kRoot,
                              {call.inputs.begin(), call.inputs.end()},
                              InterpreterOptions{}, *call.diags);
    if (!expected) return Failure{};
    checked.worst = CompareAll(*found, *expected);
    for (const DeclaredWrite& write : d.writes) {
      Merge(Compare(theirs[write.input], (*expected)[write.output]),
            &checked.worst);
    }
    if (!report_.is_close(checked.worst) && !report_.first_wrong) {
      const Backend* backend = options_.find_backend(checked.backend);
      if (backend != nullptr) {
        report_.first_wrong = Search(region, before, *backend, options_).Run();
        report_.first_wrong->region = checked.name;
      }
    }
    report_.regions.push_back(std::move(checked));
    return expected;
  }

  Status CompareResults(const Values& inputs) {
    TENON_ASSIGN(const auto session,
                 Session::Load(program_, Options(), diags_));
    TENON_ASSIGN(const Values found, session->RunFlat(CopyAll(inputs), diags_));
    const std::vector<std::string> paths = UserOutputPaths(sources_);
    for (size_t i = 0; i < std::min(found.size(), expected_.size()); ++i) {
      std::string path = i < paths.size() ? paths[i] : std::to_string(i);
      report_.results.push_back({path.empty() ? "output" : "output " + path,
                                 Compare(found[i], expected_[i])});
    }
    for (size_t i = 0; i < expected_state_.size(); ++i) {
      const Tensor& expected = expected_state_[i];
      if (!expected.defined() || !expected.storage()->writable()) continue;
      const std::string fqn(program_->view(program_->state.entries[i].fqn));
      report_.results.push_back(
          {"state " + fqn, Compare(session->State(fqn), expected)});
    }
    return {};
  }

  const std::shared_ptr<const Program> program_;
  const Program sources_;  // extracting graphs adds to its context
  CheckOptions options_;
  Diagnostics& diags_;
  CheckReport report_;
  Values expected_;
  std::vector<Tensor> expected_state_;
};

std::string ComparisonText(const Comparison& c) {
  if (!c.has_same_kind) return c.found + " instead of " + c.expected;
  if (c.is_identical) return "identical";
  return "differs by " + NumberText(c.max_difference) + ", " +
         NumberText(c.max_relative) + " of what is tolerated";
}

}  // namespace

bool CheckReport::is_close() const {
  const auto is_fine = [this](const auto& part) {
    return is_close(part.worst);
  };
  return std::all_of(regions.begin(), regions.end(), is_fine) &&
         std::all_of(results.begin(), results.end(), is_fine);
}

Expected<CheckReport> CheckBackends(std::shared_ptr<const Program> program,
                                    const std::vector<RuntimeValue>& inputs,
                                    const CheckOptions& options,
                                    Diagnostics& diags) {
  return Checker(std::move(program), options, diags).Run(inputs);
}

std::string CheckAsText(const CheckReport& report) {
  std::string out;
  for (const CheckedRegion& region : report.regions) {
    out += region.name + " (" + region.backend + "): ";
    out += region.is_compared ? Count(region.num_nodes, "node") + ", " +
                                    ComparisonText(region.worst)
                              : "not compared, what it stands for isn't known";
    out += "\n";
  }
  for (const CheckedValue& value : report.results) {
    out += value.what + ": " + ComparisonText(value.worst) + "\n";
  }
  if (!report.first_wrong) return out;
  const WrongNode& wrong = *report.first_wrong;
  if (!wrong.is_reproduced) {
    return out + "no part of " + wrong.region +
           " that is compiled again differs\n";
  }
  out += "first node that differs: " + wrong.node + " in " + wrong.region +
         "\n  " + wrong.expression + "\n";
  if (!wrong.source_line.empty()) out += "  " + wrong.source_line + "\n";
  out += "  " + ComparisonText(wrong.difference);
  if (wrong.num_before == 0) {
    out += ", alone\n";
  } else {
    out += ", together with the " + Count(wrong.num_before, "node") +
           " before it; alone it is right\n";
  }
  return out;
}

}  // namespace tenon::tools
