// A program's state as a .safetensors file.
//
//   {"__metadata__": {"format": "pt", "tenon.storages": "[...]",
//                     "lm_head.weight": "embed.weight"},
//    "embed.weight": {...}, ...}
//
// Tensors are found by their FQNs, as in the state dict of the exported
// program; strided ones are written row-major. safetensors has no storages that
// two tensors share, so what the program shares, or views in another way than
// whole and row-major, stands in the metadata: `tenon.storages`, a JSON list
//
//   [{"bytes": 48, "views": {"a": {"strides": [1, 4], "offset": 0}, ...}}, ...]
//
// (strides and offset in elements). By default each tensor is written, however
// many share its bytes, so that readers who know nothing of this find all.
// With `once`, tensors that are one and the same view are written under the
// first name, and the metadata maps the others to it, as
// safetensors.torch.save_model does.
#pragma once

#include <string>
#include <vector>

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

// The key of the record of shared storages.
constexpr std::string_view kStoragesKey = "tenon.storages";

struct WriteWeightsOptions {
  // Tensor constants and buffers that aren't in the state dict, too.
  bool with_constants = false;
  bool once = false;
};

struct WriteWeightsReport {
  size_t num_tensors = 0;
  uint64_t bytes = 0;  // of the payloads
  // What the format can't say and how it was written instead, one sentence
  // each.
  std::vector<std::string> notes;
};

// Copies from file to file in bounded memory. The file appears whole or not at
// all. Everything that can't be said is reported by name: pickles, dtypes
// without a name in the format, two tensors of one name, values that aren't
// there.
Expected<WriteWeightsReport> WriteWeights(const Program& program,
                                          const std::string& path,
                                          const WriteWeightsOptions& options,
                                          Diagnostics& diags);

}  // namespace tenon
