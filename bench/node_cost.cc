// What one node costs: reading, writing, verifying, cloning, printing, parsing,
// hashing, cutting, outlining, joining, lifting.
//
//   tenon_bench --benchmark_filter='verify/.*'
//
// items_per_second counts nodes. `ns_per_node` should be the same at each size,
// and `growth`, the time at 2N nodes over that at N, close to 2.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "analysis/digest.h"
#include "backends/backend.h"
#include "formats/pt2/pt2.h"
#include "link/join.h"
#include "link/lift.h"
#include "link/outline.h"
#include "partition/partition.h"
#include "sizes.h"
#include "testing/generator.h"
#include "text/text.h"
#include "verify/verify.h"

namespace tenon::bench {
namespace {

using Clock = std::chrono::steady_clock;

// A benchmark that fails measures nothing, so it says why and ends.
void Check(bool ok, const Diagnostics& diags, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "%s failed: %s", what, diags.ToString().c_str());
  std::exit(1);
}

// A program and what operations need of it, made when first asked for.
class Case {
 public:
  Case(testing::ProgramShape shape, int64_t num_nodes)
      : program_(testing::GenerateProgram(
            {shape, static_cast<size_t>(num_nodes), 0, false},
            std::make_shared<Context>())) {}
  ~Case() {
    if (!path_.empty()) unlink(path_.c_str());
  }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  const Program& program() const { return program_; }

  const std::string& text() {
    if (text_.empty()) text_ = PrintProgram(program_, AllInline());
    return text_;
  }
  // A file that holds the program.
  const std::string& file() {
    if (!is_written_) {
      Diagnostics diags;
      Check(WritePt2(program_, path(), {}, diags).ok(), diags, "write");
      is_written_ = true;
    }
    return path_;
  }
  // A path to write to.
  const std::string& path() {
    if (path_.empty()) {
      path_ = "/tmp/tenon-bench-" + std::to_string(getpid()) + ".pt2";
    }
    return path_;
  }

  static PrintOptions AllInline() {
    PrintOptions options;
    options.inline_limit_bytes = SIZE_MAX;
    return options;
  }

 private:
  Program program_;
  std::string text_, path_;
  bool is_written_ = false;
};

// Adds up the spans between Start and Stop.
class Stopwatch {
 public:
  void Start() { start_ = Clock::now(); }
  void Stop() { total_ += Clock::now() - start_; }
  double seconds() const {
    return std::chrono::duration<double>(total_).count();
  }

 private:
  Clock::time_point start_;
  Clock::duration total_{};
};

// Two colours in runs of nodes, so that regions have some size.
std::vector<uint32_t> Colors(const Program& program) {
  std::vector<uint32_t> colors(program.CountNodes(Program::kRoot));
  for (size_t i = 0; i < colors.size(); ++i) {
    colors[i] = static_cast<uint32_t>(i / kNodesPerRegion % 2);
  }
  return colors;
}

std::vector<RegionNodes> Regions(const Program& program) {
  std::vector<RegionNodes> regions;
  for (ColoredRegion& cut :
       CutByColor(program, Program::kRoot, Colors(program), 2)) {
    RegionNodes region;
    region.name = "region_" + std::to_string(regions.size());
    region.nodes = std::move(cut.nodes);
    regions.push_back(std::move(region));
  }
  return regions;
}

struct Operation {
  const char* name;
  void (*run)(Case& c, Stopwatch& watch);
};

void Write(Case& c, Stopwatch& watch) {
  Diagnostics diags;
  watch.Start();
  const auto report = WritePt2(c.program(), c.path(), {}, diags);
  watch.Stop();
  Check(report.ok(), diags, "write");
}

void Read(Case& c, Stopwatch& watch) {
  const std::string& path = c.file();
  Diagnostics diags;
  watch.Start();
  const auto program =
      ReadPt2(path, std::make_shared<Context>(), Pt2ReadOptions(), diags);
  watch.Stop();
  Check(program.ok(), diags, "read");
}

void VerifyAll(Case& c, Stopwatch& watch) {
  Diagnostics diags;
  watch.Start();
  const Status status = Verify(c.program(), VerifyOptions(), diags);
  watch.Stop();
  Check(status.ok(), diags, "verify");
}

void Clone(Case& c, Stopwatch& watch) {
  watch.Start();
  const Program copy = c.program().Clone();
  watch.Stop();
  benchmark::DoNotOptimize(copy.num_nodes());
}

void Print(Case& c, Stopwatch& watch) {
  watch.Start();
  const std::string text = PrintProgram(c.program(), Case::AllInline());
  watch.Stop();
  benchmark::DoNotOptimize(text.data());
}

void Parse(Case& c, Stopwatch& watch) {
  const std::string& text = c.text();
  Diagnostics diags;
  const PayloadSource no_payloads = [](const Digest&) {
    return std::pair<Bytes, std::shared_ptr<const void>>();
  };
  watch.Start();
  const auto program = ParseProgram(text, "bench", std::make_shared<Context>(),
                                    no_payloads, diags);
  watch.Stop();
  Check(program.ok(), diags, "parse");
}

void Hash(Case& c, Stopwatch& watch) {
  watch.Start();
  benchmark::DoNotOptimize(WiringDigest(c.program()));
  watch.Stop();
}

void Plan(Case& c, Stopwatch& watch) {
  PartitionOptions options;
  options.backends.resize(1);
  options.backends[0].backend = FindBackend("echo");
  Diagnostics diags;
  watch.Start();
  const auto plan = PlanPartition(c.program(), options, diags);
  watch.Stop();
  Check(plan.ok(), diags, "partition");
}

void Cut(Case& c, Stopwatch& watch) {
  const std::vector<uint32_t> colors = Colors(c.program());
  watch.Start();
  const auto regions = CutByColor(c.program(), Program::kRoot, colors, 2);
  watch.Stop();
  benchmark::DoNotOptimize(regions.data());
}

void OutlineAll(Case& c, Stopwatch& watch) {
  Program program = c.program().Clone();
  const std::vector<RegionNodes> regions = Regions(program);
  Diagnostics diags;
  watch.Start();
  const auto outlined =
      OutlineRegions(&program, Program::kRoot, regions, diags);
  watch.Stop();
  Check(outlined.ok(), diags, "outline");
}

void Join(Case& c, Stopwatch& watch) {
  Program program = c.program().Clone();
  Diagnostics diags;
  const auto outlined =
      OutlineRegions(&program, Program::kRoot, Regions(program), diags);
  Check(outlined.ok(), diags, "outline");
  watch.Start();
  const Status status = JoinAll(&program, diags);
  watch.Stop();
  Check(status.ok(), diags, "join");
}

void LiftAll(Case& c, Stopwatch& watch) {
  Program program = c.program().Clone();
  Unlift(&program);
  Diagnostics diags;
  watch.Start();
  const Status status = Lift(&program, diags);
  watch.Stop();
  Check(status.ok(), diags, "lift");
}

constexpr Operation kOperations[] = {
    {"read", Read},          {"write", Write},    {"verify", VerifyAll},
    {"clone", Clone},        {"print", Print},    {"parse", Parse},
    {"digest", Hash},        {"partition", Plan}, {"cut", Cut},
    {"outline", OutlineAll}, {"join", Join},      {"lift", LiftAll},
};

double BestOf(const Operation& operation, Case& c, int times) {
  double best = 1e300;
  for (int i = 0; i < times; ++i) {
    Stopwatch watch;
    operation.run(c, watch);
    best = std::min(best, watch.seconds());
  }
  return best;
}

void Measure(benchmark::State& state, const Operation& operation) {
  const int64_t n = state.range(0);
  Case c(testing::ProgramShape::kLayers, n);
  for (auto _ : state) {
    Stopwatch watch;
    operation.run(c, watch);
    state.SetIterationTime(watch.seconds());
  }
  state.SetItemsProcessed(state.iterations() * n);
  const double single = BestOf(operation, c, 3);
  state.counters["ns_per_node"] = single * 1e9 / static_cast<double>(n);
  if (n > kMaxGrowthNodes) return;
  Case twice(testing::ProgramShape::kLayers, 2 * n);
  state.counters["growth"] = BestOf(operation, twice, 3) / single;
}

void RegisterAll() {
  for (const Operation& operation : kOperations) {
    auto* b = benchmark::RegisterBenchmark(
        operation.name,
        [&operation](benchmark::State& state) { Measure(state, operation); });
    b->UseManualTime()->Unit(benchmark::kMillisecond);
    for (const int64_t n : kNodeCounts) b->Arg(n);
  }
}

}  // namespace
}  // namespace tenon::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  tenon::bench::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
