// Only what a user sees: the headers of include/tenon.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tenon/model.h"
#include "tenon/runner.h"

namespace {

constexpr char kCounter[] = "test/data/pt2/counter.pt2";
constexpr char kMlp[] = "test/data/pt2/mlp.pt2";

TEST(Api, AMissingFileIsAnErrorWithItsRule) {
  const auto model = tenon::Model::Open("test/data/no-such-file.pt2");
  ASSERT_FALSE(model);
  ASSERT_FALSE(model.errors().empty());
  EXPECT_EQ(model.errors()[0].rule, "T-IO");
}

TEST(Api, ExportsSavesAndProves) {
  const auto model = tenon::Model::Open(kMlp);
  ASSERT_TRUE(model);
  const auto hybrid = model->Export({"cpu"});
  ASSERT_TRUE(hybrid);
  EXPECT_EQ(hybrid->digest(), model->digest());
  const std::string path = testing::TempDir() + "/api_test.pt2";
  ASSERT_TRUE(hybrid->Save(path));
  const auto again = tenon::Model::Open(path);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->digest(), model->digest());
  EXPECT_FALSE(model->Export({"no such backend"}));
  const auto names = tenon::BackendNames();
  EXPECT_NE(std::find(names.begin(), names.end(), "cpu"), names.end());
}

// Floats for an input of a type "f32[2, 3]".
std::vector<int64_t> SizesOf(const std::string& type) {
  std::vector<int64_t> sizes;
  for (size_t i = type.find('['); i < type.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(type[i])) == 0) continue;
    sizes.push_back(std::stoll(type.substr(i)));
    while (std::isdigit(static_cast<unsigned char>(type[i])) != 0) ++i;
  }
  return sizes;
}

TEST(Api, RunsFromTheCallersMemoryAndKeepsState) {
  const auto model = tenon::Model::Open(kCounter);
  ASSERT_TRUE(model);
  auto runner = tenon::Runner::Load(*model);
  ASSERT_TRUE(runner);
  const auto inputs = model->inputs();
  ASSERT_EQ(inputs.size(), 1u);
  tenon::TensorView x;
  x.dtype = "float32";
  x.sizes = SizesOf(inputs[0].type);
  int64_t count = 1;
  for (const int64_t size : x.sizes) count *= size;
  std::vector<float> bytes(static_cast<size_t>(count), 1.0f);
  x.data = bytes.data();
  const auto first = runner->Run({{inputs[0].path, x}});
  ASSERT_TRUE(first) << first.errors()[0].message;
  const auto second = runner->Run({{"0", x}});
  ASSERT_TRUE(second);
  const auto value = [](const auto& result) {
    return *static_cast<const float*>((*result)[0].tensor().data);
  };
  EXPECT_NE(value(first), value(second)) << "the counter went on";
  runner->ResetState();
  const auto third = runner->Run({{"0", x}});
  ASSERT_TRUE(third);
  EXPECT_EQ(value(first), value(third));
}

// K6-18
TEST(Api, ResultsGoToTheCallersMemory) {
  const auto model = tenon::Model::Open(kCounter);
  ASSERT_TRUE(model);
  auto runner = tenon::Runner::Load(*model);
  ASSERT_TRUE(runner);
  const std::string path = model->inputs()[0].path;
  tenon::TensorView x{"float32", SizesOf(model->inputs()[0].type), {}, nullptr};
  std::vector<float> ones(64, 1.0f);
  x.data = ones.data();
  const auto plain = runner->Run({{path, x}});
  ASSERT_TRUE(plain);
  tenon::TensorView y = (*plain)[0].tensor();
  std::vector<float> mine(64, -1.0f);
  y.data = mine.data();
  y.strides.clear();
  runner->ResetState();
  const auto result = runner->Run({{path, x}}, {{0, y}});
  ASSERT_TRUE(result) << result.errors()[0].message;
  EXPECT_EQ((*result)[0].tensor().data, mine.data());
  EXPECT_EQ(mine[0], *static_cast<const float*>((*plain)[0].tensor().data));
  y.dtype = "int32";
  const auto wrong = runner->Run({{path, x}}, {{0, y}});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.errors()[0].rule, "S-5");
  EXPECT_FALSE(runner->Run({{path, x}}, {{99, y}}));
}

TEST(Api, WrongInputsAreErrors) {
  const auto model = tenon::Model::Open(kCounter);
  ASSERT_TRUE(model);
  auto runner = tenon::Runner::Load(*model);
  ASSERT_TRUE(runner);
  float one = 1;
  tenon::TensorView scalar{"float32", {}, {}, &one};
  tenon::TensorView huge{"float32", {INT64_MAX, INT64_MAX}, {}, &one};
  EXPECT_FALSE(runner->Run({}));
  EXPECT_FALSE(runner->Run({{"no.such.path", scalar}}));
  EXPECT_FALSE(runner->Run({{"0", huge}}));
  EXPECT_FALSE(
      runner->Run({{"0", tenon::TensorView{"float33", {}, {}, &one}}}));
  EXPECT_FALSE(
      runner->Run({{"0", tenon::TensorView{"float32", {2}, {}, nullptr}}}));
}

TEST(Api, SaysHowAModelIsCalled) {
  const auto methods = tenon::Model::Methods(kMlp);
  ASSERT_TRUE(methods);
  EXPECT_EQ(*methods, std::vector<std::string>{"model"});
  EXPECT_FALSE(tenon::Model::Methods("test/data/no-such-file.pt2"));
  const auto model = tenon::Model::Open("test/data/pt2/symint_arith.pt2");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->method(), "model");
  EXPECT_EQ(model->signature(), "forward(x: f32[s77, s27, 6])");
  EXPECT_EQ(model->returns().substr(0, 13), "(f32[s27*s77,");
  const auto inputs = model->inputs();
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_EQ(inputs[0].path, "args.0");
  EXPECT_EQ(inputs[0].kind, tenon::LeafKind::kTensor);
  EXPECT_EQ(inputs[0].dtype, "float32");
  EXPECT_FALSE(inputs[0].is_fixed);
  constexpr int64_t kDynamic = tenon::ModelLeaf::kDynamic;
  EXPECT_EQ(inputs[0].sizes, (std::vector<int64_t>{kDynamic, kDynamic, 6}));
  const auto outputs = model->outputs();
  ASSERT_EQ(outputs.size(), 8u);
  EXPECT_EQ(outputs[2].kind, tenon::LeafKind::kInt);
  EXPECT_EQ(outputs[6].dtype, "int64");
  EXPECT_EQ(outputs[7].path, "7");
  EXPECT_EQ(tenon::Version(), "0.1.0");
}

TEST(Api, ResultsHaveTheirOutputsPlaces) {
  const auto model = tenon::Model::Open("test/data/pt2/symint_arith.pt2");
  ASSERT_TRUE(model);
  auto runner = tenon::Runner::Load(*model);
  ASSERT_TRUE(runner);
  std::vector<float> ones(4 * 3 * 6, 1.0f);
  const auto results = runner->Run(
      {{"x", tenon::TensorView{"float32", {4, 3, 6}, {}, ones.data()}}});
  ASSERT_TRUE(results) << results.errors()[0].message;
  const auto outputs = model->outputs();
  ASSERT_EQ(results->size(), outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ((*results)[i].is_int(), outputs[i].kind == tenon::LeafKind::kInt)
        << i;
  }
  EXPECT_EQ((*results)[2].int_value(), 12);
  EXPECT_EQ((*results)[4].int_value(), 71);
  EXPECT_EQ((*results)[0].tensor().sizes, (std::vector<int64_t>{12, 3, 2}));
  EXPECT_NE((*results)[0].owned_tensor().owner, nullptr);
}

TEST(Api, InputsThatAreSetStaySet) {
  const auto model = tenon::Model::Open(kMlp);
  ASSERT_TRUE(model);
  auto runner = tenon::Runner::Load(*model);
  ASSERT_TRUE(runner);
  std::vector<float> data(24, 1.0f);
  const tenon::TensorView x{"float32", {3, 8}, {}, data.data()};
  const auto first = [](const auto& results) {
    return *static_cast<const float*>((*results)[0].tensor().data);
  };
  EXPECT_FALSE(runner->Run());
  ASSERT_TRUE(runner->Set("input", x));
  const auto ones = runner->Run();
  ASSERT_TRUE(ones);
  // Where the elements lie is all that is kept.
  std::fill(data.begin(), data.end(), 2.0f);
  const auto twos = runner->Run();
  ASSERT_TRUE(twos);
  EXPECT_NE(first(ones), first(twos));
  // For one call only.
  std::vector<float> others(24, 1.0f);
  const auto again = runner->Run(
      {{"args.0", tenon::TensorView{"float32", {3, 8}, {}, others.data()}}});
  ASSERT_TRUE(again);
  EXPECT_EQ(first(again), first(ones));
  EXPECT_EQ(first(runner->Run()), first(twos));
  const auto unknown = runner->Set("output", x);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.errors()[0].rule, "S-5");
  EXPECT_FALSE(runner->Set(1, x));
  EXPECT_FALSE(runner->Set(0, tenon::TensorView{"float32", {-1}, {}, nullptr}));
  ASSERT_TRUE(runner->Set(0, x));
  runner->ClearInputs();
  EXPECT_FALSE(runner->Run());
}

// What a view over memory of its own keeps alive lives as long as it is set.
TEST(Api, AnInputMayOwnItsMemory) {
  const auto model = tenon::Model::Open(kMlp);
  ASSERT_TRUE(model);
  auto runner = tenon::Runner::Load(*model);
  ASSERT_TRUE(runner);
  auto data = std::make_shared<std::vector<float>>(24, 1.0f);
  std::weak_ptr<std::vector<float>> seen = data;
  tenon::OwnedTensor x;
  x.view = {"float32", {3, 8}, {}, data->data()};
  x.owner = std::move(data);
  ASSERT_TRUE(runner->Set(0, std::move(x)));
  ASSERT_TRUE(runner->Run());
  EXPECT_FALSE(seen.expired());
  runner->ClearInputs();
  EXPECT_TRUE(seen.expired());
}

}  // namespace
