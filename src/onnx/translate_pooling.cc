// Pooling of one to three dimensions. PyTorch's rule for windows that begin
// behind the input (with ceil_mode) isn't ONNX's in all opsets, so the padding
// at the end is made such that rounding down gives the size that the program
// states.
#include "onnx/task.h"

namespace tenon::onnx {
namespace {

struct Window {
  size_t dims = 0;
  std::vector<int64_t> kernel, stride, padding, dilation;
  std::vector<int64_t> pads;  // ONNX: all beginnings, then all ends
  bool is_extended = false;   // beyond PyTorch's padding
};

std::vector<int64_t> Spread(std::vector<int64_t> values, size_t count) {
  if (values.size() == 1) values.assign(count, values[0]);
  return values;
}

WhyNot ReadWindow(const Task& t, size_t dims, Window* w) {
  const auto kernel = t.read.Ints("kernel_size"),
             stride = t.read.Ints("stride"), padding = t.read.Ints("padding");
  if (!kernel || !stride || !padding) return "a parameter that is computed";
  w->dims = dims;
  w->kernel = Spread(*kernel, dims);
  w->stride = stride->empty() ? w->kernel : Spread(*stride, dims);
  w->padding = Spread(*padding, dims);
  w->dilation.assign(dims, 1);
  if (t.program.schema(t.node)->FindArg("dilation") >= 0) {
    const auto dilation = t.read.Ints("dilation");
    if (!dilation) return "a parameter that is computed";
    w->dilation = Spread(*dilation, dims);
  }
  w->pads = w->padding;
  w->pads.insert(w->pads.end(), w->padding.begin(), w->padding.end());
  if (!t.read.Bool("ceil_mode").value_or(false)) return {};
  const size_t first = t.type().sizes.size() - dims;
  for (size_t i = 0; i < dims; ++i) {
    const auto at = static_cast<int64_t>(first + i);
    const auto in = LiteralSize(t.TypeOf("self"), at);
    const auto out = LiteralSize(t.type(), at);
    if (!in || !out) return "ceil_mode of a size that varies";
    const int64_t reach =
        (*out - 1) * w->stride[i] + w->dilation[i] * (w->kernel[i] - 1) + 1;
    const int64_t missing = reach - *in - 2 * w->padding[i];
    if (missing <= 0) continue;
    w->pads[dims + i] += missing;
    w->is_extended = true;
  }
  return {};
}

// Without a batch: one is put around.
std::string WithBatch(Task& t, const Window& w) {
  const std::string x = t.In("self");
  return t.rank("self") == static_cast<int64_t>(w.dims) + 1
             ? t.build.Unsqueeze(x, {0})
             : x;
}
void GivePooled(Task& t, const Window& w, uint32_t i, const std::string& y) {
  const bool is_bare = t.rank("self") == static_cast<int64_t>(w.dims) + 1;
  t.Give(i, is_bare ? t.build.Squeeze(y, {0}) : y);
}

size_t DimsOf(std::string_view text) {
  return static_cast<size_t>(text[0] - '0');
}

WhyNot MaxPool(Task& t, std::string_view dims) {
  if (!IsFloating(t.dtype())) return "a maximum of whole numbers";
  Window w;
  if (WhyNot why = ReadWindow(t, DimsOf(dims), &w)) return why;
  GraphBuilder& b = t.build;
  const bool has_places = t.num_results() > 1 && t.is_used(1);
  std::vector<DType> dtypes = {t.dtype()};
  if (has_places) dtypes.push_back(DType::kInt64);
  const auto y = b.AddMany(
      "MaxPool", {WithBatch(t, w)},
      {IntsAttribute("kernel_shape", w.kernel),
       IntsAttribute("strides", w.stride), IntsAttribute("pads", w.pads),
       IntsAttribute("dilations", w.dilation)},
      dtypes);
  GivePooled(t, w, 0, y[0]);
  if (!has_places) {
    if (t.num_results() > 1) t.build.Set(t.result(1), "");
    return {};
  }
  // ONNX counts places through the whole tensor, PyTorch inside a plane.
  std::string plane = b.Size(t.In("self"), -1);
  for (size_t i = 1; i < w.dims; ++i) {
    plane = b.Add("Mul",
                  {plane, b.Size(t.In("self"), -1 - static_cast<int64_t>(i))});
  }
  GivePooled(t, w, 1, b.Add("Mod", {y[1], plane}));
  return {};
}

WhyNot AveragePool(Task& t, std::string_view dims) {
  if (!IsFloating(t.dtype())) return "an average of whole numbers";
  Window w;
  if (WhyNot why = ReadWindow(t, DimsOf(dims), &w)) return why;
  GraphBuilder& b = t.build;
  bool counts_pad = t.read.Bool("count_include_pad").value_or(true);
  bool is_padded = false;
  int64_t area = 1;
  for (size_t i = 0; i < w.dims; ++i) {
    is_padded |= w.padding[i] != 0;
    area *= w.kernel[i];
  }
  counts_pad &= is_padded;
  const bool has_divisor =
      t.program.schema(t.node)->FindArg("divisor_override") >= 0 &&
      t.Has("divisor_override");
  if (w.is_extended && (counts_pad || has_divisor)) {
    return "an average whose last windows end behind the padding";
  }
  if (has_divisor) counts_pad = true;
  std::string y =
      b.Add("AveragePool", {WithBatch(t, w)},
            {IntsAttribute("kernel_shape", w.kernel),
             IntsAttribute("strides", w.stride), IntsAttribute("pads", w.pads),
             IntAttribute("count_include_pad", counts_pad ? 1 : 0)});
  if (has_divisor) {
    const auto divisor = t.read.Number("divisor_override");
    if (!divisor) return "a divisor that is computed";
    y = b.Add("Mul",
              {y, b.Number(t.dtype(), static_cast<double>(area) / *divisor)});
  }
  GivePooled(t, w, 0, y);
  return {};
}

// The mean of each of `count` parts of a dimension, part i from
// floor(i * size / count) to ceil((i + 1) * size / count).
std::string MeanOfParts(GraphBuilder& b, const std::string& x, int64_t axis,
                        int64_t size, int64_t count) {
  std::vector<std::string> parts;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = i * size / count;
    const int64_t end = ((i + 1) * size + count - 1) / count;
    parts.push_back(b.Add("ReduceMean",
                          {b.Slice(x, axis, begin, end), b.Ints({axis})},
                          {IntAttribute("keepdims", 1)}));
  }
  if (parts.size() == 1) return parts[0];
  return b.Add("Concat", parts, {IntAttribute("axis", axis)});
}

// A window is a product of parts, so its mean is the mean of means.
WhyNot AdaptiveAveragePool(Task& t, std::string_view) {
  GraphBuilder& b = t.build;
  const auto output = t.read.Ints("output_size");
  if (!output) return "an output size that is computed";
  const int64_t rank = t.rank("self");
  const auto dims = static_cast<int64_t>(output->size());
  std::string x = t.In("self", WideDtype(t.dtype()));
  std::vector<int64_t> whole;
  for (int64_t i = 0; i < dims; ++i) {
    if ((*output)[static_cast<size_t>(i)] == 1)
      whole.push_back(rank - dims + i);
  }
  if (!whole.empty()) {
    x = b.Add("ReduceMean", {x, b.Ints(whole)}, {IntAttribute("keepdims", 1)});
  }
  for (int64_t i = 0; i < dims; ++i) {
    const int64_t axis = rank - dims + i;
    const int64_t count = (*output)[static_cast<size_t>(i)];
    if (count == 1) continue;
    const auto size = LiteralSize(t.TypeOf("self"), axis);
    if (!size || count < 1) return "parts of a size that varies";
    if (*size == count) continue;
    x = MeanOfParts(b, x, axis, *size, count);
  }
  t.Give(x);
  return {};
}

constexpr Translation kTable[] = {
    {"aten.max_pool2d_with_indices.default", MaxPool, "2"},
    {"aten.max_pool3d_with_indices.default", MaxPool, "3"},
    {"aten.avg_pool1d.default", AveragePool, "1"},
    {"aten.avg_pool2d.default", AveragePool, "2"},
    {"aten.avg_pool3d.default", AveragePool, "3"},
    {"aten._adaptive_avg_pool2d.default", AdaptiveAveragePool},
    {"aten._adaptive_avg_pool3d.default", AdaptiveAveragePool},
};

}  // namespace

std::span<const Translation> PoolingTranslations() { return kTable; }

}  // namespace tenon::onnx
