// A tensor with some elements replaced.
#include <algorithm>
#include <limits>
#include <numeric>

#include "onnx/index_list.h"
#include "onnx/task.h"

namespace tenon::onnx {
namespace {

// The order that brings one dimension to the front; it is its own inverse.
std::vector<int64_t> SwapToFront(int64_t rank, int64_t dim) {
  std::vector<int64_t> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[0], order[static_cast<size_t>(dim)]);
  return order;
}

// Rows of one dimension replaced by those of `source`, at 1-d `places`.
void GiveWithRows(Task& t, int64_t dim, const std::string& places,
                  const std::string& source) {
  GraphBuilder& b = t.build;
  const auto order = SwapToFront(t.rank("self"), dim);
  const std::string y = b.Add(
      "ScatterND", {b.Transpose(t.In("self"), order), b.Unsqueeze(places, {-1}),
                    b.Transpose(source, order)});
  t.Give(b.Transpose(y, order));
}

WhyNot SliceScatter(Task& t, std::string_view) {
  GraphBuilder& b = t.build;
  const int64_t dim = t.Dim("dim", t.rank("self"));
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  // A slice of all places is the places of the slice.
  const std::string all =
      b.Add("Range", {b.Int(0), b.Size(t.In("self"), dim), b.Int(1)});
  const std::string places = b.Add(
      "Slice",
      {all, t.Has("start") ? t.Int1d(*t.arg("start")) : b.Ints({0}),
       t.Has("end") ? t.Int1d(*t.arg("end")) : b.Ints({kEnd}), b.Ints({0}),
       t.arg("step") != nullptr ? t.Int1d(*t.arg("step")) : b.Ints({1})});
  const std::string shape = b.Shape(t.In("self"));
  std::string source = t.In("src", t.dtype());
  // The source may be spread; the slice's own sizes are those of a slice.
  source =
      b.Add("Expand", {source, b.Shape(b.Add("Gather", {t.In("self"), places},
                                             {IntAttribute("axis", dim)}))});
  GiveWithRows(t, dim, places, source);
  return {};
}

WhyNot SelectScatter(Task& t, std::string_view) {
  const int64_t dim = t.Dim("dim", t.rank("self"));
  GiveWithRows(t, dim, t.Int1d(*t.arg("index")),
               t.build.Unsqueeze(t.In("src", t.dtype()), {dim}));
  return {};
}

WhyNot IndexPut(Task& t, std::string_view) {
  GraphBuilder& b = t.build;
  IndexList list;
  if (WhyNot why = ReadIndexList(t, &list)) return why;
  const auto accumulate = t.read.Bool("accumulate");
  if (!accumulate) return "accumulate that is computed";
  const std::vector<int64_t> front = list.FrontOrder();
  const DType dtype = *accumulate ? WideDtype(t.dtype()) : t.dtype();
  const std::string x = b.Transpose(t.In("self", dtype), front);
  const std::string places = JoinPlaces(b, list);
  // The values are spread to what indexing would give, and then ordered as the
  // rows are.
  const std::string old = b.Add("GatherND", {x, places});
  const std::vector<int64_t> order = list.ResultOrder();
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  const std::string values = b.Add(
      "Expand", {t.In("values", dtype), b.Shape(b.Transpose(old, order))});
  std::vector<Attribute> attributes;
  if (*accumulate) attributes.push_back(TextAttribute("reduction", "add"));
  const std::string y =
      b.Add("ScatterND", {x, places, b.Transpose(values, inverse)}, attributes);
  std::vector<int64_t> back(front.size());
  for (size_t i = 0; i < front.size(); ++i) {
    back[static_cast<size_t>(front[i])] = static_cast<int64_t>(i);
  }
  t.Give(b.Transpose(y, back));
  return {};
}

// `reduction` is ONNX's word; "" replaces.
WhyNot ScatterWith(Task& t, std::string_view reduction) {
  GraphBuilder& b = t.build;
  const int64_t rank = t.rank("self");
  if (rank == 0 || t.rank("index") != rank) return "places of another rank";
  const std::string index = t.In("index", DType::kInt64);
  // Engines add and compare in float32.
  const DType dtype = reduction.empty() ? t.dtype() : WideDtype(t.dtype());
  std::string source;
  if (t.arg("src") != nullptr) {
    // Of a larger source only the part counts that the index covers.
    std::vector<int64_t> axes(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
    source = b.Add("Slice", {t.In("src", dtype),
                             b.Ints(std::vector<int64_t>(axes.size(), 0)),
                             b.Shape(index), b.Ints(axes)});
  } else {
    source = b.Add("Expand", {t.In("value", dtype), b.Shape(index)});
  }
  std::vector<Attribute> attributes = {
      IntAttribute("axis", t.Dim("dim", rank))};
  if (!reduction.empty()) {
    attributes.push_back(TextAttribute("reduction", std::string(reduction)));
  }
  t.Give(b.Add("ScatterElements", {t.In("self", dtype), index, source},
               attributes));
  return {};
}

WhyNot ScatterReduce(Task& t, std::string_view) {
  if (!t.read.Bool("include_self").value_or(true)) {
    return "a reduction that leaves the old elements out";
  }
  const std::string_view how = t.program.view(t.arg("reduce")->text);
  if (how == "sum" || how == "add") return ScatterWith(t, "add");
  if (how == "prod" || how == "multiply") return ScatterWith(t, "mul");
  if (how == "amax") return ScatterWith(t, "max");
  if (how == "amin") return ScatterWith(t, "min");
  return "reduction '" + std::string(how) + "'";
}

constexpr Translation kTable[] = {
    {"aten.slice_scatter.default", SliceScatter},
    {"aten.select_scatter.default", SelectScatter},
    {"aten.index_put.default", IndexPut},
    {"aten.scatter.src", ScatterWith},
    {"aten.scatter.value", ScatterWith},
    {"aten.scatter_add.default", ScatterWith, "add"},
    {"aten.scatter_reduce.two", ScatterReduce},
};

}  // namespace

std::span<const Translation> ScatterTranslations() { return kTable; }

}  // namespace tenon::onnx
