#include "conformance/pt2/broken_table.h"

#include <fstream>
#include <vector>

namespace tenon::conformance {
namespace {

std::vector<std::string> SplitAtTabs(const std::string& line) {
  std::vector<std::string> fields;
  for (size_t begin = 0;;) {
    const size_t tab = line.find('\t', begin);
    fields.push_back(line.substr(begin, tab - begin));
    if (tab == std::string::npos) return fields;
    begin = tab + 1;
  }
}

}  // namespace

Expected<BrokenTable> ReadBrokenTable(const std::string& path,
                                      Diagnostics& diags) {
  std::ifstream file(path);
  if (!file)
    return diags.Error(Rule::kIo, Place::File(path)) << "can't be read";
  BrokenTable table;
  std::string line;
  for (uint32_t number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    const auto fields = SplitAtTabs(line);
    const bool is_row =
        fields.size() == 5 && (fields[1] == "accept" || fields[1] == "refuse");
    if (!is_row) {
      return diags.Error(Rule::kUsage, Place::Text(path, number, 1, line))
             << "no row of file, accept or refuse, rule, place, message";
    }
    const BrokenRow row{fields[1] == "accept", fields[2], fields[3], fields[4]};
    if (!table.emplace(fields[0], row).second) {
      return diags.Error(Rule::kUsage, Place::Text(path, number, 1, line))
             << "'" << fields[0] << "' is there twice";
    }
  }
  return table;
}

std::string Difference(const BrokenRow& row, const Diagnostic& error) {
  const std::string place = error.place.ToString();
  if (RuleId(error.rule) != row.rule) return "expected rule " + row.rule;
  if (place.empty()) return "an error without a place";
  if (place.find(row.place) == std::string::npos)
    return "expected the place " + row.place;
  if (error.message.find(row.message) == std::string::npos) {
    return "expected the message '" + row.message + "'";
  }
  return "";
}

}  // namespace tenon::conformance
