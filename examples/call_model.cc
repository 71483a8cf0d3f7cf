// Opens a program, says how it wants to be called, exports it to a backend, and
// calls it from several threads at once.
//
//   call_model MODEL.pt2 [BACKEND]
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "tenon/model.h"
#include "tenon/runner.h"

namespace {

int Show(const tenon::Errors& errors) {
  for (const tenon::Error& e : errors) {
    std::fprintf(stderr, "error: %s: %s [%s]\n", e.place.c_str(),
                 e.message.c_str(), e.rule.c_str());
  }
  return 1;
}

void Describe(const char* what, const std::vector<tenon::ModelLeaf>& leaves) {
  for (size_t i = 0; i < leaves.size(); ++i) {
    std::printf("%s %zu '%s': %s\n", what, i, leaves[i].path.c_str(),
                leaves[i].type.c_str());
  }
}

// Ones for every float32 input; sizes that vary are 2. Elements stay where they
// are: a call reads them there.
class Ones {
 public:
  explicit Ones(const tenon::Model& model) {
    for (const tenon::ModelLeaf& leaf : model.inputs()) {
      if (leaf.is_fixed || leaf.dtype != "float32") continue;
      tenon::TensorView view;
      view.dtype = leaf.dtype;
      size_t count = 1;
      for (const int64_t size : leaf.sizes) {
        view.sizes.push_back(size == tenon::ModelLeaf::kDynamic ? 2 : size);
        count *= static_cast<size_t>(view.sizes.back());
      }
      memory_.emplace_back(count, 1.0f);
      view.data = memory_.back().data();
      inputs_.emplace_back(leaf.path, view);
    }
  }
  const tenon::Runner::Inputs& inputs() const { return inputs_; }

 private:
  std::vector<std::vector<float>> memory_;
  tenon::Runner::Inputs inputs_;
};

// The first number of the first result; what is wrong goes into `errors`.
float FirstNumber(const tenon::Model& model, tenon::Errors* errors) {
  auto runner = tenon::Runner::Load(model);
  if (!runner) {
    *errors = runner.errors();
    return 0;
  }
  const Ones ones(model);
  const auto results = runner->Run(ones.inputs());
  if (!results) {
    *errors = results.errors();
    return 0;
  }
  return *static_cast<const float*>((*results)[0].tensor().data);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const auto methods = tenon::Model::Methods(argv[1]);
  if (!methods) return Show(methods.errors());
  for (const std::string& name : *methods) std::printf("%s\n", name.c_str());

  auto model = tenon::Model::Open(argv[1]);
  if (!model) return Show(model.errors());
  std::printf("%s -> %s\n", model->signature().c_str(),
              model->returns().c_str());
  Describe("input", model->inputs());
  Describe("output", model->outputs());
  if (argc > 2) {
    auto hybrid = model->Export({argv[2]});
    if (!hybrid) return Show(hybrid.errors());
    model = hybrid;
  }

  constexpr size_t kNumThreads = 4;
  std::vector<float> numbers(kNumThreads);
  std::vector<tenon::Errors> errors(kNumThreads);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kNumThreads; ++t) {
    threads.emplace_back(
        [&, t] { numbers[t] = FirstNumber(*model, &errors[t]); });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < kNumThreads; ++t) {
    if (!errors[t].empty()) return Show(errors[t]);
    std::printf("%.6f\n", static_cast<double>(numbers[t]));
  }
  return 0;
}
