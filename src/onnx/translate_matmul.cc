// Products of matrices.
#include "onnx/task.h"

namespace tenon::onnx {
namespace {

WhyNot Product(Task& t, std::string_view) {
  t.Give(t.build.Add("MatMul", {t.In("self"), t.In("mat2")}));
  return {};
}

// beta * self + alpha * (a @ b).
WhyNot AddProduct(Task& t, std::string_view) {
  GraphBuilder& b = t.build;
  const DType dtype = t.dtype();
  const bool is_batched = t.arg("batch1") != nullptr;
  std::string product = b.Add("MatMul", {t.In(is_batched ? "batch1" : "mat1"),
                                         t.In(is_batched ? "batch2" : "mat2")});
  const auto alpha = t.read.Number("alpha"), beta = t.read.Number("beta");
  if (!alpha || !beta) return "a factor that is computed";
  if (*alpha != 1) product = b.Add("Mul", {product, t.In("alpha", dtype)});
  if (*beta == 0) {
    // PyTorch doesn't look at self, be it NaN.
    t.Give(product);
    return {};
  }
  std::string self = t.In("self", dtype);
  if (*beta != 1) self = b.Add("Mul", {self, t.In("beta", dtype)});
  t.Give(b.Add("Add", {product, self}));
  return {};
}

WhyNot Linear(Task& t, std::string_view) {
  GraphBuilder& b = t.build;
  const std::string x = t.In("input"), w = t.In("weight");
  if (t.rank("weight") == 1) {
    std::string out = b.Add("MatMul", {x, w});
    if (t.Has("bias")) out = b.Add("Add", {out, t.In("bias")});
    t.Give(out);
    return {};
  }
  if (t.rank("input") == 2 && IsFloating(t.dtype())) {
    std::vector<std::string> operands = {x, w};
    if (t.Has("bias")) operands.push_back(t.In("bias"));
    t.Give(b.Add("Gemm", operands, {IntAttribute("transB", 1)}));
    return {};
  }
  std::string out = b.Add("MatMul", {x, b.Transpose(w, {1, 0})});
  if (t.Has("bias")) out = b.Add("Add", {out, t.In("bias")});
  t.Give(out);
  return {};
}

constexpr Translation kTable[] = {
    {"aten.mm.default", Product},       {"aten.bmm.default", Product},
    {"aten.addmm.default", AddProduct}, {"aten.baddbmm.default", AddProduct},
    {"aten.linear.default", Linear},
};

}  // namespace

std::span<const Translation> MatmulTranslations() { return kTable; }

}  // namespace tenon::onnx
