// torch.export's model and its payload configs: texts that loaders evaluate,
// look up or paste into code.
//
// The walk goes by the names of members alone, whatever they lie in: a model
// that no schema allows is looked through as well.
#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "formats/zip/zip_reader.h"
#include "scan/code_text.h"
#include "scan/lenient_json.h"
#include "scan/scanner.h"

namespace tenon {
namespace {

// Texts for people; nothing evaluates them.
constexpr std::string_view kMetadata = "metadata";

class ModelScan {
 public:
  ModelScan(const std::string& place, Scanner* scanner)
      : place_(place), scanner_(*scanner) {}

  void Walk(const JsonElement& e, const JsonPath& path) {
    JsonArray array;
    if (e.Get(&array)) {
      size_t i = 0;
      for (const auto item : array) Walk(item, JsonPath(path, i++));
      return;
    }
    JsonObject object;
    if (!e.Get(&object)) return;
    for (const auto field : object) {
      if (field.key == kMetadata) continue;
      Member(field.key, field.value, JsonPath(path, field.key));
    }
  }

 private:
  using Check = void (ModelScan::*)(std::string_view text,
                                    const JsonPath& path);
  struct MemberCheck {
    std::string_view name;
    Check text = nullptr;  // of a text, or each text of a list
    Check keys = nullptr;  // of a map, each key
  };

  void Member(std::string_view name, const JsonElement& value,
              const JsonPath& path) {
    static constexpr MemberCheck kChecks[] = {
        {"target", &ModelScan::Target},
        {"as_operator", &ModelScan::Target},
        {"expr_str", &ModelScan::Expression},
        {"guards_code", &ModelScan::Guard},
        {"in_spec", &ModelScan::TreeSpecText},
        {"out_spec", &ModelScan::TreeSpecText},
        {"forward_arg_names", &ModelScan::Identifier},
        {"name", &ModelScan::Identifier},
        {"as_name", &ModelScan::Identifier},
        {"as_string", &ModelScan::FixedText},
        {"class_fqn", &ModelScan::CustomClass},
        {"range_constraints", nullptr, &ModelScan::Expression},
        {"tensor_values", nullptr, &ModelScan::Identifier},
        {"sym_int_values", nullptr, &ModelScan::Identifier},
        {"sym_float_values", nullptr, &ModelScan::Identifier},
        {"sym_bool_values", nullptr, &ModelScan::Identifier},
        {"custom_obj_values", nullptr, &ModelScan::Identifier},
    };
    for (const MemberCheck& check : kChecks) {
      if (check.name != name) continue;
      if (check.text != nullptr) Texts(check.text, value, path);
      if (check.keys != nullptr) Keys(check.keys, value, path);
    }
    Walk(value, path);
  }

  void Texts(Check check, const JsonElement& value, const JsonPath& path) {
    std::string_view text;
    if (value.Get(&text)) (this->*check)(text, path);
    JsonArray array;
    if (!value.Get(&array)) return;
    size_t i = 0;
    for (const auto item : array) {
      const JsonPath at(path, i++);
      if (item.Get(&text)) (this->*check)(text, at);
    }
  }
  void Keys(Check check, const JsonElement& value, const JsonPath& path) {
    JsonObject map;
    if (!value.Get(&map)) return;
    for (const auto field : map) {
      (this->*check)(field.key, JsonPath(path, field.key));
    }
  }

  void Report(const CodeFound& found, Rule rule, std::string_view subject,
              const JsonPath& path) {
    if (found.level == CodeFound::Level::kNothing) return;
    const Place at = Place::Json(place_, path.ToString());
    if (found.level == CodeFound::Level::kCode) {
      scanner_.Danger(rule, at) << subject << found.what;
    } else {
      scanner_.Caution(rule, at) << subject << found.what;
    }
  }

  void Target(std::string_view text, const JsonPath& path) {
    ++scanner_.report.num_targets;
    Report(FindCodeInTarget(text), Rule::kXTarget01, "", path);
    const std::string_view access = FileAccessOf(text);
    if (!access.empty()) {
      scanner_.Caution(Rule::kXTarget02, Place::Json(place_, path.ToString()))
          << "'" << text << "' " << access << " when the program runs";
    }
  }
  void Expression(std::string_view text, const JsonPath& path) {
    ++scanner_.report.num_expressions;
    Report(FindCodeInExpression(text), Rule::kXExpr01, "the size ", path);
  }
  void Guard(std::string_view text, const JsonPath& path) {
    ++scanner_.report.num_guards;
    Report(FindCodeInGuard(text), Rule::kXGuard01, "the guard ", path);
  }
  void TreeSpecText(std::string_view text, const JsonPath& path) {
    ScanTreeSpec(text, place_, path.ToString(), &scanner_);
  }
  void Identifier(std::string_view text, const JsonPath& path) {
    if (text.empty() || LooksLikeIdentifier(text)) return;
    if (!odd_names_.emplace(text).second) return;  // told where it is met first
    scanner_.Danger(Rule::kXName01, Place::Json(place_, path.ToString()))
        << "'" << text.substr(0, 200)
        << "' isn't an identifier, and loaders write it into code";
  }
  // torch.export writes the guard of a text between quotes as it is.
  void FixedText(std::string_view text, const JsonPath& path) {
    Report(FindCodeInFixedText(text), Rule::kXGuard01,
           "the text leaves its quotes in a guard and ", path);
  }
  void CustomClass(std::string_view text, const JsonPath& path) {
    std::vector<std::string>& known = scanner_.report.custom_classes;
    if (text.empty() ||
        std::find(known.begin(), known.end(), text) != known.end()) {
      return;
    }
    known.emplace_back(text);
    scanner_.Caution(Rule::kXObject01, Place::Json(place_, path.ToString()))
        << "an object of class '" << text
        << "', which its library makes of bytes of the file";
  }

  const std::string& place_;
  Scanner& scanner_;
  std::unordered_set<std::string> odd_names_;
};

}  // namespace

void ScanModel(Bytes json, const std::string& place, Scanner* scanner) {
  JsonInput input;
  std::string problem;
  if (!ParseAsPythonDoes(json, place, &input, &problem)) {
    scanner->Danger(Rule::kXLimit02, Place::File(place))
        << "the model can't be looked through: " << problem;
    return;
  }
  ModelScan(place, scanner).Walk(input.root(), JsonPath());
}

std::vector<std::string> ScanPayloadConfig(Bytes json, const std::string& place,
                                           Scanner* scanner) {
  JsonInput input;
  std::string problem;
  if (!ParseAsPythonDoes(json, place, &input, &problem)) {
    scanner->Danger(Rule::kXLimit02, Place::File(place))
        << "the list of payloads can't be looked through: " << problem;
    return {};
  }
  std::vector<std::string> pickles;
  JsonObject config;
  if (!input.root()["config"].Get(&config)) return {};
  const JsonPath root;
  const JsonPath config_path(root, "config");
  for (const auto field : config) {
    std::string_view record;
    bool is_pickle = false;
    if (!field.value["path_name"].Get(&record)) continue;
    const Place at =
        Place::Json(place, JsonPath(config_path, field.key).ToString());
    if (!IsPlainMemberName(record)) {
      scanner->Danger(Rule::kXArchive01, at)
          << "the payload '" << record.substr(0, 200)
          << "' isn't called by a plain relative name";
    }
    // Whatever isn't false: Python asks for truth.
    const bool is_raw = field.value["use_pickle"].Get(&is_pickle) && !is_pickle;
    // Script objects are read in C++, by the library of their class.
    if (is_raw || record.starts_with("custom_obj_")) continue;
    scanner->Remark(Rule::kXPickle05, at)
        << "'" << field.key << "' is kept as a pickle, not as raw numbers";
    pickles.emplace_back(record);
  }
  return pickles;
}

}  // namespace tenon
