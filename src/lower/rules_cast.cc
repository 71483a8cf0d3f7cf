// Casts, copies, and moves to where the program runs anyway.
#include "lower/rewrite_rules.h"

namespace tenon::lower {
namespace {

// The first tensor in the dtype that the result has.
Rewritten ToResultDtype(NodeRewrite& r) {
  if (!r.tensor(0).valid()) return Rewritten::kSkip;
  return r.Done(r.build.Cast(r.tensor(0), r.result_type().dtype));
}

// Other layouts don't exist here, so a copy that changes nothing is the
// tensor. A cast keeps only what its kernel takes.
Rewritten ToCopy(NodeRewrite& r) {
  if (!r.tensor(0).valid()) return Rewritten::kSkip;
  const DType to = r.result_type().dtype;
  if (r.type(0).dtype == to) return r.Done(r.tensor(0));
  const bool is_plain = !r.is_passed(2) && !r.is_passed(3) && !r.is_passed(4) &&
                        !r.is_passed(5) && !r.is_passed(6);
  if (is_plain && r.Dtype(1) == to) return Rewritten::kSkip;
  return r.Done(r.build.Cast(r.tensor(0), to));
}

// copy(self, src): src, in self's dtype and sizes.
Rewritten Copy(NodeRewrite& r) {
  const ValueId self = r.tensor(0), source = r.tensor(1);
  if (!self.valid() || !source.valid()) return Rewritten::kSkip;
  const ValueId cast = r.build.Cast(source, r.type(0).dtype);
  const Shape sizes = r.result_type().sizes;
  if (r.program().type(cast).sizes == sizes) return r.Done(cast);
  const auto list = r.build.Sizes(sizes, {{self}});
  return r.Done(r.build.Call("aten.expand_copy.default", {cast, *list},
                             r.build.TypeLike(r.result())));
}

}  // namespace

std::vector<RuleRow> CastRules() {
  return {
      {"aten.to.dtype", ToResultDtype},
      {"aten.to.dtype_layout", ToResultDtype},
      {"aten.to.device", ToResultDtype},
      {"aten.to.other", ToResultDtype},
      {"aten.type_as.default", ToResultDtype},
      {"aten._to_copy.default", ToCopy},
      {"aten.copy.default", Copy},
      {"prims.convert_element_type.default", ToResultDtype},
  };
}

}  // namespace tenon::lower
