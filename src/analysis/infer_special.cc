// Special functions, element by element; integers become floating.
#include "analysis/infer_pointwise.h"

namespace tenon {
namespace {

using namespace pointwise;

constexpr InferRow kRows[] = {
    {"aten.special_ndtr.default", Pointwise, P(kFloat, kSelf)},
    {"aten.special_i0e.default", Pointwise, P(kFloat, kSelf)},
    {"aten.special_i1.default", Pointwise, P(kFloat, kSelf)},
    {"aten.special_i1e.default", Pointwise, P(kFloat, kSelf)},
    {"aten.special_entr.default", Pointwise, P(kFloat, kSelf)},
    {"aten.special_ndtri.default", Pointwise, P(kFloat, kSelf)},
    {"aten.special_log_ndtr.default", Pointwise, P(kFloat, kSelf)},
    {"aten.special_erfcx.default", Pointwise, P(kFloat, kSelf)},
    {"aten.special_bessel_j0.default", Pointwise, P(kFloat, kSelf)},
    {"aten.special_bessel_j1.default", Pointwise, P(kFloat, kSelf)},
    {"aten.special_bessel_y0.default", Pointwise, P(kFloat, kSelf)},
    {"aten.special_bessel_y1.default", Pointwise, P(kFloat, kSelf)},
    {"aten.special_modified_bessel_i0.default", Pointwise, P(kFloat, kSelf)},
    {"aten.special_modified_bessel_i1.default", Pointwise, P(kFloat, kSelf)},
    {"aten.special_modified_bessel_k0.default", Pointwise, P(kFloat, kSelf)},
    {"aten.special_modified_bessel_k1.default", Pointwise, P(kFloat, kSelf)},
    {"aten.special_scaled_modified_bessel_k0.default", Pointwise,
     P(kFloat, kSelf)},
    {"aten.special_scaled_modified_bessel_k1.default", Pointwise,
     P(kFloat, kSelf)},
    {"aten.special_spherical_bessel_j0.default", Pointwise, P(kFloat, kSelf)},
    {"aten.special_airy_ai.default", Pointwise, P(kFloat, kSelf)},
    {"aten.i0.default", Pointwise, P(kFloat, kSelf)},
    {"aten.mvlgamma.default", Pointwise, P(kFloat, kSelf)},
    {"aten.polygamma.default", Pointwise, P(kFloat, 0b10)},
    {"aten.special_polygamma.default", Pointwise, P(kFloat, 0b10)},
    {"aten.xlogy.Tensor", Pointwise, P(kFloat, kBoth)},
    {"aten.xlogy.Scalar_Self", Pointwise, P(kFloat, kBoth)},
    {"aten.xlogy.Scalar_Other", Pointwise, P(kFloat, kBoth)},
    {"aten.special_xlog1py.default", Pointwise, P(kFloat, kBoth)},
    {"aten.special_xlog1py.self_scalar", Pointwise, P(kFloat, kBoth)},
    {"aten.special_xlog1py.other_scalar", Pointwise, P(kFloat, kBoth)},
    {"aten.special_zeta.default", Pointwise, P(kFloat, kBoth)},
    {"aten.special_zeta.self_scalar", Pointwise, P(kFloat, kBoth)},
    {"aten.special_zeta.other_scalar", Pointwise, P(kFloat, kBoth)},
    {"aten.igamma.default", Pointwise, P(kFloat, kBoth)},
    {"aten.igammac.default", Pointwise, P(kFloat, kBoth)},
};

}  // namespace

std::span<const InferRow> SpecialRows() { return kRows; }

}  // namespace tenon
