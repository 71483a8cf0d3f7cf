// Judges pickles that are carried from file to file without being understood
// (rule V-FILE-07).
#pragma once

#include <string>

#include "diag/diagnostics.h"
#include "diag/limits.h"
#include "support/byte_cursor.h"
#include "support/expected.h"

namespace tenon {

// Whether a torch.save payload imports nothing but what plain tensors and
// plain containers need. Empty bytes are. Else `reason` says what is in it.
bool IsPlainTorchSave(Bytes bytes, std::string* reason);

// A pickled weight or object: what it imports is for PyTorch to know, unless
// it is a module of Python's own that can act on the machine. Such an import
// is an error that names it.
Status CheckCarriedPickle(Bytes bytes, const std::string& name,
                          Diagnostics& diags, const ReadLimits& limits = {});

}  // namespace tenon
