#include "onnx/division.h"

namespace tenon::onnx {
namespace {

// Whether a remainder with the sign of the dividend needs the divisor added.
std::string IsOnOtherSide(GraphBuilder& build, const std::string& mod,
                          const std::string& b) {
  const std::string zero = build.Number(build.dtype(b), int64_t{0});
  const std::string differ = build.Add(
      "Xor", {build.Add("Less", {b, zero}), build.Add("Less", {mod, zero})});
  return build.Add("And", {build.Not(build.Add("Equal", {mod, zero})), differ});
}

std::string TruncatedMod(GraphBuilder& build, const std::string& a,
                         const std::string& b) {
  return build.Add("Mod", {a, b}, {IntAttribute("fmod", 1)});
}

}  // namespace

std::string FloorDivide(GraphBuilder& build, const std::string& a,
                        const std::string& b) {
  const DType dtype = build.dtype(a);
  const std::string quotient = build.Add("Div", {a, b});
  const std::string mod = TruncatedMod(build, a, b);
  const std::string is_off = IsOnOtherSide(build, mod, b);
  const std::string one = build.Number(dtype, int64_t{1});
  if (!IsFloating(dtype)) {
    return build.Add("Sub", {quotient, build.Cast(is_off, dtype)});
  }
  const std::string even = build.Add("Div", {build.Add("Sub", {a, mod}), b});
  const std::string fixed =
      build.Where(is_off, build.Add("Sub", {even, one}), even);
  const std::string floor = build.Add("Floor", {fixed});
  const std::string rounds_up = build.Add(
      "Greater", {build.Add("Sub", {fixed, floor}), build.Number(dtype, 0.5)});
  const std::string whole =
      build.Where(rounds_up, build.Add("Add", {floor, one}), floor);
  const std::string zero = build.Number(dtype, int64_t{0});
  return build.Where(build.Add("Equal", {b, zero}), quotient, whole);
}

std::string TruncDivide(GraphBuilder& build, const std::string& a,
                        const std::string& b) {
  const DType dtype = build.dtype(a);
  const std::string quotient = build.Add("Div", {a, b});
  if (!IsFloating(dtype)) return quotient;
  const std::string is_negative =
      build.Add("Less", {quotient, build.Number(dtype, int64_t{0})});
  return build.Where(is_negative, build.Add("Ceil", {quotient}),
                     build.Add("Floor", {quotient}));
}

std::string Remainder(GraphBuilder& build, const std::string& a,
                      const std::string& b) {
  if (!IsFloating(build.dtype(a))) {
    return build.Add("Mod", {a, b}, {IntAttribute("fmod", 0)});
  }
  const std::string mod = TruncatedMod(build, a, b);
  return build.Where(IsOnOtherSide(build, mod, b), build.Add("Add", {mod, b}),
                     mod);
}

}  // namespace tenon::onnx
