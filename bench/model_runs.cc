#include "model_runs.h"

#include <algorithm>

#include "backends/backend.h"
#include "export/export.h"
#include "formats/pt2/pt2.h"
#include "formats/tensor/safetensors.h"
#include "runtime/binding.h"

namespace tenon::bench {
namespace {

constexpr int kWarmCalls = 3;

// A tensor of one element as the number that it stands for.
RuntimeValue NumberOf(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kBool:
      return *tensor.data<bool>();
    case DType::kFloat32:
      return double{*tensor.data<float>()};
    case DType::kFloat64:
      return *tensor.data<double>();
    default:
      return *tensor.data<int64_t>();
  }
}

// The example call that the other side wrote down: leaves by number.
std::vector<RuntimeValue> ExampleInputs(const Program& program,
                                        const std::string& path) {
  Diagnostics diags;
  const auto file = OpenSafetensors(path, diags);
  Check(file.ok(), diags, "inputs");
  std::vector<RuntimeValue> out;
  for (const uint32_t position : UserInputPositions(program)) {
    const Type& type =
        program.type(program.value(program.root().inputs[position]).type);
    const Tensor* found = file->Find(std::to_string(out.size()));
    Check(found != nullptr, diags, "an input that the file lacks");
    // A copy: programs may write their inputs.
    out.push_back(type.is_tensor() ? RuntimeValue(found->Clone())
                                   : NumberOf(*found));
  }
  return out;
}

}  // namespace

LoadedModel::LoadedModel(const std::string& model, int64_t num_threads) {
  Diagnostics diags;
  auto program = ReadPt2(PeersFolder() + "/" + model + ".pt2",
                         std::make_shared<Context>(), Pt2ReadOptions(), diags);
  Check(program.ok(), diags, "read");
  ExportOptions options;
  options.backends.emplace_back().backend = FindBackend("cpu");
  Check(ExportProgram(&*program, options, diags).ok(), diags, "export");
  inputs_ = ExampleInputs(*program,
                          PeersFolder() + "/" + model + ".inputs.safetensors");
  SessionOptions session;
  session.backend.num_threads = static_cast<int>(num_threads);
  auto loaded = Session::Load(
      std::make_shared<const Program>(std::move(*program)), session, diags);
  Check(loaded.ok(), diags, "load");
  session_ = std::move(*loaded);
  Call(kWarmCalls);
}

Duration LoadedModel::Call(int times) {
  Duration best;
  for (int i = 0; i < times; ++i) {
    Diagnostics diags;
    Stopwatch watch;
    bool ok = false;
    watch.Time([&] { ok = session_->RunFlat(inputs_, diags).ok(); });
    Check(ok, diags, "call");
    const Duration now = watch.total();
    best = i == 0 ? now
                  : Duration{std::min(best.wall_s, now.wall_s),
                             std::min(best.cpu_s, now.cpu_s)};
  }
  return best;
}

}  // namespace tenon::bench
