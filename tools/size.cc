// tenon size: where a file has its bytes.
#include <cstdio>

#include "console.h"
#include "json_writer.h"
#include "read_program.h"
#include "support/byte_text.h"
#include "support/mapped_file.h"
#include "text_table.h"
#include "verbs.h"
#include "verdict.h"
#include "weights/file_sizes.h"
#include "weights/state_sizes.h"

namespace tenon::tools {
namespace {

constexpr Option kOptions[] = {
    {"--depth", 'd', "N",
     "Modules are cut after N names; 0 shows each. Default: 2."},
    {"--top", 0, "N",
     "At most N lines of each table, the largest; 0 shows all. Default: 20."},
    {"--json", 0, "", "Writes JSON, with all lines."},
    {"--method", 'm', "NAME",
     "The method whose state is shown. Default: 'model', or the only one."},
};

std::string Share(uint64_t part, uint64_t whole) {
  char buffer[32];
  const double percent =
      whole == 0 ? 0.0
                 : 100 * static_cast<double>(part) / static_cast<double>(whole);
  std::snprintf(buffer, sizeof buffer, "%.1f %%", percent);
  return buffer;
}

class TextSizes {
 public:
  TextSizes(const FileSizes& file, const StateSizes& state, size_t top)
      : file_(file), state_(state), top_(top) {}

  std::string Write() {
    out_ += "file: " + ByteText(file_.file_bytes) + "\n";
    Rows("content", "members", file_.contents, file_.file_bytes);
    out_ += "\nstate: " + ByteText(state_.bytes) + ", " +
            std::to_string(state_.num_entries) +
            (state_.num_entries == 1 ? " entry\n" : " entries\n");
    Rows("kind", "entries", state_.kinds, state_.bytes);
    out_ += "\n";
    Rows("dtype", "entries", state_.dtypes, state_.bytes);
    out_ += "\n";
    Rows("module", "entries", state_.modules, state_.bytes);
    out_ += "\n";
    Rows("member", "", file_.members, file_.file_bytes);
    Groups("shared storages", state_.shared);
    Groups("duplicates, " + ByteText(state_.duplicate_bytes) + " too many",
           state_.duplicates);
    return std::move(out_);
  }

 private:
  size_t NumShown(size_t count) const {
    return top_ == 0 ? count : std::min(count, top_);
  }
  void SayHidden(size_t count) {
    if (NumShown(count) == count) return;
    out_ += "  and " + std::to_string(count - NumShown(count)) + " more\n";
  }

  void Rows(const std::string& name, const std::string& counted,
            const std::vector<SizeRow>& rows, uint64_t whole) {
    if (rows.empty()) return;
    std::vector<std::string> head = {name, "bytes", "share"};
    if (!counted.empty()) head.push_back(counted);
    TextTable table(head, 1);
    for (size_t i = 0; i < NumShown(rows.size()); ++i) {
      const SizeRow& row = rows[i];
      std::vector<std::string> cells = {row.name.empty() ? "(root)" : row.name,
                                        std::to_string(row.bytes),
                                        Share(row.bytes, whole)};
      if (!counted.empty()) cells.push_back(std::to_string(row.count));
      table.Add(std::move(cells));
    }
    out_ += table.ToString();
    SayHidden(rows.size());
  }

  void Groups(const std::string& title,
              const std::vector<StateSizes::Group>& groups) {
    if (groups.empty()) return;
    out_ += "\n" + title + ":\n";
    for (size_t i = 0; i < NumShown(groups.size()); ++i) {
      out_ += "  " + ByteText(groups[i].bytes) + ":";
      for (const std::string& name : groups[i].names) out_ += " " + name;
      out_ += "\n";
    }
    SayHidden(groups.size());
  }

  const FileSizes& file_;
  const StateSizes& state_;
  const size_t top_;
  std::string out_;
};

void WriteRows(std::string_view key, std::string_view counted,
               const std::vector<SizeRow>& rows, JsonWriter* json) {
  json->Key(key);
  json->BeginArray();
  for (const SizeRow& row : rows) {
    json->BeginObject();
    json->Member("name", row.name);
    json->Member("bytes", row.bytes);
    json->Member(counted, row.count);
    json->EndObject();
  }
  json->EndArray();
}

void WriteGroups(std::string_view key,
                 const std::vector<StateSizes::Group>& groups,
                 JsonWriter* json) {
  json->Key(key);
  json->BeginArray();
  for (const StateSizes::Group& group : groups) {
    json->BeginObject();
    json->Member("bytes", group.bytes);
    json->Key("names");
    json->BeginArray();
    for (const std::string& name : group.names) json->String(name);
    json->EndArray();
    json->EndObject();
  }
  json->EndArray();
}

std::string SizesAsJson(const FileSizes& file, const StateSizes& state) {
  JsonWriter json;
  json.BeginObject();
  json.Member("file_bytes", file.file_bytes);
  WriteRows("contents", "members", file.contents, &json);
  json.Member("state_bytes", state.bytes);
  WriteRows("kinds", "entries", state.kinds, &json);
  WriteRows("dtypes", "entries", state.dtypes, &json);
  WriteRows("modules", "entries", state.modules, &json);
  WriteRows("members", "members", file.members, &json);
  WriteGroups("shared", state.shared, &json);
  json.Member("duplicate_bytes", state.duplicate_bytes);
  WriteGroups("duplicates", state.duplicates, &json);
  json.EndObject();
  return json.Take();
}

Expected<FileSizes> SizesOfFile(const std::string& path,
                                const ReadLimits& limits, Diagnostics& diags) {
  std::string error;
  const auto file = MappedFile::Open(path, &error);
  if (file == nullptr) {
    return diags.Error(Rule::kIo, Place::File(path))
           << "can't be read: " << error;
  }
  if (RecogniseFile(file->bytes()) != FileKind::kPt2) {
    return diags.Error(Rule::kUnsupported, Place::File(path))
           << "is " << Describe(RecogniseFile(file->bytes()))
           << ", expected a .pt2";
  }
  return ComputeFileSizes(file->bytes(), path, limits, diags);
}

ExitCode Run(const CommandLine& line, Console& console) {
  std::string usage;
  const auto depth = line.GetCount("--depth", 2, 1000, &usage);
  const auto top = line.GetCount("--top", 20, UINT32_MAX, &usage);
  if (!depth || !top) return FailUsage(usage, console);
  const std::string& path = line.arguments()[0];
  Diagnostics diags;
  const auto file = SizesOfFile(path, line.read_limits(), diags);
  if (!file) return Finish(diags, console);
  ReadOptions read;
  read.method = line.Get("--method");
  read.allow_weightless = true;
  const Expected<LoadedProgram> loaded =
      ReadProgram(path, std::make_shared<Context>(), read, diags);
  if (!loaded) return Finish(diags, console);
  const StateSizes state = ComputeStateSizes(loaded->program, *depth);
  console.Out(line.Has("--json") ? SizesAsJson(*file, state)
                                 : TextSizes(*file, state, *top).Write());
  return Finish(diags, console);
}

}  // namespace

const Verb kSizeVerb = {
    "size",
    "FILE",
    1,
    1,
    "shows where a file has its bytes",
    "Shows the bytes of a .pt2 by what they hold, by kind, dtype and module of "
    "the state, and by archive member, largest first; storages that several "
    "tensors share, and storages of equal bytes. A shared storage counts for "
    "the first of its tensors, a stripped one with the size that it had.",
    "tenon size model.pt2\n"
    "tenon size --depth 3 --top 50 model.pt2\n"
    "tenon size --json model.pt2\n",
    kOptions,
    Run};

}  // namespace tenon::tools
