// TreeSpecs: which modules their contexts make a loader import.
//
// A defaultdict names its factory by module and name, which is imported when
// the spec is read and called when a key is missing. A key that was an enum's
// member names its class likewise.
#include <string>
#include <utility>

#include "scan/lenient_json.h"
#include "scan/scanner.h"

namespace tenon {
namespace {

std::string_view Text(const JsonObject& object, const char* key) {
  std::string_view text;
  if (!object[key].Get(&text)) return {};
  return text;
}

class SpecScan {
 public:
  SpecScan(Place place, Scanner* scanner)
      : place_(std::move(place)), scanner_(*scanner) {}

  void Walk(const JsonElement& e) {
    JsonArray array;
    if (e.Get(&array)) {
      for (const auto item : array) Walk(item);
      return;
    }
    JsonObject object;
    if (!e.Get(&object)) return;
    const std::string_view module = Text(object, "default_factory_module");
    if (!module.empty()) {
      CheckImport(module, Text(object, "default_factory_name"));
    }
    if (object["__enum__"].valid()) {
      const std::string_view fqn = Text(object, "fqn");
      const size_t colon = fqn.find(':');
      CheckImport(fqn.substr(0, colon), colon == std::string_view::npos
                                            ? std::string_view()
                                            : fqn.substr(colon + 1));
    }
    for (const auto field : object) {
      std::string_view text;
      if (field.key == "context" && field.value.Get(&text)) {
        Context(text);
      } else {
        Walk(field.value);
      }
    }
  }

  // JSON inside a string, except for namedtuples' plain names.
  void Context(std::string_view text) {
    if (text.find("__enum__") == std::string_view::npos) return;
    JsonInput json;
    std::string problem;
    if (ParseAsPythonDoes(AsBytes(text), "context", &json, &problem)) {
      Walk(json.root());
    }
  }

 private:
  void CheckImport(std::string_view module, std::string_view name) {
    const std::string global = std::string(module) + "." + std::string(name);
    switch (JudgeImport(module, name)) {
      case ImportKind::kPlain:
        return;
      case ImportKind::kData:
      case ImportKind::kUnknown:
        scanner_.Caution(Rule::kXSpec01, place_)
            << "reading the structure imports '" << global << "'";
        return;
      case ImportKind::kUnpickles:
      case ImportKind::kActing:
        scanner_.Danger(Rule::kXSpec01, place_)
            << "reading the structure imports '" << global << "'";
        return;
    }
  }

  Place place_;
  Scanner& scanner_;
};

}  // namespace

void ScanTreeSpec(std::string_view text, const std::string& place,
                  const std::string& where, Scanner* scanner) {
  JsonInput json;
  std::string problem;
  // No JSON, no structure: it fails to load.
  if (!ParseAsPythonDoes(AsBytes(text), place, &json, &problem)) return;
  SpecScan(Place::Json(place, where), scanner).Walk(json.root());
}

}  // namespace tenon
