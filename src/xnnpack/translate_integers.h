// Nodes between two quantisations, on integers.
//
//   %d = dequantize_per_tensor(%q, ..)
//   %c = aten.convolution(%d, <stored integers>, ..)      one node that reads
//   %r = aten.relu(%c)                              ->    %q and gives %p
//   %p = quantize_per_tensor(%r, ..)
//
// Such a node rounds what the program rounds, from sums that are exact where
// the program's are rounded to float32: a result may be the other neighbour
// only where the program's own lies next to a tie.
//
// But XNNPACK's biases are integers, in units of the products that they are
// added to, where the program's are float32. That shifts results, by a
// thousandth of a step in a usual network, and those near enough to a tie
// become their neighbours. So a node works on integers when its bias doesn't
// shift results by more than another order of float32 sums does, 2^-12 of a
// step; or, for whoever says that biases may be rounded (GraphBuilder::
// rounds), as ExecuTorch's own exporter does, by half a step.
#pragma once

#include <optional>
#include <vector>

#include "xnnpack/translate.h"

namespace tenon::xnnpack {

struct IntegerNode {
  PerTensorQuant output;
  ValueId result;                    // integers
  std::optional<OutputRange> range;  // of an activation before the rounding
  std::vector<NodeId> taken;         // further nodes that it stands for
};
// Nothing where the node works on numbers.
std::optional<IntegerNode> FindIntegerNode(GraphBuilder& graph, NodeId node);

// The node of the region that alone reads a value, once; invalid: none.
NodeId OnlyReader(const Program& region, ValueId v);

// The bias of a node on integers that reads `x`.
uint32_t AddIntegerBias(Task& t, const QuantizedWeight& weight, ValueId x,
                        ValueId bias, int64_t num_outputs);

}  // namespace tenon::xnnpack
