// tenon info, over a .pte.
#include <vector>

#include "formats/pte/pte.h"
#include "json_writer.h"
#include "pte_calls.h"
#include "pte_report.h"
#include "pte_summary.h"
#include "pte_verbs.h"
#include "support/byte_text.h"
#include "support/counted.h"
#include "support/mapped_file.h"
#include "verdict.h"
#include "write_program.h"

namespace tenon::tools {
namespace {

// In the text, only the most frequent ones.
constexpr size_t kMaxOperators = 20;

std::string Join(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) {
    out += (out.empty() ? "" : ", ") + item;
  }
  return out;
}

std::string CallText(const PteMethodSummary& m) {
  return m.name + "(" + Join(m.inputs) + ") -> (" + Join(m.outputs) + ")";
}

class PteTextInfo {
 public:
  PteTextInfo(const PteProgram& program, uint64_t file_bytes)
      : program_(program), file_bytes_(file_bytes) {}

  std::string Write() {
    Line("file", ".pte, " + ByteText(file_bytes_));
    Line("schema", std::to_string(program_.version));
    for (const PtePlan& plan : program_.plans) {
      WriteMethod(Summarise(program_, plan));
      WriteConvention(plan);
    }
    WriteData();
    for (const PtePlan& plan : program_.plans) WriteHowToCall(plan);
    return std::move(out_);
  }

 private:
  void Line(std::string_view name, std::string_view text) {
    std::string head(name);
    if (!head.empty()) head += ':';
    head.resize(12, ' ');
    out_.append(head).append(text).append("\n");
  }

  void WriteMethod(const PteMethodSummary& m) {
    Line("method", CallText(m));
    Line("", Count(m.num_instructions, "instruction") + ", " +
                 Count(m.num_values, "value"));
    for (size_t i = 0; i < m.arenas.size(); ++i) {
      Line(i == 0 ? "  memory" : "", "arena " + std::to_string(i + 1) + ": " +
                                         ByteText(m.arenas[i].bytes) + " on " +
                                         m.arenas[i].device);
    }
    WriteTensors("constant", m.constants);
    WriteTensors("initialised buffer", m.initialised);
    WriteTensors("external tensor", m.external);
    if (!m.external_names.empty()) Line("", Join(m.external_names));
    WriteOperators(m);
    for (const PteDelegateSummary& d : m.delegates) {
      Line("  backend", d.backend + ": " + Count(d.num_delegates, "delegate") +
                            ", " + Count(d.num_calls, "call") +
                            ", payloads of " + ByteText(d.payload_bytes));
    }
    for (size_t i = 0; i < m.bindings.size(); ++i) {
      Line(i == 0 ? "  binds" : "", m.bindings[i]);
    }
  }

  void WriteTensors(std::string_view noun, const PteTensorSummary& t) {
    if (t.count == 0) return;
    Line("  state", Count(t.count, noun) + ", " + ByteText(t.bytes));
  }

  void WriteOperators(const PteMethodSummary& m) {
    std::string_view name = "  operators";
    for (size_t i = 0; i < m.operators.size(); ++i) {
      if (i == kMaxOperators) {
        Line("", "and " + Count(m.operators.size() - i, "other"));
        return;
      }
      std::string text = std::to_string(m.operators[i].second);
      text.insert(0, text.size() < 6 ? 6 - text.size() : 0, ' ');
      Line(name, text + "  " + m.operators[i].first);
      name = "";
    }
  }

  void WriteData() {
    for (const PteNamedData& data : program_.named_data) {
      Line("named data",
           data.key + ": segment " + std::to_string(data.segment));
    }
    for (size_t i = 0; i < program_.segments.size(); ++i) {
      Line(i == 0 ? "segments" : "",
           std::to_string(i) + ": " +
               ByteText(program_.segments[i].size_bytes()));
    }
  }

  void WriteConvention(const PtePlan& plan) {
    const auto write = [&](std::string_view what,
                           const std::vector<int32_t>& values) {
      for (size_t i = 0; i < values.size(); ++i) {
        Line("  " + std::string(what) + " " + std::to_string(i),
             SlotOf(plan, values[i]).Describe());
      }
    };
    write("input", plan.inputs);
    write("output", plan.outputs);
    if (!plan.convention) return;
    if (!plan.convention->inputs.empty()) {
      Line("  in spec", plan.convention->inputs);
    }
    if (!plan.convention->outputs.empty()) {
      Line("  out spec", plan.convention->outputs);
    }
  }

  void WriteLines(std::string_view name,
                  const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
      Line(name, line);
      name = "";
    }
  }
  void WriteHowToCall(const PtePlan& plan) {
    WriteLines("python", PythonCall(plan));
    WriteLines("c++", CppCall(plan));
  }

  const PteProgram& program_;
  const uint64_t file_bytes_;
  std::string out_;
};

void WriteStrings(std::string_view key, const std::vector<std::string>& items,
                  JsonWriter* json) {
  json->Key(key);
  json->BeginArray();
  for (const std::string& item : items) json->String(item);
  json->EndArray();
}

void WriteTensorsJson(std::string_view key, const PteTensorSummary& t,
                      JsonWriter* json) {
  json->Key(key);
  json->BeginObject();
  json->Member("count", t.count);
  json->Member("bytes", t.bytes);
  json->EndObject();
}

void WriteSlotsJson(std::string_view key, const PtePlan& plan,
                    const std::vector<int32_t>& values, JsonWriter* json) {
  json->Key(key);
  json->BeginArray();
  for (const int32_t value : values) {
    const PteSlot slot = SlotOf(plan, value);
    json->BeginObject();
    json->Member("kind", slot.kind);
    if (slot.kind == "Tensor") {
      json->Member("dtype", slot.dtype);
      json->Key("sizes");
      json->BeginArray();
      for (const int32_t size : slot.sizes) json->Int(size);
      json->EndArray();
      json->Key("dim_order");
      json->BeginArray();
      for (const uint8_t dim : slot.dim_order) json->Uint(dim);
      json->EndArray();
      json->Member("bounded", slot.is_bounded);
      json->Member("callers_memory", slot.is_callers);
    } else {
      json->Member("value", slot.value);
    }
    json->EndObject();
  }
  json->EndArray();
}

void WriteConventionJson(const PtePlan& plan, JsonWriter* json) {
  json->Key("convention");
  json->BeginObject();
  WriteSlotsJson("inputs", plan, plan.inputs, json);
  WriteSlotsJson("outputs", plan, plan.outputs, json);
  const PteConvention convention = plan.convention.value_or(PteConvention());
  json->Member("in_spec", convention.inputs);
  json->Member("out_spec", convention.outputs);
  WriteStrings("python", PythonCall(plan), json);
  WriteStrings("cpp", CppCall(plan), json);
  json->EndObject();
}

void WriteMethodJson(const PtePlan& plan, const PteMethodSummary& m,
                     JsonWriter* json) {
  json->BeginObject();
  json->Member("name", m.name);
  WriteStrings("inputs", m.inputs, json);
  WriteStrings("outputs", m.outputs, json);
  WriteConventionJson(plan, json);
  json->Member("values", m.num_values);
  json->Member("instructions", m.num_instructions);
  json->Key("arenas");
  json->BeginArray();
  for (const PteArenaSummary& arena : m.arenas) {
    json->BeginObject();
    json->Member("bytes", arena.bytes);
    json->Member("device", arena.device);
    json->EndObject();
  }
  json->EndArray();
  WriteTensorsJson("constants", m.constants, json);
  WriteTensorsJson("initialised", m.initialised, json);
  WriteTensorsJson("external", m.external, json);
  WriteStrings("external_names", m.external_names, json);
  json->Key("operators");
  json->BeginObject();
  for (const auto& [op, count] : m.operators) json->Member(op, count);
  json->EndObject();
  WriteStrings("bindings", m.bindings, json);
  json->Key("delegates");
  json->BeginArray();
  for (const PteDelegateSummary& d : m.delegates) {
    json->BeginObject();
    json->Member("backend", d.backend);
    json->Member("delegates", d.num_delegates);
    json->Member("calls", d.num_calls);
    json->Member("payload_bytes", d.payload_bytes);
    json->EndObject();
  }
  json->EndArray();
  json->EndObject();
}

std::string JsonInfo(const PteProgram& program, uint64_t file_bytes) {
  JsonWriter json;
  json.BeginObject();
  json.Member("kind", "pte");
  json.Member("file_bytes", file_bytes);
  json.Member("schema", uint64_t{program.version});
  json.Key("methods");
  json.BeginArray();
  for (const PtePlan& plan : program.plans) {
    WriteMethodJson(plan, Summarise(program, plan), &json);
  }
  json.EndArray();
  json.Key("named_data");
  json.BeginArray();
  for (const PteNamedData& data : program.named_data) json.String(data.key);
  json.EndArray();
  json.Key("segments");
  json.BeginArray();
  for (const PteSegment& segment : program.segments) {
    json.Uint(segment.size_bytes());
  }
  json.EndArray();
  json.EndObject();
  return json.Take();
}

}  // namespace

ExitCode InfoPte(const CommandLine& line, Console& console) {
  Diagnostics diags;
  const std::string& path = line.arguments()[0];
  std::string error;
  const auto file = MappedFile::Open(path, &error);
  if (file == nullptr) {
    diags.Error(Rule::kIo, Place::File(path)) << "can't be read: " << error;
    return Finish(diags, console);
  }
  const auto program = ReadPte(file->bytes(), file, path, diags);
  if (!program) return Finish(diags, console);
  if (line.Has("--svg") &&
      !WriteTextFile(line.Get("--svg"), PteMemoryAsSvg(*program), diags)) {
    return Finish(diags, console);
  }
  const uint64_t file_bytes = file->bytes().size();
  console.Out(line.Has("--json") ? JsonInfo(*program, file_bytes)
                                 : PteTextInfo(*program, file_bytes).Write());
  return Finish(diags, console);
}

}  // namespace tenon::tools
