// Reductions over some dimensions, or all.
#include <limits>
#include <numeric>

#include "onnx/task.h"

namespace tenon::onnx {
namespace {

// The dimensions that are reduced: none given, or an empty list, is all.
std::vector<int64_t> ReducedDims(const Task& t) {
  const int64_t rank = t.rank("self");
  if (rank == 0) return {};
  auto dims = t.program.schema(t.node)->FindArg("dim") < 0
                  ? std::nullopt
                  : t.Dims("dim", rank);
  const bool is_listed = t.program.op_name(t.node).ends_with(".dims");
  if (!dims || (dims->empty() && !is_listed)) {
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
// So is what an empty list of `any` and `all` leaves.
std::string Reduce(Task& t, std::string_view onnx, const std::string& x,
                   bool keeps) {
  if (ReducedDims(t).empty()) return x;
  return t.build.Add(onnx, {x, t.build.Ints(ReducedDims(t))},
                     {IntAttribute("keepdims", keeps ? 1 : 0)});
}

// Whether nothing is reduced, as far as the program says.
bool IsOfNothing(const Task& t) {
  for (const int64_t d : ReducedDims(t)) {
    if (LiteralSize(t.TypeOf("self"), d) == 0) return true;
  }
  return false;
}

WhyNot Sum(Task& t, std::string_view onnx) {
  const DType wide = WideDtype(t.dtype());
  t.Give(Reduce(t, onnx, t.In("self", wide), KeepsDims(t)));
  return {};
}

// The mean of nothing is NaN.
std::string MeanOf(Task& t, const std::string& x, bool keeps) {
  if (!IsOfNothing(t)) return Reduce(t, "ReduceMean", x, keeps);
  GraphBuilder& b = t.build;
  return b.Add("Div", {Reduce(t, "ReduceSum", x, keeps),
                       b.Number(b.dtype(x), int64_t{0})});
}

WhyNot Mean(Task& t, std::string_view) {
  t.Give(MeanOf(t, t.In("self", WideDtype(t.dtype())), KeepsDims(t)));
  return {};
}

// 1 where a number is NaN, of its dtype.
std::string NanMarks(Task& t, const std::string& x) {
  return t.build.Cast(t.build.Add("IsNaN", {x}), t.build.dtype(x));
}

// Of what has a NaN the extremum is NaN, which ONNX leaves open.
std::string ExtremumOf(Task& t, std::string_view onnx, const std::string& x,
                       bool keeps) {
  GraphBuilder& b = t.build;
  const std::string extremum = Reduce(t, onnx, x, keeps);
  const DType dtype = b.dtype(x);
  if (!IsFloating(dtype) || t.rank("self") == 0) return extremum;
  const std::string has_nan =
      b.Cast(Reduce(t, "ReduceMax", NanMarks(t, x), keeps), DType::kBool);
  return b.Where(has_nan,
                 b.Number(dtype, std::numeric_limits<double>::quiet_NaN()),
                 extremum);
}

WhyNot Extremum(Task& t, std::string_view onnx) {
  t.Give(ExtremumOf(t, onnx, t.In("self"), KeepsDims(t)));
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
// The first NaN is it where there is one.
std::string ArgExtremum(Task& t, std::string_view onnx, std::string x,
                        int64_t dim, bool keeps) {
  GraphBuilder& b = t.build;
  if (IsFloating(b.dtype(x))) {
    std::string marks = NanMarks(t, x);
    const std::string has_nan =
        b.Cast(b.Add("ReduceMax", {marks, b.Ints({dim})},
                     {IntAttribute("keepdims", 1)}),
               DType::kBool);
    if (onnx == "ArgMin") marks = b.Add("Neg", {marks});
    x = b.Where(has_nan, marks, x);
  }
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
  t.Give(0, ExtremumOf(t, onnx, x, KeepsDims(t)));
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
  const std::string mean = MeanOf(t, x, true);
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
    t.Give(1, MeanOf(t, x, KeepsDims(t)));
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
    {"aten.sum.default", Sum, "ReduceSum"},
    {"aten.sum.dim_IntList", Sum, "ReduceSum"},
    {"aten.mean.default", Mean},
    {"aten.mean.dim", Mean},
    {"aten.prod.default", Sum, "ReduceProd"},
    {"aten.prod.dim_int", Sum, "ReduceProd"},
    {"aten.amax.default", Extremum, "ReduceMax"},
    {"aten.amin.default", Extremum, "ReduceMin"},
    {"aten.max.default", Extremum, "ReduceMax"},
    {"aten.min.default", Extremum, "ReduceMin"},
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
