#include "other_file.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/kind/file_kind.h"
#include "json_writer.h"
#include "scan/scan.h"
#include "support/byte_text.h"
#include "support/counted.h"

namespace tenon::tools {
namespace {

// Of imports and the like, in the text.
constexpr size_t kMaxItems = 12;

struct OtherFile {
  FileKind kind = FileKind::kUnknown;
  uint64_t file_bytes = 0;
  // "tensors" -> "3, 96 B".
  std::vector<std::pair<std::string, std::string>> facts;
  std::string verdict;  // of a scan; "" when this kind isn't scanned
  std::string worst;    // its first finding
};

std::string Join(const std::vector<std::string>& items) {
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i == kMaxItems) {
      return out + ", and " + std::to_string(items.size() - i) + " more";
    }
    if (i > 0) out += ", ";
    out += items[i];
  }
  return out;
}

void AddScan(const SourceFile& source, OtherFile* out) {
  Diagnostics found;
  const ScanReport report =
      ScanBytes(source.bytes, source.name, ScanOptions(), found);
  if (report.num_members > 0) {
    out->facts.emplace_back("members", std::to_string(report.num_members));
  }
  if (report.num_tensors > 0) {
    out->facts.emplace_back("tensors", Count(report.num_tensors, "tensor") +
                                           ", " +
                                           ByteText(report.tensor_bytes));
    out->facts.emplace_back("dtypes", Join(report.tensor_dtypes));
  }
  if (!report.pickles.empty()) {
    std::set<std::string> imports;
    for (const ScannedPickle& pickle : report.pickles) {
      for (const ScannedImport& import : pickle.imports) {
        imports.insert(import.name);
      }
    }
    out->facts.emplace_back(
        "pickles", Count(report.pickles.size(), "pickle") + ", protocol " +
                       std::to_string(report.pickles[0].protocol));
    out->facts.emplace_back("imports", Join({imports.begin(), imports.end()}));
  }
  if (!report.delegates.empty()) {
    out->facts.emplace_back("delegates", Join(report.delegates));
  }
  const std::vector<Diagnostic>& all = found.all();
  const auto worst = std::max_element(
      all.begin(), all.end(), [](const Diagnostic& a, const Diagnostic& b) {
        return a.severity < b.severity;
      });
  if (worst != all.end() && worst->rule == Rule::kUnsupported) return;
  const bool is_clean =
      worst == all.end() || worst->severity == Severity::kNote;
  out->verdict = is_clean ? "clean" : LevelName(worst->severity);
  if (!is_clean) out->worst = worst->message;
}

OtherFile Summarise(const SourceFile& source) {
  OtherFile out;
  out.kind = RecogniseFile(source.bytes);
  out.file_bytes = source.bytes.size();
  AddScan(source, &out);
  return out;
}

void Line(std::string_view name, std::string_view text, std::string* out) {
  std::string head(name);
  head += ':';
  head.resize(std::max<size_t>(head.size() + 1, 12), ' ');
  out->append(head).append(text).append("\n");
}

}  // namespace

bool IsOtherFile(const SourceFile& source) {
  switch (RecogniseFile(source.bytes)) {
    case FileKind::kPt2:
    case FileKind::kText:
    case FileKind::kHybrid:
    case FileKind::kEmpty:
    case FileKind::kZip:
    case FileKind::kUnknown:
      return false;
    case FileKind::kExecuTorch:
    case FileKind::kExecuTorchData:
    case FileKind::kSafetensors:
    case FileKind::kTorchScript:
    case FileKind::kTorchSave:
    case FileKind::kLegacySave:
    case FileKind::kTorchPackage:
    case FileKind::kAotInductor:
    case FileKind::kPickle:
    case FileKind::kOnnx:
    case FileKind::kGguf:
    case FileKind::kNumpy:
    case FileKind::kNumpyArchive:
    case FileKind::kHdf5:
    case FileKind::kTar:
    case FileKind::kNativeCode:
      return true;
  }
  return false;
}

std::string OtherFileText(const SourceFile& source) {
  const OtherFile file = Summarise(source);
  std::string out;
  Line("file",
       std::string(Describe(file.kind)) + ", " + ByteText(file.file_bytes),
       &out);
  Line("opens with", OpenerOf(file.kind), &out);
  for (const auto& [name, text] : file.facts) Line(name, text, &out);
  if (!file.verdict.empty()) {
    Line("scan", file.verdict + (file.worst.empty() ? "" : ": ") + file.worst,
         &out);
  }
  return out;
}

std::string OtherFileJson(const SourceFile& source) {
  const OtherFile file = Summarise(source);
  JsonWriter json;
  json.BeginObject();
  json.Member("kind", ShortName(file.kind));
  json.Member("description", Describe(file.kind));
  json.Member("file_bytes", file.file_bytes);
  json.Member("opens_with", OpenerOf(file.kind));
  for (const auto& [name, text] : file.facts) json.Member(name, text);
  if (!file.verdict.empty()) json.Member("scan", file.verdict);
  if (!file.worst.empty()) json.Member("worst_finding", file.worst);
  json.EndObject();
  return json.Take();
}

}  // namespace tenon::tools
