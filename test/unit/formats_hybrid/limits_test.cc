#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "../../limit_boundary.h"
#include "formats/hybrid/hybrid.h"

namespace tenon {
namespace {

LimitedRead Reading(const std::string& path) {
  return [path](const ReadLimits& limits, Diagnostics& diags) {
    HybridReadOptions options;
    options.limits = limits;
    return ReadHybrid(path, std::make_shared<Context>(), options, diags).ok();
  };
}

TEST(HybridLimits, Nodes) {
  // Four nodes in the graph, four in its child.
  ExpectBoundary(&ReadLimits::max_nodes, 8,
                 Reading("test/data/hybrid/seed_kwargs_reversed.json"));
}

// Children that call their own children, one in the other.
std::string NestedModules(int levels) {
  const std::string val = R"("val":{"dtype":"float32","shape":[],"stride":[]})";
  std::string text = R"({"format":"hybrid-1","name":"nested",)";
  for (int level = 0; level <= levels; ++level) {
    const bool is_last = level == levels;
    text += R"("graph":{"nodes":[{"op":"placeholder","name":"x","target":"x",)";
    text += val + "},{";
    text += is_last ? R"("op":"call","target":"aten.neg.default",)"
                    : R"("op":"call_module","target":"m",)";
    text += R"("name":"y","args":[{"ref":"x"}],)" + val + "},";
    text += R"({"op":"output","name":"output","args":[{"ref":"y"}]}]})";
    if (!is_last) text += R"(,"modules":{"m":{)";
  }
  for (int level = 0; level < levels; ++level) text += "}}";
  return text + R"(,"state":{},"in_spec":null,"out_spec":null,"runs":[]})";
}

// Close to the highest depth, so that the stack is known to suffice for it.
TEST(HybridLimits, Depth) {
  constexpr int kLevels = 400;
  const std::string text = NestedModules(kLevels);
  const LimitedRead read = [&](const ReadLimits& limits, Diagnostics& diags) {
    HybridReadOptions options;
    options.limits = limits;
    return ReadHybrid(AsBytes(text), Safetensors(), "nested",
                      std::make_shared<Context>(), options, diags)
        .ok();
  };
  // Two JSON values per level, and the last graph's own.
  constexpr uint64_t kLow = 2 * kLevels, kHigh = kLow + 10;
  ReadLimits highest;
  std::string error;
  ASSERT_TRUE(SetLimit("depth=" + std::to_string(kHigh), &highest, &error));
  ExpectBoundaryBetween(&ReadLimits::max_depth, kLow, kHigh, read);
}

}  // namespace
}  // namespace tenon
