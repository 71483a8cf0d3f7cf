// The text form.
#include "text/text.h"

#include "fuzz/program_checks.h"
#include "fuzz/target.h"

namespace tenon::fuzz {

void FuzzText(Bytes bytes) {
  Diagnostics diags;
  const auto program = ParseProgram(AsText(bytes), "fuzz.tenon",
                                    std::make_shared<Context>(), {}, diags);
  if (program) {
    CheckProgram(*program);
  } else {
    Expect(diags.has_errors(), "a refusal to parse says why");
  }
}

}  // namespace tenon::fuzz
