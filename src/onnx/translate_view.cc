// Other sizes, orders and parts of the same elements. Values are copies of each
// other here, never views.
#include <algorithm>
#include <limits>
#include <numeric>

#include "onnx/task.h"

namespace tenon::onnx {
namespace {

WhyNot Reshaped(Task& t, std::string_view) {
  GraphBuilder& b = t.build;
  bool has_rest = false;
  std::string_view parameter = t.arg("size") != nullptr ? "size" : "shape";
  for (const Arg& a : t.Items(parameter)) {
    has_rest |= !a.is_value() && a.i == -1;
  }
  // Of an empty tensor the rest can't be told from the number of elements.
  if (has_rest && t.type().has_static_sizes()) {
    std::vector<int64_t> sizes;
    for (const SymInt& s : t.type().sizes) sizes.push_back(s.value);
    t.Give(b.Reshape(t.In("self"), sizes));
    return {};
  }
  std::vector<Attribute> attributes;
  if (!has_rest) attributes.push_back(IntAttribute("allowzero", 1));
  t.Give(b.Add("Reshape", {t.In("self"), t.IntList(parameter)}, attributes));
  return {};
}

WhyNot Permuted(Task& t, std::string_view) {
  const auto dims = t.Dims("dims", t.rank("self"));
  if (!dims) return "an order that is computed";
  t.Give(t.build.Transpose(t.In("self"), *dims));
  return {};
}

WhyNot SwapDims(Task& t, int64_t a, int64_t c) {
  std::vector<int64_t> order(static_cast<size_t>(t.rank("self")));
  std::iota(order.begin(), order.end(), 0);
  if (!order.empty()) {
    std::swap(order[static_cast<size_t>(a)], order[static_cast<size_t>(c)]);
  }
  t.Give(t.build.Transpose(t.In("self"), order));
  return {};
}

WhyNot Transposed(Task& t, std::string_view) {
  const int64_t rank = t.rank("self");
  return SwapDims(t, t.Dim("dim0", rank), t.Dim("dim1", rank));
}

WhyNot MatrixTransposed(Task& t, std::string_view) {
  return SwapDims(t, 0, t.rank("self") > 1 ? 1 : 0);
}

WhyNot Unsqueezed(Task& t, std::string_view) {
  const int64_t rank = t.rank("self");
  t.Give(t.build.Unsqueeze(t.In("self"), {t.Dim("dim", rank + 1)}));
  return {};
}

// Dimensions of size 1 go, those of other sizes stay.
WhyNot Squeezed(Task& t, std::string_view) {
  const int64_t rank = t.rank("self");
  std::vector<int64_t> dims(static_cast<size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  if (t.arg("dim") != nullptr) dims = t.Dims("dim", rank).value_or(dims);
  std::vector<int64_t> gone;
  for (const int64_t d : dims) {
    if (rank == 0) continue;
    const auto size = LiteralSize(t.TypeOf("self"), d);
    if (!size) return "a dimension that may have size 1";
    if (*size == 1) gone.push_back(d);
  }
  const std::string x = t.In("self");
  t.Give(gone.empty() ? x : t.build.Squeeze(x, gone));
  return {};
}

// A size of -1 stays what it is, as a 1 does to ONNX.
WhyNot Expanded(Task& t, std::string_view) {
  GraphBuilder& b = t.build;
  std::vector<std::string> parts;
  std::vector<int64_t> literals;
  for (const Arg& a : t.Items("size")) {
    if (!a.is_value()) {
      literals.push_back(a.i == -1 ? 1 : a.i);
      continue;
    }
    if (!literals.empty()) parts.push_back(b.Ints(std::exchange(literals, {})));
    parts.push_back(t.Int1d(a));
  }
  if (!literals.empty() || parts.empty()) parts.push_back(b.Ints(literals));
  const std::string sizes =
      parts.size() == 1 ? parts[0]
                        : b.Add("Concat", parts, {IntAttribute("axis", 0)});
  t.Give(b.Add("Expand", {t.In("self"), sizes}));
  return {};
}

WhyNot Repeated(Task& t, std::string_view) {
  GraphBuilder& b = t.build;
  const auto count = static_cast<int64_t>(t.Items("repeats").size());
  std::vector<int64_t> front(static_cast<size_t>(count - t.rank("self")));
  std::iota(front.begin(), front.end(), 0);
  std::string x = t.In("self");
  if (!front.empty()) x = b.Unsqueeze(x, front);
  t.Give(count == 0 ? x : b.Add("Tile", {x, t.IntList("repeats")}));
  return {};
}

WhyNot Selected(Task& t, std::string_view) {
  const int64_t dim = t.Dim("dim", t.rank("self"));
  t.Give(t.build.Add("Gather", {t.In("self"), t.In("index", DType::kInt64)},
                     {IntAttribute("axis", dim)}));
  return {};
}

WhyNot Sliced(Task& t, std::string_view) {
  GraphBuilder& b = t.build;
  const int64_t dim = t.Dim("dim", t.rank("self"));
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  const std::string start =
      t.Has("start") ? t.Int1d(*t.arg("start")) : b.Ints({0});
  const std::string end =
      t.Has("end") ? t.Int1d(*t.arg("end")) : b.Ints({kEnd});
  const std::string step =
      t.arg("step") != nullptr ? t.Int1d(*t.arg("step")) : b.Ints({1});
  t.Give(b.Add("Slice", {t.In("self"), start, end, b.Ints({dim}), step}));
  return {};
}

WhyNot Narrowed(Task& t, std::string_view) {
  GraphBuilder& b = t.build;
  const int64_t dim = t.Dim("dim", t.rank("self"));
  const auto start = t.read.Int("start");
  // A start from the end would have its end at or behind 0.
  if (!start || *start < 0) return "a start that is computed or negative";
  const std::string begin = b.Ints({*start});
  t.Give(b.Add("Slice", {t.In("self"), begin,
                         b.Add("Add", {begin, t.Int1d(*t.arg("length"))}),
                         b.Ints({dim})}));
  return {};
}

// From the last element to the first.
WhyNot Flipped(Task& t, std::string_view) {
  const auto dims = t.Dims("dims", t.rank("self"));
  if (!dims) return "dimensions that are computed";
  if (dims->empty() || t.rank("self") == 0) {
    t.Give(t.In("self"));
    return {};
  }
  constexpr int64_t kBeforeFirst = std::numeric_limits<int64_t>::min();
  const std::vector<int64_t> starts(dims->size(), -1),
      steps = starts, ends(dims->size(), kBeforeFirst);
  GraphBuilder& b = t.build;
  t.Give(b.Add("Slice", {t.In("self"), b.Ints(starts), b.Ints(ends),
                         b.Ints(*dims), b.Ints(steps)}));
  return {};
}

// The last `shift` elements come first.
WhyNot Rolled(Task& t, std::string_view) {
  GraphBuilder& b = t.build;
  const auto shifts = t.read.Ints("shifts");
  auto dims = t.Dims("dims", t.rank("self"));
  if (!shifts || !dims) return "a shift that is computed";
  std::string x = t.In("self");
  const bool is_flat = dims->empty();
  if (is_flat) {
    x = b.Reshape(x, {-1});
    dims = {0};
  }
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  for (size_t i = 0; i < dims->size() && t.rank("self") > 0; ++i) {
    const int64_t axis = (*dims)[i];
    const std::string size = b.Reshape(b.Size(x, axis), {1});
    // Of an empty dimension there is no remainder.
    const std::string divisor = b.Add("Max", {size, b.Ints({1})});
    const std::string at = b.Add("Mod", {b.Ints({-(*shifts)[i]}), divisor});
    const std::string back =
        b.Add("Slice", {x, at, b.Ints({kEnd}), b.Ints({axis})});
    const std::string front =
        b.Add("Slice", {x, b.Ints({0}), at, b.Ints({axis})});
    x = b.Add("Concat", {back, front}, {IntAttribute("axis", axis)});
  }
  t.Give(is_flat ? b.Add("Reshape", {x, b.Shape(t.In("self"))}) : x);
  return {};
}

WhyNot Triangle(Task& t, std::string_view which) {
  const std::string diagonal = t.In("diagonal", DType::kInt64);
  t.Give(t.build.Add("Trilu", {t.In("self"), diagonal},
                     {IntAttribute("upper", which == "upper" ? 1 : 0)}));
  return {};
}

// PyTorch's pairs begin with the last dimension; ONNX has all beginnings, then
// all ends.
WhyNot Padded(Task& t, std::string_view mode) {
  GraphBuilder& b = t.build;
  const auto rank = static_cast<size_t>(t.rank("self"));
  const std::vector<Arg> pad =
      t.Items(t.arg("pad") != nullptr ? "pad" : "padding");
  std::vector<std::string> begins(rank, b.Ints({0})), ends = begins;
  std::vector<int64_t> literals(2 * rank);
  bool is_literal = true;
  for (size_t i = 0; i + 1 < pad.size(); i += 2) {
    const size_t d = rank - 1 - i / 2;
    is_literal &= !pad[i].is_value() && !pad[i + 1].is_value();
    if (!pad[i].is_value()) literals[d] = pad[i].i;
    if (!pad[i + 1].is_value()) literals[rank + d] = pad[i + 1].i;
    begins[d] = t.Int1d(pad[i]);
    ends[d] = t.Int1d(pad[i + 1]);
  }
  if (mode != "constant" && is_literal) {
    // What is cut off was there when the rest was read.
    std::vector<int64_t> cut = literals;
    for (size_t i = 0; i < cut.size(); ++i) {
      cut[i] = std::min<int64_t>(cut[i], 0);
      literals[i] = std::max<int64_t>(literals[i], 0);
    }
    const std::string padded =
        b.Add("Pad", {t.In("self"), b.Ints(literals)},
              {TextAttribute("mode", std::string(mode))});
    const bool is_cut =
        std::any_of(cut.begin(), cut.end(), [](int64_t c) { return c != 0; });
    t.Give(is_cut ? b.Add("Pad", {padded, b.Ints(cut)}) : padded);
    return {};
  }
  std::string pads = b.Ints(literals);
  if (!is_literal) {
    begins.insert(begins.end(), ends.begin(), ends.end());
    pads = b.Add("Concat", begins, {IntAttribute("axis", 0)});
  }
  std::vector<std::string> operands = {t.In("self"), pads};
  if (mode == "constant") operands.push_back(t.In("value", t.dtype()));
  t.Give(b.Add("Pad", operands, {TextAttribute("mode", std::string(mode))}));
  return {};
}

// [.., C * r * r, H, W] to [.., C, H * r, W * r], and back.
WhyNot PixelShuffle(Task& t, std::string_view way) {
  GraphBuilder& b = t.build;
  const bool is_back = way == "back";
  const auto r = t.read.Int(is_back ? "downscale_factor" : "upscale_factor");
  if (!r) return "a factor that is computed";
  if (!t.type().has_static_sizes()) return "sizes that vary";
  std::vector<int64_t> in, out;
  for (const SymInt& s : t.TypeOf("self").sizes) in.push_back(s.value);
  for (const SymInt& s : t.type().sizes) out.push_back(s.value);
  const size_t front = in.size() - 3;
  std::vector<int64_t> sizes(in.begin(), in.end() - 3), order(front);
  std::iota(order.begin(), order.end(), 0);
  const auto at = static_cast<int64_t>(front);
  if (is_back) {
    for (const int64_t s :
         {in[front], out[front + 1], *r, out[front + 2], *r}) {
      sizes.push_back(s);
    }
    for (const int64_t d : {0, 2, 4, 1, 3}) order.push_back(at + d);
  } else {
    for (const int64_t s : {out[front], *r, *r, in[front + 1], in[front + 2]}) {
      sizes.push_back(s);
    }
    for (const int64_t d : {0, 3, 1, 4, 2}) order.push_back(at + d);
  }
  t.Give(b.Reshape(b.Transpose(b.Reshape(t.In("self"), sizes), order), out));
  return {};
}

// The elements where two dimensions have indices i and i + offset.
WhyNot Diagonal(Task& t, std::string_view) {
  GraphBuilder& b = t.build;
  const int64_t rank = t.rank("self");
  const int64_t d1 = t.Dim("dim1", rank), d2 = t.Dim("dim2", rank);
  const auto offset = t.read.Int("offset");
  const auto count = LiteralSize(t.type(), rank - 2);
  if (!offset || !count) return "a diagonal of a size that varies";
  std::vector<int64_t> order = {d1, d2};
  for (int64_t d = 0; d < rank; ++d) {
    if (d != d1 && d != d2) order.push_back(d);
  }
  TensorValue places;
  places.dims = {*count, 2};
  std::string& bytes = places.bytes;
  for (int64_t i = 0; i < *count; ++i) {
    for (const int64_t at : {i + std::max<int64_t>(-*offset, 0),
                             i + std::max<int64_t>(*offset, 0)}) {
      bytes.append(reinterpret_cast<const char*>(&at), sizeof(at));
    }
  }
  const std::string y =
      b.Add("GatherND", {b.Transpose(t.In("self"), order),
                         b.Constant(std::move(places), DType::kInt64)});
  std::vector<int64_t> back;
  for (int64_t d = 1; d + 1 < rank; ++d) back.push_back(d);
  back.push_back(0);
  t.Give(b.Transpose(y, back));
  return {};
}

constexpr Translation kTable[] = {
    {"aten.view.default", Reshaped},
    {"aten.reshape.default", Reshaped},
    {"aten._unsafe_view.default", Reshaped},
    {"aten.permute.default", Permuted},
    {"aten.transpose.int", Transposed},
    {"aten.t.default", MatrixTransposed},
    {"aten.unsqueeze.default", Unsqueezed},
    {"aten.squeeze.default", Squeezed},
    {"aten.squeeze.dim", Squeezed},
    {"aten.squeeze.dims", Squeezed},
    {"aten.expand.default", Expanded},
    {"aten.repeat.default", Repeated},
    {"aten.select.int", Selected},
    {"aten.slice.Tensor", Sliced},
    {"aten.narrow.default", Narrowed},
    {"aten.flip.default", Flipped},
    {"aten.roll.default", Rolled},
    {"aten.tril.default", Triangle, "lower"},
    {"aten.triu.default", Triangle, "upper"},
    {"aten.constant_pad_nd.default", Padded, "constant"},
    {"aten.reflection_pad1d.default", Padded, "reflect"},
    {"aten.reflection_pad2d.default", Padded, "reflect"},
    {"aten.reflection_pad3d.default", Padded, "reflect"},
    {"aten.replication_pad1d.default", Padded, "edge"},
    {"aten.replication_pad2d.default", Padded, "edge"},
    {"aten.replication_pad3d.default", Padded, "edge"},
    {"aten.pixel_shuffle.default", PixelShuffle},
    {"aten.pixel_unshuffle.default", PixelShuffle, "back"},
    {"aten.diagonal.default", Diagonal},
};

}  // namespace

std::span<const Translation> ViewTranslations() { return kTable; }

}  // namespace tenon::onnx
