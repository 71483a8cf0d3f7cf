#include "tenon_delegate/tenon_delegate.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "tenon_delegate/delegate_payload.h"
#include "text/text.h"

namespace tenon {
namespace {

constexpr char kRegion[] = R"(tenon 1
graph @main(%x : f32[2, 3], %w : f32[4, 3], %y : f32[2, 4], %b : f32[4]) {
  %l : f32[2, 4] = aten.linear.default(%x, %w, %b)
  %s : f32[2, 4] = aten.sub.Tensor(%l, %y)
  return (%s, %l)
}
)";

Tensor Counted(Sizes sizes, float first) {
  Tensor t = Tensor::Empty(DType::kFloat32, std::move(sizes));
  for (int64_t i = 0; i < t.numel(); ++i) {
    t.mutable_data<float>()[i] = first + static_cast<float>(i);
  }
  return t;
}

class TenonDelegateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto region = ParseProgram(kRegion, "test", std::make_shared<Context>(),
                               PayloadSource(), diags_);
    ASSERT_TRUE(region) << diags_.ToString();
    BackendOptions options;
    options.constants = {{1, weight_}, {3, bias_}};
    auto compiled = TenonDelegate().Compile(*region, options, diags_);
    ASSERT_TRUE(compiled) << diags_.ToString();
    compiled_ = std::move(*compiled);
    for (const NamedBytes& d : compiled_.named_data) data_[d.key] = d.bytes;
  }

  Expected<LoadedDelegate> Load(Bytes payload) {
    const auto find = [&](const std::string& key)
        -> Expected<std::pair<Bytes, std::shared_ptr<const void>>> {
      const auto at = data_.find(key);
      if (at == data_.end()) return diags_.Error(Rule::kFile04) << key;
      return std::make_pair(at->second, std::shared_ptr<const void>());
    };
    return LoadTenonDelegate(payload, find, BackendOptions(), diags_);
  }

  Diagnostics diags_;
  const Tensor weight_ = Counted({4, 3}, 1), bias_ = Counted({4}, 100);
  CompiledRegion compiled_;
  std::map<std::string, Bytes> data_;
};

TEST_F(TenonDelegateTest, CallsLeaveOutWhatTheFileNames) {
  EXPECT_EQ(compiled_.absorbed_inputs, (std::vector<uint32_t>{1, 3}));
  ASSERT_EQ(compiled_.named_data.size(), 2u);
  auto loaded = Load(compiled_.payload);
  ASSERT_TRUE(loaded) << diags_.ToString();
  EXPECT_EQ(loaded->num_outputs, 2u);
  const RuntimeValue inputs[] = {Counted({2, 3}, 0), Counted({2, 4}, 7)};
  const auto outputs = loaded->region->Run(inputs, diags_);
  ASSERT_TRUE(outputs) << diags_.ToString();
  // Row 0: [0, 1, 2] times the weight's rows, and the bias.
  EXPECT_EQ((*outputs)[1].tensor().data<float>()[0],
            0 * 1 + 1 * 2 + 2 * 3 + 100);
  EXPECT_EQ((*outputs)[0].tensor().data<float>()[1],
            0 * 4 + 1 * 5 + 2 * 6 + 101 - 8);
}

// D-4: what the delegate is told it may replace, it writes where that lies, so
// that a host that passes the same memory as output has nothing to copy.
TEST(TenonDelegateState, D_4_ACacheIsWrittenWhereItLies) {
  Diagnostics diags;
  auto region =
      ParseProgram(R"(tenon 1
graph @main(%k : f32[4, 2], %p : i64[1], %x : f32[1, 2]) {
  %new : f32[4, 2] = aten.index_put.default(%k, [%p], %x)
  %y : f32[4, 2] = aten.neg.default(%new)
  return (%new, %y)
}
)",
                   "test", std::make_shared<Context>(), PayloadSource(), diags);
  ASSERT_TRUE(region) << diags.ToString();
  BackendOptions options;
  DeclaredWrite cache;
  options.replaceable = {cache};
  const auto compiled = TenonDelegate().Compile(*region, options, diags);
  ASSERT_TRUE(compiled) << diags.ToString();
  ASSERT_EQ(compiled->writes.size(), 1u);
  const auto loaded =
      TenonDelegate().Load(compiled->payload, nullptr, options, diags);
  ASSERT_TRUE(loaded) << diags.ToString();
  Tensor k = Tensor::Zeros(DType::kFloat32, {4, 2});
  Tensor p = Tensor::Zeros(DType::kInt64, {1});
  *p.mutable_data<int64_t>() = 2;
  const RuntimeValue inputs[] = {k, p, Counted({1, 2}, 5)};
  const auto outputs = (*loaded)->Run(inputs, diags);
  ASSERT_TRUE(outputs) << diags.ToString();
  EXPECT_EQ((*outputs)[0].tensor().raw(), k.raw());
  EXPECT_EQ(k.data<float>()[4], 5);
  EXPECT_EQ((*outputs)[1].tensor().data<float>()[5], -6);
  // Without the offer nothing of the caller's changes.
  options.replaceable.clear();
  const auto other = TenonDelegate().Compile(*region, options, diags);
  ASSERT_TRUE(other) << diags.ToString();
  EXPECT_TRUE(other->writes.empty());
}

TEST_F(TenonDelegateTest, DataThatIsMissingOrShortIsAnError) {
  const std::string key = compiled_.named_data[0].key;
  const Bytes whole = data_[key];
  data_[key] = whole.first(whole.size() - 1);
  EXPECT_FALSE(Load(compiled_.payload));
  data_.erase(key);
  EXPECT_FALSE(Load(compiled_.payload));
  EXPECT_FALSE(TenonDelegate().Load(compiled_.payload, nullptr, {}, diags_));
}

TEST_F(TenonDelegateTest, DamagedPayloadsAreRefused) {
  const Bytes whole = compiled_.payload;
  for (size_t size = 0; size < whole.size(); size += 7) {
    EXPECT_FALSE(Load(whole.first(size))) << size;
  }
  for (const char* head :
       {"tenon-delegate 2\noutputs 2\n\n", "tenon-delegate 1\noutputs x\n\n",
        "tenon-delegate 1\noutputs 2\nconstant 1 float32 4,3\n\n",
        "tenon-delegate 1\noutputs 2\nconstant 1 float99 4 k\n\n",
        "tenon-delegate 1\noutputs 2\nconstant 1 float32 4,-3 k\n\n",
        "tenon-delegate 1\noutputs 2\nconstant 1 float32 4,,3 k\n\n",
        "tenon-delegate 1\noutputs 2\nconstant 3 float32 4 a\nconstant 1 "
        "float32 4 b\n\n",
        "tenon-delegate 1\noutputs 2\nconstant 1 float32 "
        "4611686018427387904,4 k\n\n"}) {
    EXPECT_FALSE(ReadDelegatePayload(AsBytes(head), diags_)) << head;
  }
}

TEST(DelegatePayload, ReadsWhatIsWritten) {
  DelegatePayload payload;
  payload.num_outputs = 3;
  payload.constants = {{0, DType::kInt64, {}, "one"},
                       {7, DType::kBFloat16, {2, 0, 5}, "two words"}};
  payload.region = AsBytes("\n\nbytes");
  const std::vector<std::byte> bytes = WriteDelegatePayload(payload);
  Diagnostics diags;
  const auto read = ReadDelegatePayload(bytes, diags);
  ASSERT_TRUE(read) << diags.ToString();
  EXPECT_EQ(read->num_outputs, 3u);
  ASSERT_EQ(read->constants.size(), 2u);
  EXPECT_EQ(read->constants[0].sizes, Sizes());
  EXPECT_EQ(read->constants[1].sizes, (Sizes{2, 0, 5}));
  EXPECT_EQ(read->constants[1].key, "two words");
  EXPECT_EQ(AsText(read->region), "\n\nbytes");
}

}  // namespace
}  // namespace tenon
