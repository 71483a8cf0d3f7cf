#include <gtest/gtest.h>

#include <string>

#include "../../limit_boundary.h"
#include "formats/pickle/pickle_scan.h"
#include "formats/pickle/pickle_tree.h"

namespace tenon {
namespace {

LimitedRead Parsing(const std::string& pickle) {
  return [pickle](const ReadLimits& limits, Diagnostics& diags) {
    return PickleTree::Parse(AsBytes(pickle), "x.pkl", diags, limits).ok();
  };
}

TEST(PickleLimits, ValuesThatAreMade) {
  // Ten times None, each dropped again; one node stands for "no state".
  std::string pickle;
  for (int i = 0; i < 10; ++i) pickle += "N0";
  ExpectBoundary(&ReadLimits::max_pickle_values, 12, Parsing(pickle + "N."));
}

TEST(PickleLimits, ValuesOfACarriedPickle) {
  std::string pickle;
  for (int i = 0; i < 10; ++i) pickle += "N0";
  pickle += "N.";
  ExpectBoundary(
      &ReadLimits::max_pickle_values, 12,
      [&](const ReadLimits& limits, Diagnostics& diags) {
        return CheckCarriedPickle(AsBytes(pickle), "x.pkl", diags, limits).ok();
      });
}

TEST(PickleLimits, ValuesThatAreStacked) {
  ExpectBoundary(&ReadLimits::max_pickle_values, 10,
                 Parsing("N" + std::string(9, '2') + "."));
}

TEST(PickleLimits, ValuesThatAreKept) {
  std::string pickle = "N";
  for (char slot = 0; slot < 10; ++slot) pickle += std::string("q") + slot;
  ExpectBoundary(&ReadLimits::max_pickle_values, 10, Parsing(pickle + "."));
}

}  // namespace
}  // namespace tenon
