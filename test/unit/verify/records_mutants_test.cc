// Tables whose numbers are off by one, or that contradict each other in one
// place: the verifier names V-GRAPH and stays inside the tables.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "text/text.h"
#include "verify/verify.h"

namespace tenon {
namespace {

// Arguments of every kind.
constexpr char kText[] = R"(tenon 1
symbol s0 (positive=True, integer=True)
range s0 in [2, 9]
storage @0 = 8 bytes hex"0000000000000000"
region 0 "r" backend "cpu"
delegate @d backend "cpu" source @source
  inputs (f32[2])
  outputs (f32[2])
buffer "b" : f32[2] = @0
graph @main(%x : f32[2], %z : f32[s0], %idle : f32[2]) {
  %s : f32[2] = get_attr "b"
  %y : f32[2] = my_ops.all.default(%x, 1, "text", torch.float32, torch.strided,
    torch.contiguous_format, device("cpu"), op(aten.neg.default),
    object("name", "class"), complex(1.0, 2.0), [%x, %s]) region 0
  %k : f32[2] = delegate @d(%y) region 0
  my_ops.silent.default(%k)
  return (%k)
}
graph @source(%a : f32[2]) {
  %n : f32[2] = aten.neg.default(%a)
  return (%n)
}
)";

struct Sample {
  Sample() : program(Parsed()) {
    for (uint32_t g = 0; g < program.num_graphs(); ++g) {
      for (const NodeId n : program.nodes(GraphId(g))) {
        if (program.node(n).results.empty()) continue;
        if (Label(n) == "y") all = n;
        if (Label(n) == "k") delegate = n;
        if (Label(n) == "s") state = n;
      }
    }
    silent = program.node(program.root().output).prev;
  }

  static Program Parsed() {
    Diagnostics diags;
    auto parsed = ParseProgram(kText, "test", std::make_shared<Context>(),
                               PayloadSource(), diags);
    EXPECT_TRUE(parsed) << diags.ToString();
    return parsed ? std::move(*parsed) : Program(std::make_shared<Context>());
  }

  std::string_view Label(NodeId n) const {
    return program.view(program.value(Result(n)).name);
  }
  ValueId Result(NodeId n) const { return program.node(n).results[0]; }
  Value& ResultOf(NodeId n) { return program.mutable_value(Result(n)); }
  Value& Input(uint32_t i) {
    return program.mutable_value(program.root().inputs[i]);
  }
  // Programs make no such arguments and uses; broken memory does.
  Arg& ArgOf(NodeId n, uint32_t i) {
    return const_cast<Arg&>(program.arg(program.node(n).args[i]));
  }
  Arg& Item(NodeId n, uint32_t i, uint32_t item) {
    return const_cast<Arg&>(program.arg(ArgOf(n, i).list[item]));
  }
  Use& UseOf(UseId u) { return const_cast<Use&>(program.use(u)); }

  uint32_t num_strings() const {
    return static_cast<uint32_t>(program.context().strings.size());
  }
  uint32_t num_types() const {
    return static_cast<uint32_t>(program.context().types.size());
  }

  Program program;
  NodeId all, delegate, state, silent;
};

enum Position : uint32_t {
  kNumber = 1,
  kText_,
  kDtype,
  kLayout,
  kFormat,
  kDevice,
  kOperator,
  kObject,
  kComplex,
  kList
};

// The first error as text, "" for a sound program.
std::string FirstError(const Program& program) {
  Diagnostics diags;
  const bool holds = Verify(program, {}, diags).ok();
  EXPECT_EQ(holds, !diags.has_errors());
  return diags.has_errors() ? diags.all()[0].ToString() : "";
}

struct Edit {
  const char* what;
  std::string_view rule;
  std::function<void(Sample& s)> apply;
};

const Edit kEdits[] = {
    {"the first string that isn't there", "[V-GRAPH-01]",
     [](Sample& s) {
       s.ArgOf(s.all, kText_).text = StringId(s.num_strings());
     }},
    {"a dtype below the first", "[V-GRAPH-01]",
     [](Sample& s) { s.ArgOf(s.all, kDtype).i = -1; }},
    {"a dtype above the last", "[V-GRAPH-01]",
     [](Sample& s) {
       s.ArgOf(s.all, kDtype).i = static_cast<int64_t>(DType::kUInt64) + 1;
     }},
    {"a layout below the first", "[V-GRAPH-01]",
     [](Sample& s) { s.ArgOf(s.all, kLayout).i = -1; }},
    {"a layout above the last", "[V-GRAPH-01]",
     [](Sample& s) {
       s.ArgOf(s.all, kLayout).i = static_cast<int64_t>(Layout::kStrided) + 1;
     }},
    {"a memory format below the first", "[V-GRAPH-01]",
     [](Sample& s) { s.ArgOf(s.all, kFormat).i = -1; }},
    {"a memory format above the last", "[V-GRAPH-01]",
     [](Sample& s) {
       s.ArgOf(s.all, kFormat).i =
           static_cast<int64_t>(MemoryFormat::kPreserve) + 1;
     }},
    {"a device's type that isn't there", "[V-GRAPH-01]",
     [](Sample& s) {
       s.ArgOf(s.all, kDevice).device.type = StringId(s.num_strings());
     }},
    {"an operator as a value that isn't there", "[V-GRAPH-01]",
     [](Sample& s) {
       s.ArgOf(s.all, kOperator).op =
           OpId(static_cast<uint32_t>(s.program.context().num_ops()));
     }},
    {"an object's name that isn't there", "[V-GRAPH-01]",
     [](Sample& s) {
       s.ArgOf(s.all, kObject).object.name = StringId(s.num_strings());
     }},
    {"an object's class that isn't there", "[V-GRAPH-01]",
     [](Sample& s) {
       s.ArgOf(s.all, kObject).object.class_fqn = StringId(s.num_strings());
     }},
    {"a complex number of one part", "[V-GRAPH-01]",
     [](Sample& s) { s.ArgOf(s.all, kComplex).list.count = 1; }},
    {"a complex number whose real part is an int", "[V-GRAPH-01]",
     [](Sample& s) { s.Item(s.all, kComplex, 0).kind = ArgKind::kInt; }},
    {"a complex number whose imaginary part is an int", "[V-GRAPH-01]",
     [](Sample& s) { s.Item(s.all, kComplex, 1).kind = ArgKind::kInt; }},
    {"an item's name that isn't there", "[V-GRAPH-01]",
     [](Sample& s) {
       s.Item(s.all, kList, 0).name = StringId(s.num_strings());
     }},
    {"a value that isn't there", "[V-GRAPH-01]",
     [](Sample& s) {
       s.ArgOf(s.all, 0).v.value =
           ValueId(static_cast<uint32_t>(s.program.num_values()));
     }},
    {"a use that isn't there", "[V-GRAPH-01]",
     [](Sample& s) {
       s.ArgOf(s.all, 0).v.use =
           UseId(static_cast<uint32_t>(s.program.num_uses()));
     }},
    {"a state entry that isn't there", "[V-GRAPH-01]",
     [](Sample& s) { s.program.mutable_node(s.state).state = StateId(1u); }},
    {"a result's type that isn't there", "[V-GRAPH-01]",
     [](Sample& s) { s.ResultOf(s.all).type = TypeId(s.num_types()); }},
    {"a result's name that isn't there", "error: node #",
     [](Sample& s) { s.ResultOf(s.all).name = StringId(s.num_strings()); }},
    {"an input's type that isn't there", "value #0 has no type [V-GRAPH-01]",
     [](Sample& s) { s.Input(0).type = TypeId(s.num_types()); }},
    {"an input's name that isn't there",
     "the name of value #0 is no interned string [V-GRAPH-01]",
     [](Sample& s) { s.Input(0).name = StringId(s.num_strings()); }},
    {"a node without results in a region that isn't there", "[V-GRAPH-01]",
     [](Sample& s) { s.program.mutable_node(s.silent).region = RegionId(1u); }},
    {"an input type of a delegate that isn't there", "[V-GRAPH-01]",
     [](Sample& s) {
       s.program.delegates[0].inputs[0] = TypeId(s.num_types());
     }},
    {"a source that isn't there", "[V-GRAPH-09]",
     [](Sample& s) { s.program.delegates[0].source = GraphId(2u); }},
    {"an entry's type that isn't there", "[V-GRAPH-01]",
     [](Sample& s) {
       s.program.state.entries[0].type = TypeId(s.num_types());
     }},
    // --- uses ---
    {"used, but said to be unused", "error: main: the uses of value",
     [](Sample& s) {
       s.Input(0).num_uses = 0;
       s.Input(0).first_use = UseId();
     }},
    {"unused, but said to be used", "[V-GRAPH-07]",
     [](Sample& s) { s.Input(2).num_uses = 1; }},
    {"unused, with a list of uses", "[V-GRAPH-07]",
     [](Sample& s) { s.Input(2).first_use = s.Input(0).first_use; }},
    {"a use of an argument that isn't there", "[V-GRAPH-07]",
     [](Sample& s) {
       s.UseOf(s.Input(0).first_use).arg =
           ArgId(static_cast<uint32_t>(s.program.num_args()));
     }},
    {"a use by a node that isn't there", "[V-GRAPH-07]",
     [](Sample& s) {
       s.UseOf(s.Input(0).first_use).user =
           NodeId(static_cast<uint32_t>(s.program.num_nodes()));
     }},
    {"a value of no graph that is said to be used", "the uses of value",
     [](Sample& s) {
       const NodeId n = s.silent;
       s.program.NewResults(n, 1);
       const ValueId gone = s.Result(n);
       s.program.mutable_value(gone).type = s.Input(0).type;
       s.program.Erase(Program::kRoot, n);
       s.program.mutable_value(gone).num_uses = 2;
     }},
};

TEST(Records, EachEditIsNamed) {
  EXPECT_EQ(FirstError(Sample().program), "");
  for (const Edit& edit : kEdits) {
    Sample s;
    edit.apply(s);
    EXPECT_NE(FirstError(s.program).find(edit.rule), std::string::npos)
        << edit.what << ": " << FirstError(s.program);
  }
}

// The first of each enumeration is one of it.
TEST(Records, FirstAndLastAreInside) {
  for (const bool last : {false, true}) {
    Sample s;
    s.ArgOf(s.all, kDtype).i = last ? static_cast<int64_t>(DType::kUInt64) : 0;
    s.ArgOf(s.all, kLayout).i =
        last ? static_cast<int64_t>(Layout::kStrided) : 0;
    s.ArgOf(s.all, kFormat).i =
        last ? static_cast<int64_t>(MemoryFormat::kPreserve) : 0;
    EXPECT_EQ(FirstError(s.program), "");
  }
}

// Lists in lists, up to a depth that no operator takes.
TEST(Records, ListsMayBeNestedToABound) {
  for (const uint32_t depth : {32u, 33u}) {
    Sample s;
    ArgId at = s.program.node(s.all).args[kNumber];
    for (uint32_t i = 0; i < depth; ++i) {
      const ArgRange item = s.program.NewArgs(1);
      s.program.SetArg(at, Arg::OfList(ListTag::kTensors, item), i == 0);
      at = item[0];
    }
    s.program.SetArg(at, Arg::Int(1));
    EXPECT_EQ(
        FirstError(s.program).find("nested too deeply") != std::string::npos,
        depth == 33);
  }
}

// Every level calls the one below twice: each graph is looked into once.
TEST(Records, CallsThatMultiplyAreWalkedOnce) {
  std::string text =
      "tenon 1\ngraph @main(%x : f32[2]) {\n"
      "  %y : f32[2] = call @g39(%x)\n  return (%y)\n}\n"
      "graph @g0(%x : f32[2]) {\n  return (%x)\n}\n";
  for (int i = 1; i < 40; ++i) {
    const std::string callee = "call @g" + std::to_string(i - 1);
    text += "graph @g" + std::to_string(i) +
            "(%x : f32[2]) {\n  %a : f32[2] = " + callee +
            "(%x)\n  %b : f32[2] = " + callee + "(%a)\n  return (%b)\n}\n";
  }
  Diagnostics diags;
  const auto program = ParseProgram(text, "test", std::make_shared<Context>(),
                                    PayloadSource(), diags);
  ASSERT_TRUE(program) << diags.ToString();
  EXPECT_EQ(FirstError(*program), "");
}

// --- calls that look alike ---

// What is right, and what is wrong though it differs in one respect only.
struct Pair {
  const char* right;
  const char* wrong;
  std::string_view rule;
};

constexpr Pair kPairs[] = {
    {"%a : f32[2] = aten.neg.default(%x)",
     "%b : f32[2] = aten.isnan.default(%x)", "[V-TYPE-02]"},
    {"%a : f32[2] = aten.neg.default(%x)", "%b : f32[3] = aten.neg.default(%x)",
     "[V-TYPE-04]"},
    {"%a : f32[2] = aten.neg.default(%x)",
     "%b : f32[2], %c : f32[2] = aten.neg.default(%x)", "[V-OP-07]"},
    {"%a : f32[2] = aten.neg.default(%x)",
     "%b : f32[2] = aten.neg.default(%x, %x)", "[V-OP-02]"},
    {"%a : f32[3] = aten.select.int(%y, 0, 0)",
     "%b : f32[3] = aten.select.int(%y, 1, 0)", "[V-TYPE-04]"},
    {"%a : f32[3] = aten.sum.dim_IntList(%y, [0])",
     "%b : f32[3] = aten.sum.dim_IntList(%y, [1])", "[V-TYPE-04]"},
    {"%a : f32[3] = aten.sum.dim_IntList(%y, [0])",
     "%b : f32[3] = aten.sum.dim_IntList(%y, [0, 1])", "[V-TYPE-03]"},
    {"%a : f32[2] = aten.add.Tensor(%x, %x)",
     "%b : f32[2] = aten.add.Tensor(%x, nope=%x)", "[V-OP-02]"},
    {"%a : f32[2] = aten.add.Tensor(%x, %x)",
     "%b : f32[2] = aten.add.Tensor(%x, %z)", "[V-TYPE-02]"},
    {"[%a : f32[1, 3], %c : f32[1, 3] offset (3)] = aten.split.Tensor(%y, 1)",
     "%b : f32[1, 3], %d : f32[1, 3] offset (3) = aten.split.Tensor(%y, 1)",
     "[V-OP-07]"},
};

// Whatever else the program has in its tables, which decides on where a call is
// remembered.
TEST(Alike, ACallIsNotTakenForAnother) {
  for (const Pair& pair : kPairs) {
    for (int shift = 0; shift < 96; ++shift) {
      std::string inputs;
      for (int i = 0; i < shift; ++i) {
        inputs += ", %i" + std::to_string(i) + " : f64[" +
                  std::to_string(i + 10) + "]";
      }
      const auto text = [&](const char* line) {
        return "tenon 1\ngraph @main(%x : f32[2], %y : f32[2, 3], %z : c64[2]" +
               inputs + ") {\n  " + pair.right + "\n  " + line +
               "\n  return ()\n}\n";
      };
      Diagnostics diags;
      const auto program =
          ParseProgram(text(pair.wrong), "test", std::make_shared<Context>(),
                       PayloadSource(), diags);
      ASSERT_TRUE(program) << diags.ToString();
      ASSERT_NE(FirstError(*program).find(pair.rule), std::string::npos)
          << shift << " " << pair.wrong << FirstError(*program);
    }
  }
}

}  // namespace
}  // namespace tenon
