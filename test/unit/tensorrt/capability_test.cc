// What TensorRT takes, by the table of its release.
#include "tensorrt/capability.h"

#include <gtest/gtest.h>

#include <string>

#include "tensorrt/tensorrt_backend.h"
#include "tensorrt/trtexec.h"
#include "text/text.h"

namespace tenon::tensorrt {
namespace {

Program Parse(const std::string& text) {
  Diagnostics diags;
  auto program =
      ParseProgram("tenon 1\n" + text, "test", std::make_shared<Context>(),
                   PayloadSource(), diags);
  EXPECT_TRUE(program) << diags.ToString();
  return std::move(*program);
}

// Of the graph's first node.
std::optional<Refusal> Ask(const std::string& graph) {
  const Program program = Parse(graph);
  return WhyRefused(program, program.root().first);
}

TEST(Capability, NodesAreTakenByWhatTheyBecome) {
  EXPECT_FALSE(Ask(R"(graph @main(%x : f32[2, 3], %w : f32[4, 3]) {
  %y : f32[2, 4] = aten.linear.default(%x, %w)
  return (%y)
}
)"));
}

TEST(Capability, OperatorsThatItLacksAreNamedWithTheRelease) {
  const auto why = Ask(R"(graph @main(%x : i32[2]) {
  %y : i32[2] = aten.bitwise_and.Scalar(%x, 3)
  return (%y)
}
)");
  ASSERT_TRUE(why);
  EXPECT_EQ(why->reason, RefusalReason::kOperatorUnknown);
  EXPECT_EQ(why->detail,
            "ONNX's BitwiseAnd: it has no bitwise operators (TensorRT 11)");
}

TEST(Capability, ResultsThatNobodyReadsDontCount) {
  const std::string norm = R"(graph @main(%x : f32[1, 2, 3, 3], %w : f32[2]) {
  %y : f32[1, 2, 3, 3], %mean : f32[0], %scale : f32[0] = aten._native_batch_norm_legit_no_training.default(%x, %w, %w, %w, %w, 0.1, 1e-05)
)";
  EXPECT_FALSE(Ask(norm + "  return (%y)\n}\n"));
  EXPECT_TRUE(Ask(norm + "  return (%y, %mean)\n}\n"));
}

TEST(Capability, DtypesAreThoseOfTheTable) {
  const auto why = Ask(R"(graph @main(%x : f64[2]) {
  %y : f64[2] = aten.exp.default(%x)
  return (%y)
}
)");
  ASSERT_TRUE(why);
  EXPECT_EQ(why->reason, RefusalReason::kDtype);
}

TEST(Capability, TopkHasALargestCount) {
  const std::string graph = R"(graph @main(%x : f32[5000]) {
  %v : f32[K], %i : i64[K] = aten.topk.default(%x, K)
  return (%v)
}
)";
  const auto with = [&](const std::string& k) {
    std::string text = graph;
    for (size_t at = 0; (at = text.find('K', at)) != std::string::npos;) {
      text.replace(at, 1, k);
    }
    return Ask(text);
  };
  EXPECT_FALSE(with("3839"));
  ASSERT_TRUE(with("3840"));
  EXPECT_EQ(with("3840")->reason, RefusalReason::kAttributeValue);
}

TEST(Capability, TensorsHaveAtMostEightDimensions) {
  const auto of_rank = [](const std::string& sizes) {
    return Ask("graph @main(%x : f32[" + sizes + "]) {\n  %y : f32[" + sizes +
               "] = aten.exp.default(%x)\n  return (%y)\n}\n");
  };
  EXPECT_FALSE(of_rank("1, 1, 1, 1, 1, 1, 1, 2"));
  ASSERT_TRUE(of_rank("1, 1, 1, 1, 1, 1, 1, 1, 2"));
}

TEST(TensorrtBackend, WithoutAnEngineItSaysHowToMakeOne) {
  const Program region = Parse(R"(symbol s0 (positive=True, integer=True) hint 4
range s0 in [2, 16]
graph @main(%x : f32[s0, 3]) {
  %y : f32[s0, 3] = aten.exp.default(%x)
  return (%y)
}
)");
  Diagnostics diags;
  EXPECT_FALSE(GetTensorrtBackend().Compile(region, BackendOptions(), diags));
  EXPECT_NE(diags.FirstError().find(
                "trtexec --onnx=region.onnx --saveEngine=region.engine "
                "--stronglyTyped --minShapes=input_0:2x3 "
                "--optShapes=input_0:4x3 --maxShapes=input_0:16x3"),
            std::string::npos)
      << diags.FirstError();
}

}  // namespace
}  // namespace tenon::tensorrt
