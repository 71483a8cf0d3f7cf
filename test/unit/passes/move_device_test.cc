// Every device of a program, there and back.
#include "passes/move_device.h"

#include "programs.h"

namespace tenon {
namespace {

MoveDeviceOptions To(std::string_view to, Program* program,
                     std::string_view from = "") {
  MoveDeviceOptions options;
  options.to = *ParseDevice(to, &program->context());
  if (!from.empty()) options.from = ParseDevice(from, &program->context());
  return options;
}

void Move(const MoveDeviceOptions& options, Program* program) {
  Diagnostics diags;
  EXPECT_TRUE(MoveDevice(program, options, diags)) << diags.ToString();
  ExpectValid(*program);
}

constexpr std::string_view kProgram = R"(
storage @0 = 4 bytes zeros
parameter "w" : f32[] requires_grad = @0
graph @main(%w : f32[] requires_grad = parameter "w", %p : bool[], %x : f32[]) {
  %z : f32[] = aten.zeros.default([], device=device("cpu"))
  %a : f32[] = higher_order.cond(%p, @then, @else, [%x]) single_return False
  aten._assert_tensor_metadata.default(%a, dtype=torch.float32, device=device("cpu"))
  %b : f32[] = aten.mul.Tensor(%a, %w)
  %y : f32[] = aten.add.Tensor(%b, %z)
  return (%y)
}
graph @then(%x : f32[]) {
  %y : f32[] = aten.to.device(%x, device("cpu"), torch.float32)
  return (%y)
}
graph @else(%x : f32[]) {
  %y : f32[] = aten.neg.default(%x)
  return (%y)
}
)";

TEST(MoveDevice, ThereAndBackIsTheSame) {
  Program program = Parse(kProgram);
  const std::string before = Print(program);
  Move(To("cuda:1", &program), &program);
  ExpectLacks(program, "cpu");
  for (uint32_t v = 0; v < program.num_values(); ++v) {
    const Type& type = program.type(ValueId(v));
    EXPECT_EQ(program.view(type.device.type), "cuda");
    EXPECT_EQ(type.device.index, 1);
  }
  for (const StateEntry& entry : program.state.entries) {
    EXPECT_EQ(program.view(program.type(entry.type).device.type), "cuda");
  }
  Move(To("cpu", &program), &program);
  EXPECT_EQ(Print(program), before);
}

TEST(MoveDevice, OnlyWhatIsThere) {
  Program program = Parse(kProgram);
  const std::string before = Print(program);
  Move(To("cuda:0", &program, "cuda"), &program);
  EXPECT_EQ(Print(program), before);
  Move(To("cuda:0", &program, "cpu"), &program);
  const std::string moved = Print(program);
  EXPECT_NE(moved, before);
  Move(To("cpu", &program, "cuda:1"), &program);
  EXPECT_EQ(Print(program), moved);
  Move(To("cpu", &program, "cuda"), &program);
  EXPECT_EQ(Print(program), before);
}

// It would make its tensor on the CPU.
TEST(MoveDevice, AFactorySaysItsDevice) {
  Program program = Parse(R"(
graph @main(%x : f32[2]) {
  %a : f32[2] = aten.ones.default([2])
  %b : f32[2] = aten.zeros_like.default(%x)
  %c : f32[2] = aten.add.Tensor(%a, %b)
  %y : f32[2] = aten.add.Tensor(%x, %c)
  return (%y)
}
)");
  Move(To("cuda:0", &program), &program);
  ExpectHas(program, R"(aten.ones.default([2], device=device("cuda", 0)))");
  ExpectHas(program, "aten.zeros_like.default(%x)\n");
}

TEST(MoveDevice, AutocastIsForADeviceType) {
  Program program = Parse(R"(
graph @main(%x : f32[2, 2]) {
  %y : bf16[2, 2] = higher_order.wrap_with_autocast("cpu", torch.bfloat16, True,
      None, @body, %x) single_return False
  return (%y)
}
graph @body(%x : f32[2, 2]) {
  %y : bf16[2, 2] = aten.mm.default(%x, %x)
  return (%y)
}
)");
  Move(To("cuda:0", &program), &program);
  ExpectHas(program, R"(wrap_with_autocast("cuda", )");
}

TEST(MoveDevice, WhatCantBeMovedIsRefused) {
  for (const std::string_view text : {R"(
delegate @engine backend "other"
  inputs (f32[])
  outputs (f32[])
graph @main(%x : f32[]) {
  %y : f32[] = delegate @engine(%x)
  return (%y)
}
)",
                                      R"(
guard "L['x'].device.type == 'cpu'"
graph @main(%x : f32[]) {
  %y : f32[] = aten.neg.default(%x)
  return (%y)
}
)"}) {
    Program program = Parse(text);
    const std::string before = Print(program);
    Diagnostics diags;
    EXPECT_FALSE(MoveDevice(&program, To("cuda:0", &program), diags));
    EXPECT_EQ(diags.all().at(0).rule, Rule::kUnsupported);
    EXPECT_EQ(Print(program), before);
  }
}

TEST(MoveDevice, NamesOfDevices) {
  Context context;
  EXPECT_EQ(ParseDevice("cpu", &context)->index, -1);
  EXPECT_EQ(ParseDevice("cuda:12", &context)->index, 12);
  for (const std::string_view text : {"", ":0", "cuda:", "cuda:-1", "cuda:x",
                                      "cuda:0:1", "a b", "cuda:99999999999"}) {
    EXPECT_FALSE(ParseDevice(text, &context)) << text;
  }
}

}  // namespace
}  // namespace tenon
