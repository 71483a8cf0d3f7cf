#include "ops/schema.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace tenon {
namespace {

struct SchemaRow {
  // By the literals' sizes: measuring thousands of texts is too much for a
  // compiler.
  template <size_t N, size_t D, size_t F>
  constexpr SchemaRow(const char (&n)[N], const char (&d)[D],
                      const char (&f)[F])
      : name(n, N - 1), declaration(d, D - 1), flags(f, F - 1) {}

  std::string_view name;
  std::string_view declaration;
  // Letters: c core, r random, d data-dependent output.
  std::string_view flags;
};

// Sorted by name.
constexpr SchemaRow kSchemas[] = {
#include "ops/schemas.inc"
};

struct TypeName {
  std::string_view text;
  SchemaType type;
  bool symbolic;
};
constexpr TypeName kTypeNames[] = {
    {"Tensor", SchemaType::kTensor, false},
    {"int", SchemaType::kInt, false},
    {"SymInt", SchemaType::kInt, true},
    {"float", SchemaType::kFloat, false},
    {"SymFloat", SchemaType::kFloat, true},
    {"bool", SchemaType::kBool, false},
    {"SymBool", SchemaType::kBool, true},
    {"Scalar", SchemaType::kScalar, false},
    {"str", SchemaType::kString, false},
    {"ScalarType", SchemaType::kDtype, false},
    {"Layout", SchemaType::kLayout, false},
    {"Device", SchemaType::kDevice, false},
    {"MemoryFormat", SchemaType::kMemoryFormat, false},
    {"Generator", SchemaType::kGenerator, false},
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  bool Parse(OpSchema* out) {
    const size_t paren = text_.find('(');
    if (paren == std::string_view::npos) return false;
    if (!ParseName(text_.substr(0, paren), out)) return false;
    at_ = paren + 1;
    bool keyword_only = false;
    if (!Eat(")")) {
      do {
        Space();
        if (Eat("*")) {
          keyword_only = true;
          continue;
        }
        SchemaArg arg;
        arg.keyword_only = keyword_only;
        if (!ParseArg(&arg)) return false;
        out->args.push_back(std::move(arg));
      } while (Eat(","));
      if (!Eat(")")) return false;
    }
    Space();
    if (!Eat("->")) return false;
    return ParseReturns(out) && AtEnd();
  }

 private:
  static bool ParseName(std::string_view text, OpSchema* out) {
    const size_t colons = text.find("::");
    if (colons == std::string_view::npos) return false;
    std::string name(text.substr(0, colons));
    const std::string_view rest = text.substr(colons + 2);
    if (rest.empty() || name.empty()) return false;
    name += '.';
    name += rest;
    if (rest.find('.') == std::string_view::npos) name += ".default";
    out->name = std::move(name);
    return true;
  }

  void Space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool AtEnd() {
    Space();
    return at_ == text_.size();
  }
  bool Eat(std::string_view token) {
    Space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  std::string_view Word() {
    Space();
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
            text_[at_] == '_' || text_[at_] == '.')) {
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  // (a), (a!), (a -> *), (a! -> a|b): the set's letters and whether written.
  bool ParseAlias(std::string* set, bool* written) {
    if (!Eat("(")) return true;
    const size_t close = text_.find(')', at_);
    if (close == std::string_view::npos) return false;
    for (const char c : text_.substr(at_, close - at_)) {
      if (c == '!') *written = true;
      if (std::isalpha(static_cast<unsigned char>(c)) || c == '*') {
        if (set->find(c) == std::string::npos) *set += c;
      }
    }
    at_ = close + 1;
    return true;
  }

  template <typename T>
  bool ParseType(T* out, bool* symbolic, bool* optional, bool* element_optional,
                 int* fixed_size) {
    const std::string_view word = Word();
    if (word.empty()) return false;
    out->type = SchemaType::kOther;
    for (const TypeName& t : kTypeNames) {
      if (t.text == word) {
        out->type = t.type;
        *symbolic = t.symbolic;
      }
    }
    if (!ParseAlias(&out->alias_set, &out->is_written)) return false;
    while (true) {
      if (Eat("?")) {
        *optional = true;
      } else if (Eat("[")) {
        *element_optional = *optional;
        *optional = false;
        out->is_list = true;
        const std::string_view size = Word();
        std::from_chars(size.data(), size.data() + size.size(), *fixed_size);
        if (!Eat("]")) return false;
        if (!ParseAlias(&out->alias_set, &out->is_written)) return false;
      } else {
        return true;
      }
    }
  }

  bool ParseArg(SchemaArg* arg) {
    if (!ParseType(arg, &arg->symbolic, &arg->is_optional,
                   &arg->element_optional, &arg->fixed_size)) {
      return false;
    }
    arg->name = Word();
    if (arg->name.empty()) return false;
    if (!Eat("=")) return true;
    arg->has_default = true;
    return ParseDefault(&arg->default_value);
  }

  std::optional<double> Number(bool* is_int, int64_t* as_int) {
    Space();
    const char* begin = text_.data() + at_;
    const char* end = text_.data() + text_.size();
    const auto integer = std::from_chars(begin, end, *as_int);
    double value = 0;
    const auto real = std::from_chars(begin, end, value);
    if (real.ec != std::errc()) return std::nullopt;
    *is_int = integer.ec == std::errc() && integer.ptr == real.ptr;
    at_ += static_cast<size_t>(real.ptr - begin);
    return value;
  }

  bool ParseDefault(SchemaDefault* out) {
    Space();
    if (Eat("[")) {
      std::vector<int64_t> ints;
      std::vector<double> floats;
      bool all_int = true;
      if (!Eat("]")) {
        do {
          bool is_int = false;
          int64_t i = 0;
          if (Eat("True")) {
            i = 1;
            is_int = true;
          } else if (Eat("False")) {
            is_int = true;
          } else {
            const auto f = Number(&is_int, &i);
            if (!f) return false;
            floats.push_back(*f);
          }
          all_int = all_int && is_int;
          ints.push_back(i);
        } while (Eat(","));
        if (!Eat("]")) return false;
      }
      if (all_int) {
        out->value = std::move(ints);
      } else {
        out->value = std::move(floats);
      }
      return true;
    }
    for (const char quote : {'"', '\''}) {
      if (at_ < text_.size() && text_[at_] == quote) {
        const size_t close = text_.find(quote, at_ + 1);
        if (close == std::string_view::npos) return false;
        out->value = std::string(text_.substr(at_ + 1, close - at_ - 1));
        at_ = close + 1;
        return true;
      }
    }
    bool is_int = false;
    int64_t i = 0;
    const size_t begin = at_;
    if (const auto f = Number(&is_int, &i);
        f && !std::isalpha(static_cast<unsigned char>(text_[begin]))) {
      if (is_int) {
        out->value = i;
      } else {
        out->value = *f;
      }
      return true;
    }
    at_ = begin;
    const std::string_view word = Word();
    if (word.empty()) return false;
    if (word == "None") {
      out->value = std::monostate();
    } else if (word == "True" || word == "False") {
      out->value = word == "True";
    } else {
      out->value = std::string(word);
      out->is_name = true;
    }
    return true;
  }

  bool ParseReturn(OpSchema* out) {
    SchemaReturn r;
    bool unused_symbolic = false, optional = false, element_optional = false;
    int fixed_size = 0;
    if (!ParseType(&r, &unused_symbolic, &optional, &element_optional,
                   &fixed_size)) {
      return false;
    }
    r.name = Word();
    out->returns.push_back(std::move(r));
    return true;
  }

  bool ParseReturns(OpSchema* out) {
    if (!Eat("(")) return ParseReturn(out);
    if (Eat(")")) return true;
    do {
      if (!ParseReturn(out)) return false;
    } while (Eat(","));
    return Eat(")");
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

bool OpSchema::is_mutating() const {
  return std::any_of(args.begin(), args.end(),
                     [](const SchemaArg& a) { return a.is_written; });
}

bool OpSchema::is_view() const {
  return std::any_of(returns.begin(), returns.end(), [](const auto& r) {
    return !r.alias_set.empty() && !r.is_written;
  });
}

int OpSchema::FindArg(std::string_view arg_name) const {
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].name == arg_name) return static_cast<int>(i);
  }
  return -1;
}

bool ParseSchema(std::string_view declaration, OpSchema* out) {
  return Parser(declaration).Parse(out);
}

const OpSchema* FindSchema(std::string_view name) {
  static std::mutex mutex;
  static std::unordered_map<std::string_view, std::unique_ptr<OpSchema>> cache;
  const std::lock_guard<std::mutex> lock(mutex);
  if (const auto it = cache.find(name); it != cache.end()) {
    return it->second.get();
  }
  const auto row = std::lower_bound(
      std::begin(kSchemas), std::end(kSchemas), name,
      [](const SchemaRow& r, std::string_view n) { return r.name < n; });
  if (row == std::end(kSchemas) || row->name != name) return nullptr;
  auto schema = std::make_unique<OpSchema>();
  if (!ParseSchema(row->declaration, schema.get())) return nullptr;
  schema->is_core = row->flags.find('c') != std::string_view::npos;
  schema->nondeterministic = row->flags.find('r') != std::string_view::npos;
  schema->data_dependent_output =
      row->flags.find('d') != std::string_view::npos;
  return cache.emplace(row->name, std::move(schema)).first->second.get();
}

std::vector<std::string_view> AllSchemaNames() {
  std::vector<std::string_view> names;
  for (const SchemaRow& row : kSchemas) names.push_back(row.name);
  return names;
}

}  // namespace tenon
