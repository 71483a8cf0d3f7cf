// einsum: products of tensors by labelled dimensions.
//
//   bij,bjk->bik     two operands at a time, as one batched product: labels of
//                    both and the result are the batch, labels of both alone
//                    are summed over
#include <algorithm>
#include <string>
#include <vector>

#include "lower/rewrite_rules.h"

namespace tenon::lower {
namespace {

// A tensor and what its dimensions are called.
struct Labelled {
  ValueId value;
  std::string labels;
};

bool Has(const std::string& labels, char c) {
  return labels.find(c) != std::string::npos;
}

class Einsum {
 public:
  explicit Einsum(NodeRewrite& r) : r_(r) {}

  // (equation, operands, path)
  Rewritten Build() {
    if (!Parse()) return Rewritten::kSkip;
    Labelled all = SumAway(operands_[0], Wanted(1));
    for (size_t i = 1; i < operands_.size(); ++i) {
      all = Multiply(all, SumAway(operands_[i], all.labels + Wanted(i + 1)),
                     Wanted(i + 1));
    }
    all = SumAway(all, out_);
    return r_.Done(Ordered(all, out_));
  }

 private:
  bool Parse() {
    std::string text;
    for (const char c : r_.String(0)) {
      if (c != ' ') text += c;
    }
    const size_t arrow = text.find("->");
    if (text.find('.') != std::string::npos || !r_.arg(1).is_list) return false;
    const std::string left = text.substr(0, arrow);
    size_t begin = 0;
    for (const Operand& item : r_.arg(1).items) {
      const size_t end = std::min(left.find(',', begin), left.size());
      if (begin > left.size()) return false;
      operands_.push_back({item.value, left.substr(begin, end - begin)});
      begin = end + 1;
    }
    if (operands_.empty() || begin <= left.size()) return false;
    for (const Labelled& o : operands_) {
      if (!o.value.valid() || !IsFloating(TypeOf(o.value).dtype) ||
          TypeOf(o.value).rank() != static_cast<int64_t>(o.labels.size()) ||
          !AreDistinct(o.labels)) {
        return false;
      }
    }
    if (arrow != std::string::npos) {
      out_ = text.substr(arrow + 2);
    } else {
      for (char c = 'A'; c <= 'z'; ++c) {
        if (std::count(left.begin(), left.end(), c) == 1) out_ += c;
      }
    }
    // Sizes of 1 that are broadcast would need more than a product.
    for (const Labelled& a : operands_) {
      for (const Labelled& b : operands_) {
        for (size_t i = 0; i < a.labels.size(); ++i) {
          const size_t k = b.labels.find(a.labels[i]);
          if (k == std::string::npos) continue;
          const SymInt &x = TypeOf(a.value).sizes[i],
                       &y = TypeOf(b.value).sizes[k];
          if (x.is_literal() != y.is_literal() ||
              (x.is_literal() ? x.value != y.value : x.expr != y.expr)) {
            return false;
          }
        }
      }
    }
    return AreDistinct(out_) && Covers(left, out_);
  }
  static bool AreDistinct(std::string labels) {
    std::sort(labels.begin(), labels.end());
    return std::adjacent_find(labels.begin(), labels.end()) == labels.end();
  }
  static bool Covers(const std::string& all, const std::string& some) {
    return std::all_of(some.begin(), some.end(),
                       [&](char c) { return Has(all, c); });
  }

  const Type& TypeOf(ValueId v) const { return r_.program().type(v); }

  // Labels of the result and of operands from `first` on.
  std::string Wanted(size_t first) const {
    std::string labels = out_;
    for (size_t i = first; i < operands_.size(); ++i) {
      labels += operands_[i].labels;
    }
    return labels;
  }

  SymInt SizeOf(const Labelled& t, char label) const {
    return TypeOf(t.value).sizes[t.labels.find(label)];
  }
  Shape SizesOf(const Labelled& t, const std::string& labels) const {
    Shape sizes;
    for (const char c : labels) sizes.push_back(SizeOf(t, c));
    return sizes;
  }

  // Summed over the labels that nobody wants.
  Labelled SumAway(const Labelled& t, const std::string& wanted) {
    std::string kept;
    std::vector<int64_t> dims;
    for (size_t i = 0; i < t.labels.size(); ++i) {
      if (Has(wanted, t.labels[i])) {
        kept += t.labels[i];
      } else {
        dims.push_back(static_cast<int64_t>(i));
      }
    }
    if (dims.empty()) return t;
    const DType dtype = TypeOf(t.value).dtype;
    return {r_.build.Call("aten.sum.dim_IntList",
                          {t.value, Operand::Ints(dims), Operand::Bool(false)},
                          r_.build.TensorType(dtype, SizesOf(t, kept))),
            kept};
  }

  ValueId Ordered(const Labelled& t, const std::string& order) {
    if (t.labels == order) return t.value;
    std::vector<int64_t> dims;
    for (const char c : order) {
      dims.push_back(static_cast<int64_t>(t.labels.find(c)));
    }
    return r_.build.Permute(t.value, dims);
  }

  Labelled Multiply(const Labelled& a, const Labelled& b,
                    const std::string& wanted) {
    std::string batch, rows, columns, summed;
    for (const char c : a.labels) {
      if (!Has(b.labels, c)) {
        rows += c;
      } else if (Has(wanted, c)) {
        batch += c;
      } else {
        summed += c;
      }
    }
    for (const char c : b.labels) {
      if (!Has(a.labels, c)) columns += c;
    }
    const SymInt n = r_.build.ProductOf(SizesOf(a, batch)),
                 i = r_.build.ProductOf(SizesOf(a, rows)),
                 j = r_.build.ProductOf(SizesOf(a, summed)),
                 k = r_.build.ProductOf(SizesOf(b, columns));
    const ValueId x = View(Ordered(a, batch + rows + summed), {n, i, j}, a, b);
    const ValueId y =
        View(Ordered(b, batch + summed + columns), {n, j, k}, a, b);
    const DType dtype = TypeOf(a.value).dtype;
    const ValueId product = r_.build.Call(
        "aten.bmm.default", {x, y}, r_.build.TensorType(dtype, {n, i, k}));
    Shape sizes = SizesOf(a, batch + rows);
    for (const char c : columns) sizes.push_back(SizeOf(b, c));
    return {View(product, sizes, a, b), batch + rows + columns};
  }

  ValueId View(ValueId v, const Shape& sizes, const Labelled& a,
               const Labelled& b) {
    if (TypeOf(v).sizes == sizes) return v;
    const DType dtype = TypeOf(v).dtype;
    const auto list = r_.build.Sizes(sizes, {{a.value, b.value, v}});
    TENON_ASSERT(list.has_value(), "sizes of a product are those of operands");
    return r_.build.Call("aten.view_copy.default", {v, *list},
                         r_.build.TensorType(dtype, sizes));
  }

  NodeRewrite& r_;
  std::vector<Labelled> operands_;
  std::string out_;
};

Rewritten Lower(NodeRewrite& r) {
  // Two symbolic sizes folded into one can't be told apart again.
  for (const Operand& item : r.arg(1).items) {
    if (!item.value.valid() ||
        !r.program().type(item.value).has_static_sizes()) {
      return Rewritten::kSkip;
    }
  }
  return Einsum(r).Build();
}

}  // namespace

std::vector<RuleRow> EinsumRules() { return {{"aten.einsum.default", Lower}}; }

}  // namespace tenon::lower
