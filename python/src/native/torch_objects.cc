#include "torch_objects.h"

namespace tenon::python {
namespace {

PyTypeObject* Type(nb::handle module, const char* name) {
  return reinterpret_cast<PyTypeObject*>(
      nb::object(module.attr(name)).release().ptr());
}

}  // namespace

Names::Names() {
  const auto intern = [](const char* text) {
    return PyUnicode_InternFromString(text);
  };
  op = intern("op");
  name = intern("name");
  target = intern("target");
  args = intern("_args");
  kwargs = intern("_kwargs");
  meta = intern("meta");
  val = intern("val");
  graph = intern("graph");
  nodes = intern("nodes");
  shape = intern("shape");
  stride = intern("stride");
  dtype = intern("dtype");
  device = intern("device");
  requires_grad = intern("requires_grad");
  layout = intern("layout");
  storage_offset = intern("storage_offset");
  untyped_storage = intern("untyped_storage");
  cdata = intern("_cdata");
  data_ptr = intern("data_ptr");
  nbytes = intern("nbytes");
  node = intern("node");
  expr = intern("expr");
  dict = intern("__dict__");
  modules = intern("_modules");
  parameters = intern("_parameters");
  buffers = intern("_buffers");
  non_persistent = intern("_non_persistent_buffers_set");
  backend = intern("tenon_backend");
  payload = intern("tenon_payload");
  input_names = intern("tenon_input_names");
  output_names = intern("tenon_output_names");
  aliases = intern("tenon_aliases");
  region = intern("tenon_region");
  prepend = intern("_prepend");
  update_args_kwargs = intern("_update_args_kwargs");
  placeholder = intern("placeholder");
  call_function = intern("call_function");
  get_attr = intern("get_attr");
  output = intern("output");
}

const Names& N() {
  static const Names* names = new Names();
  return *names;
}

Torch::Torch() {
  const nb::object torch = nb::module_::import_("torch");
  const nb::object fx = nb::module_::import_("torch.fx");
  node = Type(fx, "Node");
  node_base = Type(torch.attr("_C"), "_NodeBase");
  graph_module = Type(fx, "GraphModule");
  module = Type(torch.attr("nn"), "Module");
  tensor = Type(torch, "Tensor");
  parameter = Type(torch.attr("nn"), "Parameter");
  const nb::object torch_ops = nb::module_::import_("torch._ops");
  op_overload = Type(torch_ops, "OpOverload");
  higher_order = Type(torch_ops, "HigherOrderOperator");
  dtype = Type(torch, "dtype");
  device = Type(torch, "device");
  layout = Type(torch, "layout");
  memory_format = Type(torch, "memory_format");
  sym_int = Type(torch, "SymInt");
  sym_float = Type(torch, "SymFloat");
  sym_bool = Type(torch, "SymBool");
  nb::object module_object = nb::module_::import_("operator");
  getitem = nb::object(module_object.attr("getitem")).release().ptr();
  operator_module = module_object.release().ptr();
  cpu = nb::object(torch.attr("device")("cpu")).release().ptr();
  strided = nb::object(torch.attr("strided")).release().ptr();
  ops = nb::object(torch.attr("ops")).release().ptr();
  for (int i = 1; i < 64; ++i) {
    const auto known = DTypeFromCode(i);
    if (!known) continue;
    const std::string name(Name(*known));
    if (!nb::hasattr(torch, name.c_str())) continue;
    PyObject* object = nb::object(torch.attr(name.c_str())).release().ptr();
    dtypes.emplace(object, *known);
    dtype_objects.emplace(*known, object);
  }
}

const Torch& Torch::Get() {
  static const Torch* torch = new Torch();
  return *torch;
}

std::string_view Text(PyObject* str) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(str, &size);
  if (text == nullptr) throw nb::python_error();
  return {text, static_cast<size_t>(size)};
}

std::string Str(PyObject* object) {
  PyObject* str = PyObject_Str(object);
  if (str == nullptr) throw nb::python_error();
  const nb::object held = nb::steal(str);
  return std::string(Text(str));
}

int64_t ToInt(PyObject* object) {
  const int64_t value = PyLong_AsLongLong(object);
  if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return value;
}

}  // namespace tenon::python
