// Properties of the export pipeline over random programs. A failure prints the
// seed; TENON_SEEDS=N tries N programs instead of the default.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "analysis/digest.h"
#include "backends/backend.h"
#include "export/export.h"
#include "link/join.h"
#include "link/lift.h"
#include "runtime/draw_inputs.h"
#include "runtime/session.h"
#include "testing/generator.h"
#include "text/text.h"
#include "verify/verify.h"

namespace tenon {
namespace {

uint64_t NumSeeds(uint64_t otherwise) {
  const char* text = std::getenv("TENON_SEEDS");
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

Program RandomProgram(uint64_t seed, bool with_child_calls = false) {
  testing::GeneratorOptions options;
  options.shape = testing::ProgramShape::kRandom;
  options.num_nodes = 20 + seed % 40;
  options.seed = seed;
  options.with_child_calls = with_child_calls;
  return testing::GenerateProgram(options, std::make_shared<Context>());
}

// "" when equal: dtype, sizes, bytes in logical order.
std::string Difference(const RuntimeValue& a, const RuntimeValue& b) {
  if (a.variant().index() != b.variant().index()) return "kinds differ";
  if (a.is_int() && a.int_value() != b.int_value()) return "ints differ";
  if (a.is_bool() && a.bool_value() != b.bool_value()) return "bools differ";
  if (a.is_float()) {
    const double x = a.float_value(), y = b.float_value();
    return std::memcmp(&x, &y, sizeof x) == 0 ? "" : "floats differ";
  }
  if (!a.is_tensor()) return "";
  if (a.tensor().dtype() != b.tensor().dtype() ||
      a.tensor().sizes() != b.tensor().sizes()) {
    return a.tensor().ToString() + " and " + b.tensor().ToString();
  }
  const Tensor x = a.tensor().Contiguous(), y = b.tensor().Contiguous();
  const size_t bytes = static_cast<size_t>(x.numel()) * SizeBytes(x.dtype());
  return bytes == 0 || std::memcmp(x.raw(), y.raw(), bytes) == 0
             ? ""
             : "values differ";
}

struct Outcome {
  bool ok = false;
  std::string why;
  std::vector<RuntimeValue> results;
  std::vector<Tensor> state;
};

// Two calls, so that state carries over.
Outcome RunTwice(const Program& program, uint64_t seed) {
  Outcome out;
  Diagnostics diags;
  auto shared = std::make_shared<const Program>(program.Clone());
  auto session = Session::Load(shared, SessionOptions(), diags);
  for (uint64_t call = 0; session && call < 2; ++call) {
    DrawOptions draw;
    draw.seed = seed * 2 + call;
    auto inputs = DrawInputs(program, draw, diags);
    if (!inputs) break;
    auto results = (*session)->RunFlat(*inputs, diags);
    if (!results) break;
    out.ok = call == 1;
    // Copies: a later call may write what these view.
    for (RuntimeValue& r : *results) {
      out.results.push_back(r.is_tensor() ? r.tensor().Clone() : r);
    }
  }
  out.why = diags.ToString();
  if (!out.ok) return out;
  for (const StateEntry& entry : program.state.entries) {
    const Tensor t = (*session)->State(program.view(entry.fqn));
    if (t.defined()) out.state.push_back(t.Clone());
  }
  return out;
}

void ExpectSame(const Outcome& a, const Outcome& b) {
  ASSERT_EQ(a.ok, b.ok) << a.why << b.why;
  ASSERT_EQ(a.results.size(), b.results.size());
  for (size_t i = 0; i < a.results.size(); ++i) {
    EXPECT_EQ(Difference(a.results[i], b.results[i]), "") << "result " << i;
  }
  ASSERT_EQ(a.state.size(), b.state.size());
  for (size_t i = 0; i < a.state.size(); ++i) {
    EXPECT_EQ(Difference(a.state[i], b.state[i]), "") << "state " << i;
  }
}

TEST(Properties, P7CuttingAndJoiningIsTheIdentity) {
  for (uint64_t seed = 0; seed < NumSeeds(200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Program source = RandomProgram(seed);
    Program program = source.Clone();
    ExportOptions options;
    options.num_random_colors = 1 + static_cast<uint32_t>(seed % 7);
    options.cut_seed = seed;
    Diagnostics diags;
    ASSERT_TRUE(ExportProgram(&program, options, diags)) << diags.ToString();
    EXPECT_EQ(WiringDigest(program), WiringDigest(source));
    EXPECT_EQ(program.CountNodes(Program::kRoot),
              source.CountNodes(Program::kRoot));
  }
}

TEST(Properties, DelegatingAnythingAnywhereKeepsDigestAndResults) {
  for (uint64_t seed = 0; seed < NumSeeds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Program source = RandomProgram(seed);
    Program program = source.Clone();
    ExportOptions options;
    BackendRequest echo;
    echo.backend = FindBackend("echo");
    options.backends = {echo};
    options.num_random_colors = 1 + static_cast<uint32_t>(seed % 7);
    options.cut_seed = seed;
    Diagnostics diags;
    ASSERT_TRUE(ExportProgram(&program, options, diags)) << diags.ToString();
    EXPECT_EQ(WiringDigest(program), WiringDigest(source));
    ExpectSame(RunTwice(source, seed), RunTwice(program, seed));
  }
}

TEST(Properties, L9LiftAndUnliftAreInverse) {
  for (uint64_t seed = 0; seed < NumSeeds(100); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Program source = RandomProgram(seed);
    Program program = source.Clone();
    Diagnostics diags;
    Unlift(&program);
    ASSERT_TRUE(Lift(&program, diags)) << diags.ToString();
    EXPECT_EQ(WiringDigest(program), WiringDigest(source));
    ASSERT_TRUE(Verify(program, VerifyOptions(), diags)) << diags.ToString();
  }
}

TEST(Properties, J7JoiningChildrenKeepsDigestAndResults) {
  for (uint64_t seed = 0; seed < NumSeeds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Program source = RandomProgram(seed, /*with_child_calls=*/true);
    Program program = source.Clone();
    Diagnostics diags;
    ASSERT_TRUE(JoinAll(&program, diags)) << diags.ToString();
    for (const NodeId n : program.nodes(Program::kRoot)) {
      EXPECT_NE(program.node(n).kind, NodeKind::kChildCall);
    }
    EXPECT_EQ(WiringDigest(program), WiringDigest(source));
    ASSERT_TRUE(Verify(program, VerifyOptions(), diags)) << diags.ToString();
    ExpectSame(RunTwice(source, seed), RunTwice(program, seed));
  }
}

// J-2: every label the same, then every label gone.
TEST(Properties, J2RenamingKeepsTheDigest) {
  for (uint64_t seed = 0; seed < NumSeeds(100); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Program program = RandomProgram(seed, /*with_child_calls=*/true);
    const Digest before = WiringDigest(program);
    for (const char* name : {"add", ""}) {
      const StringId label = program.context().Intern(name);
      for (uint32_t v = 0; v < program.num_values(); ++v) {
        program.mutable_value(ValueId(v)).name = label;
      }
      for (uint32_t n = 0; n < program.num_nodes(); ++n) {
        program.mutable_node(NodeId(n)).name = label;
      }
      EXPECT_EQ(WiringDigest(program), before);
      Program joined = program.Clone();
      Diagnostics diags;
      ASSERT_TRUE(JoinAll(&joined, diags)) << diags.ToString();
      EXPECT_EQ(WiringDigest(joined), before);
    }
  }
}

TEST(Properties, TextFormIsTheIdentity) {
  for (uint64_t seed = 0; seed < NumSeeds(100); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Program source = RandomProgram(seed, /*with_child_calls=*/true);
    PrintOptions print;
    print.inline_limit_bytes = SIZE_MAX;
    const std::string text = PrintProgram(source, print);
    Diagnostics diags;
    auto parsed = ParseProgram(text, "random", std::make_shared<Context>(),
                               PayloadSource(), diags);
    ASSERT_TRUE(parsed) << diags.ToString();
    EXPECT_EQ(PrintProgram(*parsed, print), text);
    EXPECT_EQ(WiringDigest(*parsed), WiringDigest(source));
  }
}

// T-1: exchanging two different operands of one node that the outputs need
// changes the digest.
TEST(Properties, T1MovingOneWireChangesTheDigest) {
  size_t num_changed = 0;
  for (uint64_t seed = 0; seed < NumSeeds(100); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Program source = RandomProgram(seed);
    const Digest before = WiringDigest(source);
    const std::vector<Digest> digests = ComputeValueDigests(source);
    for (const Arg& output : source.outputs(Program::kRoot)) {
      if (!output.is_value()) continue;
      const NodeId n = source.value(output.v.value).def;
      if (!n.valid() || source.node(n).kind != NodeKind::kOp) continue;
      std::vector<uint32_t> wires;
      const auto args = source.args(n);
      for (uint32_t i = 0; i < args.size(); ++i) {
        if (args[i].is_value()) wires.push_back(i);
      }
      if (wires.size() < 2) continue;
      const ValueId a = args[wires[0]].v.value, b = args[wires[1]].v.value;
      if (digests[a.index] == digests[b.index]) continue;
      Program changed = source.Clone();
      const ArgRange range = changed.node(n).args;
      changed.SetValueArg(range[wires[0]], n, b);
      changed.SetValueArg(range[wires[1]], n, a);
      EXPECT_FALSE(WiringDigest(changed) == before);
      Diagnostics diags;
      EXPECT_FALSE(ProveEqual(source, changed, diags));
      EXPECT_TRUE(diags.has_errors());
      ++num_changed;
      break;
    }
  }
  EXPECT_GT(num_changed, 0u);
}

}  // namespace
}  // namespace tenon
