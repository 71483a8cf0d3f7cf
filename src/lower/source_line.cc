#include "lower/source_line.h"

#include <string_view>

namespace tenon::lower {
namespace {

// The last line `  File "NAME", line N, in FUNCTION`.
std::string LastFrame(std::string_view trace) {
  const size_t at = trace.rfind("File \"");
  if (at == std::string_view::npos) return "";
  std::string_view line = trace.substr(at + 6);
  line = line.substr(0, line.find('\n'));
  const size_t quote = line.find('"');
  if (quote == std::string_view::npos) return "";
  const std::string file(line.substr(0, quote));
  const std::string_view rest = line.substr(quote + 1);
  constexpr std::string_view kLine = ", line ";
  if (!rest.starts_with(kLine)) return file;
  return file + ":" + std::string(rest.substr(kLine.size()));
}

}  // namespace

std::string ModelLine(const Program& program, NodeId n) {
  const MetadataId id = program.node(n).metadata;
  if (!id.valid()) return "";
  for (const auto& [key, text] : program.context().metadata(id)) {
    if (program.view(key) == "stack_trace") {
      return LastFrame(program.view(text));
    }
  }
  return "";
}

}  // namespace tenon::lower
