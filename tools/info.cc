// tenon info: what a program is.
#include <algorithm>

#include "archive_summary.h"
#include "console.h"
#include "engine_summary.h"
#include "json_writer.h"
#include "other_file.h"
#include "pte_verbs.h"
#include "read_program.h"
#include "source_file.h"
#include "summary.h"
#include "support/byte_text.h"
#include "support/counted.h"
#include "verbs.h"
#include "verdict.h"

namespace tenon::tools {
namespace {

constexpr Option kOptions[] = {
    {"--method", 'm', "NAME",
     "The method to read. Default: 'model', or the only one."},
    {"--json", 0, "", "Writes JSON, with every input and operator."},
    {"--svg", 0, "FILE", "Writes a picture of a .pte's memory, by method."},
};

// In the text, only the most frequent and the first ones.
constexpr size_t kMaxOperators = 20;
constexpr size_t kMaxLeaves = 40;

std::string Join(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) {
    if (!out.empty()) out += ", ";
    out += item;
  }
  return out;
}

bool IsMutation(const OutputSummary& output) {
  return output.kind.find("mutation") != std::string::npos;
}

using Counts = std::vector<std::pair<std::string, uint64_t>>;

class TextInfo {
 public:
  TextInfo(const LoadedProgram& loaded, const Summary& summary,
           const EngineList& engines, const ArchiveSummary& archive)
      : loaded_(loaded),
        summary_(summary),
        engines_(engines),
        archive_(archive) {}

  std::string Write() {
    const FileInfo& file = loaded_.program.file;
    Line("file", (loaded_.kind == FileKind::kPt2 ? "." : "") +
                     std::string(ShortName(loaded_.kind)) + ", " +
                     ByteText(loaded_.file_bytes));
    Line("schema", std::to_string(file.schema_major) + "." +
                       std::to_string(file.schema_minor) + ", torch " +
                       file.torch_version + ", dialect " +
                       Join(file.verifiers));
    WriteArchive();
    Line("call", summary_.call);
    Line("returns", summary_.returns);
    WriteLeaves();
    WriteUnusedInputs();
    WriteSymbols();
    WriteState();
    WriteMutations();
    WriteOperators();
    WriteCounts("control", summary_.control_flow);
    if (!summary_.custom_operators.empty()) {
      Line("custom ops", Join(summary_.custom_operators));
    }
    WriteCounts("dtypes", summary_.dtypes);
    WriteCounts("devices", summary_.devices);
    WriteDelegates();
    WriteEngines();
    Line("digest", summary_.digest.ToHex());
    return std::move(out_);
  }

 private:
  void Line(std::string_view name, std::string_view text) {
    std::string head(name);
    if (!head.empty()) head += ':';
    head.resize(12, ' ');
    out_.append(head).append(text).append("\n");
  }

  void WriteArchive() {
    if (archive_.layout == 0) return;
    Line("layout", LayoutText(archive_.layout));
    Line("methods", Join(archive_.methods));
    if (archive_.example_input_bytes > 0) {
      Line("examples",
           "inputs, a pickle of " + ByteText(archive_.example_input_bytes));
    }
    std::vector<std::string> extra;
    for (const auto& [name, bytes] : archive_.extra_files) {
      extra.push_back(name + " (" + ByteText(bytes) + ")");
    }
    if (!extra.empty()) Line("extra", Join(extra));
  }

  // "3 float32, 1 int64".
  void WriteCounts(std::string_view name, const Counts& counts) {
    std::vector<std::string> items;
    for (const auto& [what, count] : counts) {
      items.push_back(std::to_string(count) + " " + what);
    }
    if (!items.empty()) Line(name, Join(items));
  }

  // Where a container holds some: what user inputs and outputs are, in order.
  void WriteLeaves() {
    std::vector<std::string> in, out;
    for (const InputSummary& input : summary_.inputs) {
      if (!input.name.empty()) in.push_back(input.name);
    }
    for (const OutputSummary& output : summary_.outputs) {
      if (!output.name.empty()) out.push_back(output.name);
    }
    const auto is_nested = [](const std::string& name) {
      return name.find_first_of(".[") != std::string::npos;
    };
    if (std::any_of(in.begin(), in.end(), is_nested)) {
      Line("leaves in", Join(FirstOf(std::move(in))));
    }
    if (std::any_of(out.begin(), out.end(), is_nested)) {
      Line("leaves out", Join(FirstOf(std::move(out))));
    }
  }

  static std::vector<std::string> FirstOf(std::vector<std::string> names) {
    if (names.size() <= kMaxLeaves) return names;
    const size_t more = names.size() - kMaxLeaves;
    names.resize(kMaxLeaves);
    names.push_back("and " + std::to_string(more) + " more");
    return names;
  }

  void WriteUnusedInputs() {
    std::vector<std::string> unused;
    for (const InputSummary& input : summary_.inputs) {
      if (input.kind == "user" && !input.is_used) unused.push_back(input.path);
    }
    if (!unused.empty()) Line("unused", Join(unused));
  }

  void WriteSymbols() {
    std::string_view name = "symbols";
    for (const SymbolSummary& s : summary_.symbols) {
      Line(name, s.expression + " in [" + s.min + ", " + s.max + "]");
      name = "";
    }
    name = "guards";
    for (const std::string& guard : loaded_.program.file.guards_code) {
      Line(name, guard);
      name = "";
    }
  }

  void WriteState() {
    std::string_view name = "state";
    for (const StateSummary& s : summary_.state) {
      Line(name, Count(s.count, s.kind) + ": " + Count(s.elements, "element") +
                     ", " + ByteText(s.bytes));
      name = "";
    }
    if (summary_.state.empty()) Line("state", "none");
    if (summary_.num_storages > 0) {
      Line("", Count(summary_.num_storages, "storage") + ", " +
                   ByteText(summary_.storage_bytes) +
                   (summary_.is_weightless ? ", some without bytes" : ""));
    }
  }

  void WriteMutations() {
    std::string_view name = "mutations";
    for (const OutputSummary& output : summary_.outputs) {
      if (!IsMutation(output)) continue;
      Line(name, output.kind + " " + output.path + ": " + output.value);
      name = "";
    }
  }

  void WriteOperators() {
    Line("graph", Count(summary_.num_graphs, "graph") + ", " +
                      Count(summary_.num_nodes, "node") + ", " +
                      Count(summary_.num_values, "value"));
    std::string_view name = "operators";
    for (size_t i = 0; i < summary_.operators.size(); ++i) {
      if (i == kMaxOperators) {
        Line("", "and " + Count(summary_.operators.size() - i, "other"));
        return;
      }
      const auto& [op, count] = summary_.operators[i];
      std::string text = std::to_string(count);
      text.insert(0, text.size() < 6 ? 6 - text.size() : 0, ' ');
      Line(name, text + "  " + op);
      name = "";
    }
  }

  void WriteDelegates() {
    std::string_view name = "delegates";
    for (const DelegateSummary& d : summary_.delegates) {
      Line(name,
           d.name + " (" + d.backend + "): " + Count(d.num_calls, "call") +
               ", " + Count(d.num_inputs, "input") + ", " +
               Count(d.num_outputs, "output") + ", " +
               ByteText(d.payload_bytes) +
               (d.has_source ? ", from " + Count(d.num_source_nodes, "node")
                             : ", of unknown source"));
      name = "";
    }
  }

  void WriteEngines() {
    std::string_view name = "engines";
    for (const EngineSummary& e : engines_.engines) {
      Line(name, e.name + ": " + Count(e.num_calls, "call") + ", " +
                     ByteText(e.engine_bytes) + ", for " + e.device + ", " +
                     e.platform);
      Line("", "  " + Join(e.inputs) + " -> " + Join(e.outputs));
      for (const std::string& alias : e.aliases) Line("", "  " + alias);
      name = "";
    }
    if (!engines_.problem.empty()) {
      Line(name, "unreadable: " + engines_.problem);
    }
  }

  const LoadedProgram& loaded_;
  const Summary& summary_;
  const EngineList& engines_;
  const ArchiveSummary& archive_;
  std::string out_;
};

void WriteStrings(std::string_view key, const std::vector<std::string>& items,
                  JsonWriter* json) {
  json->Key(key);
  json->BeginArray();
  for (const std::string& item : items) json->String(item);
  json->EndArray();
}

void WriteCounts(std::string_view key, const Counts& counts, JsonWriter* json) {
  json->Key(key);
  json->BeginObject();
  for (const auto& [what, count] : counts) json->Member(what, count);
  json->EndObject();
}

// Programs that come from no archive don't have the member.
void WriteJsonArchive(const ArchiveSummary& archive, JsonWriter* json) {
  if (archive.layout == 0) return;
  json->Key("archive");
  json->BeginObject();
  json->Member("layout", std::string_view(&archive.layout, 1));
  json->Member("members", archive.num_members);
  json->Member("example_input_bytes", archive.example_input_bytes);
  json->Member("has_delegates", archive.has_delegates);
  WriteCounts("extra_files", archive.extra_files, json);
  json->EndObject();
}

void WriteJsonSignature(const Summary& summary, JsonWriter* json) {
  json->Member("call", summary.call);
  json->Member("returns", summary.returns);
  json->Key("inputs");
  json->BeginArray();
  for (const InputSummary& input : summary.inputs) {
    json->BeginObject();
    json->Member("kind", input.kind);
    json->Member("path", input.path);
    json->Member("name", input.name);
    json->Member("type", input.type);
    json->Member("is_used", input.is_used);
    json->EndObject();
  }
  json->EndArray();
  json->Key("outputs");
  json->BeginArray();
  for (const OutputSummary& output : summary.outputs) {
    json->BeginObject();
    json->Member("kind", output.kind);
    json->Member("path", output.path);
    json->Member("name", output.name);
    json->Member("value", output.value);
    json->EndObject();
  }
  json->EndArray();
  json->Key("symbols");
  json->BeginArray();
  for (const SymbolSummary& s : summary.symbols) {
    json->BeginObject();
    json->Member("expression", s.expression);
    json->Member("min", s.min);
    json->Member("max", s.max);
    json->EndObject();
  }
  json->EndArray();
}

void WriteJsonContent(const Summary& summary, JsonWriter* json) {
  json->Key("state");
  json->BeginArray();
  for (const StateSummary& s : summary.state) {
    json->BeginObject();
    json->Member("kind", s.kind);
    json->Member("count", s.count);
    json->Member("elements", s.elements);
    json->Member("bytes", s.bytes);
    json->EndObject();
  }
  json->EndArray();
  json->Member("storages", uint64_t{summary.num_storages});
  json->Member("storage_bytes", summary.storage_bytes);
  json->Member("graphs", uint64_t{summary.num_graphs});
  json->Member("nodes", uint64_t{summary.num_nodes});
  json->Member("values", uint64_t{summary.num_values});
  WriteCounts("operators", summary.operators, json);
  WriteCounts("control_flow", summary.control_flow, json);
  WriteStrings("custom_operators", summary.custom_operators, json);
  WriteCounts("dtypes", summary.dtypes, json);
  WriteCounts("devices", summary.devices, json);
  json->Key("delegates");
  json->BeginArray();
  for (const DelegateSummary& d : summary.delegates) {
    json->BeginObject();
    json->Member("name", d.name);
    json->Member("backend", d.backend);
    json->Member("payload_bytes", d.payload_bytes);
    json->Member("inputs", uint64_t{d.num_inputs});
    json->Member("outputs", uint64_t{d.num_outputs});
    json->Member("calls", uint64_t{d.num_calls});
    json->Member("has_source", d.has_source);
    json->Member("source_nodes", uint64_t{d.num_source_nodes});
    json->EndObject();
  }
  json->EndArray();
}

// Programs without engines don't have the member.
void WriteJsonEngines(const EngineList& engines, JsonWriter* json) {
  if (!engines.problem.empty()) {
    json->Member("engines_problem", engines.problem);
  }
  if (engines.engines.empty()) return;
  json->Key("engines");
  json->BeginArray();
  for (const EngineSummary& e : engines.engines) {
    json->BeginObject();
    json->Member("name", e.name);
    json->Member("engine_bytes", e.engine_bytes);
    json->Member("calls", uint64_t{e.num_calls});
    json->Member("device", e.device);
    json->Member("platform", e.platform);
    WriteStrings("inputs", e.inputs, json);
    WriteStrings("outputs", e.outputs, json);
    WriteStrings("aliases", e.aliases, json);
    json->EndObject();
  }
  json->EndArray();
}

std::string JsonInfo(const LoadedProgram& loaded, const Summary& summary,
                     const EngineList& engines, const ArchiveSummary& archive) {
  const FileInfo& file = loaded.program.file;
  JsonWriter json;
  json.BeginObject();
  json.Member("kind", ShortName(loaded.kind));
  json.Member("file_bytes", loaded.file_bytes);
  json.Member("schema", std::to_string(file.schema_major) + "." +
                            std::to_string(file.schema_minor));
  json.Member("torch_version", file.torch_version);
  WriteStrings("dialect", file.verifiers, &json);
  WriteStrings("methods", archive.methods, &json);
  WriteJsonArchive(archive, &json);
  WriteJsonSignature(summary, &json);
  WriteStrings("guards", file.guards_code, &json);
  WriteJsonContent(summary, &json);
  WriteJsonEngines(engines, &json);
  json.Member("digest", summary.digest.ToHex());
  json.EndObject();
  return json.Take();
}

ExitCode Run(const CommandLine& line, Console& console) {
  const std::string& path = line.arguments()[0];
  if (IsPte(path)) return InfoPte(line, console);
  if (line.Has("--svg")) {
    return FailUsage("option --svg is for a .pte", console);
  }
  Diagnostics diags;
  const Expected<SourceFile> source = OpenSource(line.arguments()[0], diags);
  if (!source) return Finish(diags, console);
  if (IsOtherFile(*source)) {
    console.Out(line.Has("--json") ? OtherFileJson(*source)
                                   : OtherFileText(*source));
    return ExitCode::kFine;
  }
  ReadOptions options;
  options.limits = line.read_limits();
  options.method = line.Get("--method");
  options.allow_weightless = true;
  const Expected<LoadedProgram> loaded =
      ReadProgram(*source, std::make_shared<Context>(), options, diags);
  if (!loaded) return Finish(diags, console);
  ArchiveSummary archive;
  if (loaded->kind == FileKind::kPt2) archive = SummariseArchive(source->bytes);
  const Summary summary = Summarise(loaded->program);
  const EngineList engines = ListEngines(loaded->program);
  console.Out(line.Has("--json")
                  ? JsonInfo(*loaded, summary, engines, archive)
                  : TextInfo(*loaded, summary, engines, archive).Write());
  return Finish(diags, console);
}

}  // namespace

const Verb kInfoVerb = {
    "info",
    "FILE",
    1,
    1,
    "shows what a file is: call, state, operators, digest",
    "Shows a program's versions, archive and methods, its calling convention "
    "as a Python-like call with types, symbolic sizes and their ranges, state "
    "by kind, mutations, operators by frequency, control flow, operators of "
    "other libraries, dtypes, devices, delegates and the wiring digest. No "
    "weight is read. Of a .pte it shows methods, memory, operators, backends, "
    "segments, and how to call it. Of a file of another kind it says what it "
    "is, what opens "
    "it, and what a scan finds.",
    "tenon info model.pt2\n"
    "tenon info --json model.pt2\n"
    "tenon info --svg memory.svg model.pte\n"
    "tenon info download.bin\n",
    kOptions,
    Run};

}  // namespace tenon::tools
