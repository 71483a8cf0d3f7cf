// ExecuTorch programs: a FlatBuffer of tables, of which the names of delegates
// and the segments are read. Tables are found through relative offsets; each
// one is checked against the file, and every list counts against its bytes.
#include <algorithm>
#include <optional>
#include <string>

#include "formats/kind/file_kind.h"
#include "scan/scanner.h"

namespace tenon {
namespace {

// Fields of Program, DataSegment, ExecutionPlan and BackendDelegate.
constexpr uint16_t kExecutionPlan = 1, kSegments = 4;
constexpr uint16_t kOffset = 0, kSize = 1;
constexpr uint16_t kDelegates = 7;
constexpr uint16_t kId = 0;

// Where the extended header says that segments begin.
constexpr uint64_t kHeaderAt = 8, kSegmentBaseAt = 24;

class Tables {
 public:
  explicit Tables(Bytes bytes) : bytes_(bytes) {}

  std::optional<uint64_t> Root() const { return Follow(0); }

  // Where the value of a table's field lies; nullopt when it is absent or the
  // table is broken.
  std::optional<uint64_t> Field(uint64_t table, uint16_t id) const {
    const auto distance = At<int32_t>(table);
    if (!distance) return std::nullopt;
    const auto layout =
        static_cast<uint64_t>(static_cast<int64_t>(table) - *distance);
    const auto size = At<uint16_t>(layout);
    const uint64_t slot = 4 + uint64_t{2} * id;
    if (!size || slot + 2 > *size) return std::nullopt;
    const auto offset = At<uint16_t>(layout + slot);
    if (!offset || *offset == 0) return std::nullopt;
    return table + *offset;
  }
  std::optional<uint64_t> Follow(std::optional<uint64_t> at) const {
    const auto offset = at ? At<uint32_t>(*at) : std::nullopt;
    if (!offset || *offset >= bytes_.size()) return std::nullopt;
    return *at + *offset;
  }
  // The number of items of a list of references, none of which lies outside
  // the file.
  uint32_t Count(std::optional<uint64_t> list) const {
    const auto count = list ? At<uint32_t>(*list) : std::nullopt;
    if (!count || *count > (bytes_.size() - *list) / 4) return 0;
    return *count;
  }
  // A number of 8 bytes; 0 is left out of tables.
  uint64_t Number(uint64_t table, uint16_t id) const {
    const auto at = Field(table, id);
    return at ? At<uint64_t>(*at).value_or(0) : 0;
  }
  uint64_t SegmentBase() const {
    const bool has_header = bytes_.size() >= kHeaderAt + 4 &&
                            AsText(bytes_.subspan(kHeaderAt, 4)) == "eh00";
    return has_header ? At<uint64_t>(kSegmentBaseAt).value_or(0) : 0;
  }
  std::optional<std::string_view> String(std::optional<uint64_t> at) const {
    const auto size = at ? At<uint32_t>(*at) : std::nullopt;
    if (!size || *size > bytes_.size() - *at - 4) return std::nullopt;
    return AsText(bytes_.subspan(*at + 4, *size));
  }

 private:
  template <typename T>
  std::optional<T> At(uint64_t offset) const {
    if (offset > bytes_.size()) return std::nullopt;
    return ByteCursor(bytes_, offset).Read<T>();
  }

  Bytes bytes_;
};

void ScanSegments(const Tables& tables, uint64_t root, Bytes bytes,
                  const std::string& place, Scanner* scanner) {
  const auto segments = tables.Follow(tables.Field(root, kSegments));
  for (uint32_t i = 0; i < tables.Count(segments); ++i) {
    const auto segment = tables.Follow(*segments + 4 + uint64_t{4} * i);
    if (!segment) continue;
    const uint64_t base = tables.SegmentBase();
    const uint64_t offset = tables.Number(*segment, kOffset);
    const uint64_t size = tables.Number(*segment, kSize);
    if (base > bytes.size() || offset > bytes.size() - base) continue;
    const Bytes rest = bytes.subspan(base + offset);
    const Bytes content = rest.first(std::min<uint64_t>(size, rest.size()));
    if (IsNativeCode(content)) {
      scanner->Danger(Rule::kXCode01, Place::Offset(place, base + offset))
          << "segment " << i
          << " is native code, which a delegate may load and run";
    }
  }
}

}  // namespace

void ScanExecuTorch(Bytes bytes, const std::string& place, Scanner* scanner) {
  const Tables tables(bytes);
  const auto root = tables.Root();
  const auto plans =
      root ? tables.Follow(tables.Field(*root, kExecutionPlan)) : std::nullopt;
  if (!plans) {
    scanner->Danger(Rule::kXLimit02, Place::File(place))
        << "the program has no list of methods that lies in the file";
    return;
  }
  ScanSegments(tables, *root, bytes, place, scanner);
  std::vector<std::string>& known = scanner->report.delegates;
  for (uint32_t i = 0; i < tables.Count(plans); ++i) {
    const auto plan = tables.Follow(*plans + 4 + uint64_t{4} * i);
    const auto delegates =
        plan ? tables.Follow(tables.Field(*plan, kDelegates)) : std::nullopt;
    for (uint32_t k = 0; k < tables.Count(delegates); ++k) {
      const auto delegate = tables.Follow(*delegates + 4 + uint64_t{4} * k);
      const auto id =
          delegate ? tables.String(tables.Follow(tables.Field(*delegate, kId)))
                   : std::nullopt;
      if (!id || std::find(known.begin(), known.end(), *id) != known.end()) {
        continue;
      }
      known.emplace_back(*id);
      scanner->Remark(Rule::kXObject02, Place::File(place))
          << "a payload for the backend '" << id->substr(0, 100)
          << "', which is the backend's to read";
      if (*id == "CudaBackend") {
        scanner->Danger(Rule::kXCode01, Place::File(place))
            << "backend 'CudaBackend' writes a library that the program names "
               "to the disk and runs it";
      }
    }
  }
}

}  // namespace tenon
