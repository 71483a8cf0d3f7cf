// Breaking edits: each turns a sound program into one that breaks one rule, and
// the verifier names that rule alone.
#include <gtest/gtest.h>

#include <random>

#include "../analysis/builder.h"
#include "verify/verify.h"

namespace tenon {
namespace {

// State, a mutation, a child that is called twice, a branch, a delegate.
struct Sample : Builder {
  Sample() {
    const TypeId type = F32({2});
    storage.resize(8);
    StateEntry w;
    w.fqn = context->Intern("w");
    w.kind = StateKind::kParameter;
    w.type = type;
    w.is_param = true;
    w.storage = program.state.AddStorage({Bytes(storage), nullptr, false});
    StateEntry b = w;
    b.fqn = context->Intern("b");
    b.kind = StateKind::kPersistentBuffer;
    b.is_param = false;
    b.storage = program.state.AddStorage({Bytes(storage), nullptr, false});
    const StateId w_id = program.state.Add(w), b_id = program.state.Add(b);

    weight = Input(type, "w");
    buffer = Input(type, "b");
    x = Input(type, "x");
    program.signature.inputs[0] = {InputKind::kParameter, w_id, false};
    program.signature.inputs[1] = {InputKind::kBuffer, b_id, false};

    child = program.AddGraph("child");
    const ValueId p = Input(type, "p", child);
    Return({Value("aten.relu.default", {p}, type, child)}, child);
    yes = program.AddGraph("yes");
    Return({Input(type, "y", yes)}, yes);
    no = program.AddGraph("no");
    const ValueId n = Input(type, "n", no);
    Return({Value("aten.neg.default", {n}, type, no)}, no);
    source = program.AddGraph("source");
    const ValueId s = Input(type, "s", source);
    Return({Value("aten.sin.default", {s}, type, source)}, source);

    Delegate d;
    d.name = context->Intern("region");
    d.backend = context->Intern("cpu");
    d.payload = Bytes(storage);
    d.payload_digest = HashBytes(storage.data(), storage.size());
    d.source = source;
    d.inputs = {type};
    d.outputs = {type};
    program.delegates.push_back(d);

    add = Op("aten.add.Tensor", {weight, x}, {type});
    const ValueId sum = program.node(add).results[0];
    call = program.NewNode(NodeKind::kChildCall);
    program.mutable_node(call).child = child;
    Node(call, {sum}, {type}, Program::kRoot);
    const NodeId again = program.NewNode(NodeKind::kChildCall);
    program.mutable_node(again).child = child;
    Node(again, {buffer}, {type}, Program::kRoot);
    const ValueId any =
        Value("aten.any.default", {sum}, Literals(DType::kBool, {}));
    cond = Op("higher_order.cond",
              {any, Arg::OfGraph(yes), Arg::OfGraph(no),
               std::vector<Item>{program.node(call).results[0]}},
              {type});
    delegate = program.NewNode(NodeKind::kDelegateCall);
    program.mutable_node(delegate).delegate = DelegateId(0u);
    Node(delegate, {program.node(cond).results[0]}, {type}, Program::kRoot);
    Return({program.node(again).results[0], program.node(delegate).results[0]});
    program.signature.outputs[0] = {OutputKind::kBufferMutation, b_id,
                                    OutputSpec::kNoInput};
    program.in_spec = TreeSpec::Tuple(
        {TreeSpec::Tuple({TreeSpec::Leaf()}), TreeSpec::Dict({}, {})});
    program.out_spec = TreeSpec::Leaf();
  }

  ValueId Result(NodeId n) const { return program.node(n).results[0]; }

  std::vector<std::byte> storage;
  ValueId weight, buffer, x;
  GraphId child, yes, no, source;
  NodeId add, call, cond, delegate;
};

std::string Rules(const Program& program) {
  Diagnostics diags;
  const bool holds = Verify(program, {}, diags).ok();
  EXPECT_EQ(holds, !diags.has_errors());
  std::string out;
  for (const Diagnostic& d : diags.all()) {
    const std::string id(RuleId(d.rule));
    if (out.find(id) == std::string::npos) out += (out.empty() ? "" : " ") + id;
  }
  return out;
}

// Holds: V-GRAPH-01 V-GRAPH-02 V-GRAPH-03 V-GRAPH-06 V-GRAPH-07 V-GRAPH-08
// Holds: V-GRAPH-11 V-SIG-03
TEST(Edits, SampleIsSound) {
  Sample s;
  Diagnostics diags;
  EXPECT_TRUE(Verify(s.program, {}, diags)) << diags.ToString();
}

struct Edit {
  const char* what;
  Rule rule;
  void (*apply)(Sample& s);
};

const Edit kEdits[] = {
    {"operator out of range", Rule::kGraph01,
     [](Sample& s) { s.program.mutable_node(s.add).op = OpId(9999u); }},
    {"type out of range", Rule::kGraph01,
     [](Sample& s) {
       s.program.mutable_value(s.Result(s.add)).type = TypeId(9999u);
     }},
    {"arguments out of range", Rule::kGraph01,
     [](Sample& s) { s.program.mutable_node(s.add).args.count = 1u << 31; }},
    {"results out of range", Rule::kGraph01,
     [](Sample& s) { s.program.mutable_node(s.add).results.begin = ~0u; }},
    {"delegate out of range", Rule::kGraph01,
     [](Sample& s) {
       s.program.mutable_node(s.delegate).delegate = DelegateId(7u);
     }},
    {"wrong link to the node before", Rule::kGraph02,
     [](Sample& s) { s.program.mutable_node(s.call).prev = NodeId(); }},
    {"not marked as in a graph", Rule::kGraph02,
     [](Sample& s) { s.program.mutable_node(s.call).in_graph = false; }},
    {"a list that runs in a circle", Rule::kGraph03,
     [](Sample& s) { s.program.mutable_node(s.call).next = s.add; }},
    {"a node in two graphs", Rule::kGraph03,
     [](Sample& s) { s.program.mutable_graph(s.yes).first = s.add; }},
    {"used before it is defined", Rule::kGraph04,
     [](Sample& s) {
       s.program.SetValueArg(s.program.node(s.add).args[1], s.add,
                             s.Result(s.call));
     }},
    {"a value of another graph", Rule::kGraph05,
     [](Sample& s) {
       s.program.SetValueArg(s.program.node(s.add).args[1], s.add,
                             s.program.graph(s.child).inputs[0]);
     }},
    {"a result that names another definition", Rule::kGraph06,
     [](Sample& s) {
       s.program.mutable_value(s.Result(s.add)).def = s.delegate;
     }},
    {"a result that states another position", Rule::kGraph06,
     [](Sample& s) { s.program.mutable_value(s.Result(s.add)).index = 3; }},
    {"an input that states another position", Rule::kGraph06,
     [](Sample& s) { s.program.mutable_value(s.x).index = 0; }},
    {"a count of uses that is off", Rule::kGraph07,
     [](Sample& s) { ++s.program.mutable_value(s.x).num_uses; }},
    {"a list of uses that is gone", Rule::kGraph07,
     [](Sample& s) { s.program.mutable_value(s.x).first_use = UseId(); }},
    {"a list of another value's uses", Rule::kGraph07,
     [](Sample& s) {
       s.program.mutable_value(s.x).first_use =
           s.program.value(s.weight).first_use;
     }},
    {"a list of uses out of range", Rule::kGraph07,
     [](Sample& s) { s.program.mutable_value(s.x).first_use = UseId(999u); }},
    {"no output node at the end", Rule::kGraph08,
     [](Sample& s) { s.program.mutable_node(s.delegate).next = NodeId(); }},
    {"an output node of another kind", Rule::kGraph08,
     [](Sample& s) {
       s.program.mutable_graph(Program::kRoot).output = s.delegate;
     }},
    {"a call of an erased graph", Rule::kGraph09,
     [](Sample& s) { s.program.EraseGraph(s.child); }},
    {"a branch out of range", Rule::kGraph09,
     [](Sample& s) {
       s.program.SetArg(s.program.node(s.cond).args[1],
                        Arg::OfGraph(GraphId(99u)), true);
     }},
    {"a child that calls itself", Rule::kGraph10,
     [](Sample& s) {
       const NodeId n = s.program.graph(s.child).first;
       s.program.mutable_node(n).kind = NodeKind::kChildCall;
       s.program.mutable_node(n).child = s.child;
     }},
    {"a region compiled from its caller", Rule::kGraph10,
     [](Sample& s) { s.program.delegates[0].source = Program::kRoot; }},
    {"two nodes over one range of arguments", Rule::kGraph11,
     [](Sample& s) {
       s.program.mutable_node(s.delegate).args = s.program.node(s.add).args;
     }},
    {"a bare value of two outputs", Rule::kGraph12,
     [](Sample& s) {
       s.program.mutable_graph(Program::kRoot).returns_single = true;
     }},
    {"a parameter without state", Rule::kSig03,
     [](Sample& s) { s.program.signature.inputs[0].state = StateId(); }},
    {"state out of range", Rule::kSig03,
     [](Sample& s) { s.program.signature.inputs[1].state = StateId(9u); }},
    {"a mutation of state out of range", Rule::kSig10,
     [](Sample& s) { s.program.signature.outputs[0].state = StateId(9u); }},
    {"a mutation of a missing input", Rule::kSig10,
     [](Sample& s) {
       s.program.signature.outputs[0] = {OutputKind::kUserInputMutation,
                                         StateId(), 17};
     }},
    {"a storage out of range", Rule::kState02,
     [](Sample& s) { s.program.state.entries[0].storage = StorageId(5u); }},
    {"a patched payload", Rule::kRegion08,
     [](Sample& s) { s.program.delegates[0].payload_digest.low ^= 1; }},
    {"a write out of range", Rule::kRegion07,
     [](Sample& s) {
       s.program.delegates[0].writes.push_back({0, 4, WriteKind::kUser});
     }},
};

TEST(Edits, EachIsNamed) {
  for (const Edit& edit : kEdits) {
    Sample s;
    edit.apply(s);
    EXPECT_EQ(Rules(s.program), RuleId(edit.rule)) << edit.what;
  }
}

// Whatever stands in the tables, the verifier ends and stays inside them.
TEST(Edits, AnyNumbersAreSurvived) {
  std::mt19937 random(20);
  const auto any = [&]() -> uint32_t {
    switch (random() % 4) {
      case 0:
        return random();
      case 1:
        return ~0u;
      default:
        return random() % 24;
    }
  };
  for (int round = 0; round < 20000; ++round) {
    Sample s;
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
      tenon::Node& node =
          s.program.mutable_node(NodeId(random() % s.program.num_nodes()));
      tenon::Value& value =
          s.program.mutable_value(ValueId(random() % s.program.num_values()));
      Graph& graph =
          s.program.mutable_graph(GraphId(random() % s.program.num_graphs()));
      switch (random() % 20) {
        case 0:
          node.prev = NodeId(any());
          break;
        case 1:
          node.next = NodeId(any());
          break;
        case 2:
          node.op = OpId(any());
          break;
        case 3:
          node.child = GraphId(any());
          break;
        case 4:
          node.delegate = DelegateId(any());
          break;
        case 5:
          node.args = {any(), any()};
          break;
        case 6:
          node.results = {any(), any()};
          break;
        case 7:
          node.form = FormId(any());
          break;
        case 8:
          node.kind = static_cast<NodeKind>(random() % 6);
          break;
        case 9:
          node.name = StringId(any());
          break;
        case 10:
          value.def = NodeId(any());
          break;
        case 11:
          value.type = TypeId(any());
          break;
        case 12:
          value.index = any();
          break;
        case 13:
          value.first_use = UseId(any());
          break;
        case 14:
          value.num_uses = any();
          break;
        case 15:
          graph.first = NodeId(any());
          break;
        case 16:
          graph.output = NodeId(any());
          break;
        case 17:
          graph.inputs.push_back(ValueId(any()));
          break;
        case 18:
          graph.is_erased = true;
          break;
        case 19:
          s.program.signature.inputs[random() % 3].state = StateId(any());
          break;
      }
    }
    Rules(s.program);
  }
}

TEST(Verify, CollectsUpToTheBound) {
  Sample s;
  for (int i = 0; i < 300; ++i) {
    s.Value("aten.add.Tensor", {s.x}, s.F32({2}));
  }
  Diagnostics diags(50);
  EXPECT_FALSE(Verify(s.program, {}, diags));
  EXPECT_EQ(diags.all().size(), 50u);
  EXPECT_EQ(diags.num_errors(), 300u);
}

}  // namespace
}  // namespace tenon
