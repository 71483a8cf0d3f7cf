// Control flow: If and Loop. Graphs inside read what is around them, so only
// what changes from turn to turn is passed.
#include <memory>

#include "onnx/task.h"
#include "onnx/value_info.h"

namespace tenon::onnx {
namespace {

WhyNot InnerFailure() { return "a graph inside of it can't be translated"; }

// What a nested graph gives, each under a name of its own: a graph's output
// can't be a value of the graph around it.
WhyNot OutputsOf(Task& t, GraphId graph, std::vector<std::string>* names) {
  for (const Arg& a : t.program.outputs(graph)) {
    if (!a.is_value() && a.kind != ArgKind::kInt && a.kind != ArgKind::kFloat &&
        a.kind != ArgKind::kBool) {
      return "a graph inside of it gives something else than numbers";
    }
    names->push_back(t.build.Identity(t.ToName(a)));
  }
  return {};
}

// The nodes of a graph on these operands, in the graph that is being built.
WhyNot Inline(Task& t, GraphId graph, const std::vector<std::string>& operands,
              std::vector<std::string>* outputs) {
  const auto& inputs = t.program.graph(graph).inputs;
  if (inputs.size() != operands.size()) {
    return "a graph inside of it takes other operands than it gets";
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    t.build.Set(inputs[i], operands[i]);
  }
  if (!TranslateNodes(t.build, graph, t.untranslated)) return InnerFailure();
  return OutputsOf(t, graph, outputs);
}

// Info about outputs of `graph` that are called `names`.
std::vector<ValueInfo> Infos(Task& t, std::span<const Arg> outputs,
                             const std::vector<std::string>& names) {
  std::vector<ValueInfo> infos;
  for (size_t i = 0; i < names.size(); ++i) {
    infos.push_back(
        outputs[i].is_value()
            ? InfoOf(t.program, outputs[i].value(), names[i])
            : ValueInfo{names[i], ElementTypeOf(t.build.dtype(names[i])), {}});
  }
  return infos;
}

std::vector<std::string> NamesOf(Task& t, const Arg& list) {
  std::vector<std::string> names;
  for (const Arg& a : t.program.args(list.list)) names.push_back(t.ToName(a));
  return names;
}

Attribute GraphAttribute(std::string name, Graph graph) {
  return {std::move(name), std::shared_ptr<const Graph>(
                               std::make_shared<Graph>(std::move(graph)))};
}

std::vector<DType> ResultDtypes(const Task& t) {
  std::vector<DType> dtypes;
  for (uint32_t i = 0; i < t.num_results(); ++i) dtypes.push_back(t.dtype(i));
  return dtypes;
}

bool HasForm(const Task& t, std::initializer_list<ArgKind> kinds) {
  const auto args = t.program.args(t.node);
  if (args.size() < kinds.size()) return false;
  size_t i = 0;
  for (const ArgKind k : kinds) {
    if (args[i++].kind != k) return false;
  }
  return true;
}

// cond(predicate, @true, @false, [operands])
WhyNot Cond(Task& t, std::string_view) {
  const auto args = t.program.args(t.node);
  if (args.size() < 4 || args[1].kind != ArgKind::kGraph ||
      args[2].kind != ArgKind::kGraph || args[3].kind != ArgKind::kList) {
    return "a conditional of another form";
  }
  const std::string predicate =
      t.build.Reshape(t.ToName(args[0], DType::kBool), {});
  const std::vector<std::string> operands = NamesOf(t, args[3]);
  std::vector<Attribute> branches;
  for (const size_t i : {1, 2}) {
    const GraphId branch = t.program.args(t.node)[i].graph;
    t.build.BeginGraph();
    std::vector<std::string> names;
    const WhyNot why = Inline(t, branch, operands, &names);
    Graph graph =
        t.build.EndGraph({}, why ? std::vector<ValueInfo>()
                                 : Infos(t, t.program.outputs(branch), names));
    if (why) return why;
    branches.push_back(GraphAttribute(i == 1 ? "then_branch" : "else_branch",
                                      std::move(graph)));
  }
  const auto results =
      t.build.AddMany("If", {predicate}, std::move(branches), ResultDtypes(t));
  for (uint32_t i = 0; i < results.size(); ++i) t.Give(i, results[i]);
  return {};
}

// A loop's body as it is built: the turn's number, whether to go on, and what
// is carried.
struct Body {
  std::string turn, go_on;
  std::vector<std::string> carried;
  std::vector<ValueInfo> inputs;

  Body(Task& t, const std::vector<ValueId>& values) {
    const auto add = [&](std::string* name, ValueInfo info, DType dtype) {
      *name = info.name;
      t.build.Declare(info.name, dtype);
      inputs.push_back(std::move(info));
    };
    add(&turn, {t.build.NewName(), ElementType::kInt64, {}}, DType::kInt64);
    add(&go_on, {t.build.NewName(), ElementType::kBool, {}}, DType::kBool);
    for (const ValueId v : values) {
      carried.emplace_back();
      add(&carried.back(), InfoOf(t.program, v, t.build.NewName()),
          t.DtypeOf(v));
    }
  }
};

// while_loop(@condition, @body, [carried], [more operands])
WhyNot WhileLoop(Task& t, std::string_view) {
  if (!HasForm(t, {ArgKind::kGraph, ArgKind::kGraph, ArgKind::kList,
                   ArgKind::kList})) {
    return "a loop of another form";
  }
  const auto args = t.program.args(t.node);
  const GraphId condition = args[0].graph, body = args[1].graph;
  const std::vector<std::string> first = NamesOf(t, args[2]),
                                 more = NamesOf(t, args[3]);
  const auto with_more = [&](std::vector<std::string> carried) {
    carried.insert(carried.end(), more.begin(), more.end());
    return carried;
  };
  std::vector<std::string> starts;
  if (WhyNot why = Inline(t, condition, with_more(first), &starts)) return why;
  if (starts.size() != 1) return "a condition of several values";
  const std::string begin =
      t.build.Reshape(t.build.Cast(starts[0], DType::kBool), {});

  const auto& inputs = t.program.graph(body).inputs;
  if (inputs.size() < first.size()) return "a body with fewer inputs";
  t.build.BeginGraph();
  Body turn(t, {inputs.begin(), inputs.begin() + first.size()});
  std::vector<std::string> next, go_on;
  WhyNot why = Inline(t, body, with_more(turn.carried), &next);
  std::vector<ValueInfo> infos;
  if (!why) infos = Infos(t, t.program.outputs(body), next);
  if (!why) why = Inline(t, condition, with_more(next), &go_on);
  if (!why) {
    const std::string last =
        t.build.Reshape(t.build.Cast(go_on[0], DType::kBool), {});
    infos.insert(infos.begin(), {last, ElementType::kBool, {}});
  }
  Graph graph = t.build.EndGraph(turn.inputs, std::move(infos));
  if (why) return why;
  std::vector<std::string> operands = {"", begin};
  operands.insert(operands.end(), first.begin(), first.end());
  std::vector<Attribute> attributes;
  attributes.push_back(GraphAttribute("body", std::move(graph)));
  const auto results =
      t.build.AddMany("Loop", operands, std::move(attributes), ResultDtypes(t));
  for (uint32_t i = 0; i < results.size(); ++i) t.Give(i, results[i]);
  return {};
}

// scan(@body, [carried], [sliced], [more]) and map(@body, [sliced], [more]): a
// loop with as many turns as the operands have slices; what a turn gives beside
// the carried values is joined.
WhyNot OverSlices(Task& t, std::string_view what) {
  const bool is_scan = what == "scan";
  const size_t at = is_scan ? 2 : 1;
  const auto args = t.program.args(t.node);
  if (args.size() < at + 2 || args[0].kind != ArgKind::kGraph ||
      args[at].kind != ArgKind::kList || args[at + 1].kind != ArgKind::kList ||
      (is_scan && args[1].kind != ArgKind::kList)) {
    return "a loop of another form";
  }
  if (is_scan && args.size() > 4 &&
      (args[4].kind != ArgKind::kBool || args[4].i != 0)) {
    return "a loop that runs backwards";
  }
  const GraphId body = args[0].graph;
  std::vector<std::string> first;
  if (is_scan) first = NamesOf(t, args[1]);
  const std::vector<std::string> whole = NamesOf(t, args[at]),
                                 more = NamesOf(t, args[at + 1]);
  if (whole.empty()) return "a loop over nothing";
  const auto& inputs = t.program.graph(body).inputs;
  if (inputs.size() != first.size() + whole.size() + more.size()) {
    return "a body that takes other operands than it gets";
  }
  t.build.BeginGraph();
  Body turn(t, {inputs.begin(), inputs.begin() + first.size()});
  std::vector<std::string> operands = turn.carried;
  for (const std::string& x : whole) {
    operands.push_back(
        t.build.Add("Gather", {x, turn.turn}, {IntAttribute("axis", 0)}));
  }
  operands.insert(operands.end(), more.begin(), more.end());
  std::vector<std::string> next;
  const WhyNot why = Inline(t, body, operands, &next);
  std::vector<ValueInfo> infos;
  if (!why) {
    infos = Infos(t, t.program.outputs(body), next);
    infos.insert(infos.begin(),
                 {t.build.Identity(turn.go_on), ElementType::kBool, {}});
  }
  Graph graph = t.build.EndGraph(turn.inputs, std::move(infos));
  if (why) return why;
  std::vector<std::string> passed = {t.build.Size(whole[0], 0),
                                     t.build.Number(DType::kBool, int64_t{1})};
  passed.insert(passed.end(), first.begin(), first.end());
  std::vector<Attribute> attributes;
  attributes.push_back(GraphAttribute("body", std::move(graph)));
  const auto results =
      t.build.AddMany("Loop", passed, std::move(attributes), ResultDtypes(t));
  for (uint32_t i = 0; i < results.size(); ++i) t.Give(i, results[i]);
  return {};
}

constexpr Translation kTable[] = {
    {"higher_order.cond", Cond},
    {"higher_order.while_loop", WhileLoop},
    {"higher_order.scan", OverSlices, "scan"},
    {"higher_order.map_impl", OverSlices, "map"},
    {"higher_order.map", OverSlices, "map"},
};

}  // namespace

std::span<const Translation> ControlTranslations() { return kTable; }

}  // namespace tenon::onnx
