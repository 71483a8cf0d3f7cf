#include "formats/json/json_insert.h"

#include <unordered_map>

#include "formats/json/json_document.h"
#include "formats/json/json_output.h"
#include "formats/json/json_text.h"

namespace tenon {
namespace {

constexpr uint32_t kMaxDepth = 1024;

class Inserter {
 public:
  Inserter(std::span<const JsonInsertion> insertions,
           std::vector<bool>* is_done, std::string* out)
      : insertions_(insertions), is_done_(*is_done), out_(*out) {
    for (size_t i = 0; i < insertions.size(); ++i) {
      if (IsJson(insertions[i].json)) by_path_[insertions[i].path].push_back(i);
    }
  }

  // `path` is that of `e`; it is changed and restored.
  void Append(const JsonElement& e, std::string* path) {
    JsonObject object;
    JsonArray array;
    const size_t length = path->size();
    if (e.Get(&object)) {
      AppendObject(object, path);
    } else if (e.Get(&array)) {
      JsonArrayOut items(&out_);
      size_t i = 0;
      for (const auto item : array) {
        *path += "[" + std::to_string(i++) + "]";
        items.Item();
        Append(item, path);
        path->resize(length);
      }
      items.Close();
    } else {
      AppendJsonElement(e, &out_);
    }
  }

 private:
  void AppendObject(const JsonObject& object, std::string* path) {
    const size_t length = path->size();
    JsonObjectOut record(&out_);
    for (const auto field : object) {
      *path += '.';
      *path += field.key;
      record.Key(field.key);
      Append(field.value, path);
      path->resize(length);
    }
    const auto at = by_path_.find(*path);
    if (at != by_path_.end()) {
      for (const size_t i : at->second) {
        const JsonInsertion& insertion = insertions_[i];
        if (object[insertion.member].valid()) continue;
        *record.Key(insertion.member) += insertion.json;
        is_done_[i] = true;
      }
    }
    record.Close();
  }

  std::span<const JsonInsertion> insertions_;
  std::vector<bool>& is_done_;
  std::string& out_;
  std::unordered_map<std::string, std::vector<size_t>> by_path_;
};

}  // namespace

std::string InsertJsonMembers(std::string_view text,
                              std::span<const JsonInsertion> insertions,
                              std::vector<bool>* is_done) {
  is_done->assign(insertions.size(), false);
  JsonDocument document;
  if (insertions.empty() ||
      document.Parse(text, /*has_slack=*/false, kMaxDepth).what != nullptr) {
    return std::string(text);
  }
  std::string out;
  std::string path = "$";
  Inserter(insertions, is_done, &out).Append(document.root(), &path);
  return out;
}

}  // namespace tenon
