// ExecuTorch's programs and data files: read, verified, printed, written, read.
#include "formats/pte/pte.h"

#include "formats/pte/ptd.h"
#include "formats/pte/pte_text.h"
#include "formats/pte/verify_pte.h"
#include "fuzz/scratch_file.h"
#include "fuzz/target.h"

namespace tenon::fuzz {
namespace {

void CheckData(Bytes bytes) {
  Diagnostics diags;
  const auto data = ReadPtd(bytes, nullptr, "fuzz.ptd", diags);
  if (!data || !VerifyPtd(*data, diags)) {
    Expect(diags.has_errors(), "a refusal says why");
    return;
  }
  const ScratchFile file(".ptd");
  Expect(WritePtd(*data, file.path, diags).ok(), "what is right is written");
  const auto again = ReadPtd(file.path, diags);
  Expect(again.ok() && *again == *data, "what was written is read back");
}

void CheckProgram(Bytes bytes) {
  Diagnostics diags;
  const auto program = ReadPte(bytes, nullptr, "fuzz.pte", diags);
  if (!program) {
    Expect(diags.has_errors(), "a refusal says why");
    return;
  }
  PrintPte(*program, true);
  PteVerifyOptions options;
  options.lint = true;
  if (!VerifyPte(*program, options, diags)) {
    Expect(diags.has_errors(), "a refusal says why");
    return;
  }
  const ScratchFile file(".pte");
  const auto report = WritePte(*program, file.path, PteWriteOptions(), diags);
  if (report) {
    const auto again = ReadPte(file.path, diags);
    Expect(again.ok(), "what was written is read back");
    Expect(report->num_moved_payloads > 0 || *again == *program,
           "what was written is the same program");
  } else {
    Expect(diags.has_errors(), "a refusal to write says why");
  }
}

}  // namespace

void FuzzPte(Bytes bytes) {
  CheckProgram(bytes);
  CheckData(bytes);
}

}  // namespace tenon::fuzz
