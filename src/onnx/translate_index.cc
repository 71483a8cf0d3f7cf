// Elements by their places. Places below 0 count from the end, for PyTorch and
// for ONNX.
#include "onnx/index_list.h"
#include "onnx/task.h"

namespace tenon::onnx {
namespace {

WhyNot Embedding(Task& t, std::string_view) {
  t.Give(t.build.Add("Gather", {t.In("weight"), t.In("indices", DType::kInt64)},
                     {IntAttribute("axis", 0)}));
  return {};
}

WhyNot IndexSelect(Task& t, std::string_view) {
  std::string x = t.In("self");
  const int64_t rank = t.rank("self");
  std::string index = t.In("index", DType::kInt64);
  // A place of rank 0 selects one element, whose dimension stays.
  if (t.rank("index") == 0) index = t.build.Reshape(index, {1});
  if (rank == 0) x = t.build.Reshape(x, {1});
  x = t.build.Add("Gather", {x, index},
                  {IntAttribute("axis", t.Dim("dim", rank))});
  t.Give(rank == 0 ? t.build.Reshape(x, {}) : x);
  return {};
}

WhyNot Index(Task& t, std::string_view) {
  IndexList list;
  if (WhyNot why = ReadIndexList(t, &list)) return why;
  GraphBuilder& b = t.build;
  if (list.dims.size() == 1) {
    t.Give(b.Add("Gather", {t.In("self"), list.places[0]},
                 {IntAttribute("axis", list.dims[0])}));
    return {};
  }
  const std::string x = b.Transpose(t.In("self"), list.FrontOrder());
  const std::string y = b.Add("GatherND", {x, JoinPlaces(b, list)});
  t.Give(b.Transpose(y, list.ResultOrder()));
  return {};
}

WhyNot GatherAlong(Task& t, std::string_view) {
  if (t.rank("self") == 0 || t.rank("index") != t.rank("self")) {
    return "places of another rank";
  }
  t.Give(t.build.Add("GatherElements",
                     {t.In("self"), t.In("index", DType::kInt64)},
                     {IntAttribute("axis", t.Dim("dim", t.rank("self")))}));
  return {};
}

WhyNot NonZero(Task& t, std::string_view) {
  if (t.rank("self") == 0) return "a tensor of rank 0";
  const std::string found =
      t.build.Add("NonZero", {t.In("self", DType::kBool)});
  t.Give(t.build.Transpose(found, {1, 0}));
  return {};
}

// Where the mask is true, both spread to each other's sizes.
WhyNot MaskedSelect(Task& t, std::string_view) {
  GraphBuilder& b = t.build;
  const std::string x = t.In("self"), mask = t.In("mask");
  const int64_t rank = std::max(t.rank("self"), t.rank("mask"));
  if (rank == 0) return "a tensor of rank 0";
  const std::string whole = b.Add("Expand", {x, b.Shape(mask)});
  const std::string all = b.Add("Expand", {mask, b.Shape(whole)});
  const std::string places = b.Transpose(b.Add("NonZero", {all}), {1, 0});
  t.Give(b.Add("GatherND", {whole, places}));
  return {};
}

constexpr Translation kTable[] = {
    {"aten.embedding.default", Embedding},
    {"aten.index_select.default", IndexSelect},
    {"aten.index.Tensor", Index},
    {"aten.gather.default", GatherAlong},
    {"aten.nonzero.default", NonZero},
    {"aten.masked_select.default", MaskedSelect},
};

}  // namespace

std::span<const Translation> IndexTranslations() { return kTable; }

}  // namespace tenon::onnx
