// Several tensors as one, and one as several.
#include "onnx/task.h"

namespace tenon::onnx {
namespace {

WhyNot Concatenated(Task& t, std::string_view) {
  const auto rank = t.type().rank();
  std::vector<std::string> parts;
  for (const Arg& a : t.Items("tensors")) {
    const Type& type = t.program.type(a.value());
    // PyTorch lets [0] stand for nothing, whatever the others' rank.
    if (type.rank() == 1 && rank != 1) continue;
    parts.push_back(t.ToName(a, t.dtype()));
  }
  if (parts.empty()) return "nothing to join";
  t.Give(parts.size() == 1
             ? parts[0]
             : t.build.Add("Concat", parts,
                           {IntAttribute("axis", t.Dim("dim", rank))}));
  return {};
}

WhyNot Stacked(Task& t, std::string_view) {
  const int64_t dim = t.Dim("dim", t.type().rank());
  std::vector<std::string> parts;
  for (const Arg& a : t.Items("tensors")) {
    parts.push_back(t.build.Unsqueeze(t.ToName(a, t.dtype()), {dim}));
  }
  t.Give(t.build.Add("Concat", parts, {IntAttribute("axis", dim)}));
  return {};
}

void GiveParts(Task& t, int64_t dim, const std::string& sizes, bool squeeze) {
  const std::vector<DType> dtypes(t.num_results(), t.dtype());
  const auto parts = t.build.AddMany("Split", {t.In("self"), sizes},
                                     {IntAttribute("axis", dim)}, dtypes);
  for (uint32_t i = 0; i < parts.size(); ++i) {
    t.Give(i, squeeze ? t.build.Squeeze(parts[i], {dim}) : parts[i]);
  }
}

WhyNot SplitBySizes(Task& t, std::string_view) {
  GiveParts(t, t.Dim("dim", t.rank("self")), t.IntList("split_sizes"), false);
  return {};
}

// Parts of one size, the last one of what is left.
WhyNot SplitEvenly(Task& t, std::string_view) {
  const int64_t dim = t.Dim("dim", t.rank("self"));
  std::vector<int64_t> sizes;
  for (uint32_t i = 0; i < t.num_results(); ++i) {
    const auto size = LiteralSize(t.type(i), dim);
    if (!size) return "parts of a size that varies";
    sizes.push_back(*size);
  }
  GiveParts(t, dim, t.build.Ints(sizes), false);
  return {};
}

WhyNot Unbound(Task& t, std::string_view) {
  if (t.num_results() == 0) return {};
  GiveParts(t, t.Dim("dim", t.rank("self")),
            t.build.Ints(std::vector<int64_t>(t.num_results(), 1)), true);
  return {};
}

constexpr Translation kTable[] = {
    {"aten.cat.default", Concatenated},
    {"aten.stack.default", Stacked},
    {"aten.split_with_sizes.default", SplitBySizes},
    {"aten.split.Tensor", SplitEvenly},
    {"aten.chunk.default", SplitEvenly},
    {"aten.unbind.int", Unbound},
};

}  // namespace

std::span<const Translation> JoinTranslations() { return kTable; }

}  // namespace tenon::onnx
