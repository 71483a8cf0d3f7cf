// Elementwise functions that go through a library, element by element: they
// gain nothing from an instruction set, so their loops are compiled once.
#pragma once

#include "backends/cpu/loops/loops.h"

namespace tenon::cpu {

// The best loop for the operation, of this file or of the machine's set. Null
// when there is none for the type.
TileFn FindTileLoop(TileOp op, DType dtype);

}  // namespace tenon::cpu
