// Columns of text, each as wide as its widest cell.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tenon::tools {

class TextTable {
 public:
  // The first `num_left` columns are aligned to the left, the others to the
  // right.
  TextTable(std::vector<std::string> head, size_t num_left);
  // As many cells as the head has.
  void Add(std::vector<std::string> cells);
  // Lines of cells, two spaces apart, each line indented by two spaces.
  std::string ToString() const;

 private:
  std::vector<std::vector<std::string>> rows_;  // the head first
  size_t num_left_;
};

}  // namespace tenon::tools
