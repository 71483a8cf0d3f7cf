#include "text_table.h"

#include <algorithm>

#include "support/assert.h"

namespace tenon::tools {

TextTable::TextTable(std::vector<std::string> head, size_t num_left)
    : rows_{std::move(head)}, num_left_(num_left) {}

void TextTable::Add(std::vector<std::string> cells) {
  TENON_ASSERT(cells.size() == rows_[0].size(),
               "a row has a cell for each column");
  rows_.push_back(std::move(cells));
}

std::string TextTable::ToString() const {
  std::vector<size_t> widths(rows_[0].size());
  for (const auto& row : rows_) {
    for (size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], row[c].size());
    }
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - row[c].size(), ' ');
      line += "  ";
      line += c < num_left_ ? row[c] + padding : padding + row[c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace tenon::tools
