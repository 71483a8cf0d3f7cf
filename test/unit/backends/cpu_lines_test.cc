// Reductions, scans and sorts of backend cpu, of every dtype that it holds, are
// the reference kernels'.
#include <gtest/gtest.h>

#include "region_builder.h"
#include "region_comparison.h"
#include "special_samples.h"

namespace tenon {
namespace {

constexpr DType kNumbers[] = {
    DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kFloat16,
    DType::kInt64,   DType::kInt32,   DType::kInt8,     DType::kUInt8};

class CpuLinesTest : public testing::TestWithParam<DType> {
 protected:
  std::vector<Tensor> Inputs() { return Samples(random_, GetParam()); }
  bool is_floating() const { return IsFloating(GetParam()); }

  RandomTensors random_;
};

TEST_P(CpuLinesTest, ExtremesAndTheirPlacesByDimension) {
  for (const Tensor& t : Inputs()) {
    for (int64_t dim = -1; dim < t.dim(); ++dim) {
      if (t.dim() > 0 && t.size(dim < 0 ? t.dim() - 1 : dim) == 0) continue;
      for (const char* op : {"max.dim", "min.dim", "median.dim", "mode.default",
                             "argmax.default", "argmin.default"}) {
        for (const bool keepdim : {false, true}) {
          CheckOperator(op, [&](RegionBuilder& b) {
            return b.Ops(
                "aten." + std::string(op),
                {{"self", b.Input(t)}, {"dim", dim}, {"keepdim", keepdim}});
          });
        }
      }
    }
  }
}

TEST_P(CpuLinesTest, ExtremesOfAllElements) {
  for (const Tensor& t : Inputs()) {
    if (t.numel() == 0) continue;
    for (const char* op : {"max.default", "min.default", "argmax.default",
                           "argmin.default", "aminmax.default"}) {
      CheckOperator(op, [&](RegionBuilder& b) {
        return b.Ops("aten." + std::string(op), {{"self", b.Input(t)}});
      });
    }
  }
}

TEST_P(CpuLinesTest, SortsKeepTheOrderOfEqualElements) {
  for (const Tensor& t : Inputs()) {
    for (const bool descending : {false, true}) {
      for (int64_t dim = 0; dim < t.dim(); ++dim) {
        for (const char* op : {"sort.default", "argsort.default"}) {
          CheckOperator(op, [&](RegionBuilder& b) {
            return b.Ops("aten." + std::string(op),
                         {{"self", b.Input(t)},
                          {"dim", dim},
                          {"descending", descending}});
          });
        }
        const int64_t k = std::min<int64_t>(2, t.size(dim));
        CheckOperator("topk", [&](RegionBuilder& b) {
          return b.Ops("aten.topk.default", {{"self", b.Input(t)},
                                             {"k", k},
                                             {"dim", dim},
                                             {"largest", descending}});
        });
        if (k == 0) continue;
        CheckOperator("kthvalue", [&](RegionBuilder& b) {
          return b.Ops("aten.kthvalue.default",
                       {{"self", b.Input(t)}, {"k", k}, {"dim", dim}});
        });
      }
    }
  }
}

TEST_P(CpuLinesTest, ScansRunAlongAnyDimension) {
  for (const Tensor& t : Inputs()) {
    for (int64_t dim = 0; dim < t.dim(); ++dim) {
      for (const char* op :
           {"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"}) {
        if (!is_floating() && std::string(op) == "logcumsumexp") continue;
        CheckOperator(op, [&](RegionBuilder& b) {
          return b.Ops("aten." + std::string(op) + ".default",
                       {{"self", b.Input(t)}, {"dim", dim}});
        });
      }
    }
  }
}

TEST_P(CpuLinesTest, SumsAndProductsOverListsOfDimensions) {
  for (const Tensor& t : Inputs()) {
    const std::vector<int64_t> dims = {t.dim() - 1, 0};
    const std::vector<int64_t> some(dims.begin(), dims.end() - (t.dim() == 1));
    CheckOperator("sum", [&](RegionBuilder& b) {
      return b.Ops("aten.sum.dim_IntList",
                   {{"self", b.Input(t)}, {"dim", some}, {"keepdim", true}});
    });
    CheckOperator("count_nonzero", [&](RegionBuilder& b) {
      return b.Ops("aten.count_nonzero.dim_IntList",
                   {{"self", b.Input(t)}, {"dim", some}});
    });
    for (const char* op : {"any.dims", "all.dims"}) {
      CheckOperator(op, [&](RegionBuilder& b) {
        return b.Ops("aten." + std::string(op),
                     {{"self", b.Input(t)}, {"dim", some}});
      });
    }
    CheckOperator("prod", [&](RegionBuilder& b) {
      return b.Ops("aten.prod.dim_int", {{"self", b.Input(t)}, {"dim", 0}});
    });
    if (!is_floating()) continue;
    CheckOperator("mean", [&](RegionBuilder& b) {
      return b.Ops("aten.mean.dim", {{"self", b.Input(t)}, {"dim", some}});
    });
    CheckOperator("var_mean", [&](RegionBuilder& b) {
      return b.Ops("aten.var_mean.correction",
                   {{"self", b.Input(t)}, {"dim", some}, {"correction", 1}});
    });
    CheckOperator("logsumexp", [&](RegionBuilder& b) {
      return b.Ops("aten.logsumexp.default",
                   {{"self", b.Input(t)}, {"dim", some}});
    });
  }
}

TEST(CpuLinesShapesTest, ZeroDimensionalTensorsAreLinesOfOne) {
  RandomTensors random;
  const Tensor t = random.Floats({});
  for (const char* op : {"max.dim", "sort.default", "cumsum.default"}) {
    CheckOperator(op, [&](RegionBuilder& b) {
      return b.Ops("aten." + std::string(op),
                   {{"self", b.Input(t)}, {"dim", 0}});
    });
  }
  CheckOperator("topk", [&](RegionBuilder& b) {
    return b.Ops("aten.topk.default", {{"self", b.Input(t)}, {"k", 1}});
  });
}

INSTANTIATE_TEST_SUITE_P(DTypes, CpuLinesTest, testing::ValuesIn(kNumbers),
                         [](const auto& test) {
                           return std::string(Name(test.param));
                         });

}  // namespace
}  // namespace tenon
