// Tile programs without needless instructions:
//
//   x as bfloat16, that as float32    becomes    x rounded to bfloat16
//   the same instruction twice                   one
//   what nobody reads                            nothing
#include <algorithm>
#include <vector>

#include "backends/cpu/narrow_types.h"
#include "backends/cpu/pointwise_step.h"

namespace tenon::cpu {
namespace {

using Code = std::vector<TileInstruction>;

const TileInstruction* InstructionOf(const Code& code, TileRegister r) {
  return r >= 0 ? nullptr : &code[static_cast<size_t>(~r)];
}

// A half-precision value that comes from float32 goes back to it.
void JoinCasts(const Code& code, TileInstruction* back) {
  if (back->cast_to != DType::kFloat32 || !IsHalf(back->cast_from)) return;
  const TileInstruction* there = InstructionOf(code, back->inputs[0]);
  if (there == nullptr || there->cast_from != DType::kFloat32 ||
      there->cast_to != back->cast_from) {
    return;
  }
  TileInstruction rounded;
  rounded.op = TileOp::kRounded;
  rounded.dtype = back->cast_from;
  rounded.run = BestLoops().find_tile(rounded.op, rounded.dtype);
  rounded.inputs[0] = there->inputs[0];
  *back = rounded;
}

bool AreEqual(const TileInstruction& a, const TileInstruction& b) {
  return a.run == b.run && a.num_inputs == b.num_inputs &&
         std::equal(a.inputs, a.inputs + a.num_inputs, b.inputs) &&
         std::equal(a.params, a.params + 2, b.params);
}

// Keeps the instructions that count, in order.
void DropUnread(TileProgram* program) {
  Code& code = program->code;
  std::vector<bool> is_read(code.size());
  const auto read = [&](TileRegister r) {
    if (r < 0) is_read[static_cast<size_t>(~r)] = true;
  };
  read(program->result);
  for (size_t c = code.size(); c-- > 0;) {
    if (!is_read[c]) continue;
    for (uint8_t o = 0; o < code[c].num_inputs; ++o) read(code[c].inputs[o]);
  }
  std::vector<TileRegister> moved(code.size());
  const auto map = [&](TileRegister r) {
    return r >= 0 ? r : moved[static_cast<size_t>(~r)];
  };
  Code kept;
  for (size_t c = 0; c < code.size(); ++c) {
    if (!is_read[c]) continue;
    for (uint8_t o = 0; o < code[c].num_inputs; ++o) {
      code[c].inputs[o] = map(code[c].inputs[o]);
    }
    moved[c] = ~static_cast<TileRegister>(kept.size());
    kept.push_back(code[c]);
  }
  program->result = map(program->result);
  code = std::move(kept);
}

}  // namespace

void Simplify(TileProgram* program) {
  Code& code = program->code;
  std::vector<TileRegister> same(code.size());
  const auto map = [&](TileRegister r) {
    return r >= 0 ? r : same[static_cast<size_t>(~r)];
  };
  for (size_t c = 0; c < code.size(); ++c) {
    for (uint8_t o = 0; o < code[c].num_inputs; ++o) {
      code[c].inputs[o] = map(code[c].inputs[o]);
    }
    JoinCasts(code, &code[c]);
    const auto first = code.begin();
    const auto at = std::find_if(
        first, first + static_cast<ptrdiff_t>(c),
        [&](const TileInstruction& other) { return AreEqual(other, code[c]); });
    same[c] = ~static_cast<TileRegister>(at - first);
  }
  program->result = map(program->result);
  DropUnread(program);
}

}  // namespace tenon::cpu
