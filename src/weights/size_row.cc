#include "weights/size_row.h"

#include <algorithm>

namespace tenon {

void SortBySize(std::vector<SizeRow>* rows) {
  std::sort(rows->begin(), rows->end(), [](const SizeRow& a, const SizeRow& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name;
  });
}

}  // namespace tenon
