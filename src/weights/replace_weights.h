// Other weights for a program, from files of tensors by FQN.
//
// The program keeps its own idea of each tensor: strides, offset, device,
// requires_grad, and which entries share a storage. Only values change. A
// storage that one row-major tensor fills becomes a view of the file; others
// are assembled, in memory or, when large, in a scratch file.
#pragma once

#include <string>
#include <vector>

#include "diag/diagnostics.h"
#include "formats/tensor/weights_file.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

struct ReplaceWeightsOptions {
  // Entries that the file lacks keep their values (or stay without).
  bool allow_missing = false;
  // Tensors that the program lacks are left out.
  bool allow_unknown = false;
  // Where scratch files may be made: beside what is written in the end.
  std::string scratch_folder = ".";
};

struct ReplaceWeightsReport {
  size_t num_replaced = 0;
  uint64_t bytes = 0;  // of the tensors replaced
  size_t num_missing = 0;
  size_t num_unknown = 0;
  // Of a stripped program that has all its weights again: whether they are
  // those that were stripped.
  enum class Stripped { kNo, kSame, kOther, kStillStripped };
  Stripped stripped = Stripped::kNo;
  // Facts about sharing, one sentence each.
  std::vector<std::string> notes;
};

// A tensor replaces the entry of its FQN, be it of the state dict or, where
// none of that name is, a constant or a buffer that isn't persistent. Rules:
//
//   WGT-01  the file has each tensor of the state dict and what else was
//           stripped, and no tensor that the program lacks. One that is a view
//           of bytes which others fill needn't be there.
//   WGT-02  dtype and sizes are those of the entry.
//   WGT-03  tensors that overlap in a storage have the same elements there.
//
// On failure the program is unchanged. The program must be one that the
// verifier accepts.
Expected<ReplaceWeightsReport> ReplaceWeights(
    const WeightsFile& file, const ReplaceWeightsOptions& options,
    Program* program, Diagnostics& diags);

}  // namespace tenon
