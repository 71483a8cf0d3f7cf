#include "runtime/draw_inputs.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/binding.h"

namespace tenon {
namespace {

// SplitMix64: one multiplication chain per draw, the same everywhere, so that
// two programs can be run on the same inputs (T-4).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  // low <= x <= high.
  int64_t Between(int64_t low, int64_t high) {
    const auto span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    return low + static_cast<int64_t>(span == UINT64_MAX ? Next()
                                                         : Next() % (span + 1));
  }
  // [-1, 1), a multiple of 2^-23.
  float Unit() { return static_cast<float>(Next() >> 40) * 0x1p-23f - 1.0f; }

 private:
  uint64_t state_;
};

class Drawer {
 public:
  Drawer(const Program& program, const DrawOptions& options, Diagnostics& diags)
      : program_(program),
        options_(options),
        diags_(diags),
        random_(options.seed) {}

  Expected<std::vector<RuntimeValue>> Run() {
    const std::vector<uint32_t> positions = UserInputPositions(program_);
    const std::vector<std::string> paths = UserInputPaths(program_);
    for (const uint32_t p : positions) DrawSymbols(TypeAt(p));
    std::vector<RuntimeValue> out;
    for (size_t i = 0; i < positions.size(); ++i) {
      auto value = Draw(TypeAt(positions[i]), paths[i]);
      if (!value) return Failure{};
      out.push_back(std::move(*value));
    }
    return out;
  }

 private:
  const Type& TypeAt(uint32_t input) const {
    return program_.type(program_.root().inputs[input]);
  }

  void DrawSymbols(const Type& type) {
    std::vector<ExprId> symbols;
    for (const SymInt& s : type.sizes) {
      if (!s.is_literal()) {
        program_.context().exprs.CollectSymbols(s.expr, &symbols);
      }
    }
    if (type.kind == TypeKind::kSymInt && type.sym.expr.valid()) {
      program_.context().exprs.CollectSymbols(type.sym.expr, &symbols);
    }
    for (const ExprId symbol : symbols) {
      if (values_.count(symbol.index) == 0) {
        values_[symbol.index] = DrawSymbol(symbol);
      }
    }
  }

  int64_t DrawSymbol(ExprId symbol) {
    int64_t low = 1, high = options_.max_size;
    for (const SymbolRange& range : program_.ranges) {
      if (range.expr != symbol) continue;
      low = std::max<int64_t>(range.min.value_or(0), 0);
      high = std::min(range.max.value_or(high), std::max(high, low));
    }
    high = std::max(high, low);
    switch (options_.sizes) {
      case SizeChoice::kSmallest:
        return low;
      case SizeChoice::kLargest:
        return high;
      case SizeChoice::kRandom:
        return random_.Between(low, high);
    }
    return low;
  }

  std::optional<int64_t> Value(const SymInt& s) const {
    if (s.is_literal()) return s.value;
    return program_.context().exprs.EvaluateInt(
        s.expr, [this](ExprId symbol) -> std::optional<int64_t> {
          const auto it = values_.find(symbol.index);
          if (it == values_.end()) return std::nullopt;
          return it->second;
        });
  }

  Expected<RuntimeValue> Draw(const Type& type, const std::string& path) {
    switch (type.kind) {
      case TypeKind::kTensor:
        return DrawTensor(type, path);
      case TypeKind::kSymInt: {
        const auto value = Value(type.sym);
        if (!value) break;
        return RuntimeValue(*value);
      }
      case TypeKind::kSymFloat:
        return RuntimeValue(static_cast<double>(random_.Unit()));
      case TypeKind::kSymBool:
        return RuntimeValue((random_.Next() & 1) != 0);
      default: {
        const auto fixed = FixedInput(program_, type);
        if (fixed) return *fixed;
      }
    }
    return diags_.Error(Rule::kUnsupported, Place::Node(path))
           << "no value can be drawn for this input";
  }

  Expected<RuntimeValue> DrawTensor(const Type& type, const std::string& path) {
    Sizes sizes;
    for (const SymInt& s : type.sizes) {
      const auto size = Value(s);
      if (!size || *size < 0) {
        return diags_.Error(Rule::kUnsupported, Place::Node(path))
               << "the sizes can't be computed from the symbols";
      }
      sizes.push_back(*size);
    }
    constexpr int64_t kMaxElements = int64_t{1} << 32;
    if (NumElements(sizes) > kMaxElements) {
      return diags_.Error(Rule::kUnsupported, Place::Node(path))
             << "the input would have more than " << kMaxElements
             << " elements";
    }
    Tensor t = Tensor::Zeros(type.dtype, sizes);
    if (!t.defined()) {
      return diags_.Error(Rule::kIo, Place::Node(path)) << "out of memory";
    }
    for (int64_t i = 0; i < t.numel(); ++i) Fill(&t, i);
    return RuntimeValue(std::move(t));
  }

  // Element `i` of a contiguous tensor.
  void Fill(Tensor* t, int64_t i) {
    const size_t bytes = SizeBytes(t->dtype());
    std::byte* at = t->mutable_raw() + i * static_cast<int64_t>(bytes);
    const auto put = [&](auto value) { std::memcpy(at, &value, sizeof value); };
    switch (t->dtype()) {
      case DType::kFloat32:
        return put(random_.Unit());
      case DType::kFloat64:
        return put(static_cast<double>(random_.Unit()));
      case DType::kComplex64:
        put(random_.Unit());
        at += sizeof(float);
        return put(random_.Unit());
      case DType::kComplex128:
        put(static_cast<double>(random_.Unit()));
        at += sizeof(double);
        return put(static_cast<double>(random_.Unit()));
      case DType::kBFloat16:
        return put(UpperHalf(random_.Unit()));
      case DType::kFloat16:
        // Sign, exponent of [1/2, 1), any fraction.
        return put(static_cast<uint16_t>((random_.Next() & 0x83FF) | 0x3800));
      case DType::kComplex32:
        put(static_cast<uint16_t>((random_.Next() & 0x83FF) | 0x3800));
        at += sizeof(uint16_t);
        return put(static_cast<uint16_t>((random_.Next() & 0x83FF) | 0x3800));
      case DType::kFloat8E4M3FN:
      case DType::kFloat8E5M2:
      case DType::kFloat8E4M3FNUZ:
      case DType::kFloat8E5M2FNUZ:
      case DType::kFloat8E8M0FNU:
        // Small codes are small finite numbers in all of them.
        return put(static_cast<uint8_t>(random_.Next() % 64));
      case DType::kBool:
        return put(static_cast<uint8_t>(random_.Next() & 1));
      case DType::kUInt8:
      case DType::kInt8:
      case DType::kInt16:
      case DType::kInt32:
      case DType::kInt64:
      case DType::kUInt16:
      case DType::kUInt32:
      case DType::kUInt64: {
        // Little endian: the low bytes of the value.
        const int64_t value = random_.Between(
            0, std::max<int64_t>(options_.integer_limit, 1) - 1);
        std::memcpy(at, &value, bytes);
        return;
      }
      case DType::kUnknown:
        return;
    }
  }

  static uint16_t UpperHalf(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return static_cast<uint16_t>(bits >> 16);
  }

  const Program& program_;
  const DrawOptions& options_;
  Diagnostics& diags_;
  Random random_;
  SymbolValues values_;
};

}  // namespace

Expected<std::vector<RuntimeValue>> DrawInputs(const Program& program,
                                               const DrawOptions& options,
                                               Diagnostics& diags) {
  return Drawer(program, options, diags).Run();
}

}  // namespace tenon
