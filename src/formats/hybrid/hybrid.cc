#include "formats/hybrid/hybrid.h"

#include "formats/hybrid/convention.h"
#include "formats/hybrid/graph_reader.h"
#include "support/mapped_file.h"

namespace tenon {
namespace {

using namespace hybrid;  // NOLINT: the reader's own parts

constexpr std::array<JsonMember, 14> kDocument = {{{"format"},
                                                   {"name", false},
                                                   {"graph"},
                                                   {"modules", false},
                                                   {"state", false},
                                                   {"in_spec", false},
                                                   {"out_spec", false},
                                                   {"dims", false},
                                                   {"types", false},
                                                   {"runs", false},
                                                   {"tensors", false},
                                                   {"about", false},
                                                   {"tags", false},
                                                   {"expect", false}}};
enum Member {
  kFormat,
  kName,
  kGraphMember,
  kModules,
  kStateMember,
  kInSpec,
  kOutSpec,
  kDims,
  kTypes,
  kRuns,
  kTensors
};

// The file beside `path` that the document names: a name, no path.
Expected<Safetensors> OpenTensors(const JsonInput& json,
                                  const std::string& path,
                                  const JsonElement& name, Diagnostics& diags) {
  const JsonPath root;
  const JsonPath at(root, "tensors");
  TENON_ASSIGN(const std::string_view file, json.String(name, at));
  if (file.empty() || file.find('/') != std::string_view::npos ||
      file.find('\0') != std::string_view::npos || file == "." ||
      file == "..") {
    return json.Error(at, Rule::kFile03)
           << "'" << file << "' is no plain file name";
  }
  const size_t slash = path.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "" : path.substr(0, slash + 1);
  return OpenSafetensors(folder + std::string(file), diags);
}

// What symbols were in the example call, from the sizes of its tensors.
void FindHints(const Module& root, const std::vector<TypeId>& example,
               Program* program, Types* types) {
  JsonArray nodes;
  if (!root.graph.Get(&nodes)) return;
  size_t i = 0;
  const JsonPath path;
  for (const auto node : nodes) {
    std::string_view op;
    if (!node["op"].Get(&op) || op != "placeholder") {
      continue;
    }
    const TypeId given = example[i++];
    JsonArray shape;
    const JsonElement val = node["val"];
    const JsonElement* stated = types->Resolve(val);
    if (!given.valid() || stated == nullptr ||
        !(*stated)["shape"].Get(&shape)) {
      continue;
    }
    const Type& type = program->type(given);
    size_t d = 0;
    for (const auto size : shape) {
      if (d >= type.sizes.size()) break;
      const int64_t value = type.sizes[d++].value;
      if (!size.is_string()) continue;
      const auto symbolic = types->ReadSize(size, path);
      if (!symbolic) return;  // told again where it is read
      if (program->context().exprs.get(symbolic->expr).kind ==
          ExprKind::kSymbol) {
        types->SetHint(symbolic->expr, value);
      }
    }
  }
}

// `path` is where the document lies, "" for one in memory, whose tensors are
// `given`.
Expected<Program> ReadDocument(const JsonInput& json, const std::string& path,
                               const Safetensors* given,
                               std::shared_ptr<Context> context,
                               const HybridReadOptions& options,
                               Diagnostics& diags) {
  const JsonPath root_path;
  TENON_ASSIGN(const auto m, json.Members(json.root(), root_path, kDocument));
  TENON_ASSIGN(const std::string_view format,
               json.String(m[kFormat], JsonPath(root_path, "format")));
  if (format != "hybrid-1") {
    return json.Error(JsonPath(root_path, "format"), Rule::kUnsupported)
           << "format '" << format << "', expected 'hybrid-1'";
  }
  Safetensors tensors;
  if (given != nullptr) {
    tensors = *given;
  } else if (m.has_value(kTensors)) {
    TENON_ASSIGN(tensors, OpenTensors(json, path, m[kTensors], diags));
  }
  Program program(std::move(context));
  ModuleTree modules(json);
  const JsonElement children = m.OrNone(kModules);
  TENON_TRY(
      modules.Read(m[kGraphMember], children.valid() ? &children : nullptr));
  Types types(json, &program);
  if (m.has_value(kDims)) {
    TENON_TRY(types.ReadSymbols(m[kDims], JsonPath(root_path, "dims")));
  }
  if (m.has_value(kTypes)) {
    TENON_TRY(types.SetTable(m[kTypes], JsonPath(root_path, "types")));
  }
  StateReader state(json, tensors, &program);
  if (m.has_value(kStateMember)) {
    TENON_TRY(state.Read(m[kStateMember], JsonPath(root_path, "state")));
  }
  JsonElement example;
  if (m.has_value(kRuns)) {
    TENON_ASSIGN(const JsonArray runs,
                 json.Array(m[kRuns], JsonPath(root_path, "runs")));
    example = runs.at(0);
  }
  ConventionReader convention(json, *modules.root(), tensors, &program);
  const JsonElement in_spec = m.OrNone(kInSpec);
  TENON_TRY(convention.ReadInputs(in_spec.valid() ? &in_spec : nullptr,
                                  example.valid() ? &example : nullptr));
  FindHints(*modules.root(), convention.example_types(), &program, &types);
  GraphReader graphs(json, options, &state, &types, &program);
  TENON_ASSIGN(const Item returned,
               graphs.ReadRoot(modules.root(), convention.example_types()));
  convention.OrderInputs();
  const JsonElement out_spec = m.OrNone(kOutSpec);
  TENON_TRY(
      convention.ReadOutputs(out_spec.valid() ? &out_spec : nullptr, returned));
  return program;
}

}  // namespace

Expected<Program> ReadHybrid(const std::string& path,
                             std::shared_ptr<Context> context,
                             const HybridReadOptions& options,
                             Diagnostics& diags) {
  std::string error;
  const auto file = MappedFile::Open(path, &error);
  if (file == nullptr) {
    return diags.Error(Rule::kIo, Place::File(path)) << error;
  }
  JsonInput json;
  TENON_TRY(json.Parse(file->bytes(), false, path, options.limits, diags));
  return ReadDocument(json, path, nullptr, std::move(context), options, diags);
}

Expected<Program> ReadHybrid(Bytes text, const Safetensors& tensors,
                             const std::string& name,
                             std::shared_ptr<Context> context,
                             const HybridReadOptions& options,
                             Diagnostics& diags) {
  JsonInput json;
  TENON_TRY(json.Parse(text, false, name, options.limits, diags));
  return ReadDocument(json, "", &tensors, std::move(context), options, diags);
}

}  // namespace tenon
