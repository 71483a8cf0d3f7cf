#include "write_program.h"

#include <map>

#include "export/export.h"
#include "support/atomic_file.h"
#include "text/text.h"

namespace tenon::tools {

Status WriteTextFile(const std::string& path, std::string_view text,
                     Diagnostics& diags) {
  AtomicFile file;
  if (file.Open(path) && file.Write(AsBytes(text)) && file.Commit()) return {};
  return diags.Error(Rule::kIo, Place::File(path)) << file.error();
}

Status WriteProgram(const Program& program, const std::string& path,
                    Console& console, Diagnostics& diags) {
  if (!path.ends_with(".tenon")) {
    TENON_ASSIGN(const Pt2WriteReport report,
                 WriteProved(program, path, Pt2WriteOptions(), diags));
    for (const std::string& note : report.notes) {
      console.Err("note: " + note + "\n");
    }
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
