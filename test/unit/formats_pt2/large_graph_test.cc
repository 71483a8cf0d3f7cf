// Programs with very many parts. They take seconds and gigabytes of memory, so
// they run only with TENON_LARGE_TESTS=1, as .ci/run does.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../../scratch.h"
#include "analysis/digest.h"
#include "formats/pt2/pt2.h"
#include "testing/generator.h"
#include "verify/verify.h"

namespace tenon {
namespace {

class LargeGraph : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("TENON_LARGE_TESTS") == nullptr) {
      GTEST_SKIP() << "takes long; set TENON_LARGE_TESTS=1";
    }
  }
  void TearDown() override { std::remove(path_.c_str()); }

  // Writes the program, reads it back, and wants an equal one.
  void ExpectRoundTrip(const Program& program) {
    Diagnostics diags;
    ASSERT_TRUE(WritePt2(program, path_, Pt2WriteOptions(), diags))
        << diags.ToString();
    const auto back =
        ReadPt2(path_, std::make_shared<Context>(), Pt2ReadOptions(), diags);
    ASSERT_TRUE(back) << diags.ToString();
    EXPECT_EQ(back->state.entries.size(), program.state.entries.size());
    EXPECT_EQ(back->CountNodes(Program::kRoot),
              program.CountNodes(Program::kRoot));
    EXPECT_EQ(WiringDigest(*back), WiringDigest(program));
    EXPECT_TRUE(Verify(*back, VerifyOptions(), diags)) << diags.ToString();
  }

  const std::string path_ = ScratchPath("large.pt2");
};

TEST_F(LargeGraph, AMillionNodesAndHalfAMillionMembers) {
  testing::GeneratorOptions options;
  options.shape = testing::ProgramShape::kLayers;
  options.num_nodes = 1'000'000;
  ExpectRoundTrip(
      testing::GenerateProgram(options, std::make_shared<Context>()));
}

TEST_F(LargeGraph, AHundredThousandConstants) {
  const auto context = std::make_shared<Context>();
  Program program(context);
  const GraphId root = program.AddGraph("main");
  Type type;
  type.kind = TypeKind::kTensor;
  type.dtype = DType::kFloat32;
  type.device.type = context->Intern("cpu");
  type.sizes = {SymInt::Literal(2)};
  type.strides = {SymInt::Literal(1)};
  const TypeId type_id = context->types.Intern(std::move(type));
  constexpr uint32_t kCount = 100'000;
  const auto values = std::make_shared<std::vector<float>>(2 * kCount, 1.5f);
  for (uint32_t i = 0; i < kCount; ++i) {
    const Bytes bytes(
        reinterpret_cast<const std::byte*>(values->data() + 2 * i), 8);
    StateEntry entry;
    entry.fqn = context->Intern("constant_" + std::to_string(i));
    entry.type = type_id;
    entry.storage = program.state.AddStorage({bytes, values, false});
    InputSpec spec;
    spec.kind = InputKind::kConstantTensor;
    spec.state = program.state.Add(entry);
    program.signature.inputs.push_back(spec);
    program.AddInput(root, type_id, entry.fqn);
  }
  ExpectRoundTrip(program);
}

// A pytree with ten thousand containers, a hundred deep.
TEST_F(LargeGraph, TenThousandNestedContainers) {
  const auto context = std::make_shared<Context>();
  Program program(context);
  program.AddGraph("main");
  std::vector<TreeSpec> chains;
  for (int i = 0; i < 100; ++i) {
    TreeSpec chain = TreeSpec::Tuple({});
    for (int depth = 1; depth < 100; ++depth) {
      chain = TreeSpec::Tuple({std::move(chain)});
    }
    chains.push_back(std::move(chain));
  }
  program.in_spec = TreeSpec::Tuple(
      {TreeSpec::Tuple(std::move(chains)), TreeSpec::Dict({}, {})});
  program.out_spec = TreeSpec::Tuple({});
  ExpectRoundTrip(program);
  Diagnostics diags;
  ASSERT_TRUE(WritePt2(program, path_, Pt2WriteOptions(), diags));
  const auto back =
      ReadPt2(path_, std::make_shared<Context>(), Pt2ReadOptions(), diags);
  ASSERT_TRUE(back) << diags.ToString();
  EXPECT_EQ(back->in_spec, program.in_spec);
}

}  // namespace
}  // namespace tenon
