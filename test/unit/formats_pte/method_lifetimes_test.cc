// Lifetimes of programs that ExecuTorch's exporter wrote. Its own plans are the
// judge of ours: nothing that we say is alive together overlaps there. And the
// memory planner needs less for the same.
#include "formats/pte/method_lifetimes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "formats/pte/pte.h"
#include "memory/memory_plan.h"
#include "memory/overlap.h"

namespace tenon {
namespace {

constexpr const char* kFolders[] = {"test/data/pte", "../shared/corpus/pte"};
constexpr uint64_t kAlignment = 16;  // the exporter's

// What the exporter got wrong: a branch's result is bound, not copied, and its
// memory is given to somebody else while it is needed.
const std::set<std::string> kWrong = {"cond_twice"};

std::vector<std::filesystem::path> Programs() {
  std::set<std::filesystem::path> paths;
  for (const char* folder : kFolders) {
    if (!std::filesystem::exists(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".pte") paths.insert(entry.path());
    }
  }
  return {paths.begin(), paths.end()};
}

// The largest end of a tensor, and where each lies, all arenas in a row.
uint64_t Exported(const PtePlan& plan, const PteMethodLifetimes& found,
                  std::vector<uint64_t>* offsets) {
  std::vector<uint64_t> bases = {0};
  for (const int64_t bytes : plan.arena_bytes) {
    bases.push_back(bases.back() +
                    (static_cast<uint64_t>(bytes) + kAlignment - 1) /
                        kAlignment * kAlignment);
  }
  uint64_t end = 0;
  for (size_t i = 0; i < found.values.size(); ++i) {
    const PteTensor& t = *plan.values[found.values[i][0]].tensor();
    offsets->push_back(bases[t.allocation->memory_id] + t.allocation->offset);
    end = std::max(end, offsets->back() + found.lifetimes[i].size_bytes);
  }
  return (end + kAlignment - 1) / kAlignment * kAlignment;
}

TEST(MethodLifetimes, OfExportedPrograms) {
  size_t num_methods = 0, num_planned = 0;
  double stock_sum = 0, stock_worst = 1, sum = 0, worst = 1;
  for (const auto& path : Programs()) {
    Diagnostics diags;
    const auto program = ReadPte(path.string(), diags);
    ASSERT_TRUE(program) << path << diags.ToString();
    for (const PtePlan& plan : program->plans) {
      if (plan.chains.size() != 1) continue;
      const auto found = FindLifetimes(plan, kAlignment);
      ASSERT_TRUE(found) << path << " " << plan.name;
      std::vector<uint64_t> offsets;
      const uint64_t stock = Exported(plan, *found, &offsets);
      const auto overlap = FindOverlap(found->lifetimes, offsets);
      EXPECT_EQ(overlap.has_value(), kWrong.contains(path.stem().string()));
      if (overlap && !kWrong.contains(path.stem().string())) {
        ADD_FAILURE() << path << " " << plan.name << ": values "
                      << found->values[overlap->first][0] << " and "
                      << found->values[overlap->second][0];
      }
      const auto planned = PlanMemory(found->lifetimes, {}, diags);
      ASSERT_TRUE(planned) << path << diags.ToString();
      EXPECT_FALSE(FindOverlap(found->lifetimes, planned->offsets)) << path;
      EXPECT_LE(planned->ratio(), 1.01) << path << " " << plan.name;
      ++num_methods;
      if (planned->bound_bytes == 0) continue;
      ++num_planned;
      const double stock_ratio = static_cast<double>(stock) /
                                 static_cast<double>(planned->bound_bytes);
      stock_sum += stock_ratio;
      stock_worst = std::max(stock_worst, stock_ratio);
      sum += planned->ratio();
      worst = std::max(worst, planned->ratio());
    }
  }
  EXPECT_GT(num_methods, 10u);
  const auto count = static_cast<double>(num_planned);
  std::cout << num_planned << " plans beside their bounds; exported: mean "
            << stock_sum / count << ", worst " << stock_worst
            << "; planned anew: mean " << sum / count << ", worst " << worst
            << "\n";
}

}  // namespace
}  // namespace tenon
