#include "backends/cpu/lowering.h"

#include <algorithm>
#include <vector>

namespace tenon::cpu {
namespace {

std::vector<Lowering> JoinFamilies() {
  std::vector<Lowering> all;
  for (const auto family : {GeometryLowerings(),
                            CopyLowerings(),
                            JoinLowerings(),
                            FillLowerings(),
                            OverwriteLowerings(),
                            PointwiseLowerings(),
                            ActivationLowerings(),
                            ChoiceLowerings(),
                            DivisionLowerings(),
                            InPlaceLowerings(),
                            MatmulLowerings(),
                            AttentionLowerings(),
                            NormLowerings(),
                            GroupNormLowerings(),
                            UpsampleLowerings(),
                            RearrangeLowerings(),
                            PadLowerings(),
                            ScatterLowerings(),
                            TransposedConvolutionLowerings(),
                            RecurrentLowerings(),
                            EmbeddingBagLowerings(),
                            SoftmaxLowerings(),
                            ReductionLowerings(),
                            StatisticsLowerings(),
                            ExtremaLowerings(),
                            ScanLowerings(),
                            IndexLowerings(),
                            GatherLowerings(),
                            ConvolutionLowerings(),
                            PoolLowerings(),
                            QuantizedLowerings(),
                            PackedMatmulLowerings()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  std::sort(all.begin(), all.end(), [](const Lowering& a, const Lowering& b) {
    return a.name < b.name;
  });
  return all;
}

}  // namespace

std::span<const Lowering> AllLowerings() {
  static const auto* all = new std::vector<Lowering>(JoinFamilies());
  return *all;
}

const Lowering* FindLowering(std::string_view name) {
  const auto all = AllLowerings();
  const auto at = std::lower_bound(
      all.begin(), all.end(), name,
      [](const Lowering& l, std::string_view n) { return l.name < n; });
  return at != all.end() && at->name == name ? &*at : nullptr;
}

}  // namespace tenon::cpu
