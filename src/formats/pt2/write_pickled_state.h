// Writes weights and constants as layouts A and B keep them: one torch.save
// payload for each.
#pragma once

#include <string>

#include "diag/diagnostics.h"
#include "formats/pt2/pt2.h"
#include "formats/zip/zip_writer.h"
#include "ir/program.h"

namespace tenon {

// The state dict as member `weights` and all other state as `constants`; empty
// members where there is none. What such a payload can't hold is an error
// (V-FILE-11): objects, tensors of classes of their own, tensors without their
// values. A failure of the writer itself is reported here, too.
Status WritePickledState(const Program& program, const std::string& weights,
                         const std::string& constants, ZipWriter* zip,
                         Pt2WriteReport* report, Diagnostics& diags);

}  // namespace tenon
