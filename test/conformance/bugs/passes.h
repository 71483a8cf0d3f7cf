// What must hold after passes that a bug case asks for, and after its state was
// replaced.
//
//   fold_constants      folded, with weights and without: the recorded results;
//                       every new constant has the type of the value that it
//                       stands for, in the written file, too; the state dict as
//                       before; no growth; nothing left to fold
//   run_cleanup_passes  cleaned and folded: the recorded results
//   move_device         no byte of the file names the device that was left; as
//                       before when it is moved back
//   set_output_names    in the written file the outputs are called so, and the
//                       inputs as before
//   initial,            results of the first call as the file is, and with one
//   after_update_K=V    key replaced; two values for a tied pair are refused
//   sequence, last_run  calls and saving in this order; what the last call
//   gives
#pragma once

#include <simdjson.h>

#include "conformance/pt2/manifest.h"
#include "conformance/pt2/step_report.h"
#include "formats/tensor/safetensors.h"
#include "ir/program.h"

namespace tenon::conformance {

void CheckPasses(const Program& program, const CorpusProgram& entry,
                 const Safetensors& tensors,
                 const simdjson::dom::object& expect, StepReport* report);

}  // namespace tenon::conformance
