// Hybrid graphs from outside, in the encoding "hybrid-1": a graph that calls
// child graphs, with state, optional specs and example calls, as one JSON file
// beside a safetensors file (docs/formats/hybrid.md).
//
// What it becomes:
//
//   child                    a graph; one per way of being called (below)
//   child with a backend     the source of a delegate without payload
//   call_module              a child call or delegate call, all arguments
//                            positional, in the order of the child's inputs
//   structure (tuple, ...)   its leaves: structures are taken apart when a
//                            child is called, when it returns, by getitem
//   int, None, dtype, ...    a literal, in the child too: passing one to a
//                            child makes it part of that child
//   get_attr                 a state reference, or a nested graph's operand
//
// So a child that is called with other structures or literals becomes another
// graph. Names decide nothing but what they declare: keyword arguments find the
// placeholder that is declared under that target (J-1), references stay in
// their graph (J-2).
//
// Without specs, those of the first example call are taken (S-2, S-3).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "diag/diagnostics.h"
#include "diag/limits.h"
#include "formats/tensor/safetensors.h"
#include "ir/program.h"
#include "support/byte_cursor.h"
#include "support/expected.h"

namespace tenon {

struct HybridReadOptions {
  ReadLimits limits;
};

// `path` names the JSON file; its tensors are read from the file that it
// names, beside it. Weights are mapped, not copied. The program's state
// references aren't lifted and its children aren't joined.
Expected<Program> ReadHybrid(const std::string& path,
                             std::shared_ptr<Context> context,
                             const HybridReadOptions& options,
                             Diagnostics& diags);
// The same from memory; `tensors` are those that the document names, `name`
// stands in messages. Tensors that share a storage stay views over one; the
// program keeps what holds their bytes, not `text`.
Expected<Program> ReadHybrid(Bytes text, const Safetensors& tensors,
                             const std::string& name,
                             std::shared_ptr<Context> context,
                             const HybridReadOptions& options,
                             Diagnostics& diags);

}  // namespace tenon
