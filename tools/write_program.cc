#include "write_program.h"

#include <map>

#include "export/export.h"
#include "support/atomic_file.h"
#include "text/text.h"

namespace tenon::tools {

namespace {

bool IsTextForm(const std::string& path) { return path.ends_with(".tenon"); }

}  // namespace

Status WriteTextFile(const std::string& path, std::string_view text,
                     Diagnostics& diags) {
  AtomicFile file;
  if (file.Open(path) && file.Write(AsBytes(text)) && file.Commit()) return {};
  return diags.Error(Rule::kIo, Place::File(path)) << file.error();
}

Expected<Pt2WriteOptions> Pt2OptionsOf(const CommandLine& line,
                                       const std::string& path,
                                       Diagnostics& diags) {
  Pt2WriteOptions options;
  const std::string version = line.Get(kTorchOption.name);
  if (version.empty()) return options;
  if (IsTextForm(path)) {
    return diags.Error(Rule::kUsage)
           << "--torch says how a .pt2 is written, and '" << path
           << "' is text";
  }
  options.release = FindPt2Release(version);
  if (options.release == nullptr) {
    return diags.Error(Rule::kUsage) << "unknown PyTorch release '" << version
                                     << "', known: " << Pt2ReleaseNames();
  }
  return options;
}

void ShowNotes(const Pt2WriteReport& report, Console& console) {
  for (const std::string& note : report.notes) {
    console.Err("note: " + note + "\n");
  }
}

Status WriteProgram(const Program& program, const std::string& path,
                    const Pt2WriteOptions& options, Console& console,
                    Diagnostics& diags) {
  if (!IsTextForm(path)) {
    TENON_ASSIGN(const Pt2WriteReport report,
                 WriteProved(program, path, options, diags));
    ShowNotes(report, console);
    return {};
  }
  std::map<Digest, Bytes> payloads;
  PrintOptions print;
  print.side_file = [&](const Digest& digest, Bytes bytes) {
    payloads.emplace(digest, bytes);
  };
  const std::string text = PrintProgram(program, print);
  if (!payloads.empty()) {
    TENON_TRY(WriteSideFile(path + ".bin", payloads, diags));
  }
  return WriteTextFile(path, text, diags);
}

}  // namespace tenon::tools
