// Files of numbers: safetensors and NumPy's.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "scan/lenient_json.h"
#include "scan/scanner.h"

namespace tenon {
namespace {

// As the reference implementation of safetensors has it.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kNumpyMagicBytes = 6;

void AddDType(const JsonElement& tensor, std::vector<std::string>* known) {
  std::string_view dtype;
  if (!tensor["dtype"].Get(&dtype)) return;
  if (std::find(known->begin(), known->end(), dtype) == known->end()) {
    known->emplace_back(dtype);
  }
}

// "" when each tensor's bytes lie in the file.
std::string CheckTensors(const JsonElement& root, uint64_t payload_bytes,
                         ScanReport* report) {
  JsonObject tensors;
  if (!root.Get(&tensors)) return "isn't an object";
  for (const auto field : tensors) {
    if (field.key == "__metadata__") continue;
    JsonArray offsets;
    if (!field.value["data_offsets"].Get(&offsets) || offsets.size() != 2) {
      return "has no place for '" + std::string(field.key) + "'";
    }
    int64_t begin = 0, end = 0;
    if (!offsets.at(0).Get(&begin) || !offsets.at(1).Get(&end) || begin < 0 ||
        begin > end || static_cast<uint64_t>(end) > payload_bytes) {
      return "puts '" + std::string(field.key) + "' outside the file";
    }
    ++report->num_tensors;
    report->tensor_bytes += static_cast<uint64_t>(end - begin);
    AddDType(field.value, &report->tensor_dtypes);
  }
  return "";
}

// The header of an array behind its magic and version; nullopt when it is cut
// off. `end` is where the elements begin.
std::optional<std::string_view> NumpyHeader(Bytes bytes, size_t* end) {
  ByteCursor cursor(bytes, kNumpyMagicBytes);
  const auto major = cursor.Read<uint8_t>();
  const auto minor = cursor.Read<uint8_t>();
  if (!major || !minor) return std::nullopt;
  std::optional<uint64_t> size;
  if (*major == 1) {
    if (const auto n = cursor.Read<uint16_t>()) size = *n;
  } else if (const auto n = cursor.Read<uint32_t>()) {
    size = *n;
  }
  const auto text = size ? cursor.Take(*size) : std::nullopt;
  if (!text) return std::nullopt;
  *end = cursor.offset();
  return AsText(*text);
}

}  // namespace

void ScanSafetensors(Bytes bytes, const std::string& place, Scanner* scanner) {
  ByteCursor cursor(bytes);
  const auto size = cursor.Read<uint64_t>();
  const auto header = size && *size <= kMaxHeaderBytes ? cursor.Take(*size)
                                                       : std::optional<Bytes>();
  std::string problem;
  JsonInput json;
  if (!header) {
    problem = "doesn't fit the file";
  } else if (ParseAsPythonDoes(*header, place, &json, &problem)) {
    problem = CheckTensors(json.root(), cursor.left(), &scanner->report);
  }
  if (problem.empty()) return;
  scanner->Danger(Rule::kXLimit02, Place::File(place))
      << "the header " << problem;
}

void ScanNumpy(Bytes bytes, const std::string& place, Scanner* scanner) {
  size_t end = 0;
  const auto header = NumpyHeader(bytes, &end);
  if (!header) {
    scanner->Danger(Rule::kXLimit02, Place::File(place))
        << "the array's header is cut off";
    return;
  }
  // dtype('O'), alone or inside a record: '|O', ('a', 'O').
  const size_t object = header->find("O'");
  if (object == std::string_view::npos) return;
  scanner->Remark(Rule::kXPickle05, Place::File(place))
      << "an array of objects is a pickle";
  ScanPickle(bytes.subspan(end), place, scanner);
}

}  // namespace tenon
