// Programs that benchmarks make, and that the Python side makes of FX graphs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ir/program.h"

namespace tenon::bench {

// A hybrid program as a partitioner leaves it: a root graph that does nothing
// but call children.
struct HybridShape {
  uint32_t num_children = 1;
  uint32_t ops_per_child = 20;
};

// Every child takes two values and returns two, which the next child takes:
//   t, v = p, q;  then  v, t = t, t + v  again and again, the first time t * w
// where w is a weight of the child, not lifted. As peers/bench_exporter.py.
Program MakeHybrid(const HybridShape& shape, std::shared_ptr<Context> context);

// Every node adds the value before it and one of the last `width` values. As
// peers/bench_partition.py; width 1 is a chain.
Program MakeDag(uint32_t num_nodes, uint32_t width,
                std::shared_ptr<Context> context);

}  // namespace tenon::bench
