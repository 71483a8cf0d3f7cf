// Activations that a program quantises: once and for all (a scale and a zero
// point in the program), or by rows when it runs.
//
//   %s, %z = choose_qparams_per_token_asymmetric(%x)
//   %q = quantize_per_token(%x, %s, %z, -128, 127)
//   %d = dequantize_per_token(%q, %s, %z, ..)
//   %y = aten.linear(%d, <stored integers>)
//
// XNNPACK quantises rows in just this way, so that the four nodes are two of
// its own. Other ways to choose a scale at run time aren't its own: one for a
// whole tensor, symmetric ones, and scales that a program bounds from below by
// more than float32's epsilon.
#pragma once

#include <optional>

#include "ir/program.h"
#include "xnnpack/xnn_graph.h"

namespace tenon::xnnpack {

// Scale and zero point of quantize_per_tensor or dequantize_per_tensor to and
// from int8. Nothing for other nodes, and where XNNPACK would compute something
// else: with another range than int8's, or a scale that is no normal number.
std::optional<PerTensorQuant> FindStaticQuant(const Program& program,
                                              NodeId node);
bool IsQuantize(const Program& program, NodeId node);
bool IsDequantize(const Program& program, NodeId node);

// The four parts of a dynamic quantisation, seen from its last node.
struct DynamicQuant {
  ValueId numbers;  // before
  NodeId choose, quantize, dequantize;
};
std::optional<DynamicQuant> FindDynamicQuant(const Program& program,
                                             NodeId dequantize);
// Whether a node may be the second part of one.
bool IsDynamicQuantize(const Program& program, NodeId node);
// The first part of the one that a node may be part of; invalid: of none.
NodeId ChooserOf(const Program& program, NodeId node);

}  // namespace tenon::xnnpack
