// The payload of ExecuTorch's XNNPACK delegate.
//
//   0  zeros        4 bytes
//   4  "XH00"
//   8  u16          length of this header, 30
//  10  u32, u32     place and size of the graph
//  18  u32, u64     place and size of the constants: the end, and none, as they
//                   are asked for by key
//  32  the graph    FlatBuffer "XN01"
#pragma once

#include <cstddef>
#include <vector>

#include "xnnpack/xnn_graph.h"

namespace tenon::xnnpack {

// Empty when the graph is larger than a FlatBuffer may be.
std::vector<std::byte> WritePayload(const Graph& graph);

}  // namespace tenon::xnnpack
