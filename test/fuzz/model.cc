// The JSON of a model and of its weights, inside an archive that is right.
#include "formats/pt2/pt2.h"
#include "fuzz/bundle.h"
#include "fuzz/program_checks.h"
#include "fuzz/target.h"
#include "verify/verify.h"

namespace tenon::fuzz {

void FuzzModel(Bytes bytes) {
  const std::string archive = ArchiveOfBundle(AsText(bytes));
  Diagnostics diags;
  const auto program = ReadPt2(AsBytes(archive), nullptr, "bundle.pt2",
                               std::make_shared<Context>(), {}, diags);
  if (!program) {
    Expect(diags.has_errors(), "a refusal to read says why");
    return;
  }
  const Status verdict = Verify(*program, VerifyOptions{.lint = true}, diags);
  Expect(verdict.ok() || diags.has_errors(), "a refusal to verify says why");
}

}  // namespace tenon::fuzz
