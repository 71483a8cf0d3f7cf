// einsum: an equation names the dimensions of operands and of the result.
#include <map>
#include <string>

#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"

namespace tenon {
namespace {

// What stands for a dimension: a letter, or '.' for each of those that an
// ellipsis takes.
constexpr char kEllipsis = '.';

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// The labels of one operand, without spaces; nullopt for another text.
std::optional<std::string> Labels(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text.substr(i, 3) == "...") {
      if (out.find(kEllipsis) != std::string::npos) return std::nullopt;
      out += kEllipsis;
      i += 2;
    } else if (IsLetter(text[i])) {
      out += text[i];
    } else {
      return std::nullopt;
    }
  }
  return out;
}

// The sizes that labels have in the operands.
class Sizes {
 public:
  bool Add(const std::string& labels, const Type& t) {
    const size_t letters =
        labels.size() - (labels.find(kEllipsis) != std::string::npos);
    if (letters > t.sizes.size()) return false;
    const size_t rest = t.sizes.size() - letters;
    if (rest > 0 && letters == labels.size()) return false;
    size_t d = 0;
    ++num_operands_;
    for (const char c : labels) {
      if (c != kEllipsis) {
        Meet(c, InferredSize::Of(t.sizes[d++]));
        continue;
      }
      Type part;
      part.sizes.assign(
          t.sizes.begin() + static_cast<std::ptrdiff_t>(d),
          t.sizes.begin() + static_cast<std::ptrdiff_t>(d + rest));
      BroadcastInto(part, &ellipsis_);
      d += rest;
    }
    return true;
  }

  // The dtype of the result of operands that all have this one. The sum over
  // one operand's integers is int64; a label that operands share in one size is
  // summed as a product of matrices is.
  DType ResultOf(DType dtype, const std::string& result) const {
    const bool is_integer = ToFloating(dtype) != dtype;
    bool is_summed =
        ellipsis_.rank != 0 && result.find(kEllipsis) == std::string::npos;
    for (const auto& [letter, label] : labels_) {
      const bool is_kept = result.find(letter) != std::string::npos;
      const bool is_shared = label.operands > 1 && label.is_uniform;
      is_summed = is_summed || (!is_kept && !is_shared);
    }
    if (!is_integer || !is_summed) return dtype;
    // Of several operands, what has size 1 isn't summed.
    return num_operands_ == 1 ? DType::kInt64 : DType::kUnknown;
  }

  // Without "->" the result has the letters that occur once, in their order.
  std::string Implicit() const {
    std::string out(1, kEllipsis);
    for (const auto& [letter, label] : labels_) {
      if (label.count == 1) out += letter;
    }
    return out;
  }

  bool Append(const std::string& labels, InferredType* out) const {
    for (const char c : labels) {
      const auto label = labels_.find(c);
      const int added = c == kEllipsis ? ellipsis_.rank : 1;
      if (added < 0 || out->rank + added > InferredType::kMaxRank) return false;
      if (c != kEllipsis && label == labels_.end()) return false;
      for (int d = 0; d < added; ++d) {
        out->sizes[out->rank++] =
            c == kEllipsis ? ellipsis_.sizes[d] : label->second.size;
      }
    }
    return true;
  }

 private:
  struct Label {
    InferredSize size = InferredSize::Literal(1);
    int count = 0;  // in all operands
    int operands = 0;
    int last_operand = 0;
    bool is_uniform = true;
  };
  void Meet(char letter, const InferredSize& size) {
    Label& label = labels_[letter];
    if (label.count > 0 && !AreEqual(label.size, size)) {
      label.is_uniform = false;
    }
    label.size = BroadcastSize(label.size, size);
    ++label.count;
    if (label.last_operand != num_operands_) ++label.operands;
    label.last_operand = num_operands_;
  }

  std::map<char, Label> labels_;
  int num_operands_ = 0;
  InferredType ellipsis_ = [] {
    InferredType t;
    t.rank = 0;
    return t;
  }();
};

void Einsum(InferCall& call, uint32_t) {
  const auto equation = call.Text(0);
  const auto items = call.Items(1);
  if (!equation || items.empty()) return;
  const size_t arrow = equation->find("->");
  std::string_view rest = equation->substr(0, arrow);
  DType dtype = DType::kUnknown;
  Sizes sizes;
  for (size_t i = 0; i < items.size(); ++i) {
    const Type* t = call.TensorOf(&items[i]);
    const size_t comma = rest.find(',');
    const bool is_last = i + 1 == items.size();
    if (t == nullptr || is_last != (comma == std::string_view::npos)) return;
    const auto labels = Labels(rest.substr(0, comma));
    if (!labels || !sizes.Add(*labels, *t)) return;
    rest = is_last ? std::string_view() : rest.substr(comma + 1);
    // Operands of several dtypes meet in an order of their own.
    dtype = i == 0 || dtype == t->dtype ? t->dtype : DType::kUnknown;
  }
  const auto labels = arrow == std::string_view::npos
                          ? std::optional<std::string>(sizes.Implicit())
                          : Labels(equation->substr(arrow + 2));
  if (!labels) return;
  InferredType out;
  out.rank = 0;
  if (!sizes.Append(*labels, &out)) out.rank = -1;
  out.has_kind = true;
  out.kind = TypeKind::kTensor;
  out.dtype = sizes.ResultOf(dtype, *labels);
  call.Add(out);
}

constexpr InferRow kRows[] = {
    {"aten.einsum.default", Einsum},
};

}  // namespace

std::span<const InferRow> EinsumRows() { return kRows; }

}  // namespace tenon
