// D-7: what a backend gives up on goes to the next one, or stays.
#include <gtest/gtest.h>

#include "analysis/digest.h"
#include "backends/backend.h"
#include "export/export.h"
#include "testing/generator.h"

namespace tenon {
namespace {

// Takes everything and compiles nothing.
class BrokenBackend : public Backend {
 public:
  std::string_view name() const override { return "broken"; }
  std::optional<Refusal> Refuses(const Program&, NodeId) const override {
    return std::nullopt;
  }
  bool preserves_aliasing() const override { return true; }
  Expected<CompiledRegion> Compile(const Program&, const BackendOptions&,
                                   Diagnostics& diags) const override {
    return diags.Error(Rule::kUnsupported) << "out of luck";
  }
  Expected<std::unique_ptr<Executable>> Load(
      Bytes, std::shared_ptr<const void>, const BackendOptions&,
      Diagnostics& diags) const override {
    return diags.Error(Rule::kUnsupported) << "nothing to load";
  }
};

class Fallback : public ::testing::Test {
 protected:
  Fallback() {
    BackendRequest request;
    request.backend = &broken_;
    options_.backends = {request};
    request.backend = FindBackend("echo");
    options_.backends.push_back(request);
  }

  Expected<ExportReport> Export() {
    program_ =
        testing::GenerateProgram({testing::ProgramShape::kChain, 20, 0, false},
                                 std::make_shared<Context>());
    digest_ = WiringDigest(program_);
    return ExportProgram(&program_, options_, diags_);
  }

  const BrokenBackend broken_;
  ExportOptions options_;
  Program program_{std::make_shared<Context>()};
  Digest digest_;
  Diagnostics diags_;
};

TEST_F(Fallback, D7TheNextBackendGetsTheRegion) {
  const auto report = Export();
  ASSERT_TRUE(report.ok()) << diags_.ToString();
  ASSERT_EQ(report->regions.size(), 1u);
  EXPECT_EQ(report->regions[0].backend, "echo");
  EXPECT_EQ(report->regions[0].fallback_reason, "out of luck");
  ASSERT_EQ(program_.delegates.size(), 1u);
  EXPECT_EQ(program_.view(program_.delegates[0].backend), "echo");
  EXPECT_TRUE(WiringDigest(program_) == digest_);
}

TEST_F(Fallback, D7ItStaysWhenTheNextDoesntTakeAllOfIt) {
  options_.backends[1].deny = {"aten.tanh.default"};
  const auto report = Export();
  ASSERT_TRUE(report.ok()) << diags_.ToString();
  EXPECT_EQ(report->regions[0].backend, "");
  EXPECT_TRUE(program_.delegates.empty());
  EXPECT_TRUE(WiringDigest(program_) == digest_);
}

TEST_F(Fallback, D7ItStaysWhenAllFail) {
  options_.backends[1].backend = &broken_;
  const auto report = Export();
  ASSERT_TRUE(report.ok()) << diags_.ToString();
  EXPECT_EQ(report->regions[0].fallback_reason,
            "out of luck; backend 'broken': out of luck");
  EXPECT_TRUE(program_.delegates.empty());
}

TEST_F(Fallback, D7ForbiddenItIsAnError) {
  options_.allow_fallback = false;
  EXPECT_FALSE(Export().ok());
  EXPECT_EQ(diags_.all()[0].rule, Rule::kD7);
  EXPECT_NE(diags_.FirstError().find("out of luck"), std::string::npos);
  EXPECT_TRUE(program_.delegates.empty()) << "the program is unchanged";
}

}  // namespace
}  // namespace tenon
