// Which results of a region's call may take the place of one of its arguments,
// in memory: BackendOptions::replaceable.
//
//   call region(%cache, ...) -> %new, ...      return (%new as buffer_mutation
//                                              of the buffer that %cache is)
//
// After the call the buffer is %new, whoever writes it: the region itself, in
// place, or the session, which copies. The region may do it when nobody reads
// %cache afterwards, and nobody keeps %new, which the next call overwrites.
#pragma once

#include <vector>

#include "analysis/effects.h"
#include "ir/program.h"

namespace tenon {

class ReplaceableInputs {
 public:
  // Looks at a lifted program before regions are cut out of it. Outlining keeps
  // the ids of nodes and values, so that what is found holds afterwards.
  explicit ReplaceableInputs(const Program& program);

  // Of a call in the same program, cut.
  std::vector<DeclaredWrite> Of(const Program& program, NodeId call) const;

 private:
  struct Replacement {
    uint32_t output = 0;  // position among the root's outputs
    ValueId input, result;
    std::vector<NodeId> readers;  // of the input, or of views of it
  };

  bool IsAlone(const Program& program, const Replacement& r) const;
  bool IsLastReader(const Program& program, NodeId call,
                    const Replacement& r) const;

  AliasClasses classes_;
  std::vector<Replacement> replacements_;
};

}  // namespace tenon
