// The record of a compiled engine: 13 lines for the 13 strings, then the object
// that holds them, and the metadata pickled inside; the container around an
// engine in a .pte, and the block of a region.
#include <algorithm>
#include <cstring>
#include <vector>

#include "formats/tensorrt/engine_container.h"
#include "formats/tensorrt/engine_object.h"
#include "formats/tensorrt/engine_record.h"
#include "formats/tensorrt/engine_shapes.h"
#include "fuzz/target.h"
#include "region_blob/region_blob.h"
#include "support/hash.h"

namespace tenon::fuzz {
namespace {

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> out;
  while (out.size() < kNumEngineFields && !text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

void CheckStrings(const EngineStrings& strings) {
  Diagnostics diags;
  const auto record = ParseEngineRecord(strings, Place::Node("fuzz"), diags);
  if (!record) {
    Expect(diags.has_errors(), "a refusal to parse says why");
    return;
  }
  ReadEngineShapes(record->metadata);
  const auto printed = PrintEngineRecord(*record, Place::Node("fuzz"), diags);
  Expect(printed.ok(), "what was accepted prints", diags.ToString());
  for (size_t i = 0; i < kNumEngineFields; ++i) {
    if (strings.engine_is_raw && i == size_t(EngineField::kEngine)) continue;
    Expect((*printed)[i] == strings.fields[i],
           "what was accepted prints as it was", (*printed)[i]);
  }
}

void CheckContainer(Bytes bytes) {
  const Place place = Place::Node("fuzz");
  Diagnostics diags;
  const auto container = ReadEngineContainer(bytes, place, diags);
  if (!container) {
    Expect(diags.has_errors(), "a refusal to read says why");
    return;
  }
  const auto written = WriteEngineContainer(*container, place, diags);
  Expect(written.ok(), "what was accepted is written", diags.ToString());
  const auto back = ReadEngineContainer(*written, place, diags);
  Expect(back.ok(), "what was written is read", diags.ToString());
  Expect(back->inputs == container->inputs &&
             back->outputs == container->outputs &&
             back->aliases.size() == container->aliases.size() &&
             AsText(back->engine) == AsText(container->engine),
         "what was written is the same");
}

// With the digest that the bytes have, so that not all are refused for it.
void CheckBlock(Bytes bytes) {
  std::vector<std::byte> block(bytes.begin(), bytes.end());
  if (block.size() >= kRegionBlobHeadBytes) {
    const Digest digest = HashBytes(block.data() + kRegionBlobHeadBytes,
                                    block.size() - kRegionBlobHeadBytes);
    std::memcpy(block.data() + 40, &digest, sizeof(digest));
  }
  Diagnostics diags;
  const auto blob = ReadRegionBlob(block, diags);
  if (!blob) {
    Expect(diags.has_errors(), "a refusal to read says why");
    return;
  }
  Expect(WriteRegionBlob(*blob) == block, "what was accepted is written again");
}

}  // namespace

void FuzzEngine(Bytes bytes) {
  CheckStrings({Lines(AsText(bytes)), false, nullptr});
  Diagnostics diags;
  const auto object =
      ReadEngineObject(bytes, nullptr, Place::Node("fuzz"), diags);
  if (object) {
    CheckStrings(*object);
  } else {
    Expect(diags.has_errors(), "a refusal to read says why");
  }
  ReadEngineShapes(AsText(bytes));
  CheckContainer(bytes);
  CheckBlock(bytes);
}

}  // namespace tenon::fuzz
