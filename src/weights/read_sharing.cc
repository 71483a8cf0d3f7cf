#include "weights/read_sharing.h"

#include <array>

#include "formats/json/json_input.h"
#include "weights/write_weights.h"

namespace tenon {
namespace {

constexpr std::array<JsonMember, 2> kStorage = {{{"bytes"}, {"views"}}};

}  // namespace

Expected<std::vector<std::vector<std::string>>> ReadSharing(
    const WeightsFile& file, Diagnostics& diags) {
  std::vector<std::vector<std::string>> out;
  for (const auto& [key, text] : file.metadata()) {
    if (key != kStoragesKey) continue;
    JsonInput json;
    TENON_TRY(json.Parse(AsBytes(text), /*has_slack=*/false,
                         file.path() + ": " + key, ReadLimits(), diags));
    const JsonPath root;
    TENON_ASSIGN(const JsonArray storages, json.Array(json.root(), root));
    size_t i = 0;
    for (const JsonElement storage : storages) {
      const JsonPath path(root, i++);
      TENON_ASSIGN(const auto m, json.Members(storage, path, kStorage));
      TENON_ASSIGN(const JsonObject views,
                   json.Object(m[1], JsonPath(path, "views")));
      std::vector<std::string> names;
      for (const auto view : views) names.emplace_back(view.key);
      if (names.size() > 1) out.push_back(std::move(names));
    }
  }
  return out;
}

}  // namespace tenon
