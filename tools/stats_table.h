// Statistics of a program's tensors, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "weights/tensor_stats.h"

namespace tenon::tools {

struct NamedStats {
  std::string name;
  std::string kind;  // of the state entry
  Tensor tensor;
  TensorStats stats;
};

std::string StatsAsText(const std::vector<NamedStats>& tensors);
std::string StatsAsJson(const std::vector<NamedStats>& tensors);

}  // namespace tenon::tools
