// Reductions over some dimensions, or all.
#include <numeric>

#include "onnx/task.h"

namespace tenon::onnx {
namespace {

// The dimensions that are reduced: none given, or an empty list, is all.
std::vector<int64_t> ReducedDims(const Task& t) {
  const int64_t rank = t.rank("self");
  auto dims = t.program.schema(t.node)->FindArg("dim") < 0
                  ? std::nullopt
                  : t.Dims("dim", rank);
  if (!dims || dims->empty()) {
    dims.emplace(static_cast<size_t>(rank));
    std::iota(dims->begin(), dims->end(), 0);
  }
  return *dims;
}

bool KeepsDims(const Task& t) {
  return t.program.schema(t.node)->FindArg("keepdim") >= 0 &&
         t.read.Bool("keepdim").value_or(false);
}

// Of a tensor of rank 0 the tensor itself: its one dimension isn't there.
std::string Reduce(Task& t, std::string_view onnx, const std::string& x,
                   bool keeps) {
  if (t.rank("self") == 0) return x;
  return t.build.Add(onnx, {x, t.build.Ints(ReducedDims(t))},
                     {IntAttribute("keepdims", keeps ? 1 : 0)});
}

WhyNot Reduction(Task& t, std::string_view onnx) {
  const DType wide = WideDtype(t.dtype());
  t.Give(Reduce(t, onnx, t.In("self", wide), KeepsDims(t)));
  return {};
}

// Counts what is true: a maximum of nothing would be no truth value.
WhyNot Any(Task& t, std::string_view) {
  const std::string x = t.build.Cast(t.In("self", DType::kBool), DType::kInt64);
  t.Give(t.build.Add(
      "Greater", {Reduce(t, "ReduceSum", x, KeepsDims(t)), t.build.Int(0)}));
  return {};
}

WhyNot All(Task& t, std::string_view) {
  const std::string x =
      t.build.Cast(t.build.Not(t.In("self", DType::kBool)), DType::kInt64);
  t.Give(t.build.Add(
      "Equal", {Reduce(t, "ReduceSum", x, KeepsDims(t)), t.build.Int(0)}));
  return {};
}

// The place of the first extremum along a dimension. Engines have no ArgMax of
// int64, but TopK, which prefers the first, too.
std::string ArgExtremum(Task& t, std::string_view onnx, const std::string& x,
                        int64_t dim, bool keeps) {
  GraphBuilder& b = t.build;
  if (b.dtype(x) != DType::kInt64) {
    return b.Add(
        onnx, {x},
        {IntAttribute("axis", dim), IntAttribute("keepdims", keeps ? 1 : 0)});
  }
  const DType dtypes[] = {DType::kInt64, DType::kInt64};
  const std::string at =
      b.AddMany("TopK", {x, b.Ints({1})},
                {IntAttribute("axis", dim),
                 IntAttribute("largest", onnx == "ArgMax" ? 1 : 0)},
                dtypes)[1];
  return keeps ? at : b.Squeeze(at, {dim});
}

WhyNot Arg(Task& t, std::string_view onnx) {
  std::string x = t.In("self");
  int64_t dim = 0;
  bool keeps = KeepsDims(t);
  if (t.Has("dim") && t.rank("self") > 0) {
    dim = t.Dim("dim", t.rank("self"));
  } else {
    if (keeps && t.rank("self") > 0) {
      return "keepdim of a search through all dimensions";
    }
    keeps = false;
    x = t.build.Reshape(x, {-1});
  }
  t.Give(ArgExtremum(t, onnx, x, dim, keeps));
  return {};
}

// (values, indices) along one dimension.
WhyNot ExtremumAlong(Task& t, std::string_view onnx) {
  const std::string x = t.In("self");
  if (t.rank("self") == 0) {
    t.Give(0, x);
    t.Give(1, t.build.Int(0));
    return {};
  }
  const int64_t dim = t.Dim("dim", t.rank("self"));
  t.Give(0, Reduce(t, onnx, x, KeepsDims(t)));
  t.Give(1, ArgExtremum(t, onnx == "ReduceMax" ? "ArgMax" : "ArgMin", x, dim,
                        KeepsDims(t)));
  return {};
}

// The number of elements that are reduced to one, as a number of the dtype.
std::string CountOf(Task& t, const std::string& x, DType dtype) {
  GraphBuilder& b = t.build;
  int64_t count = 1;
  bool is_literal = true;
  const std::vector<int64_t> dims = ReducedDims(t);
  for (const int64_t d : dims) {
    const auto size = LiteralSize(t.TypeOf("self"), d);
    is_literal &= size.has_value();
    count *= size.value_or(1);
  }
  if (is_literal) return b.Number(dtype, count);
  const std::string sizes =
      b.Add("Gather", {b.Shape(x), b.Ints(dims)}, {IntAttribute("axis", 0)});
  return b.Cast(b.Add("ReduceProd", {sizes}, {IntAttribute("keepdims", 0)}),
                dtype);
}

// sum((x - mean)^2) / max(0, n - correction), and the mean where it is asked
// for.
WhyNot Variance(Task& t, std::string_view what) {
  GraphBuilder& b = t.build;
  const DType wide = WideDtype(t.dtype());
  const std::string x = t.In("self", wide);
  double correction = 1;
  const OpSchema* schema = t.program.schema(t.node);
  if (schema->FindArg("unbiased") >= 0) {
    correction = t.read.Bool("unbiased").value_or(true) ? 1 : 0;
  } else if (t.Has("correction")) {
    const auto given = t.read.Number("correction");
    if (!given) return "a correction that is computed";
    correction = *given;
  }
  std::string mean = Reduce(t, "ReduceMean", x, true);
  const std::string off = b.Add("Sub", {x, mean});
  const std::string sum =
      Reduce(t, "ReduceSum", b.Add("Mul", {off, off}), KeepsDims(t));
  const std::string degrees = b.Add(
      "Max", {b.Add("Sub", {CountOf(t, x, wide), b.Number(wide, correction)}),
              b.Number(wide, int64_t{0})});
  std::string out = b.Add("Div", {sum, degrees});
  if (what == "std") out = b.Add("Sqrt", {out});
  t.Give(0, out);
  if (what == "var_mean") {
    t.Give(1, Reduce(t, "ReduceMean", x, KeepsDims(t)));
  }
  return {};
}

WhyNot CumulativeSum(Task& t, std::string_view) {
  const DType wide = WideDtype(t.dtype());
  const std::string x = t.In("self", wide);
  if (t.rank("self") == 0) {
    t.Give(x);
    return {};
  }
  t.Give(t.build.Add("CumSum", {x, t.build.Int(t.Dim("dim", t.rank("self")))}));
  return {};
}

// Sorted, and of equal elements the first one first: PyTorch's own order is
// free where it isn't asked for.
WhyNot Top(Task& t, const std::string& count, bool is_largest) {
  if (t.rank("self") == 0) return "a tensor of rank 0";
  const DType dtypes[] = {t.dtype(0), t.dtype(1)};
  const auto both =
      t.build.AddMany("TopK", {t.In("self"), count},
                      {IntAttribute("axis", t.Dim("dim", t.rank("self"))),
                       IntAttribute("largest", is_largest ? 1 : 0)},
                      dtypes);
  t.Give(0, both[0]);
  t.Give(1, both[1]);
  return {};
}

WhyNot Topk(Task& t, std::string_view) {
  return Top(t, t.Int1d(*t.arg("k")), t.read.Bool("largest").value_or(true));
}

WhyNot Sort(Task& t, std::string_view) {
  if (t.rank("self") == 0) return "a tensor of rank 0";
  const int64_t dim = t.Dim("dim", t.rank("self"));
  const std::string count =
      t.build.Reshape(t.build.Size(t.In("self"), dim), {1});
  return Top(t, count, t.read.Bool("descending").value_or(false));
}

constexpr Translation kTable[] = {
    {"aten.sum.default", Reduction, "ReduceSum"},
    {"aten.sum.dim_IntList", Reduction, "ReduceSum"},
    {"aten.mean.default", Reduction, "ReduceMean"},
    {"aten.mean.dim", Reduction, "ReduceMean"},
    {"aten.prod.default", Reduction, "ReduceProd"},
    {"aten.prod.dim_int", Reduction, "ReduceProd"},
    {"aten.amax.default", Reduction, "ReduceMax"},
    {"aten.amin.default", Reduction, "ReduceMin"},
    {"aten.max.default", Reduction, "ReduceMax"},
    {"aten.min.default", Reduction, "ReduceMin"},
    {"aten.any.default", Any},
    {"aten.any.dim", Any},
    {"aten.any.dims", Any},
    {"aten.all.default", All},
    {"aten.all.dim", All},
    {"aten.all.dims", All},
    {"aten.argmax.default", Arg, "ArgMax"},
    {"aten.argmin.default", Arg, "ArgMin"},
    {"aten.max.dim", ExtremumAlong, "ReduceMax"},
    {"aten.min.dim", ExtremumAlong, "ReduceMin"},
    {"aten.var.default", Variance, "var"},
    {"aten.var.dim", Variance, "var"},
    {"aten.var.correction", Variance, "var"},
    {"aten.std.correction", Variance, "std"},
    {"aten.var_mean.correction", Variance, "var_mean"},
    {"aten.cumsum.default", CumulativeSum},
    {"aten.topk.default", Topk},
    {"aten.sort.default", Sort},
    {"aten.sort.stable", Sort},
};

}  // namespace

std::span<const Translation> ReductionTranslations() { return kTable; }

}  // namespace tenon::onnx
