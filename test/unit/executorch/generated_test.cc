// Programs that nobody wrote: each becomes a plan that holds the rules of its
// format, or an error; odd numbers in it never crash.
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "../export/property.h"
#include "executorch/export_pte.h"
#include "formats/pt2/pt2.h"

namespace tenon {
namespace {

TEST(ExportPteGenerated, RandomProgramsBecomePlansOrErrors) {
  uint32_t num_made = 0;
  ForRandomPrograms(100, false, [&](const Program& source, uint64_t) {
    Diagnostics diags;
    PteExportReport report;
    const auto made = MakePte(source, PteExportOptions(), &report, diags);
    num_made += made.ok();
    if (!made) return diags.has_errors() ? "" : std::string("says nothing");
    const auto again = MakePte(source, PteExportOptions(), &report, diags);
    return again && *again == *made ? "" : std::string("another plan");
  });
  EXPECT_GT(num_made, 5u);
}

constexpr int64_t kOdd[] = {-1, 0, 1, 7, -9, 1000, INT64_MAX, INT64_MIN};

// TENON_ODD_LITERALS=FOLDER tries the programs of another folder.
TEST(ExportPteGenerated, OddLiteralsNeverCrash) {
  const char* folder = std::getenv("TENON_ODD_LITERALS");
  size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator(
           folder == nullptr ? "test/data/pt2" : folder)) {
    if (file.path().extension() != ".pt2") continue;
    Diagnostics diags;
    const auto source = ReadPt2(file.path(), std::make_shared<Context>(),
                                Pt2ReadOptions(), diags);
    if (!source) continue;
    std::vector<ArgId> places;
    for (const NodeId n : source->nodes(Program::kRoot)) {
      if (source->node(n).kind != NodeKind::kOp) continue;
      source->ForEachArg(source->node(n).args, [&](const Arg& a, ArgId id) {
        if (a.kind == ArgKind::kInt) places.push_back(id);
      });
    }
    for (size_t i = 0; i < places.size() && i < 40; ++i, ++count) {
      Program program = source->CloneApart();
      program.SetArg(places[i], Arg::Int(kOdd[(i + count) % std::size(kOdd)]),
                     /*keep_label=*/true);
      Diagnostics said;
      PteExportReport report;
      const auto made = MakePte(program, PteExportOptions(), &report, said);
      EXPECT_TRUE(made || said.has_errors()) << file.path();
    }
  }
  EXPECT_GT(count, 0u);
}

}  // namespace
}  // namespace tenon
