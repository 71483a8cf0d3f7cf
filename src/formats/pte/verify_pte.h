// Checks ExecuTorch programs: what a runtime would refuse, crash on, or compute
// something else from, is an error here, before anything is executed (rules
// V-PTE-08 to V-PTE-29; reading checks the ones before).
//
// All violations are reported, up to the sink's bound. Checks that need others
// to hold (a kernel's argument has a kind only when it exists) are left out for
// a method that breaks those.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "diag/diagnostics.h"
#include "formats/pte/ptd.h"
#include "formats/pte/pte_program.h"
#include "support/expected.h"

namespace tenon {

struct PteVerifyOptions {
  // The data files that the program is loaded with; they have to be verified.
  std::vector<const PtdFile*> external_data;
  // What the host registers besides the stock kernels ("ns::op.overload") and
  // backends. Nothing is known of their arguments.
  std::set<std::string, std::less<>> host_kernels;
  std::set<std::string, std::less<>> host_backends;
  // Also warns of what is legal but probably not meant (W-PTE).
  bool lint = false;
};

Status VerifyPte(const PteProgram& program, const PteVerifyOptions& options,
                 Diagnostics& diags);

// Keys, segments and tensors of a data file (V-PTE-08, -09, -11, -29).
Status VerifyPtd(const PtdFile& data, Diagnostics& diags);

}  // namespace tenon
