// The members in which an archive keeps what PyTorch's schema has no place
// for: delegates with payloads and source graphs, and regions
// (docs/formats/pt2.md, "Tenon's members").
#pragma once

#include <string_view>
#include <unordered_map>

#include "formats/pt2/archive.h"
#include "formats/pt2/read_types.h"
#include "ir/program.h"

namespace tenon {

constexpr std::string_view kTenonFolder = "data/tenon/";
constexpr std::string_view kDelegatesMember = "data/tenon/delegates.json";
constexpr int64_t kDelegatesVersion = 1;

// Fills program->delegates and ->regions, and adds the source graphs. Nothing
// happens when the archive has none. `by_name` is for the graph's calls.
Status ReadDelegates(const Pt2Archive& archive, const Pt2ReadOptions& options,
                     SymbolTable* symbols, Program* program,
                     std::unordered_map<StringId, DelegateId>* by_name,
                     Diagnostics& diags);

}  // namespace tenon
