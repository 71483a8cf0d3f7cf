#include "analysis/guards.h"

#include <algorithm>
#include <charconv>

namespace tenon {

class GuardParser {
 public:
  using Op = Guard::Op;

  GuardParser(const Program& program, std::string_view text)
      : program_(program), text_(text) {}

  bool Parse(Guard* out, std::string* error) {
    uint32_t root = 0;
    const bool ok = Conjunction(&root) && AtEnd();
    if (!ok) {
      *error =
          error_.empty() ? "not a comparison of integer expressions" : error_;
      *error += " (at byte " + std::to_string(at_) + ")";
      return false;
    }
    out->text_ = std::string(text_);
    out->terms_ = std::move(terms_);
    return true;
  }

 private:
  static constexpr int kMaxDepth = 200;

  // --- tokens ---

  void Skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) {
      ++at_;
    }
  }
  bool Accept(std::string_view token) {
    Skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  bool AtEnd() {
    Skip();
    return at_ == text_.size();
  }
  bool Integer(int64_t* out) {
    Skip();
    const char* begin = text_.data() + at_;
    const auto [end, code] =
        std::from_chars(begin, text_.data() + text_.size(), *out);
    if (code != std::errc() || end == begin || *begin == '-') return false;
    at_ += static_cast<size_t>(end - begin);
    return true;
  }
  // 'text' or "text", without escapes.
  bool Quoted(std::string_view* out) {
    Skip();
    if (at_ == text_.size()) return false;
    const char quote = text_[at_];
    if (quote != '\'' && quote != '"') return false;
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return false;
    *out = text_.substr(at_ + 1, end - at_ - 1);
    if (out->find('\\') != std::string_view::npos) return false;
    at_ = end + 1;
    return true;
  }

  uint32_t Add(Guard::Term term) {
    terms_.push_back(term);
    return static_cast<uint32_t>(terms_.size() - 1);
  }
  uint32_t Add(Op op, uint32_t a, uint32_t b) {
    Guard::Term term;
    term.op = op;
    term.a = a;
    term.b = b;
    return Add(term);
  }

  // --- expressions ---

  bool Conjunction(uint32_t* out) {
    if (!Comparison(out)) return false;
    while (Accept("and ")) {
      uint32_t right = 0;
      if (!Comparison(&right)) return false;
      *out = Add(Op::kAnd, *out, right);
    }
    return true;
  }

  // A comparison may stand in parentheses of its own.
  bool Comparison(uint32_t* out) {
    const size_t start = at_;
    const size_t num_terms = terms_.size();
    if (Accept("(") && Deeper() && Conjunction(out) && Accept(")")) {
      --depth_;
      if (AtEnd() || text_.substr(at_, 3) == "and") return true;
    }
    at_ = start;
    terms_.resize(num_terms);
    depth_ = 0;
    uint32_t left = 0;
    if (!Sum(&left)) return false;
    static constexpr std::pair<std::string_view, Op> kComparisons[] = {
        {"==", Op::kEq}, {"!=", Op::kNe}, {"<=", Op::kLe},
        {">=", Op::kGe}, {"<", Op::kLt},  {">", Op::kGt}};
    bool any = false;
    // a < b < c is both.
    while (true) {
      const auto* found =
          std::find_if(std::begin(kComparisons), std::end(kComparisons),
                       [&](const auto& c) { return Accept(c.first); });
      if (found == std::end(kComparisons)) return any;
      uint32_t right = 0;
      if (!Sum(&right)) return false;
      const uint32_t compared = Add(found->second, left, right);
      *out = any ? Add(Op::kAnd, *out, compared) : compared;
      left = right;
      any = true;
    }
  }

  bool Deeper() { return ++depth_ < kMaxDepth; }

  bool Sum(uint32_t* out) {
    if (!Product(out)) return false;
    while (true) {
      Op op = Op::kAdd;
      if (Accept("-")) {
        op = Op::kSub;
      } else if (!Accept("+")) {
        return true;
      }
      uint32_t right = 0;
      if (!Product(&right)) return false;
      *out = Add(op, *out, right);
    }
  }

  bool Product(uint32_t* out) {
    if (!Unary(out)) return false;
    while (true) {
      Op op = Op::kMul;
      if (Accept("//")) {
        op = Op::kFloorDiv;
      } else if (Accept("%")) {
        op = Op::kMod;
      } else if (text_.substr(at_, 2) == "**" || !Accept("*")) {
        return true;
      }
      uint32_t right = 0;
      if (!Unary(&right)) return false;
      *out = Add(op, *out, right);
    }
  }

  bool Unary(uint32_t* out) {
    if (!Deeper()) return false;
    bool ok = false;
    if (Accept("-")) {
      uint32_t operand = 0;
      ok = Unary(&operand);
      *out = Add(Op::kNeg, operand, 0);
    } else if (Accept("(")) {
      ok = Sum(out) && Accept(")");
    } else {
      Guard::Term term;
      if (Integer(&term.value)) {
        *out = Add(term);
        ok = true;
      } else {
        ok = Atom(out);
      }
    }
    --depth_;
    return ok;
  }

  bool Atom(uint32_t* out) {
    if (!Accept("L[")) return false;
    std::string_view name;
    if (!Quoted(&name) || !Accept("]")) return false;
    const TreeSpec* spec = nullptr;
    uint32_t leaf = 0;
    if (!FindArgument(name, &spec, &leaf)) {
      error_ = "the program has no argument '" + std::string(name) + "'";
      return false;
    }
    while (!spec->is_leaf) {
      if (!Descend(&spec, &leaf)) return false;
    }
    Guard::Term term;
    term.op = Op::kAtom;
    term.leaf = leaf;
    int64_t dim = 0;
    if (Accept(".size()[") || Accept(".shape[")) {
      term.property = Guard::Property::kSize;
      if (!Integer(&dim) || !Accept("]")) return false;
    } else if (Accept(".stride()[")) {
      term.property = Guard::Property::kStride;
      if (!Integer(&dim) || !Accept("]")) return false;
    } else if (Accept(".storage_offset()")) {
      term.property = Guard::Property::kOffset;
    } else if (Accept(".")) {
      return false;
    }
    if (dim > 1000) return false;
    term.dim = static_cast<uint32_t>(dim);
    *out = Add(term);
    return true;
  }

  // --- the calling convention ---

  // The structure of an argument by name, and the number of its first leaf.
  bool FindArgument(std::string_view name, const TreeSpec** spec,
                    uint32_t* leaf) const {
    if (!program_.in_spec || program_.in_spec->children.size() != 2) {
      return false;
    }
    const TreeSpec& args = program_.in_spec->children[0];
    const TreeSpec& kwargs = program_.in_spec->children[1];
    uint32_t at = 0;
    for (size_t i = 0; i < args.children.size(); ++i) {
      if (i < program_.forward_arg_names.size() &&
          program_.forward_arg_names[i] == name) {
        *spec = &args.children[i];
        *leaf = at;
        return true;
      }
      at += static_cast<uint32_t>(args.children[i].num_leaves());
    }
    const std::vector<std::string> keys = kwargs.Keys();
    for (size_t i = 0; i < kwargs.children.size() && i < keys.size(); ++i) {
      if (keys[i] == name) {
        *spec = &kwargs.children[i];
        *leaf = at;
        return true;
      }
      at += static_cast<uint32_t>(kwargs.children[i].num_leaves());
    }
    // forward(*args, **kwargs)
    if (name != "args" && name != "kwargs") return false;
    *spec = name == "args" ? &args : &kwargs;
    *leaf = name == "args" ? 0 : static_cast<uint32_t>(args.num_leaves());
    return true;
  }

  // [0], ['key'] or .field.
  bool Descend(const TreeSpec** spec, uint32_t* leaf) {
    size_t child = (*spec)->children.size();
    if (Accept("[")) {
      std::string_view key;
      int64_t index = 0;
      if (Quoted(&key)) {
        child = FindKey(**spec, key);
      } else if (Integer(&index)) {
        child = (*spec)->has_keys() ? FindKey(**spec, std::to_string(index))
                                    : static_cast<size_t>(index);
      }
      if (!Accept("]")) return false;
    } else if (Accept(".")) {
      const size_t start = at_;
      while (at_ < text_.size() &&
             (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
              text_[at_] == '_')) {
        ++at_;
      }
      child = FindKey(**spec, text_.substr(start, at_ - start));
    }
    if (child >= (*spec)->children.size()) return false;
    for (size_t i = 0; i < child; ++i) {
      *leaf += static_cast<uint32_t>((*spec)->children[i].num_leaves());
    }
    *spec = &(*spec)->children[child];
    return true;
  }

  static size_t FindKey(const TreeSpec& spec, std::string_view key) {
    for (size_t i = 0; i < spec.children.size(); ++i) {
      if (spec.PathPart(i) == key) return i;
    }
    return spec.children.size();
  }

  const Program& program_;
  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  std::vector<Guard::Term> terms_;
  std::string error_;
};

std::optional<Guard> Guard::Parse(const Program& program, std::string_view text,
                                  std::string* error) {
  Guard guard;
  if (!GuardParser(program, text).Parse(&guard, error)) return std::nullopt;
  return guard;
}

std::vector<uint32_t> Guard::Leaves() const {
  std::vector<uint32_t> out;
  for (const Term& term : terms_) {
    if (term.op == Op::kAtom &&
        std::find(out.begin(), out.end(), term.leaf) == out.end()) {
      out.push_back(term.leaf);
    }
  }
  return out;
}

bool Guard::ExcludesSpecialSizes() const {
  const Term& root = terms_.back();
  const auto is_integer = [&](int64_t low, int64_t high) {
    const Term& b = terms_[root.b];
    return b.op == Op::kInteger && b.value >= low && b.value <= high;
  };
  if (root.op == Op::kNe) return is_integer(0, 1);
  if (root.op == Op::kGe) return is_integer(0, 2);
  return root.op == Op::kGt && is_integer(-1, 1);
}

std::optional<bool> Guard::Holds(const Resolver& resolve) const {
  std::vector<int64_t> values(terms_.size());
  for (size_t i = 0; i < terms_.size(); ++i) {
    const Term& t = terms_[i];
    const int64_t a = values[t.a], b = values[t.b];
    int64_t& out = values[i];
    bool overflows = false;
    switch (t.op) {
      case Op::kInteger:
        out = t.value;
        break;
      case Op::kAtom: {
        const auto value = resolve(t.leaf, t.property, t.dim);
        if (!value) return std::nullopt;
        out = *value;
        break;
      }
      case Op::kAdd:
        overflows = __builtin_add_overflow(a, b, &out);
        break;
      case Op::kSub:
        overflows = __builtin_sub_overflow(a, b, &out);
        break;
      case Op::kMul:
        overflows = __builtin_mul_overflow(a, b, &out);
        break;
      case Op::kNeg:
        overflows = __builtin_sub_overflow(int64_t{0}, a, &out);
        break;
      case Op::kFloorDiv:
      case Op::kMod: {
        if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
        // Python rounds down.
        const int64_t rest = a % b;
        const bool is_down = rest != 0 && (rest < 0) != (b < 0);
        out = t.op == Op::kFloorDiv ? a / b - is_down : rest + is_down * b;
        break;
      }
      case Op::kEq:
        out = a == b;
        break;
      case Op::kNe:
        out = a != b;
        break;
      case Op::kLt:
        out = a < b;
        break;
      case Op::kLe:
        out = a <= b;
        break;
      case Op::kGt:
        out = a > b;
        break;
      case Op::kGe:
        out = a >= b;
        break;
      case Op::kAnd:
        out = a != 0 && b != 0;
        break;
    }
    if (overflows) return std::nullopt;
  }
  return values.back() != 0;
}

}  // namespace tenon
