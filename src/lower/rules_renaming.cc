// Operators that are another operator under another name.
#include "lower/rewrite_rules.h"

namespace tenon::lower {
namespace {

struct Rename {
  std::string_view from, to;
  size_t num_args;  // of the leading ones, that are passed on
};

// Views become copies: values of a lowered program share nothing.
constexpr Rename kRenames[] = {
    {"aten.permute.default", "aten.permute_copy.default", 2},
    {"aten.transpose.int", "aten.transpose_copy.int", 3},
    {"aten.t.default", "aten.t_copy.default", 1},
    {"aten.select.int", "aten.select_copy.int", 3},
    {"aten.unfold.default", "aten.unfold_copy.default", 4},
    {"aten.diagonal.default", "aten.diagonal_copy.default", 4},
    {"aten.split_with_sizes.default", "aten.split_with_sizes_copy.default", 3},
    {"aten.view_as_real.default", "aten.view_as_real_copy.default", 1},
    {"aten.__and__.Scalar", "aten.bitwise_and.Scalar", 2},
    {"aten.__and__.Tensor", "aten.bitwise_and.Tensor", 2},
    {"aten.__or__.Scalar", "aten.bitwise_or.Scalar", 2},
    {"aten.__or__.Tensor", "aten.bitwise_or.Tensor", 2},
    {"aten.__xor__.Scalar", "aten.bitwise_xor.Scalar", 2},
    {"aten.__xor__.Tensor", "aten.bitwise_xor.Tensor", 2},
    {"aten.__lshift__.Scalar", "aten.bitwise_left_shift.Tensor_Scalar", 2},
    {"aten.__lshift__.Tensor", "aten.bitwise_left_shift.Tensor", 2},
    {"aten.__rshift__.Scalar", "aten.bitwise_right_shift.Tensor_Scalar", 2},
    {"aten.__rshift__.Tensor", "aten.bitwise_right_shift.Tensor", 2},
    {"aten.item.default", "aten._local_scalar_dense.default", 1},
    {"aten.absolute.default", "aten.abs.default", 1},
    {"aten.negative.default", "aten.neg.default", 1},
    {"aten.special_expit.default", "aten.sigmoid.default", 1},
    {"aten.special_erf.default", "aten.erf.default", 1},
    {"aten.clip.default", "aten.clamp.default", 3},
    {"aten.clip.Tensor", "aten.clamp.Tensor", 3},
    {"aten.concat.default", "aten.cat.default", 2},
    {"aten.concatenate.default", "aten.cat.default", 2},
    {"aten.subtract.Tensor", "aten.sub.Tensor", 3},
    {"aten.multiply.Tensor", "aten.mul.Tensor", 2},
    {"aten.divide.Tensor", "aten.div.Tensor", 2},
    {"aten.true_divide.Tensor", "aten.div.Tensor", 2},
    {"aten.greater.Tensor", "aten.gt.Tensor", 2},
    {"aten.less.Tensor", "aten.lt.Tensor", 2},
    {"aten.greater_equal.Tensor", "aten.ge.Tensor", 2},
    {"aten.less_equal.Tensor", "aten.le.Tensor", 2},
    {"aten.not_equal.Tensor", "aten.ne.Tensor", 2},
    {"aten.max.other", "aten.maximum.default", 2},
    {"aten.min.other", "aten.minimum.default", 2},
    {"aten.adaptive_avg_pool2d.default", "aten._adaptive_avg_pool2d.default",
     2},
};

}  // namespace

std::vector<RuleRow> RenamingRules() {
  std::vector<RuleRow> rows;
  for (const Rename& rename : kRenames) {
    rows.push_back({rename.from, [rename](NodeRewrite& r) {
                      return r.Become(rename.to, r.FirstArgs(rename.num_args));
                    }});
  }
  return rows;
}

}  // namespace tenon::lower
