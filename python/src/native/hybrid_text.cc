#include "hybrid_text.h"

#include "formats/json/json_input.h"
#include "formats/json/json_text.h"
#include "hybrid_error.h"

namespace tenon::python {
namespace {

constexpr int kMaxDepth = 900;  // of modules in modules

// A member of the module's own dictionary; borrowed, or null.
PyObject* Own(PyObject* module, PyObject* name) {
  PyObject** dict = _PyObject_GetDictPtr(module);
  if (dict == nullptr || *dict == nullptr) return nullptr;
  return PyDict_GetItemWithError(*dict, name);
}

// What an engine states under `name`; null object when it doesn't.
nb::object Stated(PyObject* module, PyObject* name) {
  PyObject* own = Own(module, name);
  if (own != nullptr) return nb::borrow(own);
  if (PyObject_HasAttr(reinterpret_cast<PyObject*>(Py_TYPE(module)), name) ==
      0) {
    return nb::object();
  }
  return Attr(module, name);
}

template <typename Visit>
void ForEachItem(PyObject* dict, Visit&& visit) {
  if (dict == nullptr) return;
  PyObject *key, *item;
  Py_ssize_t at = 0;
  while (PyDict_Next(dict, &at, &key, &item) != 0) {
    if (item != Py_None) visit(key, item);
  }
}

void Key(const char* key, std::string* out) {
  *out += ",\"";
  *out += key;
  *out += "\":";
}

std::string Join(const std::string& prefix, std::string_view name) {
  return prefix.empty() ? std::string(name) : prefix + '.' + std::string(name);
}

std::vector<std::string> StringsOf(nb::handle sequence) {
  std::vector<std::string> out;
  if (!sequence.is_valid() || sequence.is_none()) return out;
  for (const nb::handle item : sequence) {
    out.push_back(nb::cast<std::string>(item));
  }
  return out;
}

}  // namespace

bool IsEngine(PyObject* module) {
  const nb::object backend = Stated(module, N().backend);
  return backend.is_valid() && !backend.is_none();
}

void HybridText::AddMember(std::string_view name, std::string_view text) {
  text_ += ",\"";
  text_ += name;
  text_ += "\":";
  text_ += text;
}

std::string HybridText::Take() {
  AddMember("types", values_.Types());
  if (!state_text_.empty()) AddMember("state", "{" + state_text_ + "}");
  text_ += '}';
  return std::move(text_);
}

void HybridText::AddExample(PyObject* args, PyObject* kwargs) {
  std::string text = "[{\"args\":";
  values_.Argument(args, "the example", &text);
  text += ",\"kwargs\":";
  values_.Argument(kwargs, "the example", &text);
  text += "}]";
  AddMember("runs", text);
}

void HybridText::WriteModules(PyObject* root) {
  text_ += ',';
  std::string text;
  Module(root, "", "$", 0, &text);
  text_ += text;
}

void HybridText::State(const std::string& fqn, PyObject* tensor,
                       const char* kind, bool persistent) {
  if (!fqns_.insert(fqn).second) return;
  if (!state_text_.empty()) state_text_ += ',';
  AppendJsonString(fqn, &state_text_);
  state_text_ += ":{\"key\":\"" + tensors_.Add(tensor, fqn) + "\",\"kind\":\"" +
                 kind + '"';
  if (kind[0] == 'b') {
    state_text_ +=
        persistent ? ",\"persistent\":true" : ",\"persistent\":false";
  } else if (kind[0] == 'p') {
    const bool requires_grad = Attr(tensor, N().requires_grad).ptr() == Py_True;
    state_text_ +=
        requires_grad ? ",\"requires_grad\":true" : ",\"requires_grad\":false";
  }
  const std::string device = StateTensors::DeviceOf(tensor);
  if (!device.empty()) {
    Key("device", &state_text_);
    AppendJsonString(device, &state_text_);
  }
  state_text_ += '}';
  state_.emplace_back(fqn, nb::borrow(tensor));
}

// State of a module and of the plain modules in it; graphs and engines on the
// way become children.
void HybridText::Walk(PyObject* module, const std::string& prefix,
                      const std::string& path, int depth,
                      std::vector<Child>* children) {
  if (depth > kMaxDepth) {
    throw HybridError(Rule::kUnsupported, Join(prefix, path),
                      "modules nest deeper than " + std::to_string(kMaxDepth));
  }
  const auto fqn = [&](PyObject* name) {
    return Join(prefix, Join(path, Text(name)));
  };
  ForEachItem(Own(module, N().parameters), [&](PyObject* name, PyObject* t) {
    State(fqn(name), t, "param", true);
  });
  PyObject* non_persistent = Own(module, N().non_persistent);
  ForEachItem(Own(module, N().buffers), [&](PyObject* name, PyObject* t) {
    const bool is_persistent =
        non_persistent == nullptr || PySet_Contains(non_persistent, name) != 1;
    State(fqn(name), t, "buffer", is_persistent);
  });
  ForEachItem(Own(module, N().modules), [&](PyObject* name, PyObject* m) {
    const std::string at = Join(path, Text(name));
    if (Is(m, Torch::Get().graph_module) || IsEngine(m)) {
      children->push_back({at, m});
    } else {
      Walk(m, prefix, at, depth + 1, children);
    }
  });
}

void HybridText::Module(PyObject* module, const std::string& prefix,
                        const std::string& json_path, int depth,
                        std::string* out) {
  seen_.emplace(module, prefix);
  const bool has_graph = Is(module, Torch::Get().graph_module);
  std::vector<Child> children;
  Walk(module, prefix, "", depth, &children);
  if (has_graph) {
    *out += "\"graph\":";
    Graph(module, prefix, json_path + ".graph", out);
  } else {
    *out += "\"graph\":null";
  }
  if (!prefix.empty() && IsEngine(module)) Engine(module, prefix, out);
  if (children.empty() || !has_graph) return;
  Key("modules", out);
  *out += '{';
  bool is_first = true;
  const JsonPath modules_path = JsonPath::At(json_path);
  const JsonPath path(modules_path, "modules");
  for (const Child& child : children) {
    if (!is_first) *out += ',';
    is_first = false;
    AppendJsonString(child.path, out);
    *out += ":{";
    const auto seen = seen_.find(child.module);
    if (seen != seen_.end()) {
      *out += "\"same_as\":";
      AppendJsonString(seen->second, out);
    } else {
      Module(child.module, Join(prefix, child.path),
             JsonPath(path, child.path).ToString(), depth + 1, out);
    }
    *out += '}';
  }
  *out += '}';
}

void HybridText::Engine(PyObject* module, const std::string& place,
                        std::string* out) {
  Key("backend", out);
  const nb::object backend = Stated(module, N().backend);
  if (!PyUnicode_Check(backend.ptr())) {
    throw HybridError(Rule::kUnsupported, place,
                      "tenon_backend isn't a string");
  }
  AppendJsonString(Text(backend.ptr()), out);
  const nb::object payload = Stated(module, N().payload);
  if (payload.is_valid() && !payload.is_none()) {
    Key("payload", out);
    AppendJsonString(tensors_.AddBytes(payload.ptr(), place), out);
  }
  const auto inputs = StringsOf(Stated(module, N().input_names));
  const auto outputs = StringsOf(Stated(module, N().output_names));
  const auto names = [&](const char* key,
                         const std::vector<std::string>& texts) {
    Key(key, out);
    *out += '[';
    for (size_t i = 0; i < texts.size(); ++i) {
      if (i > 0) *out += ',';
      AppendJsonString(texts[i], out);
    }
    *out += ']';
  };
  names("inputs", inputs);
  if (!outputs.empty()) names("outputs", outputs);
  const nb::object aliases = Stated(module, N().aliases);
  if (!aliases.is_valid() || aliases.is_none()) return;
  // Bindings by number or by name.
  const auto number = [&](nb::handle binding,
                          const std::vector<std::string>& of) -> int64_t {
    if (PyLong_Check(binding.ptr())) return ToInt(binding.ptr());
    const auto text = nb::cast<std::string>(binding);
    for (size_t i = 0; i < of.size(); ++i) {
      if (of[i] == text) return static_cast<int64_t>(i);
    }
    throw HybridError(Rule::kRegion07, place,
                      "tenon_aliases names binding '" + text +
                          "', which the engine doesn't have");
  };
  Key("aliases", out);
  *out += '[';
  bool is_first = true;
  for (const nb::handle alias : aliases) {
    const nb::object parts = nb::steal(PySequence_Tuple(alias.ptr()));
    if (!parts.is_valid() || PyTuple_GET_SIZE(parts.ptr()) != 3) {
      PyErr_Clear();
      throw HybridError(Rule::kRegion07, place,
                        "an entry of tenon_aliases isn't (output, input, "
                        "kind)");
    }
    if (!is_first) *out += ',';
    is_first = false;
    *out += "{\"output\":";
    AppendJsonInt(number(PyTuple_GET_ITEM(parts.ptr(), 0), outputs), out);
    *out += ",\"input\":";
    AppendJsonInt(number(PyTuple_GET_ITEM(parts.ptr(), 1), inputs), out);
    Key("kind", out);
    AppendJsonString(
        nb::cast<std::string>(nb::handle(PyTuple_GET_ITEM(parts.ptr(), 2))),
        out);
    *out += '}';
  }
  *out += ']';
}

void HybridText::Graph(PyObject* module, const std::string& prefix,
                       const std::string& json_path, std::string* out) {
  const size_t place_index = places_.size();
  places_.push_back({json_path, prefix, {}});
  const nb::object graph = Attr(module, N().graph);
  const nb::object nodes = Attr(graph.ptr(), N().nodes);
  *out += "{\"nodes\":[";
  PyObject* iterator = PyObject_GetIter(nodes.ptr());
  if (iterator == nullptr) throw nb::python_error();
  const nb::object held = nb::steal(iterator);
  bool is_first = true;
  while (PyObject* next = PyIter_Next(iterator)) {
    const nb::object node = nb::steal(next);
    const nb::object name = Attr(next, N().name);
    places_[place_index].node_names.emplace_back(Text(name.ptr()));
    const std::string place =
        Join(prefix, places_[place_index].node_names.back());
    if (!is_first) *out += ',';
    is_first = false;
    Node(next, module, prefix, place, out);
  }
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  *out += "]}";
}

nb::object HybridText::ValOf(PyObject* node, PyObject* meta) {
  if (!vals_.is_none()) {
    PyObject* val = PyDict_GetItemWithError(vals_.ptr(), node);
    if (val != nullptr) return nb::borrow(val);
  }
  PyObject* val = PyDict_GetItemWithError(meta, N().val);
  return val == nullptr ? nb::object() : nb::borrow(val);
}

void HybridText::GetAttr(PyObject* module, const std::string& prefix,
                         std::string_view target, const std::string& place,
                         std::string* out) {
  const std::string fqn = Join(prefix, target);
  if (fqns_.count(fqn) == 0) {
    nb::object at = nb::borrow(module);
    for (size_t begin = 0; begin <= target.size();) {
      const size_t end = std::min(target.find('.', begin), target.size());
      at = nb::getattr(at,
                       std::string(target.substr(begin, end - begin)).c_str(),
                       nb::none());
      begin = end + 1;
    }
    if (Is(at.ptr(), Torch::Get().graph_module)) {
      *out += ",\"of\":\"module\"";
      return;
    }
    if (Is(at.ptr(), Torch::Get().tensor)) {
      State(fqn, at.ptr(), "constant", false);
    } else if (!at.is_none()) {
      throw HybridError(Rule::kUnsupported, place,
                        "attribute '" + fqn + "' is a " +
                            Py_TYPE(at.ptr())->tp_name +
                            ", neither a tensor nor a graph");
    }
  }
  *out += ",\"of\":\"state\"";
}

void HybridText::Node(PyObject* node, PyObject* module,
                      const std::string& prefix, const std::string& place,
                      std::string* out) {
  const Torch& torch = Torch::Get();
  const nb::object op = Attr(node, N().op);
  const nb::object name = Attr(node, N().name);
  const nb::object target = Attr(node, N().target);
  const nb::object args = Attr(node, N().args);
  const nb::object kwargs = Attr(node, N().kwargs);
  const nb::object meta = Attr(node, N().meta);
  const std::string_view op_text = Text(op.ptr());
  const bool is_call = op_text == "call_function";
  const bool is_getitem = is_call && target.ptr() == torch.getitem;
  const bool is_get_attr = op_text == "get_attr";
  const bool is_placeholder = op_text == "placeholder";

  *out += "{\"op\":\"";
  if (is_call) {
    *out += is_getitem ? "getitem" : "call";
  } else if (op_text == "call_method") {
    throw HybridError(Rule::kUnsupported, place,
                      "a call of method '" + Str(target.ptr()) +
                          "': the graph must consist of operator overloads");
  } else {
    *out += op_text;
  }
  *out += "\",\"name\":";
  AppendJsonString(Text(name.ptr()), out);
  bool is_engine_call = false;
  if (is_call && !is_getitem) {
    const std::string& op_name = operators_.NameOf(target.ptr());
    if (op_name.empty()) {
      throw HybridError(Rule::kUnsupported, place,
                        "target " + Str(target.ptr()) +
                            " is no operator overload, higher-order operator "
                            "or Python operator on scalars");
    }
    Key("target", out);
    AppendJsonString(op_name, out);
  } else if (!is_call && op_text != "output") {
    Key("target", out);
    AppendJsonString(Text(target.ptr()), out);
    if (is_get_attr) {
      GetAttr(module, prefix, Text(target.ptr()), place, out);
    }
    is_engine_call = op_text == "call_module";
  }
  if (PyTuple_GET_SIZE(args.ptr()) > 0) {
    Key("args", out);
    *out += '[';
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args.ptr()); ++i) {
      if (i > 0) *out += ',';
      values_.Argument(PyTuple_GET_ITEM(args.ptr(), i), place, out);
    }
    *out += ']';
  }
  if (PyDict_Size(kwargs.ptr()) > 0) {
    Key("kwargs", out);
    *out += '[';
    bool is_first = true;
    PyObject *key, *item;
    Py_ssize_t at = 0;
    while (PyDict_Next(kwargs.ptr(), &at, &key, &item) != 0) {
      if (!is_first) *out += ',';
      is_first = false;
      *out += '[';
      AppendJsonString(Text(key), out);
      *out += ',';
      values_.Argument(item, place, out);
      *out += ']';
    }
    *out += ']';
  }
  const bool is_root_input = is_placeholder && prefix.empty();
  if ((is_call && !is_getitem) || is_root_input || is_engine_call) {
    const nb::object val = ValOf(node, meta.ptr());
    const size_t before = out->size();
    Key("val", out);
    if (!val.is_valid() || !values_.Meta(val.ptr(), out)) {
      out->resize(before);
      if (!is_engine_call) ++num_missing_vals_;
    }
  }
  if (op_text != "output") {
    Key("meta", out);
    *out += "[[\"#\",\"";
    AppendJsonInt(static_cast<int64_t>(nodes_.size()), out);
    *out += "\"]]";
  }
  nodes_.push_back(nb::borrow(node));
  *out += '}';
}

}  // namespace tenon::python
