// Which operators of a region may change an input where they give a changed
// copy of it.
//
//   %new = aten.index_put(%cache, [None, None, %at], %rows)
//
// gives all of %cache with a few rows of it replaced. Where %new takes the
// place of %cache (BackendOptions::replaceable) and nobody reads %cache after
// this node, putting the rows into %cache is the same and copies no more than
// them. So is, with `slice` and `slice_scatter` of one part,
//
//   %part = slice(%cache)   %new_part = slice_scatter(%part, %rows)
//   %new = slice_scatter(%cache, %new_part)
#pragma once

#include <span>
#include <vector>

#include "backends/backend.h"
#include "ir/program.h"

namespace tenon {

// The nodes of the root graph that may write into their first operand instead
// of a copy of it, by node index. A node that writes a view of an input that is
// given to another of them as the new content of that view is among them.
// Linear in the region for each of `replaced`.
std::vector<bool> FindInPlaceUpdates(const Program& region,
                                     std::span<const DeclaredWrite> replaced);

}  // namespace tenon
