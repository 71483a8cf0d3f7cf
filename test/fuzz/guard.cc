// Guards over the inputs of a small program.
#include "analysis/guards.h"
#include "fuzz/target.h"
#include "text/text.h"

namespace tenon::fuzz {
namespace {

constexpr std::string_view kProgram = R"(tenon 1
symbol s0 (positive=True, integer=True) hint 4
in_spec ((*, [*, *]), {k: *})
out_spec (*,)
forward_args ["x", "y", "k"]
graph @main(%x : f32[s0, 4] = user, %y : f32[4] = user, %z : f32[4] = user,
    %k : f32[4] = user) {
  return (%x)
}
)";

Program GuardedProgram() {
  Diagnostics diags;
  auto program = ParseProgram(kProgram, "guarded.tenon",
                              std::make_shared<Context>(), {}, diags);
  Expect(program.ok(), "the guarded program parses", diags.ToString());
  return std::move(*program);
}

}  // namespace

void FuzzGuard(Bytes bytes) {
  static const Program program = GuardedProgram();
  std::string error;
  const auto guard = Guard::Parse(program, AsText(bytes), &error);
  if (!guard) {
    Expect(!error.empty(), "a refusal says why");
    return;
  }
  guard->ExcludesSpecialSizes();
  for (const int64_t size : {int64_t{0}, int64_t{-1}, INT64_MIN, INT64_MAX}) {
    guard->Holds([&](uint32_t, Guard::Property, uint32_t dim) {
      return std::optional(size ^ int64_t{dim});
    });
  }
}

}  // namespace tenon::fuzz
