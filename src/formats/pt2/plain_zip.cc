#include "formats/pt2/plain_zip.h"

namespace tenon::plain_zip {
namespace {

constexpr std::string_view kSampleInputs = "data/sample_inputs/model.pt";
constexpr std::string_view kExtraFiles = "extra_files/";
constexpr std::string_view kExtra = "extra/";

// `name` with its folder `from` called `to`; "" when it isn't in there.
std::string Move(std::string_view name, std::string_view from,
                 std::string_view to) {
  if (!name.starts_with(from)) return "";
  return std::string(to) + std::string(name.substr(from.size()));
}

}  // namespace

std::string NameInFolders(std::string_view name) {
  if (name == kExampleInputs) return std::string(kSampleInputs);
  return Move(name, kExtraFiles, kExtra);
}

std::string NameFromFolders(std::string_view name) {
  if (name == kSampleInputs) return std::string(kExampleInputs);
  return Move(name, kExtra, kExtraFiles);
}

}  // namespace tenon::plain_zip
