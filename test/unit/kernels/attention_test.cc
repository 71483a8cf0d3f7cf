// Expected values are PyTorch's.
#include <cmath>

#include "call_operator.h"

namespace tenon {
namespace {

Tensor Sawtooth(const Sizes& sizes, double step = 0.1) {
  std::vector<double> values;
  for (int64_t i = 0; i < NumElements(sizes); ++i) {
    const double x = static_cast<double>(i) * step - 0.5;
    values.push_back(x - std::floor(x / 1.7) * 1.7 - 0.8);
  }
  return MakeTensor(sizes, values);
}

class AttentionTest : public testing::Test {
 protected:
  OperatorOutcome Attend(RuntimeValue mask, bool is_causal,
                         RuntimeValue scale = {}) {
    return CallOperator("aten.scaled_dot_product_attention.default",
                        {query_, key_, value_, std::move(mask), 0.0, is_causal,
                         std::move(scale)});
  }

  Tensor query_ = Sawtooth({1, 2, 2, 3});
  Tensor key_ = Sawtooth({1, 2, 3, 3}, 0.3);
  Tensor value_ = Sawtooth({1, 2, 3, 3}, 0.71);
};

TEST_F(AttentionTest, Plain) {
  const auto out = Attend({}, false);
  ASSERT_EQ(out.error, "");
  ExpectValues(out.tensor(),
               {0.22337, -0.146998, -0.05663, 0.091003, -0.152521, -0.188997,
                0.406114, -0.027707, 0.126114, 0.412675, -0.005459, 0.132675},
               1e-5);
}

TEST_F(AttentionTest, CausalAlignsAtTheTopLeft) {
  const auto out = Attend({}, true);
  ASSERT_EQ(out.error, "");
  ExpectValues(out.tensor(),
               {0.4, -0.59, 0.12, 0.506704, -0.483296, 0.226704, -0.01, 0.7,
                -0.29, 0.207482, 0.057668, -0.072518},
               1e-5);
}

TEST_F(AttentionTest, FullyMaskedRowIsZero) {
  const Tensor mask = MakeTensor({2, 3}, {1, 0, 1, 0, 0, 0}, DType::kBool);
  const auto out = Attend(mask, false);
  ASSERT_EQ(out.error, "");
  ExpectValues(out.tensor(),
               {-0.038175, -0.141392, -0.318175, 0.0, 0.0, 0.0, 0.397676,
                0.301804, 0.117676, 0.0, 0.0, 0.0},
               1e-5);
}

TEST_F(AttentionTest, Scale) {
  const auto out = Attend({}, false, 2.0);
  ASSERT_EQ(out.error, "");
  ExpectValues(out.tensor(),
               {0.126375, -0.110636, -0.153625, -0.040649, -0.130247, -0.32065,
                0.381152, -0.100839, 0.101152, 0.395729, -0.011791, 0.115729},
               1e-5);
}

TEST_F(AttentionTest, MaskWithCausalIsAnError) {
  const Tensor mask = MakeTensor({2, 3}, {1, 0, 1, 0, 0, 0}, DType::kBool);
  EXPECT_NE(Attend(mask, true).error, "");
}

TEST_F(AttentionTest, GroupedHeads) {
  const Tensor key = key_.View({1, 1, 3, 3}, key_.strides(), 0);
  const Tensor value = value_.View({1, 1, 3, 3}, value_.strides(), 0);
  EXPECT_EQ(CallOperator("aten.scaled_dot_product_attention.default",
                         {query_, key, value})
                .error,
            "")
      << "one head broadcasts anyway";
  const auto out = CallOperator(
      "aten.scaled_dot_product_attention.default",
      {query_, key, value, RuntimeValue(), 0.0, false, RuntimeValue(), true});
  ASSERT_EQ(out.error, "");
  ExpectValues(out.tensor(),
               {0.22337, -0.146998, -0.05663, 0.091003, -0.152521, -0.188997,
                0.353865, -0.172834, 0.073865, 0.317995, -0.166816, 0.037995},
               1e-5);
}

TEST(RecurrentTest, Lstm) {
  const auto out = CallOperator(
      "aten.lstm.input",
      {Sawtooth({2, 1, 3}),
       RuntimeValue::List{Sawtooth({1, 1, 2}), Sawtooth({1, 1, 2}, 0.3)},
       RuntimeValue::List{Sawtooth({8, 3}), Sawtooth({8, 2}, 0.2),
                          Sawtooth({8}), Sawtooth({8}, 0.4)},
       true, int64_t{1}, 0.0, false, false, false});
  ASSERT_EQ(out.error, "");
  ExpectValues(out.tensor(0), {0.218439, 0.10514, 0.167017, 0.138281}, 1e-5);
  ExpectValues(out.tensor(1), {0.167017, 0.138281}, 1e-5);
  ExpectValues(out.tensor(2), {0.91446, 0.350947}, 1e-5);
}

TEST(RecurrentTest, BidirectionalGru) {
  const Tensor w = Sawtooth({6, 3}), u = Sawtooth({6, 2}, 0.2);
  const Tensor b = Sawtooth({6}), c = Sawtooth({6}, 0.4);
  const auto out = CallOperator(
      "aten.gru.input", {Sawtooth({2, 1, 3}), Sawtooth({2, 1, 2}),
                         RuntimeValue::List{w, u, b, c, w, u, b, c}, true,
                         int64_t{1}, 0.0, false, true, false});
  ASSERT_EQ(out.error, "");
  ExpectValues(out.tensor(0),
               {0.768823, 0.336445, 0.872081, 0.398971, 0.820477, 0.273379,
                0.798819, 0.304972},
               1e-5);
  ExpectValues(out.tensor(1), {0.820477, 0.273379, 0.872081, 0.398971}, 1e-5);
}

}  // namespace
}  // namespace tenon
