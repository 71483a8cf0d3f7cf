#include "backends/tuning_shape.h"

#include <algorithm>

namespace tenon {

TuningShape TuneFor(std::optional<int64_t> min, std::optional<int64_t> max) {
  TuningShape out;
  const int64_t low = min.value_or(0);
  out.min = std::max<int64_t>(low, 1);
  if (low < 1) {
    out.note = "empty tensors are handled outside the region";
  }
  if (max) {
    out.max = std::max(*max, out.min);
  } else {
    out.max = std::max(kUnboundedSize, out.min);
    if (!out.note.empty()) out.note += "; ";
    out.note += "no upper bound is stated, " + std::to_string(out.max) +
                " is assumed: state one when exporting";
  }
  out.opt = out.min + (out.max - out.min) / 2;
  return out;
}

}  // namespace tenon
