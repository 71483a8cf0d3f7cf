#include "fx_graph.h"

#include <algorithm>
#include <cstdlib>

#include "hybrid_error.h"
#include "ir/literal.h"

namespace tenon::python {
namespace {

nb::object NewTuple(Py_ssize_t size) {
  PyObject* tuple = PyTuple_New(size);
  if (tuple == nullptr) throw nb::python_error();
  return nb::steal(tuple);
}

nb::object NewStr(std::string_view text) {
  PyObject* str = PyUnicode_FromStringAndSize(
      text.data(), static_cast<Py_ssize_t>(text.size()));
  if (str == nullptr) throw nb::python_error();
  return nb::steal(str);
}

void Check(int status) {
  if (status < 0) throw nb::python_error();
}

nb::object Checked(PyObject* result) {
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

}  // namespace

FxGraphBuilder::FxGraphBuilder(const Program& program, const FxFactory& factory,
                               OperatorTable* operators, ValueWriter* values,
                               const std::vector<nb::object>& sources,
                               const std::vector<nb::object>& inputs)
    : program_(program),
      factory_(factory),
      operators_(*operators),
      texts_(*values),
      sources_(sources),
      inputs_(inputs),
      names_(program, NameTable::Rule::kPythonIdentifier),
      nodes_(program.num_values(), nullptr),
      payloads_(program.delegates.size(), nullptr),
      region_names_(program.regions.size()),
      source_key_(program.context().Intern("#")) {
  for (const SymbolRange& range : program.ranges) {
    symbols_.emplace(range.key, range.expr);
  }
}

// --- graphs ---

void FxGraphBuilder::Open(Scope* scope) {
  scope->graph = factory_.new_graph();
  if (!factory_.is_direct) return;
  scope->root = scope->graph.attr("_root");
  const nb::object names = scope->graph.attr("_graph_namespace");
  scope->used_names = names.attr("_used_names");
  scope->names_by_node = names.attr("_obj_to_name");
  scope->table = scope->graph.attr("_find_nodes_lookup_table").attr("table");
}

void FxGraphBuilder::Close(Scope* scope) {
  if (!factory_.is_direct) return;
  scope->graph.attr("_len") =
      nb::cast<int64_t>(scope->graph.attr("_len")) + scope->num_nodes;
}

FxResult FxGraphBuilder::Build() {
  FxResult out;
  Scope scope;
  Open(&scope);
  const Graph& root = program_.root();
  auto sources = SourcesOfInputs();
  bool has_payloads = false;
  const auto add_payloads = [&] {
    has_payloads = true;
    for (size_t d = 0; d < payloads_.size(); ++d) {
      const nb::object engine = factory_.engines[d];
      if (engine.is_none()) continue;
      const auto fqn = nb::cast<std::string>(engine[2]);
      payloads_[d] = Placeholder(&scope, "c_" + fqn, engine[3], nb::object());
      out.inputs.append(nb::make_tuple("constant", Attr(payloads_[d], N().name),
                                       fqn, nb::none(), nb::none()));
    }
  };
  for (size_t i = 0; i < root.inputs.size(); ++i) {
    const ValueId v = root.inputs[i];
    const InputSpec& spec = program_.signature.inputs[i];
    const Type& type = program_.type(v);
    const bool is_user = spec.kind == InputKind::kUserInput;
    // L-1: constants, then user inputs.
    if (is_user && !has_payloads) add_payloads();
    nb::object fqn = nb::none(), persistent = nb::none(), meta;
    PyObject* known = nullptr;
    if (!is_user) {
      const StateEntry& entry = program_.state.get(spec.state);
      fqn = NewStr(program_.view(entry.fqn));
      if (spec.kind == InputKind::kBuffer) {
        persistent = nb::bool_(entry.kind == StateKind::kPersistentBuffer);
      }
    }
    if (is_user) {
      meta = SourceMeta(sources[v]);
      known = PyDict_GetItemWithError(meta.ptr(), N().val);
    }
    const nb::object val = type.is_literal()
                               ? ToPython(LiteralOf(type), &scope)
                               : ValOf(program_.value(v).type, known);
    nodes_[v.index] = Placeholder(&scope, names_.value(v), val, meta);
    out.inputs.append(nb::make_tuple(
        NewStr(Name(spec.kind)), Attr(nodes_[v.index], N().name), fqn,
        persistent,
        type.is_literal() ? nb::make_tuple(val) : nb::object(nb::none())));
  }
  if (!has_payloads) add_payloads();
  BuildNodes(Program::kRoot, &scope);
  const std::span<const Arg> outputs = program_.outputs(Program::kRoot);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputSpec& spec = program_.signature.outputs[i];
    nb::object target = nb::none();
    if (spec.state.valid()) {
      target = NewStr(program_.view(program_.state.get(spec.state).fqn));
    } else if (spec.input != OutputSpec::kNoInput) {
      target = Attr(nodes_[root.inputs[spec.input].index], N().name);
    }
    out.outputs.append(nb::make_tuple(NewStr(Name(spec.kind)),
                                      ToPython(outputs[i], &scope), target));
  }
  nb::object args = NewTuple(1);
  PyTuple_SET_ITEM(args.ptr(), 0,
                   OutputTuple(Program::kRoot, &scope, true).release().ptr());
  NewNode(&scope, N().output, N().output, args, nb::dict(), "output",
          nb::object());
  Close(&scope);
  out.graph = scope.graph;
  out.modules = scope.modules;
  return out;
}

nb::object FxGraphBuilder::OutputTuple(GraphId g, Scope* scope, bool is_root) {
  const std::span<const Arg> outputs = program_.outputs(g);
  if (!is_root && program_.graph(g).returns_single && outputs.size() == 1) {
    return ToPython(outputs[0], scope);
  }
  nb::object tuple = NewTuple(static_cast<Py_ssize_t>(outputs.size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i),
                     ToPython(outputs[i], scope).release().ptr());
  }
  return tuple;
}

nb::object FxGraphBuilder::NestedModule(GraphId g) {
  Scope scope;
  Open(&scope);
  for (const ValueId v : program_.graph(g).inputs) {
    nodes_[v.index] =
        Placeholder(&scope, names_.value(v),
                    ValOf(program_.value(v).type, nullptr), nb::object());
  }
  BuildNodes(g, &scope);
  nb::object args = NewTuple(1);
  PyTuple_SET_ITEM(args.ptr(), 0,
                   OutputTuple(g, &scope, false).release().ptr());
  NewNode(&scope, N().output, N().output, args, nb::dict(), "output",
          nb::object());
  Close(&scope);
  return factory_.new_module(scope.graph, scope.modules);
}

void FxGraphBuilder::BuildNodes(GraphId g, Scope* scope) {
  for (const NodeId n : program_.nodes(g)) {
    if (program_.node(n).kind != NodeKind::kOutput) BuildNode(n, scope);
  }
}

// --- nodes ---

nb::object FxGraphBuilder::NameIn(Scope* scope, std::string_view wanted) {
  nb::object name = NewStr(wanted);
  if (PySet_Contains(factory_.illegal_names.ptr(), name.ptr()) == 1 ||
      PySet_Contains(scope->used_names.ptr(), name.ptr()) == 1) {
    return scope->graph.attr("_graph_namespace")
        .attr("create_name")(name, nb::none());
  }
  Check(PySet_Add(scope->used_names.ptr(), name.ptr()));
  return name;
}

PyObject* FxGraphBuilder::NewNode(Scope* scope, PyObject* op, PyObject* target,
                                  nb::object args, nb::object kwargs,
                                  std::string_view name, nb::object meta) {
  if (!factory_.is_direct) {
    const nb::object node = scope->graph.attr("create_node")(
        nb::borrow(op), nb::borrow(target), args, kwargs, NewStr(name));
    if (meta.is_valid()) node.attr("meta") = meta;
    return node.ptr();  // the graph holds it
  }
  const Torch& torch = Torch::Get();
  static PyObject* const no_args = PyTuple_New(0);
  const nb::object label = NameIn(scope, name);
  nb::object node = Checked(torch.node->tp_new(torch.node, no_args, nullptr));
  PyObject* init[] = {scope->graph.ptr(), label.ptr(), op, target, Py_None};
  const nb::object init_args = NewTuple(5);
  for (Py_ssize_t i = 0; i < 5; ++i) {
    Py_INCREF(init[i]);
    PyTuple_SET_ITEM(init_args.ptr(), i, init[i]);
  }
  Check(torch.node_base->tp_init(node.ptr(), init_args.ptr(), nullptr));
  Checked(PyObject_CallMethodObjArgs(node.ptr(), N().update_args_kwargs,
                                     args.ptr(), kwargs.ptr(), nullptr));
  if (meta.is_valid()) {
    // Past Node.__setattr__, which looks after changes of graph and target.
    Check(PyObject_GenericSetAttr(node.ptr(), N().meta, meta.ptr()));
  }
  Check(PyDict_SetItem(scope->names_by_node.ptr(), node.ptr(), label.ptr()));
  // The look-up table's part for this kind of node.
  PyObject* key = op == N().call_function ? target : op;
  nb::object& part = scope->by_target[key];
  if (!part.is_valid()) {
    part = scope->table[nb::make_tuple(
        nb::borrow(op),
        op == N().call_function ? nb::borrow(target) : nb::object(nb::none()))];
  }
  Check(PyDict_SetItem(part.ptr(), node.ptr(), Py_None));
  Checked(
      PyObject_CallMethodOneArg(scope->root.ptr(), N().prepend, node.ptr()));
  ++scope->num_nodes;
  return node.ptr();  // names_by_node holds it
}

// Values of the root's inputs were made in the order of its placeholders.
std::unordered_map<ValueId, PyObject*> FxGraphBuilder::SourcesOfInputs() const {
  std::vector<ValueId> users;
  const Graph& root = program_.root();
  for (size_t i = 0; i < root.inputs.size(); ++i) {
    if (program_.signature.inputs[i].kind == InputKind::kUserInput) {
      users.push_back(root.inputs[i]);
    }
  }
  std::sort(users.begin(), users.end(),
            [](ValueId a, ValueId b) { return a.index < b.index; });
  std::unordered_map<ValueId, PyObject*> out;
  for (size_t i = 0; i < users.size() && i < inputs_.size(); ++i) {
    out.emplace(users[i], inputs_[i].ptr());
  }
  return out;
}

PyObject* FxGraphBuilder::Placeholder(Scope* scope, std::string_view name,
                                      nb::object val, nb::object meta) {
  if (!meta.is_valid()) meta = nb::dict();
  Check(PyDict_SetItem(meta.ptr(), N().val, val.ptr()));
  PyObject* node = NewNode(scope, N().placeholder, NewStr(name).ptr(),
                           NewTuple(0), nb::dict(), name, meta);
  // Both have the name that fx settled on.
  const nb::object settled = Attr(node, N().name);
  if (Text(settled.ptr()) != name) {
    Check(PyObject_SetAttr(node, N().target, settled.ptr()));
  }
  return node;
}

PyObject* FxGraphBuilder::SourceOf(NodeId n) const {
  const MetadataId id = program_.node(n).metadata;
  if (!id.valid()) return nullptr;
  for (const auto& [key, text] : program_.context().metadata(id)) {
    if (key != source_key_) continue;
    const size_t i = static_cast<size_t>(
        std::strtoull(std::string(program_.view(text)).c_str(), nullptr, 10));
    return i < sources_.size() ? sources_[i].ptr() : nullptr;
  }
  return nullptr;
}

// One string for all nodes of the region. Borrowed.
PyObject* FxGraphBuilder::RegionName(RegionId id) {
  nb::object& name = region_names_[id.index];
  if (!name.is_valid()) {
    name = NewStr(program_.view(program_.regions[id.index].name));
  }
  return name.ptr();
}

nb::object FxGraphBuilder::SourceMeta(PyObject* source) const {
  if (source == nullptr) return nb::dict();
  return Checked(PyDict_Copy(Attr(source, N().meta).ptr()));
}

void FxGraphBuilder::BuildNode(NodeId n, Scope* scope) {
  const Node& node = program_.node(n);
  nb::object target;
  size_t num_leading = 0;
  nb::object engine;
  if (node.kind == NodeKind::kDelegateCall) {
    engine = factory_.engines[node.delegate.index];
    target = engine[0];
  } else {
    PyObject* found = operators_.Find(program_.op_name(n));
    if (found == nullptr) {
      throw HybridError(
          Rule::kUnsupported, std::string(names_.node(n)),
          "torch has no operator '" + std::string(program_.op_name(n)) + "'");
    }
    target = nb::borrow(found);
  }
  const std::span<const Arg> args = program_.args(n);
  nb::object positional;
  nb::object keywords = nb::steal(PyDict_New());
  if (engine.is_valid()) {
    // (payload, stated text, [inputs])
    nb::list inputs;
    for (const Arg& arg : args) inputs.append(ToPython(arg, scope));
    positional = nb::make_tuple(nb::borrow(payloads_[node.delegate.index]),
                                engine[1], inputs);
  } else {
    while (num_leading < args.size() &&
           args[num_leading].pass != PassKind::kKeyword) {
      ++num_leading;
    }
    positional = NewTuple(static_cast<Py_ssize_t>(num_leading));
    for (size_t i = 0; i < args.size(); ++i) {
      nb::object value = ToPython(args[i], scope);
      if (i < num_leading) {
        PyTuple_SET_ITEM(positional.ptr(), static_cast<Py_ssize_t>(i),
                         value.release().ptr());
      } else {
        const nb::object name = NewStr(program_.view(args[i].name));
        Check(PyDict_SetItem(keywords.ptr(), name.ptr(), value.ptr()));
      }
    }
  }
  PyObject* source = SourceOf(n);
  nb::object meta = SourceMeta(source);
  PyObject* known = PyDict_GetItemWithError(meta.ptr(), N().val);
  nb::object source_val = known == nullptr ? nb::object() : nb::borrow(known);
  if (node.region.valid()) {
    Check(PyDict_SetItem(meta.ptr(), N().region, RegionName(node.region)));
  }
  const bool is_bare = !engine.is_valid() && IsCalledLikeResult(program_, node);
  const std::string_view name =
      is_bare ? names_.value(node.results[0]) : names_.node(n);
  PyObject* made = NewNode(scope, N().call_function, target.ptr(), positional,
                           keywords, name, meta);
  if (is_bare) {
    const ValueId v = node.results[0];
    nodes_[v.index] = made;
    nb::object val = ValOf(program_.value(v).type, source_val.ptr());
    if (val.ptr() != source_val.ptr()) {
      Check(PyDict_SetItem(meta.ptr(), N().val, val.ptr()));
    }
    return;
  }
  BuildResults(n, made, source_val.ptr(), scope);
}

// Several results, or one in a structure: a getitem for each that is used.
void FxGraphBuilder::BuildResults(NodeId n, PyObject* node,
                                  PyObject* source_val, Scope* scope) {
  const ValueRange results = program_.node(n).results;
  Form form;
  if (program_.node(n).form.valid()) {
    form = program_.context().form(program_.node(n).form);
  } else {
    form.assign(results.count, {FormItem::Kind::kValue, 0});
  }
  // One list is the whole result; else the result is a tuple of the returns.
  const bool is_one_list =
      form.size() == 1 && form[0].kind == FormItem::Kind::kList;
  const auto part = [](PyObject* val, size_t i) -> PyObject* {
    if (val == nullptr || (!PyTuple_Check(val) && !PyList_Check(val)) ||
        PySequence_Fast_GET_SIZE(val) <= static_cast<Py_ssize_t>(i)) {
      return nullptr;
    }
    return PySequence_Fast_GET_ITEM(val, static_cast<Py_ssize_t>(i));
  };
  const auto get_item = [&](PyObject* from, size_t i, std::string_view name,
                            nb::object val) {
    nb::dict meta;
    Check(PyDict_SetItem(meta.ptr(), N().val, val.ptr()));
    return NewNode(scope, N().call_function, Torch::Get().getitem,
                   nb::make_tuple(nb::borrow(from), i), nb::dict(), name, meta);
  };
  uint32_t next = 0;
  nb::list vals;
  bool is_known = source_val != nullptr;
  const auto take = [&](PyObject* from, size_t i, PyObject* known,
                        nb::list* into) {
    const ValueId v = results[next++];
    const nb::object val = ValOf(program_.value(v).type, known);
    is_known = is_known && val.ptr() == known;
    into->append(val);
    if (program_.value(v).num_uses > 0) {
      nodes_[v.index] = get_item(from, i, names_.value(v), val);
    }
  };
  for (size_t r = 0; r < form.size(); ++r) {
    PyObject* known = is_one_list ? source_val : part(source_val, r);
    switch (form[r].kind) {
      case FormItem::Kind::kNone:
        vals.append(nb::none());
        break;
      case FormItem::Kind::kValue:
        take(node, r, known, &vals);
        break;
      case FormItem::Kind::kList: {
        nb::list items;
        PyObject* list = node;
        if (!is_one_list) {
          list = get_item(
              node, r, names_.node(n),
              known == nullptr ? nb::object(nb::list()) : nb::borrow(known));
        }
        for (uint32_t i = 0; i < form[r].list_size; ++i) {
          take(list, i, part(known, i), is_one_list ? &vals : &items);
        }
        if (!is_one_list) vals.append(items);
        break;
      }
    }
  }
  if (is_known) return;
  const bool is_list =
      is_one_list || program_.node(n).kind == NodeKind::kDelegateCall;
  const nb::object val =
      is_list ? nb::object(vals) : nb::object(nb::tuple(vals));
  Check(PyDict_SetItem(Attr(node, N().meta).ptr(), N().val, val.ptr()));
}

// --- arguments ---

nb::object FxGraphBuilder::ToPython(const Arg& arg, Scope* scope) {
  const Torch& torch = Torch::Get();
  switch (arg.kind) {
    case ArgKind::kNone:
      return nb::none();
    case ArgKind::kValue: {
      PyObject* node = nodes_[arg.v.value.index];
      TENON_ASSERT(node != nullptr, "a value is defined before it is used");
      return nb::borrow(node);
    }
    case ArgKind::kInt:
      return nb::int_(arg.i);
    case ArgKind::kFloat:
      return nb::float_(arg.f);
    case ArgKind::kBool:
      return nb::bool_(arg.i != 0);
    case ArgKind::kString:
      return NewStr(program_.view(arg.text));
    case ArgKind::kDtype: {
      const auto found = torch.dtype_objects.find(arg.dtype());
      if (found != torch.dtype_objects.end()) return nb::borrow(found->second);
      break;
    }
    case ArgKind::kLayout:
      return nb::module_::import_("torch").attr(
          std::string(Name(arg.layout())).c_str());
    case ArgKind::kMemoryFormat:
      return nb::module_::import_("torch").attr(
          std::string(Name(arg.memory_format())).c_str());
    case ArgKind::kDevice: {
      const nb::object device = nb::module_::import_("torch").attr("device");
      const nb::object type = NewStr(program_.view(arg.device.type));
      return arg.device.index < 0 ? device(type)
                                  : device(type, arg.device.index);
    }
    case ArgKind::kGraph: {
      const std::string name(names_.graph(arg.graph));
      if (!scope->modules.contains(name.c_str())) {
        scope->modules[name.c_str()] = NestedModule(arg.graph);
      }
      PyObject* node = NewNode(scope, N().get_attr, NewStr(name).ptr(),
                               NewTuple(0), nb::dict(), name, nb::dict());
      return nb::borrow(node);
    }
    case ArgKind::kList:
    case ArgKind::kComplex: {
      const std::span<const Arg> items = program_.args(arg.list);
      if (arg.kind == ArgKind::kComplex) {
        return nb::steal(PyComplex_FromDoubles(items[0].f, items[1].f));
      }
      PyObject* list = PyList_New(static_cast<Py_ssize_t>(items.size()));
      const nb::object held = Checked(list);
      for (size_t i = 0; i < items.size(); ++i) {
        PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i),
                        ToPython(items[i], scope).release().ptr());
      }
      return held;
    }
    case ArgKind::kDict: {
      nb::dict dict;
      for (const Arg& item : program_.args(arg.list)) {
        dict[NewStr(program_.view(item.name))] = ToPython(item, scope);
      }
      return dict;
    }
    case ArgKind::kOperator: {
      PyObject* found = operators_.Find(program_.context().op_name(arg.op));
      if (found != nullptr) return nb::borrow(found);
      break;
    }
    case ArgKind::kObject:
      break;
  }
  throw HybridError(Rule::kUnsupported, "",
                    "an argument that has no counterpart in fx");
}

// --- values ---

bool FxGraphBuilder::IsSameSize(const SymInt& size, PyObject* object) {
  if (PyLong_CheckExact(object)) {
    return size.is_literal() && size.value == ToInt(object);
  }
  if (size.is_literal()) return false;
  const std::string& text = texts_.ExprText(object);
  auto known = exprs_.find(text);
  if (known == exprs_.end()) {
    std::string error;
    size_t at = 0;
    const auto expr =
        program_.context().exprs.Parse(text, &symbols_, &error, &at);
    known = exprs_.emplace(text, expr.value_or(ExprId())).first;
  }
  return known->second == size.expr;
}

bool FxGraphBuilder::Describes(PyObject* val, TypeId id) {
  const Torch& torch = Torch::Get();
  const Type& type = program_.type(id);
  if (!type.is_tensor()) {
    if (type.is_symbolic_scalar()) {
      return Is(val, torch.sym_int) || Is(val, torch.sym_float) ||
             Is(val, torch.sym_bool) || PyLong_Check(val) || PyFloat_Check(val);
    }
    return true;
  }
  if (!Is(val, torch.tensor)) return false;
  const nb::object dtype = Attr(val, N().dtype);
  const auto known = torch.dtypes.find(dtype.ptr());
  if (known == torch.dtypes.end() || known->second != type.dtype) return false;
  const nb::object shape = Attr(val, N().shape);
  if (PyTuple_GET_SIZE(shape.ptr()) !=
      static_cast<Py_ssize_t>(type.sizes.size())) {
    return false;
  }
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    if (!IsSameSize(
            type.sizes[d],
            PyTuple_GET_ITEM(shape.ptr(), static_cast<Py_ssize_t>(d)))) {
      return false;
    }
  }
  return true;
}

nb::object FxGraphBuilder::SizeOf(const SymInt& size) {
  if (size.is_literal()) return nb::int_(size.value);
  return NewStr(program_.context().exprs.PrintInfix(size.expr));
}

nb::object FxGraphBuilder::ValOf(TypeId id, PyObject* known) {
  if (known != nullptr && Describes(known, id)) return nb::borrow(known);
  const Type& type = program_.type(id);
  if (type.is_literal()) return ToPython(LiteralOf(type), nullptr);
  if (!type.is_tensor()) {
    if (!type.is_symbolic_scalar()) return nb::none();
    return factory_.make_val(type.kind == TypeKind::kSymInt     ? "int"
                             : type.kind == TypeKind::kSymFloat ? "float"
                                                                : "bool",
                             SizeOf(type.sym));
  }
  nb::list sizes, strides;
  for (const SymInt& size : type.sizes) sizes.append(SizeOf(size));
  for (const SymInt& stride : type.strides) strides.append(SizeOf(stride));
  std::string device(program_.view(type.device.type));
  if (type.device.index >= 0) device += ":" + std::to_string(type.device.index);
  return factory_.make_val(
      nb::borrow(Torch::Get().dtype_objects.at(type.dtype)), sizes, strides,
      device, type.requires_grad);
}

}  // namespace tenon::python
