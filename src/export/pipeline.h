// What the pipelines of this folder share: a copy of the source program is led
// through phases, timed, checked and reported on; the source stays as it is.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "diag/diagnostics.h"
#include "export/report.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

class Pipeline {
 public:
  // Both must outlive the pipeline.
  Pipeline(const Program& source, Diagnostics& diags)
      : source_(source), program_(source.Clone()), diags_(diags) {}

  Program TakeProgram() { return std::move(program_); }
  ExportReport TakeReport() { return std::move(report_); }

 protected:
  // Whether the program is verified after a phase. Nothing goes on from one
  // that left a broken program.
  enum class Check : uint8_t {
    kNever,      // the phase changes nothing
    kWhenAsked,  // by verify_each_phase: a later phase is always checked
    kAlways,
  };
  struct Phase {
    std::string_view name;
    std::function<Status()> run;
    Check check;
  };

  // In order, up to the one named `stop_after`, which is checked if it changes
  // anything. Describes the signature before and after.
  Status RunPhases(std::span<const Phase> phases, std::string_view stop_after,
                   bool verify_each_phase);

  Status VerifyNow();

  // The result has the source's wiring digest (T-2).
  Status Prove();

  const Program& source_;
  Program program_;
  Diagnostics& diags_;
  ExportReport report_;
};

}  // namespace tenon
