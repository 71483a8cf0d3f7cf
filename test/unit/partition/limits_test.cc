// Where looking stops: so many operands, results and uses of a node when it is
// placed (P-6), so many devices, so deep a nesting. What lies just within a
// limit is weighed as ever; what lies beyond stays where it is.
#include "planning.h"

namespace tenon {
namespace {

constexpr int kMaxOperands = 32;  // of src/partition/cut.cc, results too
constexpr int kMaxUses = 16;
constexpr int kMaxDevices = 64;  // of src/partition/devices.cc
constexpr int kMaxDepth = 64;

// "%i0 : u8[1], %i1 : u8[1]", or without the type.
std::string ValueList(int count, const std::string& type) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += ", ";
    text += "%i" + std::to_string(i) + type;
  }
  return text;
}

// %p is in the first region, %h in the second, as %r between them isn't taken.
const char kTwoRegions[] = R"(
  %p : u8[1] = aten.neg.default(%y)
  %r : u8[1] = aten.exp.default(%p)
)";

std::string RegionsOf(const std::string& text) {
  const Program program = ParseText(text);
  const PickyBackend backend("b", AllBut("aten.exp.default"));
  return Regions(program, Plan(program, {Ask(backend)}));
}

// What nobody else uses moves for nothing.
std::string WithOperands(int count) {
  return RegionsOf("graph @main(%y : u8[1], " + ValueList(count, " : u8[1]") +
                   ") {" + kTwoRegions + "  %x : u8[9] = aten.cat.default([" +
                   ValueList(count, "") +
                   "])\n  %h : u8[1] = aten.neg.default(%r)\n"
                   "  return (%x, %h)\n}\n");
}

TEST(Limits, P6ANodeOfManyOperandsStays) {
  EXPECT_EQ(WithOperands(1), "p | x h");
  EXPECT_EQ(WithOperands(kMaxOperands), "p | x h");
  EXPECT_EQ(WithOperands(kMaxOperands + 1), "p x | h");
}

// Moving %x adds the 10 bytes of %p2, which crosses then, and saves those of
// its last result, which is used in the second region.
std::string WithResults(int count) {
  const std::string last = "%i" + std::to_string(count - 1);
  return RegionsOf("graph @main(%y : u8[1]) {" + std::string(kTwoRegions) +
                   "  %p2 : u8[10] = aten.expand.default(%p, [10])\n  " +
                   ValueList(count, " : u8[20]") +
                   " = aten.unbind.int(%p2)\n"
                   "  %h : u8[20] = aten.add.Tensor(" +
                   last + ", %r)\n  return (%p2, %h)\n}\n");
}

TEST(Limits, P6OnlySoManyResultsAreLookedAt) {
  EXPECT_EQ(WithResults(1), "p | p2 i0 h");
  EXPECT_EQ(WithResults(kMaxOperands), "p | p2 i0 h");
  EXPECT_EQ(WithResults(kMaxOperands + 1), "p p2 i0 | h");
}

// Moving %x adds the 10 bytes of %w and saves those of %v, if all uses of %v
// were seen: none is in the first region.
std::string WithUses(int count) {
  std::string text = "graph @main(%y : u8[1], %v : u8[10]) {" +
                     std::string(kTwoRegions) +
                     "  %w : u8[10] = aten.expand.default(%p, [10])\n"
                     "  %x : u8[10] = aten.add.Tensor(%v, %w)\n"
                     "  %h : u8[10] = aten.add.Tensor(%v, %r)\n";
  std::string returned = "%w, %x, %h";
  for (int i = 2; i < count; ++i) {
    const std::string name = "%e" + std::to_string(i);
    text += "  " + name + " : u8[10] = aten.exp.default(%v)\n";
    returned += ", " + name;
  }
  return RegionsOf(text + "  return (" + returned + ")\n}\n");
}

TEST(Limits, P6AValueOfManyUsesSavesNothing) {
  EXPECT_EQ(WithUses(2), "p | w x h");
  EXPECT_EQ(WithUses(kMaxUses), "p | w x h");
  EXPECT_EQ(WithUses(kMaxUses + 1), "p w x | h");
}

TEST(Limits, K712OnlySoManyDevices) {
  for (const int count : {kMaxDevices, kMaxDevices + 1}) {
    std::string inputs, nodes, outputs;
    for (int i = 0; i < count; ++i) {
      const std::string n = std::to_string(i);
      // The first is the CPU.
      const std::string type =
          " : f32[2]" + (i == 0 ? "" : " device cuda:" + n);
      const std::string comma = i == 0 ? "" : ", ";
      inputs += comma + "%x" + n + type;
      nodes += "  %a" + n + type + " = aten.relu.default(%x" + n + ")\n";
      outputs += comma + "%a" + n;
    }
    const Program program =
        ParseText("graph @main(" + inputs + ") {\n" + nodes + "  return (" +
                  outputs + ")\n}\n");
    const PickyBackend backend("b");
    const PartitionPlan plan = Plan(program, {Ask(backend)});
    EXPECT_EQ(plan.regions.size(), size_t{kMaxDevices});
    EXPECT_EQ(Refusals(program, plan),
              count == kMaxDevices ? "" : "a64: layout (devices several)\n");
  }
}

TEST(Limits, K712OnlySoDeepANesting) {
  for (const int depth : {kMaxDepth, kMaxDepth + 1}) {
    const auto call = [&](int child) {
      const std::string g = "@g" + std::to_string(child);
      return "  %b" + std::to_string(child) +
             " : f32[2] device cuda:0 = higher_order.cond(%p" +
             std::to_string(child) + ", " + g + ", " + g + ", [%p" +
             std::to_string(child) + ", %y" + std::to_string(child) + "])\n";
    };
    const auto inputs = [](int g) {
      return "%p" + std::to_string(g) + " : bool[] device cuda:0, %y" +
             std::to_string(g) + " : f32[2] device cuda:0";
    };
    std::string text = "graph @main(%x : f32[2], " + inputs(1) + ") {\n" +
                       "  %a : f32[2] = aten.relu.default(%x)\n" + call(1) +
                       "  return (%a, %b1)\n}\n";
    for (int g = 1; g <= depth; ++g) {
      text += "graph @g" + std::to_string(g) + "(" + inputs(g + 1) + ") {\n";
      text += g < depth ? call(g + 1)
                        : "  %b" + std::to_string(g + 1) +
                              " : f32[2] device cuda:0 = aten.relu.default(%y" +
                              std::to_string(g + 1) + ")\n";
      text += "  return (%b" + std::to_string(g + 1) + ")\n}\n";
    }
    const Program program = ParseText(text);
    const PickyBackend backend("b");
    const PartitionPlan plan = Plan(program, {Ask(backend)});
    EXPECT_EQ(Refusals(program, plan),
              depth == kMaxDepth ? "" : "b1: layout (devices several)\n");
  }
}

}  // namespace
}  // namespace tenon
