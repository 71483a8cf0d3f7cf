// The extension module: a graph goes in as a document, a program comes back as
// an fx graph or a file. All judgement is in the libraries.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "export/export.h"
#include "export/join_program.h"
#include "formats/hybrid/hybrid.h"
#include "fx_graph.h"
#include "hybrid_error.h"
#include "hybrid_text.h"
#include "text/text.h"

namespace tenon::python {
namespace {

// "a/x" for "$.modules.a.graph.nodes[3].args[0]".
std::string NodeAt(const std::string& json_path,
                   const std::vector<GraphPlace>& places) {
  for (const GraphPlace& place : places) {
    const std::string start = place.json_path + ".nodes[";
    if (json_path.compare(0, start.size(), start) != 0) continue;
    const size_t i =
        std::strtoull(json_path.c_str() + start.size(), nullptr, 10);
    if (i >= place.node_names.size()) continue;
    return place.path.empty() ? place.node_names[i]
                              : place.path + '/' + place.node_names[i];
  }
  return "";
}

std::string NodeOf(const Place& place, const std::vector<GraphPlace>& places) {
  if (!place.node.empty()) return place.node;
  return NodeAt(place.json_path, places);
}

// Raises tenon_pt2.TenonError.
[[noreturn]] void Raise(const nb::list& findings) {
  nb::module_::import_("tenon_pt2._errors").attr("raise_findings")(findings);
  throw std::runtime_error("findings were not raised");
}

[[noreturn]] void Raise(const Diagnostics& diags,
                        const std::vector<GraphPlace>& places) {
  nb::list findings;
  for (const Diagnostic& d : diags.all()) {
    if (d.severity != Severity::kError) continue;
    nb::list notes;
    for (const Note& note : d.notes) {
      notes.append(nb::make_tuple(NodeOf(note.place, places), note.message));
    }
    findings.append(nb::make_tuple(std::string(RuleId(d.rule)),
                                   NodeOf(d.place, places), d.message,
                                   d.place.ToString(), notes));
  }
  Raise(findings);
}

template <typename Do>
auto Guarded(Do&& what) {
  try {
    return what();
  } catch (const HybridError& e) {
    nb::list findings;
    findings.append(nb::make_tuple(std::string(RuleId(e.rule())), e.node(),
                                   e.message(), e.node(), nb::list()));
    Raise(findings);
  }
}

class Document {
 public:
  Document(nb::object root, nb::object given_vals)
      : text_(&operators_, std::move(given_vals)) {
    Guarded([&] { text_.WriteModules(root.ptr()); });
    for (const nb::object& node : text_.nodes()) {
      if (Attr(node.ptr(), N().op).ptr() != N().placeholder &&
          Text(Attr(node.ptr(), N().op).ptr()) != "placeholder") {
        break;
      }
      inputs_.push_back(node);
    }
  }

  nb::object vals = nb::none();

  void AddMember(const std::string& name, const std::string& json) {
    text_.AddMember(name, json);
  }
  void AddExample(nb::object args, nb::object kwargs) {
    Guarded([&] { text_.AddExample(args.ptr(), kwargs.ptr()); });
  }
  void Finish() { document_ = text_.Take(); }

  HybridText& text() { return text_; }
  const std::string& document() const { return document_; }
  OperatorTable& operators() { return operators_; }
  const std::vector<nb::object>& inputs() const { return inputs_; }

  nb::dict Symbolic() {
    nb::dict out;
    for (const auto& [text, sym] : text_.values().symbolic()) {
      out[text.c_str()] = sym;
    }
    return out;
  }

 private:
  OperatorTable operators_;
  HybridText text_;
  std::string document_;
  std::vector<nb::object> inputs_;
};

nb::object SpecToPython(const TreeSpec& spec) {
  if (spec.is_leaf) return nb::none();
  nb::list children;
  for (const TreeSpec& child : spec.children) {
    children.append(SpecToPython(child));
  }
  nb::list keys;
  for (const std::string& key : spec.Keys()) keys.append(nb::cast(key));
  return nb::make_tuple(spec.type, nb::tuple(keys), nb::tuple(children));
}

class Joined {
 public:
  Joined(Document* document, bool inline_delegates) : document_(*document) {
    Diagnostics diags;
    bool is_fine = false;
    {
      const nb::gil_scoped_release release;
      auto read = ReadHybrid(
          AsBytes(document_.document()), document_.text().tensors().all(),
          "graph", std::make_shared<Context>(), HybridReadOptions(), diags);
      if (read) {
        program_.emplace(std::move(*read));
        JoinProgramOptions options;
        options.inline_delegates = inline_delegates;
        options.keep_unknown_delegates = true;
        const auto report = JoinProgram(&*program_, options, diags);
        is_fine = report.ok();
        if (is_fine) digest_ = report->result_digest.ToHex();
      }
    }
    if (!is_fine) Raise(diags, document_.text().places());
  }

  const std::string& digest() const { return digest_; }

  // (fqn, kind, tensor) in the order of the state table.
  nb::list State() const {
    nb::list out;
    const auto& given = document_.text().state();
    const StateTable& state = program_->state;
    for (size_t i = 0; i < state.entries.size(); ++i) {
      const StateEntry& entry = state.entries[i];
      nb::object tensor = nb::none();
      if (i < given.size()) {
        tensor = given[i].second;
      } else {  // a tensor that an argument holds
        PyObject* found = document_.text().tensors().Find(
            state.storage(entry.storage).bytes, program_->type(entry.type));
        if (found != nullptr) tensor = nb::borrow(found);
      }
      out.append(nb::make_tuple(std::string(program_->view(entry.fqn)),
                                std::string(Name(entry.kind)), tensor));
    }
    return out;
  }

  nb::list Delegates() const {
    nb::list out;
    for (const Delegate& d : program_->delegates) {
      nb::dict entry;
      entry["name"] = std::string(program_->view(d.name));
      entry["backend"] = std::string(program_->view(d.backend));
      entry["payload"] = nb::bytes(d.payload.data(), d.payload.size());
      entry["inputs"] = Types(d.inputs);
      entry["outputs"] = Types(d.outputs);
      entry["input_names"] = Strings(d.input_names);
      entry["output_names"] = Strings(d.output_names);
      nb::list writes;
      for (const DeclaredWrite& w : d.writes) {
        writes.append(nb::make_tuple(w.output, w.input));
      }
      entry["writes"] = writes;
      out.append(entry);
    }
    return out;
  }

  nb::tuple Build(nb::object new_graph, nb::object new_module,
                  nb::object make_val, nb::object illegal_names, bool is_direct,
                  nb::object engines) {
    FxFactory factory{new_graph,     new_module, make_val,
                      illegal_names, is_direct,  engines};
    return Guarded([&] {
      FxGraphBuilder builder(*program_, factory, &document_.operators(),
                             &document_.text().values(),
                             document_.text().nodes(), document_.inputs());
      FxResult result = builder.Build();
      return nb::make_tuple(result.graph, result.modules, result.inputs,
                            result.outputs);
    });
  }

  nb::object InSpec() const { return SpecToPython(*program_->in_spec); }
  nb::object OutSpec() const { return SpecToPython(*program_->out_spec); }
  nb::object ForwardArgNames() const {
    if (!program_->has_forward_arg_names) return nb::none();
    nb::list out;
    for (const std::string& name : program_->forward_arg_names) {
      out.append(nb::cast(name));
    }
    return out;
  }
  // (symbol, min, max), None where unbounded.
  nb::list Ranges() const {
    nb::list out;
    const auto bound = [](const std::optional<int64_t>& v) {
      return v ? nb::object(nb::int_(*v)) : nb::object(nb::none());
    };
    for (const SymbolRange& range : program_->ranges) {
      out.append(nb::make_tuple(range.key, bound(range.min), bound(range.max)));
    }
    return out;
  }

  // `metadata` gives a node's own metadata as pairs, by its fx node.
  void Write(const std::string& path, nb::object metadata,
             const std::string& torch_version) {
    Context& context = program_->context();
    const StringId source = context.Intern("#");
    for (uint32_t i = 0; i < program_->num_nodes(); ++i) {
      Node& node = program_->mutable_node(NodeId(i));
      if (!node.metadata.valid()) continue;
      Metadata out;
      for (const auto& [key, text] : context.metadata(node.metadata)) {
        if (key != source) {
          out.emplace_back(key, text);
          continue;
        }
        const size_t at =
            std::strtoull(std::string(context.view(text)).c_str(), nullptr, 10);
        const nb::object own = metadata(document_.text().nodes()[at]);
        for (const auto [k, v] : nb::cast<nb::dict>(own)) {
          out.emplace_back(context.Intern(Text(k.ptr())),
                           context.Intern(Text(v.ptr())));
        }
      }
      node.metadata = context.InternMetadata(std::move(out));
    }
    program_->file.torch_version = torch_version;
    Diagnostics diags;
    bool is_fine = false;
    {
      const nb::gil_scoped_release release;
      is_fine = WriteProved(*program_, path, Pt2WriteOptions(), diags).ok();
    }
    if (!is_fine) Raise(diags, document_.text().places());
  }

  std::string ToText() const { return PrintProgram(*program_, PrintOptions()); }

 private:
  nb::list Strings(const std::vector<StringId>& ids) const {
    nb::list out;
    for (const StringId id : ids) out.append(std::string(program_->view(id)));
    return out;
  }
  nb::list Types(const std::vector<TypeId>& ids) const {
    nb::list out;
    for (const TypeId id : ids) {
      const Type& type = program_->type(id);
      nb::list sizes;
      for (const SymInt& size : type.sizes) {
        if (size.is_literal()) {
          sizes.append(size.value);
        } else {
          sizes.append(program_->context().exprs.PrintInfix(size.expr));
        }
      }
      out.append(type.is_tensor()
                     ? nb::object(nb::make_tuple(
                           std::string(Name(type.dtype)), sizes,
                           std::string(program_->view(type.device.type))))
                     : nb::object(nb::none()));
    }
    return out;
  }

  Document& document_;
  std::optional<Program> program_;
  std::string digest_;
};

}  // namespace
}  // namespace tenon::python

NB_MODULE(_native, m) {
  using namespace tenon::python;  // NOLINT: the module's own parts
  m.doc() = "Tenon's libraries behind tenon_pt2";
  nb::class_<Document>(m, "Document")
      .def(nb::init<nb::object, nb::object>(), nb::arg("module"),
           nb::arg("vals").none())
      .def("add_member", &Document::AddMember)
      .def("add_example", &Document::AddExample)
      .def("finish", &Document::Finish)
      .def_prop_ro("text", &Document::document)
      .def_prop_ro("symbolic", &Document::Symbolic)
      // What stood in for meta["val"]; Python's side keeps it here.
      .def_rw("vals", &Document::vals, nb::arg().none())
      .def_prop_ro("num_missing_vals",
                   [](Document& d) { return d.text().num_missing_vals(); });
  nb::class_<Joined>(m, "Joined")
      .def(nb::init<Document*, bool>(), nb::keep_alive<1, 2>())
      .def_prop_ro("digest", &Joined::digest)
      .def_prop_ro("in_spec", &Joined::InSpec)
      .def_prop_ro("out_spec", &Joined::OutSpec)
      .def_prop_ro("forward_arg_names", &Joined::ForwardArgNames)
      .def_prop_ro("ranges", &Joined::Ranges)
      .def_prop_ro("state", &Joined::State)
      .def_prop_ro("text", &Joined::ToText)
      .def("delegates", &Joined::Delegates)
      .def("build", &Joined::Build, nb::arg("new_graph"), nb::arg("new_module"),
           nb::arg("make_val"), nb::arg("illegal_names"), nb::arg("is_direct"),
           nb::arg("engines"))
      .def("write", &Joined::Write);
}
