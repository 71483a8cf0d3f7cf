#include "scan/scan.h"

#include "scan/scanner.h"

namespace tenon {
namespace {

// By how the file begins, which is what loaders go by. A zip is one even where
// its directory says otherwise.
void ScanByKind(FileKind kind, Bytes bytes, const std::string& name,
                Scanner* scanner) {
  switch (kind) {
    case FileKind::kPt2:
    case FileKind::kTorchScript:
    case FileKind::kTorchSave:
    case FileKind::kTorchPackage:
    case FileKind::kAotInductor:
    case FileKind::kZip:
    case FileKind::kNumpyArchive:
      return ScanArchive(bytes, name, scanner);
    case FileKind::kLegacySave:
    case FileKind::kPickle:
      return ScanPickle(bytes, name, scanner);
    case FileKind::kNumpy:
      ScanNumpy(bytes, name, scanner);
      break;
    case FileKind::kSafetensors:
      ScanSafetensors(bytes, name, scanner);
      break;
    case FileKind::kExecuTorch:
      ScanExecuTorch(bytes, name, scanner);
      break;
    case FileKind::kNativeCode:
      scanner->Danger(Rule::kXCode01, Place::File(name))
          << "native code, which whoever loads it runs";
      return;
    case FileKind::kEmpty:
      scanner->Danger(Rule::kXLimit02, Place::File(name))
          << "an empty file: no model, and nothing to look at";
      return;
    case FileKind::kText:
    case FileKind::kHybrid:
    case FileKind::kExecuTorchData:
      break;  // nothing evaluates any of it
    case FileKind::kOnnx:
    case FileKind::kGguf:
    case FileKind::kHdf5:
    case FileKind::kTar:
    case FileKind::kUnknown:
      scanner->Danger(Rule::kUnsupported, Place::File(name))
          << "is " << Describe(kind) << ", which isn't looked through";
      break;
  }
  // A file can be two things at once.
  ScanForPickle(bytes, name, scanner);
}

}  // namespace

std::string_view LevelName(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "danger";
    case Severity::kWarning:
      return "caution";
    case Severity::kNote:
      return "note";
  }
  return "";
}

ScanReport ScanBytes(Bytes bytes, const std::string& name,
                     const ScanOptions& options, Diagnostics& diags) {
  ScanReport report;
  report.kind = RecogniseFile(bytes);
  Scanner scanner(options, &report, &diags);
  ScanByKind(report.kind, bytes, name, &scanner);
  return report;
}

}  // namespace tenon
