// What one node costs, operation by operation (operations.cc).
//
//   tenon_bench --benchmark_filter='verify/.*'
//
// items_per_second counts nodes. `ns_per_node` should be the same at each size,
// and `growth`, the time at 2N nodes over that at N, close to 2.
#include <benchmark/benchmark.h>

#include "operations.h"
#include "sizes.h"

namespace tenon::bench {
namespace {

// Runs that the best is taken of: more where one is short.
int Times(int64_t num_nodes) { return num_nodes > 100'000 ? 3 : 9; }

// CPU time: it tells the same on a busy machine as on a quiet one.
double BestCpu(const Operation& operation, Case& c) {
  return BestOf(operation, c, Times(c.num_nodes())).cpu_s;
}

void Measure(benchmark::State& state, const Operation& operation) {
  const int64_t n = state.range(0);
  Case c(n);
  for (auto _ : state) {
    Stopwatch watch;
    operation.run(c, watch);
    state.SetIterationTime(watch.total().wall_s);
  }
  const double single = BestCpu(operation, c);
  if (operation.is_flat) {
    state.counters["ns"] = single * 1e9;
    return;
  }
  state.SetItemsProcessed(state.iterations() * n);
  state.counters["ns_per_node"] = single * 1e9 / static_cast<double>(n);
  if (operation.ratio != nullptr) state.counters["ratio"] = operation.ratio(c);
  if (n > kMaxGrowthNodes) return;
  Case twice(2 * n);
  state.counters["growth"] = BestCpu(operation, twice) / single;
}

void RegisterAll() {
  for (const Operation& operation : AllOperations()) {
    if (operation.needs_peer) continue;
    auto* b = benchmark::RegisterBenchmark(
        operation.name,
        [&operation](benchmark::State& state) { Measure(state, operation); });
    b->UseManualTime()->Unit(benchmark::kMillisecond);
    if (operation.is_flat) {
      for (const int64_t n : kChildSizes) b->Arg(n);
    } else {
      for (const int64_t n : kNodeCounts) b->Arg(n);
    }
  }
}

}  // namespace
}  // namespace tenon::bench

int main(int argc, char** argv) {
  tenon::bench::KeepFreedMemory();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  tenon::bench::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
