#include "conformance/pt2/side_by_side.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "conformance/pt2/compare.h"
#include "conformance/pt2/replay.h"
#include "formats/pt2/pt2.h"

namespace tenon::conformance {
namespace {

constexpr size_t kShown = 6;

int Fail(const Diagnostics& diags) {
  std::fputs(diags.ToString().c_str(), stderr);
  return 2;
}

void PrintNumbers(const char* side, const std::vector<double>& numbers) {
  std::printf("    %-8s", side);
  for (size_t i = 0; i < std::min(numbers.size(), kShown); ++i) {
    std::printf(" %10.6f", numbers[i]);
  }
  std::printf("%s\n", numbers.size() > kShown ? "  ..." : "");
}

void ShowOutput(size_t call, size_t leaf, const RuntimeValue& got,
                const RuntimeValue& want) {
  if (!want.is_tensor() || !got.is_tensor() ||
      got.tensor().sizes() != want.tensor().sizes()) {
    return;
  }
  const std::vector<double> ours = AsDoubles(got.tensor());
  const std::vector<double> theirs = AsDoubles(want.tensor());
  double largest = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    largest = std::max(largest, std::abs(ours[i] - theirs[i]));
  }
  std::printf("  call %zu, output %zu: %s, largest difference %.1e\n", call,
              leaf, want.tensor().ToString().c_str(), largest);
  PrintNumbers("PyTorch", theirs);
  PrintNumbers("Tenon", ours);
}

}  // namespace

int ShowSideBySide(const std::string& manifest, const std::string& name,
                   const std::string& file) {
  Diagnostics diags;
  const auto entries = ReadManifest(manifest, diags);
  if (!entries) return Fail(diags);
  const auto entry =
      std::find_if(entries->begin(), entries->end(),
                   [&](const CorpusProgram& e) { return e.name == name; });
  if (entry == entries->end()) {
    std::fprintf(stderr, "%s has no program '%s'\n", manifest.c_str(),
                 name.c_str());
    return 2;
  }
  const auto recording = OpenSafetensors(entry->io_path, diags);
  if (!recording) return Fail(diags);
  auto program =
      ReadPt2(file, std::make_shared<Context>(), Pt2ReadOptions(), diags);
  if (!program) return Fail(diags);
  const ReplayResult result =
      Replay(std::make_shared<Program>(std::move(*program)), *entry, *recording,
             ShowOutput);
  if (!result.difference.empty()) {
    std::printf("differs: %s\n", result.difference.c_str());
    return 1;
  }
  std::printf("  all within %g + %g * |x|\n", entry->tolerance.absolute,
              entry->tolerance.relative);
  return 0;
}

}  // namespace tenon::conformance
