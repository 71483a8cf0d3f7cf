// What moves elements on backend cpu, copies of views, and scatters, are the
// reference kernels'.
#include <gtest/gtest.h>

#include "region_builder.h"
#include "region_comparison.h"
#include "special_samples.h"

namespace tenon {
namespace {

using Ints = std::vector<int64_t>;

class CpuRearrangeTest : public testing::TestWithParam<DType> {
 protected:
  Tensor Make(Sizes sizes) {
    return IsFloating(GetParam())
               ? Cast(random_.Floats(std::move(sizes)), GetParam())
               : Cast(random_.Ints(std::move(sizes), -5, 5), GetParam());
  }
  RandomTensors random_;
};

TEST_P(CpuRearrangeTest, FlipsAndRolls) {
  for (const Tensor& t : Samples(random_, GetParam())) {
    for (int64_t dim = 0; dim < t.dim(); ++dim) {
      CheckOperator("flip", [&](RegionBuilder& b) {
        return b.Ops("aten.flip.default",
                     {{"self", b.Input(t)}, {"dims", Ints{dim}}});
      });
      for (const int64_t shift : {-7, 0, 1, 12}) {
        CheckOperator("roll", [&](RegionBuilder& b) {
          return b.Ops("aten.roll.default", {{"self", b.Input(t)},
                                             {"shifts", Ints{shift}},
                                             {"dims", Ints{dim}}});
        });
      }
    }
    CheckOperator("roll all", [&](RegionBuilder& b) {
      return b.Ops("aten.roll.default",
                   {{"self", b.Input(t)}, {"shifts", Ints{3}}});
    });
  }
  for (const int64_t turns : {-1, 0, 1, 2, 3}) {
    CheckOperator("rot90", [&](RegionBuilder& b) {
      return b.Ops("aten.rot90.default",
                   {{"self", b.Input(Make({2, 3, 4}))}, {"k", turns}});
    });
  }
}

TEST_P(CpuRearrangeTest, PadsByEveryMode) {
  const Tensor t = Make({2, 3, 5, 6});
  for (const char* mode : {"constant", "reflect", "replicate", "circular"}) {
    for (const Ints& pad : {Ints{2, 1}, Ints{-1, 3}, Ints{0, -2},
                            Ints{1, 2, 3, 4}, Ints{-2, -1, 4, 0}}) {
      // The number of dimensions that are padded says how many come before.
      const Tensor x = pad.size() == 2 ? Selected(t, 0, 1) : t;
      CheckOperator(mode, [&](RegionBuilder& b) {
        return b.Ops("aten.pad.default",
                     {{"self", b.Input(x)}, {"pad", pad}, {"mode", mode}});
      });
    }
  }
}

TEST_P(CpuRearrangeTest, ReplicatesWhatLiesBeyondACrop) {
  const Tensor t = Make({1, 2, 3, 4});
  CheckOperator("crop beyond", [&](RegionBuilder& b) {
    return b.Ops("aten.replication_pad2d.default",
                 {{"self", b.Input(t)}, {"padding", Ints{-5, 7, 6, -4}}});
  });
}

TEST_P(CpuRearrangeTest, TrianglesAndDiagonals) {
  for (const int64_t diagonal : {-9, -1, 0, 2, 9}) {
    for (const char* op : {"tril", "triu"}) {
      CheckOperator(op, [&](RegionBuilder& b) {
        return b.Ops(
            "aten." + std::string(op) + ".default",
            {{"self", b.Input(Make({2, 4, 3}))}, {"diagonal", diagonal}});
      });
    }
    CheckOperator("diag_embed", [&](RegionBuilder& b) {
      return b.Ops("aten.diag_embed.default",
                   {{"self", b.Input(Make({2, 3}))}, {"offset", diagonal}});
    });
  }
}

TEST_P(CpuRearrangeTest, ShufflesAndTiles) {
  CheckOperator("pixel_shuffle", [&](RegionBuilder& b) {
    return b.Ops(
        "aten.pixel_shuffle.default",
        {{"self", b.Input(Make({2, 8, 3, 5}))}, {"upscale_factor", 2}});
  });
  CheckOperator("pixel_unshuffle", [&](RegionBuilder& b) {
    return b.Ops(
        "aten.pixel_unshuffle.default",
        {{"self", b.Input(Make({2, 2, 4, 6}))}, {"downscale_factor", 2}});
  });
  CheckOperator("channel_shuffle", [&](RegionBuilder& b) {
    return b.Ops("aten.channel_shuffle.default",
                 {{"self", b.Input(Make({2, 6, 3, 2}))}, {"groups", 3}});
  });
  CheckOperator("tile", [&](RegionBuilder& b) {
    return b.Ops("aten.tile.default",
                 {{"self", b.Input(Make({2, 3}))}, {"dims", Ints{2}}});
  });
}

TEST_P(CpuRearrangeTest, CopiesOfViewsAreContiguous) {
  CheckOperator("permute_copy", [&](RegionBuilder& b) {
    return b.Ops("aten.permute_copy.default",
                 {{"self", b.Input(Make({2, 3, 4}))}, {"dims", Ints{2, 0, 1}}});
  });
  CheckOperator("split_copy", [&](RegionBuilder& b) {
    return b.Ops("aten.split_copy.Tensor",
                 {{"self", b.Input(Make({5, 3}))}, {"split_size", 2}});
  });
}

TEST_P(CpuRearrangeTest, ScattersAlongADimension) {
  const Tensor self = Make({4, 5}), source = Make({3, 5});
  const Tensor index = random_.Ints({3, 4}, 0, 3);
  for (const char* op : {"scatter.src", "scatter_add.default"}) {
    CheckOperator(op, [&](RegionBuilder& b) {
      return b.Ops("aten." + std::string(op), {{"self", b.Input(self)},
                                               {"dim", 0},
                                               {"index", b.Input(index)},
                                               {"src", b.Input(source)}});
    });
  }
  CheckOperator("scatter.value", [&](RegionBuilder& b) {
    return b.Ops("aten.scatter.value", {{"self", b.Input(self)},
                                        {"dim", -2},
                                        {"index", b.Input(index)},
                                        {"value", 1}});
  });
  for (const char* reduce : {"sum", "prod", "mean", "amax", "amin"}) {
    for (const bool include_self : {false, true}) {
      CheckOperator(reduce, [&](RegionBuilder& b) {
        return b.Ops("aten.scatter_reduce.two",
                     {{"self", b.Input(self)},
                      {"dim", 0},
                      {"index", b.Input(index)},
                      {"src", b.Input(source)},
                      {"reduce", reduce},
                      {"include_self", include_self}});
      });
    }
  }
}

TEST_P(CpuRearrangeTest, AddsAndFillsWholeSlices) {
  const Tensor self = Make({4, 5, 2}), source = Make({4, 3, 2});
  const Tensor index = random_.Ints({3}, 0, 4);
  CheckOperator("index_add", [&](RegionBuilder& b) {
    return b.Ops("aten.index_add.default", {{"self", b.Input(self)},
                                            {"dim", 1},
                                            {"index", b.Input(index)},
                                            {"source", b.Input(source)},
                                            {"alpha", 2}});
  });
  CheckOperator("index_fill", [&](RegionBuilder& b) {
    return b.Ops("aten.index_fill.int_Scalar",
                 {{"self", b.Input(self)},
                  {"dim", 1},
                  {"index", b.Input(random_.Ints({2}, -5, -1))},
                  {"value", 3}});
  });
}

INSTANTIATE_TEST_SUITE_P(DTypes, CpuRearrangeTest,
                         testing::Values(DType::kFloat32, DType::kFloat64,
                                         DType::kBFloat16, DType::kInt64,
                                         DType::kInt8),
                         [](const auto& test) {
                           return std::string(Name(test.param));
                         });

std::string ErrorOf(RegionBuilder& b, ValueId output, const Tensor& last) {
  auto inputs = b.inputs;
  inputs.back() = last;
  const Program region = b.Finish({output});
  Diagnostics diags;
  const Backend* cpu = FindBackend("cpu");
  const auto compiled = cpu->Compile(region, {}, diags);
  if (!compiled) return "does not compile";
  const auto loaded = cpu->Load(compiled->payload, nullptr, {}, diags);
  if (!loaded || (*loaded)->Run(inputs, diags)) return "";
  return diags.FirstError();
}

TEST(CpuScatterTest, AnIndexOutOfBoundsIsAnError) {
  RandomTensors random;
  RegionBuilder b;
  const ValueId self = b.Input(random.Floats({3}));
  const ValueId index = b.Input(random.Ints({2}, 0, 2));
  const ValueId out =
      b.Op("aten.scatter.value",
           {{"self", self}, {"dim", 0}, {"index", index}, {"value", 1.0}});
  EXPECT_NE(ErrorOf(b, out, random.Ints({2}, 3, 3)).find("out of bounds"),
            std::string::npos);
}

TEST(CpuDivisionTest, AnIntegerDivisorOfZeroIsAnError) {
  RandomTensors random;
  RegionBuilder b;
  const ValueId x = b.Input(random.Ints({4}, -9, 9));
  const ValueId y = b.Input(random.Ints({4}, 1, 9));
  const ValueId out =
      b.Op("aten.floor_divide.default", {{"self", x}, {"other", y}});
  EXPECT_NE(ErrorOf(b, out, random.Ints({4}, 0, 0)).find("division by zero"),
            std::string::npos);
}

// The offset counts from the start of the storage, before the input's first
// element, and other offsets are other plans.
TEST(CpuAsStridedTest, SeesTheStorageOfAnInput) {
  RandomTensors random;
  const Tensor whole = random.Floats({30});
  for (const int64_t start : {0, 4, 9}) {
    const Tensor part = whole.View({10}, {1}, start);
    CheckOperator("as_strided", [&](RegionBuilder& b) {
      const ValueId view =
          b.Op("aten.as_strided.default", {{"self", b.Input(part)},
                                           {"size", Ints{3, 2}},
                                           {"stride", Ints{4, 1}},
                                           {"storage_offset", 2}});
      return std::vector<ValueId>{b.Op("aten.neg.default", {{"self", view}}),
                                  view};
    });
  }
}

}  // namespace
}  // namespace tenon
