// The record of a compiled engine: 13 lines for the 13 strings, then the object
// that holds them, and the metadata pickled inside.
#include "formats/tensorrt/engine_object.h"
#include "formats/tensorrt/engine_record.h"
#include "formats/tensorrt/engine_shapes.h"
#include "fuzz/target.h"

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
}

}  // namespace tenon::fuzz
