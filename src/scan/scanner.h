// What the parts of a scan share: limits that count down, the report, the sink.
#pragma once

#include <string>

#include "scan/scan.h"

namespace tenon {

class Scanner {
 public:
  Scanner(const ScanOptions& limits, ScanReport* seen, Diagnostics* diags)
      : options(limits),
        report(*seen),
        inflated_bytes_left(limits.max_inflated_bytes),
        pickle_opcodes_left(limits.max_pickle_opcodes),
        diags_(*diags) {}

  DiagnosticBuilder Danger(Rule rule, Place place) {
    return diags_.Error(rule, std::move(place));
  }
  DiagnosticBuilder Caution(Rule rule, Place place) {
    return diags_.Warning(rule, std::move(place));
  }
  DiagnosticBuilder Remark(Rule rule, Place place) {
    return DiagnosticBuilder(&diags_, Severity::kNote, rule, std::move(place));
  }
  Diagnostics& diags() { return diags_; }

  const ScanOptions& options;
  ScanReport& report;
  uint64_t inflated_bytes_left;
  uint64_t pickle_opcodes_left;
  uint32_t nesting = 0;  // containers around what is looked at

 private:
  Diagnostics& diags_;
};

// One container deeper while it lives. `fits` is false, and reported at
// `place`, when that is too deep.
class Nested {
 public:
  Nested(Scanner* scanner, const std::string& place);
  ~Nested() { --scanner_.nesting; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

  bool fits() const { return fits_; }

 private:
  Scanner& scanner_;
  bool fits_;
};

// The parts, each in the file of its name. `place` names the bytes.

// A pickle that something unpickles, or several in a row; with what they hold.
void ScanPickle(Bytes bytes, const std::string& place, Scanner* scanner);
// torch.save's payload, whichever of its three forms: zip, stream, pickle.
void ScanTorchSave(Bytes bytes, const std::string& place, Scanner* scanner);
// Bytes that nothing is known to unpickle: reported only when they are one
// whole pickle with imports, or an archive.
void ScanForPickle(Bytes bytes, const std::string& place, Scanner* scanner);

// A zip with all that lies in it.
void ScanArchive(Bytes bytes, const std::string& place, Scanner* scanner);

// torch.export's model, and its payload configs; `section` is the folder that
// their records lie in. Returns the names of records that are pickles.
void ScanModel(Bytes json, const std::string& place, Scanner* scanner);
std::vector<std::string> ScanPayloadConfig(Bytes json, const std::string& place,
                                           Scanner* scanner);
// The JSON inside a TreeSpec's string; `where` is the string's own path.
void ScanTreeSpec(std::string_view text, const std::string& place,
                  const std::string& where, Scanner* scanner);

// A NumPy array: one of objects is a pickle behind a header.
void ScanNumpy(Bytes bytes, const std::string& place, Scanner* scanner);
// A safetensors file is harmless when its header is what it should be.
void ScanSafetensors(Bytes bytes, const std::string& place, Scanner* scanner);
// An ExecuTorch program holds no code of a language; what its delegates hold
// is for their backends to run.
void ScanExecuTorch(Bytes bytes, const std::string& place, Scanner* scanner);

}  // namespace tenon
