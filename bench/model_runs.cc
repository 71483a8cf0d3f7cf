#include "model_runs.h"

#include <algorithm>

#include "backends/backend.h"
#include "export/export.h"
#include "formats/pt2/pt2.h"
#include "runtime/draw_inputs.h"

namespace tenon::bench {
namespace {

constexpr int kWarmCalls = 3;

}  // namespace

LoadedModel::LoadedModel(const std::string& model, int64_t num_threads) {
  Diagnostics diags;
  auto program = ReadPt2(PeersFolder() + "/" + model + ".pt2",
                         std::make_shared<Context>(), Pt2ReadOptions(), diags);
  Check(program.ok(), diags, "read");
  ExportOptions options;
  options.backends.emplace_back().backend = FindBackend("cpu");
  Check(ExportProgram(&*program, options, diags).ok(), diags, "export");
  auto inputs = DrawInputs(*program, DrawOptions(), diags);
  Check(inputs.ok(), diags, "inputs");
  inputs_ = std::move(*inputs);
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
