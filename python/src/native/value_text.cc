#include "value_text.h"

#include <cmath>

#include "formats/json/json_text.h"
#include "hybrid_error.h"

namespace tenon::python {
namespace {

void Tagged(const char* tag, std::string_view text, std::string* out) {
  *out += "{\"";
  *out += tag;
  *out += "\":";
  AppendJsonString(text, out);
  *out += '}';
}

// "float32" of torch.float32.
void TorchName(const char* tag, PyObject* value, std::string* out) {
  const std::string text = Str(value);
  Tagged(tag, text.substr(text.substr(0, 6) == "torch." ? 6 : 0), out);
}

void AppendNumber(double value, std::string* out) {
  if (std::isnan(value)) {
    *out += "\"nan\"";
  } else if (std::isinf(value)) {
    *out += value < 0 ? "\"-inf\"" : "\"inf\"";
  } else {
    AppendJsonFloat(value, out);
  }
}

bool IsSymbolic(PyObject* value) {
  const Torch& torch = Torch::Get();
  return Is(value, torch.sym_int) || Is(value, torch.sym_float) ||
         Is(value, torch.sym_bool);
}

void AppendInt(PyObject* value, const std::string& place, std::string* out) {
  int overflow = 0;
  const int64_t i = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0) {
    throw HybridError(Rule::kUnsupported, place,
                      "an int beyond 64 bits: " + Str(value));
  }
  AppendJsonInt(i, out);
}

}  // namespace

void ValueWriter::Items(PyObject* sequence, const char* tag,
                        const std::string& place, std::string* out) {
  *out += "{\"";
  *out += tag;
  *out += "\":[";
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (i > 0) *out += ',';
    Argument(PySequence_Fast_GET_ITEM(sequence, i), place, out);
  }
  *out += "]}";
}

void ValueWriter::Argument(PyObject* value, const std::string& place,
                           std::string* out) {
  const Torch& torch = Torch::Get();
  if (Is(value, torch.node)) {
    const nb::object name = Attr(value, N().name);
    Tagged("ref", Text(name.ptr()), out);
  } else if (value == Py_None) {
    *out += "{\"n\":null}";
  } else if (PyBool_Check(value)) {
    *out += value == Py_True ? "{\"b\":true}" : "{\"b\":false}";
  } else if (PyLong_Check(value)) {
    *out += "{\"i\":";
    AppendInt(value, place, out);
    *out += '}';
  } else if (PyFloat_Check(value)) {
    *out += "{\"f\":";
    AppendNumber(PyFloat_AS_DOUBLE(value), out);
    *out += '}';
  } else if (PyUnicode_Check(value)) {
    Tagged("s", Text(value), out);
  } else if (PyList_Check(value)) {
    Items(value, "list", place, out);
  } else if (PyTuple_Check(value)) {
    Items(value, "tuple", place, out);
  } else if (PyDict_Check(value)) {
    *out += "{\"dict\":[";
    PyObject *key, *item;
    Py_ssize_t at = 0;
    bool is_first = true;
    while (PyDict_Next(value, &at, &key, &item) != 0) {
      if (!PyUnicode_Check(key)) {
        throw HybridError(Rule::kUnsupported, place,
                          "a dict whose key isn't a string: " + Str(key));
      }
      if (!is_first) *out += ',';
      is_first = false;
      *out += '[';
      AppendJsonString(Text(key), out);
      *out += ',';
      Argument(item, place, out);
      *out += ']';
    }
    *out += "]}";
  } else if (PySlice_Check(value)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(value);
    *out += "{\"slice\":[";
    Argument(slice->start, place, out);
    *out += ',';
    Argument(slice->stop, place, out);
    *out += ',';
    Argument(slice->step, place, out);
    *out += "]}";
  } else if (Is(value, torch.tensor)) {
    Tagged("t", tensors_.Add(value, place), out);
  } else if (Is(value, torch.dtype)) {
    TorchName("dtype", value, out);
  } else if (Is(value, torch.device)) {
    Tagged("device", Str(value), out);
  } else if (Is(value, torch.memory_format)) {
    TorchName("memory_format", value, out);
  } else if (Is(value, torch.layout)) {
    TorchName("layout", value, out);
  } else {
    throw HybridError(
        Rule::kUnsupported, place,
        std::string("an argument of type ") + Py_TYPE(value)->tp_name);
  }
}

const std::string& ValueWriter::ExprText(PyObject* sym) {
  const nb::object node = Attr(sym, N().node);
  nb::object expr = Attr(node.ptr(), N().expr);
  const auto known = exprs_.find(expr.ptr());
  if (known != exprs_.end()) return known->second;
  const std::string text = Str(expr.ptr());
  symbolic_.emplace(text, nb::borrow(sym));
  const std::string& out = exprs_.emplace(expr.ptr(), text).first->second;
  kept_.push_back(std::move(expr));
  return out;
}

bool ValueWriter::Sizes(PyObject* tuple, std::string* out) {
  *out += '[';
  const Py_ssize_t count = PyTuple_GET_SIZE(tuple);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* size = PyTuple_GET_ITEM(tuple, i);
    if (i > 0) *out += ',';
    if (PyLong_CheckExact(size)) {
      AppendJsonInt(ToInt(size), out);
    } else {
      AppendJsonString(ExprText(size), out);
    }
  }
  *out += ']';
  return true;
}

bool ValueWriter::DescribeTensor(PyObject* tensor, std::string* out) {
  const Torch& torch = Torch::Get();
  const nb::object dtype = Attr(tensor, N().dtype);
  const auto known = torch.dtypes.find(dtype.ptr());
  if (known == torch.dtypes.end() ||
      Attr(tensor, N().layout).ptr() != torch.strided) {
    return false;
  }
  *out += "{\"dtype\":\"";
  *out += Name(known->second);
  *out += "\",\"shape\":";
  Sizes(Attr(tensor, N().shape).ptr(), out);
  *out += ",\"stride\":";
  Sizes(CallMethod(tensor, N().stride).ptr(), out);
  const std::string device = StateTensors::DeviceOf(tensor);
  if (!device.empty()) {
    *out += ",\"device\":";
    AppendJsonString(device, out);
  }
  *out += '}';
  return true;
}

bool ValueWriter::NameTensor(PyObject* tensor, std::string* out) {
  std::string text;
  if (!DescribeTensor(tensor, &text)) return false;
  const auto [at, is_added] = types_.try_emplace(text, types_.size());
  if (is_added) {
    if (at->second > 0) types_text_ += ',';
    types_text_ += text;
  }
  AppendJsonInt(static_cast<int64_t>(at->second), out);
  return true;
}

bool ValueWriter::Describe(PyObject* val, std::string* out) {
  const Torch& torch = Torch::Get();
  if (Is(val, torch.tensor)) return NameTensor(val, out);
  if (val == Py_None) {
    *out += "{\"const\":null}";
  } else if (PyBool_Check(val)) {
    *out += val == Py_True ? "{\"const\":true}" : "{\"const\":false}";
  } else if (PyLong_CheckExact(val)) {
    *out += "{\"const\":";
    AppendInt(val, "", out);
    *out += '}';
  } else if (PyFloat_CheckExact(val)) {
    const double value = PyFloat_AS_DOUBLE(val);
    if (!std::isfinite(value)) return false;
    *out += "{\"const\":";
    AppendJsonFloat(value, out);
    *out += '}';
  } else if (PyUnicode_Check(val)) {
    Tagged("const", Text(val), out);
  } else if (IsSymbolic(val)) {
    *out += "{\"sym\":";
    AppendJsonString(ExprText(val), out);
    *out += ",\"type\":\"";
    *out += Is(val, torch.sym_int)     ? "SymInt"
            : Is(val, torch.sym_float) ? "SymFloat"
                                       : "SymBool";
    *out += "\"}";
  } else if (PyTuple_Check(val) || PyList_Check(val)) {
    *out += '[';
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(val);
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (i > 0) *out += ',';
      if (!Meta(PySequence_Fast_GET_ITEM(val, i), out)) return false;
    }
    *out += ']';
  } else {
    return false;
  }
  return true;
}

bool ValueWriter::Meta(PyObject* val, std::string* out) {
  const auto known = described_.find(val);
  if (known != described_.end()) {
    *out += known->second;
    return !known->second.empty();
  }
  std::string text;
  if (!Describe(val, &text)) text.clear();
  // Small ints and the like are shared objects; all are kept while known.
  kept_.push_back(nb::borrow(val));
  const std::string& kept =
      described_.emplace(val, std::move(text)).first->second;
  *out += kept;
  return !kept.empty();
}

}  // namespace tenon::python
