// A whole program: read, verified, printed, parsed, written, read.
#include "formats/pt2/pt2.h"

#include "fuzz/bundle.h"
#include "fuzz/program_checks.h"
#include "fuzz/target.h"

namespace tenon::fuzz {

void FuzzPt2(Bytes bytes) {
  const auto archive =
      std::make_shared<const std::string>(ArchiveOfBundle(AsText(bytes)));
  Diagnostics diags;
  Pt2ReadOptions options;
  options.allow_weightless = true;
  const auto program = ReadPt2(AsBytes(*archive), archive, "bundle.pt2",
                               std::make_shared<Context>(), options, diags);
  if (program) CheckProgram(*program);
}

}  // namespace tenon::fuzz
