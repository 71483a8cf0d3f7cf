// Types of values, interned: equal types have equal ids.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "ir/expr.h"
#include "ir/ids.h"
#include "ir/kinds.h"

namespace tenon {

// A device as programs name it; index -1 = none given.
struct Device {
  StringId type;
  int32_t index = -1;
  friend bool operator==(const Device&, const Device&) = default;
};

enum class TypeKind : uint8_t {
  kTensor,
  kSymInt,    // a scalar int; `sym` is its expression
  kSymFloat,  // a scalar float
  kSymBool,   // a scalar bool
  kObject,    // an opaque object of class `text`
  kNone,      // None, as an input or a result
  // A literal that was fixed at export: user inputs that aren't tensors.
  kInt,     // `sym.value`
  kFloat,   // `real`
  kBool,    // `sym.value` != 0
  kString,  // `text`
};

struct Type {
  TypeKind kind = TypeKind::kNone;
  // Tensor
  DType dtype = DType::kUnknown;
  Layout layout = Layout::kStrided;
  bool requires_grad = false;
  Device device;
  std::vector<SymInt> sizes;
  std::vector<SymInt> strides;  // in elements, same length as sizes
  SymInt storage_offset;        // in elements
  // Scalars and literals. For kSymFloat a hint lies in `real`, for kSymBool
  // in sym.value; sym.has_hint says whether there is one.
  SymInt sym;
  double real = 0;
  StringId text;

  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  bool is_tensor() const { return kind == TypeKind::kTensor; }
  bool is_symbolic_scalar() const {
    return kind == TypeKind::kSymInt || kind == TypeKind::kSymFloat ||
           kind == TypeKind::kSymBool;
  }
  bool is_literal() const {
    return kind == TypeKind::kInt || kind == TypeKind::kFloat ||
           kind == TypeKind::kBool || kind == TypeKind::kString ||
           kind == TypeKind::kNone;
  }
  // All sizes are literals.
  bool has_static_sizes() const;
};

// Equal bit for bit: floats by their bits, so that NaN equals itself.
bool operator==(const Type& a, const Type& b);

class TypePool {
 public:
  TypePool();
  const Type& get(TypeId id) const { return types_[id.index]; }
  TypeId Intern(Type type);
  size_t size() const { return types_.size(); }

 private:
  void Grow();

  std::deque<Type> types_;
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> slots_;  // open addressing
};

}  // namespace tenon
