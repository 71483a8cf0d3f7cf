// Objects of torch that both directions need, looked up once.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <string_view>
#include <unordered_map>

#include "ir/kinds.h"

namespace tenon::python {

namespace nb = nanobind;

// Attribute names, interned: looking one up is a pointer comparison.
struct Names {
  PyObject *op, *name, *target, *args, *kwargs, *meta, *val, *graph, *nodes;
  PyObject *shape, *stride, *dtype, *device, *requires_grad, *layout;
  PyObject *storage_offset, *untyped_storage, *cdata, *data_ptr, *nbytes;
  PyObject *node, *expr, *dict, *modules, *parameters, *buffers;
  PyObject *non_persistent, *backend, *payload, *input_names, *output_names;
  PyObject *aliases, *region, *prepend, *update_args_kwargs, *placeholder;
  PyObject *call_function, *get_attr, *output;
  Names();
};

// Interpreter-lifetime objects: fetched on first use, never released.
struct Torch {
  PyTypeObject *node, *node_base, *graph_module, *module, *tensor, *parameter;
  PyTypeObject *op_overload, *higher_order, *dtype, *device, *layout,
      *memory_format, *sym_int, *sym_float, *sym_bool;
  PyObject *getitem, *cpu, *strided, *operator_module, *ops;
  std::unordered_map<PyObject*, DType> dtypes;
  std::unordered_map<DType, PyObject*> dtype_objects;

  static const Torch& Get();

 private:
  Torch();
};

const Names& N();

inline bool Is(PyObject* object, PyTypeObject* type) {
  return PyObject_TypeCheck(object, type) != 0;
}

// A new reference; throws the Python error.
inline nb::object Attr(PyObject* object, PyObject* name) {
  PyObject* out = PyObject_GetAttr(object, name);
  if (out == nullptr) throw nb::python_error();
  return nb::steal(out);
}
inline nb::object CallMethod(PyObject* object, PyObject* name) {
  PyObject* out = PyObject_CallMethodNoArgs(object, name);
  if (out == nullptr) throw nb::python_error();
  return nb::steal(out);
}
// UTF-8 of a str, valid as long as the object.
std::string_view Text(PyObject* str);
std::string Str(PyObject* object);
int64_t ToInt(PyObject* object);

}  // namespace tenon::python
