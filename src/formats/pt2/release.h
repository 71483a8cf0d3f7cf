// Releases of PyTorch as targets of the writer: which archive layout and which
// minor version of the schema each of them writes and opens.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tenon {

// See docs/formats/pt2.md.
enum class Pt2Layout {
  kPlainZip,  // A: no root folder, weights in one pickle (torch <= 2.7)
  kPickled,   // B: root folder, weights in one pickle per model (torch 2.8)
  kRaw,       // C: one raw record per storage (torch >= 2.9)
};

struct Pt2Release {
  std::string_view name;  // "2.7"
  Pt2Layout layout;
  int64_t schema_minor;
};

// All that are known, oldest first.
std::span<const Pt2Release> AllPt2Releases();
// By a version like "2.7", "2.7.1" or "2.7.1+cpu"; null when it isn't known.
const Pt2Release* FindPt2Release(std::string_view version);
// "2.6, 2.7, ...", for messages.
std::string Pt2ReleaseNames();

// The schema's major version: the only one there has been.
constexpr int64_t kSchemaMajor = 8;

// The minor versions in which the schema got words that change how a model is
// spelled, and after which a program that needs them can be written. Those that
// no release had by themselves count as the next release's.
namespace schema_minor {
// Argument kinds, is_hop_single_tensor_return, treespec_namedtuple_fields, and
// strings for non-finite floats.
inline constexpr int64_t kPassingKinds = 7;
// Layout C, as_complex, parameter_mutation, guards_code. From here on PyTorch
// ignores members that it doesn't know; before, it refuses them.
inline constexpr int64_t kRawRecords = 14;
inline constexpr int64_t kIntLists = 15;
inline constexpr int64_t kDicts = 15;
inline constexpr int64_t kNodeNames = 16;
inline constexpr int64_t kNestedTensors = 17;
inline constexpr int64_t kFloatLists = 19;
// The newest that Tenon knows.
inline constexpr int64_t kNewest = 20;
}  // namespace schema_minor

}  // namespace tenon
