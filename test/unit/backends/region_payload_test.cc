// Payloads travel, and nothing but a payload of the right backend is taken.
#include "backends/region_payload.h"

#include <gtest/gtest.h>

#include "region_builder.h"

namespace tenon {
namespace {

Program SmallRegion() {
  RandomTensors random;
  RegionBuilder b;
  const ValueId x = b.Input(random.Floats({2, 3}));
  const ValueId y =
      b.Op("aten.add.Tensor", {{"self", x}, {"other", x}, {"alpha", 2}});
  return b.Finish({b.Op("aten.relu.default", {{"self", y}})});
}

TEST(RegionPayloadTest, ReadsBackWhatWasWritten) {
  const Program region = SmallRegion();
  const auto payload = WriteRegionPayload("echo", region);
  Diagnostics diags;
  const auto read = ReadRegionPayload("echo", payload, diags);
  ASSERT_TRUE(read) << diags.ToString();
  EXPECT_EQ(WriteRegionPayload("echo", *read), payload);
}

TEST(RegionPayloadTest, NamesTheForeignHeader) {
  const auto payload = WriteRegionPayload("echo", SmallRegion());
  Diagnostics diags;
  EXPECT_FALSE(ReadRegionPayload("reference", payload, diags));
  EXPECT_NE(diags.ToString().find("tenon-region 1 echo"), std::string::npos)
      << diags.ToString();
}

TEST(RegionPayloadTest, RefusesEveryPrefix) {
  const auto payload = WriteRegionPayload("echo", SmallRegion());
  // The last byte is a line's end, which may be missing.
  for (size_t size = 0; size + 1 < payload.size(); ++size) {
    Diagnostics diags;
    EXPECT_FALSE(ReadRegionPayload("echo", Bytes(payload).first(size), diags))
        << size;
    EXPECT_TRUE(diags.has_errors()) << size;
  }
}

TEST(RegionPayloadTest, SurvivesAnyFlippedByte) {
  const auto payload = WriteRegionPayload("reference", SmallRegion());
  const Backend* backend = FindBackend("reference");
  ASSERT_NE(backend, nullptr);
  RandomTensors random;
  for (size_t i = 0; i < payload.size(); ++i) {
    for (const int bit : {0, 4, 7}) {
      auto damaged = payload;
      damaged[i] ^= std::byte{static_cast<uint8_t>(1 << bit)};
      Diagnostics diags;
      auto loaded = backend->Load(damaged, nullptr, {}, diags);
      if (!loaded) {
        EXPECT_TRUE(diags.has_errors()) << i;
        continue;
      }
      // What loads may run or fail, but says which.
      const RuntimeValue inputs[] = {random.Floats({2, 3})};
      const bool ran = (*loaded)->Run(inputs, diags).ok();
      EXPECT_NE(ran, diags.has_errors()) << i;
    }
  }
}

// Types come from PyTorch's shape functions, which don't always say what its
// kernels return; cut or not, a program computes with what comes.
TEST(RegionPayloadTest, TakesInputsOfAnotherDtypeThanStated) {
  for (const char* name : {"echo", "reference", "cpu"}) {
    const Backend* backend = FindBackend(name);
    ASSERT_NE(backend, nullptr) << name;
    Diagnostics diags;
    auto loaded = backend->Load(WriteRegionPayload(name, SmallRegion()),
                                nullptr, {}, diags);
    ASSERT_TRUE(loaded) << name << diags.ToString();
    Tensor x = Tensor::Zeros(DType::kFloat64, {2, 3});
    x.mutable_data<double>()[0] = 0.1;
    const RuntimeValue inputs[] = {x};
    const auto outputs = (*loaded)->Run(inputs, diags);
    ASSERT_TRUE(outputs) << name << diags.ToString();
    ASSERT_EQ((*outputs)[0].tensor().dtype(), DType::kFloat64) << name;
    EXPECT_EQ((*outputs)[0].tensor().data<double>()[0], 0.1 + 2 * 0.1) << name;
  }
}

TEST(RegionPayloadTest, RefusesInputsOfAnotherRank) {
  const auto payload = WriteRegionPayload("echo", SmallRegion());
  Diagnostics diags;
  auto loaded = FindBackend("echo")->Load(payload, nullptr, {}, diags);
  ASSERT_TRUE(loaded) << diags.ToString();
  const RuntimeValue inputs[] = {Tensor::Zeros(DType::kFloat32, {6})};
  EXPECT_FALSE((*loaded)->Run(inputs, diags));
  EXPECT_NE(diags.ToString().find("expected float32 of rank 2"),
            std::string::npos)
      << diags.ToString();
}

}  // namespace
}  // namespace tenon
