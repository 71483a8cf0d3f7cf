#include "onnx/index_list.h"

#include <algorithm>

namespace tenon::onnx {

std::vector<int64_t> IndexList::FrontOrder() const {
  std::vector<int64_t> order = dims;
  order.insert(order.end(), rest.begin(), rest.end());
  return order;
}

std::vector<int64_t> IndexList::ResultOrder() const {
  std::vector<int64_t> order;
  const int64_t before = stays ? dims[0] : 0;
  for (int64_t i = 0; i < before; ++i) order.push_back(rank + i);
  for (int64_t i = 0; i < rank; ++i) order.push_back(i);
  for (auto i = before; i < static_cast<int64_t>(rest.size()); ++i) {
    order.push_back(rank + i);
  }
  return order;
}

WhyNot ReadIndexList(Task& t, IndexList* out) {
  GraphBuilder& b = t.build;
  int64_t dim = 0;
  for (const Arg& a : t.Items("indices")) {
    if (!a.is_value()) {
      out->rest.push_back(dim++);
      continue;
    }
    const Type& type = t.program.type(a.value());
    if (type.dtype != DType::kBool && type.dtype != DType::kUInt8) {
      out->dims.push_back(dim++);
      out->places.push_back(t.ToName(a, DType::kInt64));
      out->rank = std::max(out->rank, type.rank());
      continue;
    }
    if (type.rank() == 0) return "a mask of rank 0";
    const std::string found = b.Add("NonZero", {t.ToName(a, DType::kBool)});
    for (int64_t d = 0; d < type.rank(); ++d) {
      out->dims.push_back(dim++);
      out->places.push_back(
          b.Add("Gather", {found, b.Int(d)}, {IntAttribute("axis", 0)}));
      out->rank = std::max<int64_t>(out->rank, 1);
    }
  }
  if (out->dims.empty()) return "no index";
  for (; dim < t.rank("self"); ++dim) out->rest.push_back(dim);
  const auto count = static_cast<int64_t>(out->dims.size());
  out->stays = out->dims.back() - out->dims[0] == count - 1;
  return {};
}

std::string JoinPlaces(GraphBuilder& build, const IndexList& list) {
  std::vector<std::string> columns = list.places;
  if (columns.size() > 1) {
    // Spread to each other's sizes: a sum with zeros of all.
    std::string zero;
    for (const std::string& p : list.places) {
      const std::string none = build.Add("Mul", {p, build.Int(0)});
      zero = zero.empty() ? none : build.Add("Add", {zero, none});
    }
    for (std::string& c : columns) c = build.Add("Add", {c, zero});
  }
  for (std::string& c : columns) c = build.Unsqueeze(c, {-1});
  if (columns.size() == 1) return columns[0];
  return build.Add("Concat", columns, {IntAttribute("axis", -1)});
}

}  // namespace tenon::onnx
