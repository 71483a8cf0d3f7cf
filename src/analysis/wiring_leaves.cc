#include "analysis/wiring_leaves.h"

#include <algorithm>

#include "analysis/wiring_tags.h"

namespace tenon {

void WiringLeaves::AddSymInt(const SymInt& s, Hasher* h) const {
  if (s.is_literal()) {
    h->Add(uint64_t{0});
    h->Add(static_cast<uint64_t>(s.value));
  } else {
    h->Add(uint64_t{1});
    h->Add(std::string_view(context_.exprs.PrintSrepr(s.expr)));
  }
}

Digest WiringLeaves::NewType(TypeId id) {
  if (!id.valid()) return {};
  if (id.index >= types_.size()) types_.resize(context_.types.size());
  const tenon::Type& t = program_.type(id);
  Hasher h;
  h.Add(uint64_t{kTagType});
  h.Add(static_cast<uint64_t>(t.kind));
  h.Add(static_cast<uint64_t>(Code(t.dtype)));
  h.Add(static_cast<uint64_t>(Code(t.layout)));
  h.Add(static_cast<uint64_t>(t.requires_grad));
  h.Add(context_.view(t.device.type));
  h.Add(static_cast<uint64_t>(static_cast<int64_t>(t.device.index)));
  h.Add(static_cast<uint64_t>(t.sizes.size()));
  for (const SymInt& s : t.sizes) AddSymInt(s, &h);
  for (const SymInt& s : t.strides) AddSymInt(s, &h);
  if (t.is_symbolic_scalar()) {
    // Hints are examples, not meaning.
    if (t.sym.expr.valid()) AddSymInt(t.sym, &h);
  } else {
    AddSymInt(t.sym, &h);
    h.Add(t.real);
  }
  h.Add(context_.view(t.text));
  return types_[id.index] = h.Finish();
}

Digest WiringLeaves::Literal(const Arg& arg) {
  Hasher h;
  h.Add(uint64_t{kTagLiteral});
  h.Add(static_cast<uint64_t>(arg.kind));
  switch (arg.kind) {
    case ArgKind::kNone:
      break;
    case ArgKind::kInt:
    case ArgKind::kBool:
      h.Add(static_cast<uint64_t>(arg.i));
      break;
    case ArgKind::kDtype:
      h.Add(static_cast<uint64_t>(Code(arg.dtype())));
      break;
    case ArgKind::kLayout:
      h.Add(static_cast<uint64_t>(Code(arg.layout())));
      break;
    case ArgKind::kMemoryFormat:
      h.Add(static_cast<uint64_t>(Code(arg.memory_format())));
      break;
    case ArgKind::kFloat:
      h.Add(arg.f);
      break;
    case ArgKind::kString:
      h.Add(Text(arg.text));
      break;
    case ArgKind::kComplex:
      for (const Arg& part : program_.args(arg.list)) h.Add(part.f);
      break;
    case ArgKind::kDevice:
      h.Add(Text(arg.device.type));
      h.Add(static_cast<uint64_t>(static_cast<int64_t>(arg.device.index)));
      break;
    case ArgKind::kOperator:
      h.Add(Text(context_.op(arg.op).name));
      break;
    case ArgKind::kObject:
      h.Add(Text(arg.object.name));
      h.Add(context_.view(arg.object.class_fqn));
      break;
    case ArgKind::kValue:
    case ArgKind::kGraph:
    case ArgKind::kList:
    case ArgKind::kDict:
      break;
  }
  return h.Finish();
}

void WiringLeaves::AddSpec(const TreeSpec& spec, Hasher* h) {
  h->Add(uint64_t{kTagSpec});
  h->Add(uint64_t{spec.is_leaf});
  if (spec.is_leaf) return;
  h->Add(std::string_view(spec.type));
  h->Add(std::string_view(spec.context));
  h->Add(static_cast<uint64_t>(spec.children.size()));
  for (const TreeSpec& child : spec.children) AddSpec(child, h);
}

void WiringLeaves::AddRanges(Hasher* h) const {
  std::vector<Digest> ranges;
  for (const SymbolRange& range : program_.ranges) {
    Hasher r;
    if (range.expr.valid()) {
      r.Add(std::string_view(context_.exprs.PrintSrepr(range.expr)));
    } else {
      r.Add(std::string_view(range.key));
    }
    for (const auto& bound : {range.min, range.max}) {
      r.Add(uint64_t{bound.has_value()});
      r.Add(static_cast<uint64_t>(bound.value_or(0)));
    }
    ranges.push_back(r.Finish());
  }
  std::sort(ranges.begin(), ranges.end());
  for (const Digest& d : ranges) h->Add(d);
}

}  // namespace tenon
