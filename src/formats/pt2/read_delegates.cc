#include <limits>

#include "formats/pt2/delegates.h"
#include "formats/pt2/read_graph.h"

namespace tenon {
namespace {

constexpr std::array<JsonMember, 3> kRoot = {
    {{"version"}, {"regions"}, {"delegates"}}};
constexpr std::array<JsonMember, 2> kRegion = {{{"name"}, {"backend"}}};
constexpr std::array<JsonMember, 11> kDelegate = {{{"name"},
                                                   {"backend"},
                                                   {"payload"},
                                                   {"digest"},
                                                   {"source"},
                                                   {"inputs"},
                                                   {"outputs"},
                                                   {"writes"},
                                                   {"input_names"},
                                                   {"output_names"},
                                                   {"metadata", false}}};
constexpr std::array<JsonMember, 3> kWrite = {
    {{"input"}, {"output"}, {"kind"}}};
constexpr std::array<JsonMember, 5> kSource = {{{"name"},
                                                {"graph"},
                                                {"input_names"},
                                                {"parameters"},
                                                {"defaults", false}}};

class DelegatesReader {
 public:
  DelegatesReader(const Pt2Archive& archive, const Pt2ReadOptions& options,
                  SymbolTable* symbols, Program* program,
                  std::unordered_map<StringId, DelegateId>* by_name,
                  Diagnostics& diags)
      : archive_(archive),
        options_(options),
        symbols_(*symbols),
        program_(*program),
        context_(program->context()),
        by_name_(*by_name),
        diags_(diags) {}

  Status Read() {
    const std::string name(kDelegatesMember);
    TENON_ASSIGN(const ZipContent content, archive_.Read(name, false, diags_));
    TENON_TRY(json_.Parse(content.bytes, true, name, options_.limits, diags_));
    const JsonPath root;
    TENON_ASSIGN(const auto m, json_.Members(json_.root(), root, kRoot));
    TENON_ASSIGN(const int64_t version,
                 json_.Int(m[0], JsonPath(root, "version")));
    if (version != kDelegatesVersion) {
      return json_.Error(root, Rule::kFile06)
             << "version " << version << ", expected " << kDelegatesVersion;
    }
    const JsonPath regions_path(root, "regions");
    TENON_ASSIGN(const JsonArray regions, json_.Array(m[1], regions_path));
    for (const auto region : regions) {
      const JsonPath at(regions_path, program_.regions.size());
      TENON_ASSIGN(const auto r, json_.Members(region, at, kRegion));
      Region out;
      TENON_ASSIGN(out.name, Text(r[0], JsonPath(at, "name")));
      TENON_ASSIGN(out.backend, Text(r[1], JsonPath(at, "backend")));
      program_.regions.push_back(out);
    }
    const JsonPath delegates_path(root, "delegates");
    TENON_ASSIGN(const JsonArray delegates, json_.Array(m[2], delegates_path));
    for (const auto delegate : delegates) {
      TENON_TRY(ReadDelegate(
          delegate, JsonPath(delegates_path, program_.delegates.size())));
    }
    return {};
  }

 private:
  Expected<StringId> Text(const JsonElement& e, const JsonPath& path) {
    TENON_ASSIGN(const std::string_view text, json_.String(e, path));
    return context_.Intern(text);
  }

  Status ReadDelegate(const JsonElement& e, const JsonPath& path) {
    TENON_ASSIGN(const auto m, json_.Members(e, path, kDelegate));
    Delegate out;
    TENON_ASSIGN(out.name, Text(m[0], JsonPath(path, "name")));
    TENON_ASSIGN(out.backend, Text(m[1], JsonPath(path, "backend")));
    const JsonPath payload_path(path, "payload");
    TENON_ASSIGN(const std::string_view payload,
                 json_.String(m[2], payload_path));
    TENON_ASSIGN(const ZipContent content, Member(payload, payload_path));
    out.payload = content.bytes;
    out.payload_owner = content.owner;
    const JsonPath digest_path(path, "digest");
    TENON_ASSIGN(const std::string_view digest,
                 json_.String(m[3], digest_path));
    if (!Digest::FromHex(digest, &out.payload_digest)) {
      return json_.Error(digest_path) << "not 32 hexadecimal digits";
    }
    if (options_.check_crc &&
        HashBytes(out.payload.data(), out.payload.size()) !=
            out.payload_digest) {
      return json_.Error(digest_path, Rule::kFile09)
             << "the payload has another digest";
    }
    if (!m[4].is_null()) {
      const JsonPath source_path(path, "source");
      TENON_ASSIGN(const std::string_view source,
                   json_.String(m[4], source_path));
      TENON_ASSIGN(out.source, ReadSource(source, source_path));
    }
    TENON_TRY(ReadTypes(m[5], JsonPath(path, "inputs"), &out.inputs));
    TENON_TRY(ReadTypes(m[6], JsonPath(path, "outputs"), &out.outputs));
    TENON_TRY(ReadWrites(m[7], JsonPath(path, "writes"), &out));
    TENON_TRY(ReadNames(m[8], JsonPath(path, "input_names"), out.inputs.size(),
                        &out.input_names));
    TENON_TRY(ReadNames(m[9], JsonPath(path, "output_names"),
                        out.outputs.size(), &out.output_names));
    if (m.has_value(10)) {
      TENON_TRY(ReadMetadata(m[10], JsonPath(path, "metadata"), &out));
    }
    const DelegateId id(program_.delegates.size());
    if (!by_name_.emplace(out.name, id).second) {
      return json_.Error(path, Rule::kFile10)
             << "delegate '" << context_.view(out.name) << "' is there twice";
    }
    program_.delegates.push_back(std::move(out));
    return {};
  }

  Expected<ZipContent> Member(std::string_view name, const JsonPath& path) {
    if (!IsPlainMemberName(name) || name.find('/') != std::string_view::npos) {
      return json_.Error(path)
             << "'" << name << "' leaves the folder '" << kTenonFolder << "'";
    }
    const std::string member = std::string(kTenonFolder).append(name);
    if (!archive_.Has(member)) {
      return json_.Error(path, Rule::kFile04) << "no member '" << member << "'";
    }
    return archive_.Read(member, true, diags_);
  }

  Expected<GraphId> ReadSource(std::string_view name, const JsonPath& path) {
    const std::string key(name);
    const auto it = sources_.find(key);
    if (it != sources_.end()) return it->second;
    TENON_ASSIGN(const ZipContent content, Member(name, path));
    JsonInput source;
    TENON_TRY(source.Parse(content.bytes, true, std::string(kTenonFolder) + key,
                           options_.limits, diags_));
    const JsonPath root;
    TENON_ASSIGN(const auto m, source.Members(source.root(), root, kSource));
    TENON_ASSIGN(const std::string_view label,
                 source.String(m[0], JsonPath(root, "name")));
    TENON_ASSIGN(const auto input_names,
                 source.Strings(m[2], JsonPath(root, "input_names")));
    const GraphId g = program_.AddGraph(label);
    TypeReader types(&source, &context_, &symbols_);
    GraphReader graph(&source, &types, &program_, &by_name_);
    graph.SetLiteralNames(InternAll(input_names));
    TENON_TRY(graph.ReadGraph(g, m[1], JsonPath(root, "graph")));
    TENON_TRY(ReadParameters(source, m[3], g));
    if (m.has_value(4)) {
      TENON_TRY(ReadDefaults(source, m[4], &graph, g));
    }
    sources_.emplace(key, g);
    return g;
  }

  Status ReadParameters(const JsonInput& source, const JsonElement& e,
                        GraphId g) {
    TENON_ASSIGN(const auto names,
                 source.Strings(e, JsonPath(JsonPath(), "parameters")));
    for (const std::string& name : names) {
      program_.mutable_graph(g).parameters.push_back(
          {context_.Intern(name), ArgId()});
    }
    return {};
  }

  Status ReadDefaults(const JsonInput& source, const JsonElement& e,
                      GraphReader* reader, GraphId g) {
    const JsonPath root, path(root, "defaults");
    TENON_ASSIGN(const JsonArray items, source.Array(e, path));
    auto& parameters = program_.mutable_graph(g).parameters;
    if (items.size() != parameters.size()) {
      return source.Error(path) << "one default or null for each parameter";
    }
    size_t i = 0;
    for (const auto item : items) {
      Parameter& p = parameters[i];
      const JsonPath at(path, i++);
      if (item.is_null()) continue;
      p.value = program_.NewArgs(1)[0];
      TENON_TRY(reader->ReadLiteral(item, at, p.value));
    }
    return {};
  }

  std::vector<StringId> InternAll(const std::vector<std::string>& texts) {
    std::vector<StringId> out;
    out.reserve(texts.size());
    for (const std::string& text : texts) out.push_back(context_.Intern(text));
    return out;
  }

  Status ReadTypes(const JsonElement& e, const JsonPath& path,
                   std::vector<TypeId>* out) {
    TENON_ASSIGN(const JsonArray array, json_.Array(e, path));
    for (const auto item : array) {
      TENON_ASSIGN(const TypeId type,
                   ReadType(item, JsonPath(path, out->size())));
      out->push_back(type);
    }
    return {};
  }

  Expected<TypeId> ReadType(const JsonElement& e, const JsonPath& path) {
    TENON_ASSIGN(const JsonVariant v, json_.Variant(e, path));
    const JsonPath at(path, v.tag);
    TypeReader types(&json_, &context_, &symbols_);
    if (v.tag == "tensor") return types.Tensor(v.value, at);
    if (v.tag == "sym_int") return types.SymIntType(v.value, at);
    if (v.tag == "sym_float") return types.SymFloatType(v.value, at);
    if (v.tag == "sym_bool") return types.SymBoolType(v.value, at);
    Type type;
    if (v.tag == "none") {
      type.kind = TypeKind::kNone;
    } else if (v.tag == "int") {
      type.kind = TypeKind::kInt;
      TENON_ASSIGN(type.sym.value, json_.Int(v.value, at));
    } else if (v.tag == "float") {
      type.kind = TypeKind::kFloat;
      TENON_ASSIGN(type.real, json_.Float(v.value, at));
    } else if (v.tag == "bool") {
      type.kind = TypeKind::kBool;
      TENON_ASSIGN(const bool value, json_.Bool(v.value, at));
      type.sym.value = value ? 1 : 0;
    } else if (v.tag == "string" || v.tag == "object") {
      type.kind = v.tag == "string" ? TypeKind::kString : TypeKind::kObject;
      TENON_ASSIGN(type.text, Text(v.value, at));
    } else {
      return json_.Error(path) << "unknown tag '" << v.tag << "'";
    }
    return context_.types.Intern(std::move(type));
  }

  Status ReadWrites(const JsonElement& e, const JsonPath& path, Delegate* out) {
    TENON_ASSIGN(const JsonArray array, json_.Array(e, path));
    for (const auto item : array) {
      const JsonPath at(path, out->writes.size());
      TENON_ASSIGN(const auto m, json_.Members(item, at, kWrite));
      TENON_ASSIGN(const int64_t input, json_.Int(m[0], JsonPath(at, "input")));
      TENON_ASSIGN(const int64_t output,
                   json_.Int(m[1], JsonPath(at, "output")));
      TENON_ASSIGN(const std::string_view kind,
                   json_.String(m[2], JsonPath(at, "kind")));
      if (input < 0 || static_cast<size_t>(input) >= out->inputs.size() ||
          output < 0 || static_cast<size_t>(output) >= out->outputs.size() ||
          (kind != "user" && kind != "kv_cache_update")) {
        return json_.Error(at) << "a write of kind '" << kind << "' from input "
                               << input << " to output " << output;
      }
      out->writes.push_back(
          {static_cast<uint32_t>(input), static_cast<uint32_t>(output),
           kind == "user" ? WriteKind::kUser : WriteKind::kKvCacheUpdate});
    }
    return {};
  }

  Status ReadNames(const JsonElement& e, const JsonPath& path, size_t count,
                   std::vector<StringId>* out) {
    TENON_ASSIGN(const auto names, json_.Strings(e, path));
    if (!names.empty() && names.size() != count) {
      return json_.Error(path)
             << names.size() << " names for " << count << " bindings";
    }
    *out = InternAll(names);
    return {};
  }

  Status ReadMetadata(const JsonElement& e, const JsonPath& path,
                      Delegate* out) {
    TENON_ASSIGN(const JsonArray array, json_.Array(e, path));
    for (const auto item : array) {
      const JsonPath at(path, out->metadata.size());
      TENON_ASSIGN(const auto pair, json_.Strings(item, at));
      if (pair.size() != 2) {
        return json_.Error(at) << pair.size() << " items, expected [key, text]";
      }
      out->metadata.emplace_back(context_.Intern(pair[0]),
                                 context_.Intern(pair[1]));
    }
    return {};
  }

  const Pt2Archive& archive_;
  const Pt2ReadOptions& options_;
  SymbolTable& symbols_;
  Program& program_;
  Context& context_;
  std::unordered_map<StringId, DelegateId>& by_name_;
  Diagnostics& diags_;
  JsonInput json_;
  std::unordered_map<std::string, GraphId> sources_;
};

}  // namespace

Status ReadDelegates(const Pt2Archive& archive, const Pt2ReadOptions& options,
                     SymbolTable* symbols, Program* program,
                     std::unordered_map<StringId, DelegateId>* by_name,
                     Diagnostics& diags) {
  if (!archive.Has(std::string(kDelegatesMember))) return {};
  return DelegatesReader(archive, options, symbols, program, by_name, diags)
      .Read();
}

}  // namespace tenon
