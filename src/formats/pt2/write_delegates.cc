#include "formats/pt2/write_delegates.h"

#include <map>
#include <unordered_set>

#include "formats/pt2/delegates.h"
#include "formats/pt2/write_graph.h"

namespace tenon {
namespace {

std::string_view WriteKindName(WriteKind kind) {
  return kind == WriteKind::kUser ? "user" : "kv_cache_update";
}

class DelegatesWriter {
 public:
  DelegatesWriter(const Program& program, const NameTable& names,
                  ZipWriter* zip, Diagnostics& diags)
      : program_(program), names_(names), zip_(*zip), diags_(diags) {}

  Status Write() {
    std::string text;
    JsonObjectOut root(&text);
    root.Int("version", kDelegatesVersion);
    JsonArrayOut regions(root.Key("regions"));
    for (const Region& region : program_.regions) {
      JsonObjectOut o(regions.Item());
      o.Text("name", program_.view(region.name));
      o.Text("backend", program_.view(region.backend));
      o.Close();
    }
    regions.Close();
    JsonArrayOut delegates(root.Key("delegates"));
    std::unordered_set<StringId> labels;
    for (const Delegate& d : program_.delegates) {
      if (!labels.insert(d.name).second) {
        return diags_.Error(Rule::kFile10, Place::File(program_.name))
               << "two delegates are called '" << program_.view(d.name) << "'";
      }
      TENON_TRY(WriteDelegate(d, delegates.Item()));
    }
    delegates.Close();
    root.Close();
    return AddJson(std::string(kDelegatesMember), text);
  }

 private:
  Status AddJson(const std::string& name, std::string_view text) {
    TENON_TRY(CheckJsonText(text, Place::File(name), diags_));
    return Add(name, AsBytes(text));
  }

  Status Add(const std::string& name, Bytes bytes) {
    if (zip_.Add(name, bytes)) return {};
    return diags_.Error(Rule::kIo, Place::File(name)) << zip_.error();
  }

  Status WriteDelegate(const Delegate& d, std::string* out) {
    std::string source;
    if (d.source.valid()) {
      TENON_ASSIGN(source, Source(d.source));
    }
    TENON_ASSIGN(const std::string payload, Payload(d));
    JsonObjectOut o(out);
    o.Text("name", program_.view(d.name));
    o.Text("backend", program_.view(d.backend));
    o.Text("payload", payload);
    o.Text("digest", d.payload_digest.ToHex());
    if (source.empty()) {
      *o.Key("source") += "null";
    } else {
      o.Text("source", source);
    }
    Types(d.inputs, o.Key("inputs"));
    Types(d.outputs, o.Key("outputs"));
    JsonArrayOut writes(o.Key("writes"));
    for (const DeclaredWrite& write : d.writes) {
      JsonObjectOut w(writes.Item());
      w.Int("input", write.input);
      w.Int("output", write.output);
      w.Text("kind", WriteKindName(write.kind));
      w.Close();
    }
    writes.Close();
    Names(d.input_names, o.Key("input_names"));
    Names(d.output_names, o.Key("output_names"));
    if (!d.metadata.empty()) Metadata(d, o.Key("metadata"));
    o.Close();
    return {};
  }

  void Names(const std::vector<StringId>& names, std::string* out) {
    JsonArrayOut array(out);
    for (const StringId name : names) {
      AppendJsonString(program_.view(name), array.Item());
    }
    array.Close();
  }

  // Pairs, not an object: keys may repeat, and their order counts.
  void Metadata(const Delegate& d, std::string* out) {
    JsonArrayOut array(out);
    for (const auto& [key, text] : d.metadata) {
      JsonArrayOut pair(array.Item());
      AppendJsonString(program_.view(key), pair.Item());
      AppendJsonString(program_.view(text), pair.Item());
      pair.Close();
    }
    array.Close();
  }

  void Types(const std::vector<TypeId>& types, std::string* out) {
    JsonArrayOut array(out);
    for (const TypeId id : types) {
      const Type& type = program_.type(id);
      JsonObjectOut o(array.Item());
      switch (type.kind) {
        case TypeKind::kTensor:
          types_.Tensor(type, o.Key("tensor"));
          break;
        case TypeKind::kSymInt:
          types_.SymScalar(type, o.Key("sym_int"));
          break;
        case TypeKind::kSymFloat:
          types_.SymScalar(type, o.Key("sym_float"));
          break;
        case TypeKind::kSymBool:
          types_.SymScalar(type, o.Key("sym_bool"));
          break;
        case TypeKind::kObject:
          o.Text("object", program_.view(type.text));
          break;
        case TypeKind::kNone:
          o.Bool("none", true);
          break;
        case TypeKind::kInt:
          o.Int("int", type.sym.value);
          break;
        case TypeKind::kFloat:
          AppendJsonFloat(type.real, o.Key("float"));
          break;
        case TypeKind::kBool:
          o.Bool("bool", type.sym.value != 0);
          break;
        case TypeKind::kString:
          o.Text("string", program_.view(type.text));
          break;
      }
      o.Close();
    }
    array.Close();
  }

  // The name of the member with the delegate's payload.
  Expected<std::string> Payload(const Delegate& d) {
    const auto key = std::make_pair(d.payload_digest, d.payload.size());
    const auto it = members_.find(key);
    if (it != members_.end()) return it->second;
    const std::string name = "payload_" + std::to_string(num_payloads_++);
    TENON_TRY(Add(std::string(kTenonFolder) + name, d.payload));
    members_.emplace(key, name);
    return name;
  }

  // The name of the member with the graph that a delegate was compiled from.
  Expected<std::string> Source(GraphId g) {
    const auto it = sources_.find(g);
    if (it != sources_.end()) return it->second;
    const Graph& graph = program_.graph(g);
    std::string text;
    JsonObjectOut o(&text);
    o.Text("name", program_.view(graph.name));
    GraphWriter writer(&program_, &names_, schema_minor::kRawRecords, &diags_);
    TENON_TRY(writer.Graph(g, o.Key("graph")));
    JsonArrayOut inputs(o.Key("input_names"));
    for (const ValueId v : graph.inputs) {
      AppendJsonString(names_.value(v), inputs.Item());
    }
    inputs.Close();
    TENON_TRY(Parameters(graph, &writer, &o));
    o.Close();
    const auto key =
        std::make_pair(HashBytes(text.data(), text.size()), text.size());
    const auto [member, is_new] =
        members_.emplace(key, "source_" + std::to_string(num_sources_));
    if (is_new) {
      ++num_sources_;
      TENON_TRY(AddJson(std::string(kTenonFolder) + member->second, text));
    }
    sources_.emplace(g, member->second);
    return member->second;
  }

  // Names, and where there are defaults those, null for none.
  Status Parameters(const Graph& graph, GraphWriter* writer,
                    JsonObjectOut* out) {
    std::vector<StringId> names;
    bool has_default = false;
    for (const Parameter& p : graph.parameters) {
      names.push_back(p.name);
      has_default = has_default || p.value.valid();
    }
    Names(names, out->Key("parameters"));
    if (!has_default) return {};
    JsonArrayOut defaults(out->Key("defaults"));
    for (const Parameter& p : graph.parameters) {
      if (p.value.valid()) {
        TENON_TRY(writer->Argument(program_.arg(p.value), defaults.Item()));
      } else {
        defaults.Item()->append("null");
      }
    }
    defaults.Close();
    return {};
  }

  const Program& program_;
  const NameTable& names_;
  ZipWriter& zip_;
  Diagnostics& diags_;
  TypeWriter types_{&program_.context(), schema_minor::kRawRecords};
  // Members by content.
  std::map<std::pair<Digest, size_t>, std::string> members_;
  std::map<GraphId, std::string> sources_;
  size_t num_payloads_ = 0;
  size_t num_sources_ = 0;
};

}  // namespace

Status WriteDelegates(const Program& program, const NameTable& names,
                      ZipWriter* zip, Diagnostics& diags) {
  if (program.delegates.empty() && program.regions.empty()) return {};
  return DelegatesWriter(program, names, zip, diags).Write();
}

}  // namespace tenon
