#include "formats/pt2/read_model.h"

#include "formats/pt2/delegates.h"
#include "formats/pt2/read_calls.h"
#include "formats/pt2/read_graph.h"
#include "formats/pt2/read_signature.h"
#include "formats/pt2/release.h"

namespace tenon {
namespace {

constexpr std::array<JsonMember, 7> kExportedProgram = {
    {{"graph_module"},
     {"opset_version"},
     {"range_constraints"},
     {"schema_version"},
     {"verifiers", false},
     {"torch_version", false},
     {"guards_code", false}}};
constexpr std::array<JsonMember, 5> kGraphModule = {
    {{"graph"},
     {"signature"},
     {"module_call_graph"},
     {"metadata", false},
     {"treespec_namedtuple_fields", false}}};
constexpr std::array<JsonMember, 2> kSchemaVersion = {{{"major"}, {"minor"}}};
constexpr std::array<JsonMember, 2> kRange = {{{"min_val"}, {"max_val"}}};

class ModelReader {
 public:
  ModelReader(const JsonInput& json, TypeReader* types, Program* program)
      : json_(json), types_(*types), program_(*program) {}

  Status Read(const StateNames& state,
              const std::unordered_map<StringId, DelegateId>& delegates) {
    const JsonPath root;
    TENON_ASSIGN(const auto m,
                 json_.Members(json_.root(), root, kExportedProgram));
    TENON_TRY(ReadSchemaVersion(m[3], JsonPath(root, "schema_version")));
    TENON_TRY(ReadFileInfo(m, root));
    TENON_TRY(ReadGraphModule(m[0], JsonPath(root, "graph_module"), state,
                              delegates));
    return ReadRanges(m[2], JsonPath(root, "range_constraints"));
  }

 private:
  Status ReadSchemaVersion(const JsonElement& e, const JsonPath& path) {
    TENON_ASSIGN(const auto m, json_.Members(e, path, kSchemaVersion));
    TENON_ASSIGN(program_.file.schema_major,
                 json_.Int(m[0], JsonPath(path, "major")));
    TENON_ASSIGN(program_.file.schema_minor,
                 json_.Int(m[1], JsonPath(path, "minor")));
    if (program_.file.schema_major != kSchemaMajor) {
      return json_.Error(path, Rule::kFile06)
             << "schema version " << program_.file.schema_major << "."
             << program_.file.schema_minor << ", expected " << kSchemaMajor
             << ".x";
    }
    if (program_.file.schema_minor > schema_minor::kNewest) NoteNewerSchema();
    return {};
  }

  void NoteNewerSchema() {
    Diagnostic note;
    note.severity = Severity::kNote;
    note.rule = Rule::kFile06;
    note.place = Place::Json(json_.name(), "$.schema_version");
    note.message = "schema 8." + std::to_string(program_.file.schema_minor) +
                   " is newer than 8." + std::to_string(schema_minor::kNewest) +
                   "; members that it added are carried without being "
                   "understood";
    json_.diags().Report(std::move(note));
  }

  Status ReadFileInfo(const JsonMembers<7>& m, const JsonPath& root) {
    const JsonPath opset_path(root, "opset_version");
    TENON_ASSIGN(const JsonObject opset, json_.Object(m[1], opset_path));
    program_.file.opset_version.clear();
    for (const auto field : opset) {
      TENON_ASSIGN(const int64_t version,
                   json_.Int(field.value, JsonPath(opset_path, field.key)));
      program_.file.opset_version.emplace_back(field.key, version);
    }
    program_.file.verifiers.clear();
    if (m.has(4)) {
      TENON_ASSIGN(program_.file.verifiers,
                   json_.Strings(m[4], JsonPath(root, "verifiers")));
    }
    program_.file.torch_version = "<=2.4";  // what its absence means
    if (m.has(5)) {
      TENON_ASSIGN(const std::string_view version,
                   json_.String(m[5], JsonPath(root, "torch_version")));
      program_.file.torch_version = version;
    }
    program_.file.has_guards_code = m.has(6);
    if (m.has(6)) {
      TENON_ASSIGN(program_.file.guards_code,
                   json_.Strings(m[6], JsonPath(root, "guards_code")));
    }
    return {};
  }

  Status ReadGraphModule(
      const JsonElement& e, const JsonPath& path, const StateNames& state,
      const std::unordered_map<StringId, DelegateId>& delegates) {
    TENON_ASSIGN(const auto m, json_.Members(e, path, kGraphModule));
    const JsonPath signature_path(path, "signature");
    TENON_ASSIGN(
        auto literal_names,
        ReadLiteralNames(json_, m[1], signature_path, &program_.context()));
    GraphReader graph(&json_, &types_, &program_, &delegates);
    graph.SetLiteralNames(std::move(literal_names));
    TENON_TRY(graph.ReadGraph(Program::kRoot, m[0], JsonPath(path, "graph")));
    TENON_TRY(
        ReadSignature(json_, m[1], signature_path, &graph, state, &program_));
    TENON_TRY(ReadModuleCalls(json_, m[2], JsonPath(path, "module_call_graph"),
                              &graph, &program_));
    if (m.has(3)) {
      const JsonPath metadata_path(path, "metadata");
      TENON_ASSIGN(const JsonObject map, json_.Object(m[3], metadata_path));
      for (const auto field : map) {
        TENON_ASSIGN(
            const std::string_view text,
            json_.String(field.value, JsonPath(metadata_path, field.key)));
        program_.file.graph_module_metadata.emplace_back(field.key, text);
      }
    }
    if (m.has(4)) {
      TENON_TRY(
          json_.Object(m[4], JsonPath(path, "treespec_namedtuple_fields")));
      AppendJsonElement(m[4], &program_.file.treespec_namedtuple_fields);
    }
    return {};
  }

  // Last, so that keys can be bare names of symbols that the graph declared.
  Status ReadRanges(const JsonElement& e, const JsonPath& path) {
    TENON_ASSIGN(const JsonObject map, json_.Object(e, path));
    for (const auto field : map) {
      const JsonPath at(path, field.key);
      SymbolRange range;
      range.key = field.key;
      TENON_ASSIGN(range.expr, types_.Expression(field.key, at));
      TENON_ASSIGN(const auto m, json_.Members(field.value, at, kRange));
      if (!m[0].is_null()) {
        TENON_ASSIGN(range.min, json_.Int(m[0], JsonPath(at, "min_val")));
      }
      if (!m[1].is_null()) {
        TENON_ASSIGN(range.max, json_.Int(m[1], JsonPath(at, "max_val")));
      }
      program_.ranges.push_back(std::move(range));
    }
    return {};
  }

  const JsonInput& json_;
  TypeReader& types_;
  Program& program_;
};

}  // namespace

Status ReadModel(const Pt2Archive& archive, const std::string& model_member,
                 const Pt2ReadOptions& options, const StateNames& state,
                 SymbolTable* symbols, Program* program, Diagnostics& diags) {
  TENON_ASSIGN(const ZipContent content,
               archive.Read(model_member, false, diags));
  program->AddGraph("main");
  std::unordered_map<StringId, DelegateId> delegates;
  TENON_TRY(
      ReadDelegates(archive, options, symbols, program, &delegates, diags));
  JsonInput json;
  json.unknown_members = &program->file.unknown_members;
  TENON_TRY(
      json.Parse(content.bytes, true, model_member, options.limits, diags));
  TypeReader types(&json, &program->context(), symbols);
  return ModelReader(json, &types, program).Read(state, delegates);
}

}  // namespace tenon
