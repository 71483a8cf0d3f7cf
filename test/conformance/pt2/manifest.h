// The list of programs of a corpus and what PyTorch computed for each.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/pt2/compare.h"
#include "diag/diagnostics.h"
#include "support/expected.h"

namespace tenon::conformance {

// One recorded call. Values are JSON text; corpus_value.h decodes them.
struct RecordedRun {
  std::string args, kwargs, outputs;
  // What the call left in its inputs; "" = what they were.
  std::string args_after, kwargs_after;
  // The same by number of the leaf in (args, kwargs), where that is recorded
  // instead; leaves that aren't listed stay.
  std::vector<std::pair<size_t, std::string>> leaves_after;
  // The call must be refused, state and inputs as before; why, in words.
  std::string error;
  // Parameters and buffers that the call changed, by FQN. All others stay.
  std::vector<std::pair<std::string, std::string>> state_after;
};

struct CorpusProgram {
  std::string name;
  std::string path;      // the .pt2
  std::string io_path;   // the safetensors file with the recorded tensors
  std::string method;    // of an archive with several; "" = the only one
  bool is_flat = false;  // outputs are those of the graph, not of the call
  // PyTorch itself saved the file wrongly or can't use it: the file is right in
  // form, its results need not be the recorded ones.
  bool is_hazard = false;
  // What PyTorch itself computes instead of the recorded results, as the
  // corpus's known_failures.json says; "" = nothing is known.
  std::string known_failure;
  bool carries_state = false;  // from one call to the next
  // The record names containers by their bare class, one name per storage, and
  // no constants.
  bool is_sketchy = false;
  bool checks_state = true;
  Tolerance tolerance;
  std::vector<RecordedRun> runs;
};

// One call from a record with the members args, kwargs, outputs, and, where
// something changed, args_after, kwargs_after, state_after; or error.
bool ReadRecordedRun(std::string_view json, RecordedRun* out);

// Paths in a manifest are relative to its folder. A program FOLDER/FILE is
// looked up in FOLDER/../known_failures.json, where there is one.
Expected<std::vector<CorpusProgram>> ReadManifest(const std::string& path,
                                                  Diagnostics& diags);

}  // namespace tenon::conformance
