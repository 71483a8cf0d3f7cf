#include "pte_exports.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include "executorch/delegate_regions.h"
#include "executorch/export_pte.h"
#include "formats/pt2/pt2.h"
#include "formats/pte/pte.h"
#include "support/atomic_file.h"

namespace tenon::bench {
namespace {

Program Read(const std::string& model) {
  Diagnostics diags;
  auto program = ReadPt2(PeersFolder() + "/" + model + ".pt2",
                         std::make_shared<Context>(), Pt2ReadOptions(), diags);
  Check(program.ok(), diags, "read");
  return std::move(*program);
}

PteExportOptions WithXnnpack() {
  PteExportOptions options;
  options.backends.push_back(executorch::FindDelegateBackend("xnnpack"));
  return options;
}

template <typename Step>
Duration Shortest(int times, Step&& step) {
  Duration best;
  for (int i = 0; i < times; ++i) {
    Diagnostics diags;
    Stopwatch watch;
    bool ok = false;
    watch.Time([&] { ok = step(diags); });
    Check(ok, diags, "write a .pte");
    const Duration now = watch.total();
    best = i == 0 ? now
                  : Duration{std::min(best.wall_s, now.wall_s),
                             std::min(best.cpu_s, now.cpu_s)};
  }
  return best;
}

}  // namespace

PteExports::PteExports(const std::string& model)
    : path_(PeersFolder() + "/" + model + ".tenon.pte"), program_(Read(model)) {
  Diagnostics diags;
  PteExportReport report;
  auto made = MakePte(program_, WithXnnpack(), &report, diags);
  Check(made.ok(), diags, "make a .pte");
  made_ = std::move(*made);
  Export(1);
  std::ifstream file(path_, std::ios::binary);
  bytes_.assign(std::istreambuf_iterator<char>(file), {});
}

Duration PteExports::Export(int times) const {
  return Shortest(times, [&](Diagnostics& diags) {
    return ExportPte(program_, path_, WithXnnpack(), diags).ok();
  });
}

Duration PteExports::Write(int times) const {
  return Shortest(times, [&](Diagnostics& diags) {
    return WritePte(made_, path_ + ".written", PteWriteOptions(), diags).ok();
  });
}

Duration PteExports::Copy(int times) const {
  return Shortest(times, [&](Diagnostics&) {
    AtomicFile file;
    return file.Open(path_ + ".copied") && file.Write(AsBytes(bytes_)) &&
           file.Commit();
  });
}

}  // namespace tenon::bench
