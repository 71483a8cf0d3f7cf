// Arguments and meta values of fx nodes as values of a hybrid document.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "state_tensors.h"

namespace tenon::python {

class ValueWriter {
 public:
  explicit ValueWriter(StateTensors* tensors) : tensors_(*tensors) {}

  // An argument: V of the encoding. `place` is for messages.
  void Argument(PyObject* value, const std::string& place, std::string* out);

  // A node's meta["val"]; false, and nothing written, when the encoding has no
  // word for it. Values that several nodes hold are described once.
  // Tensors are named by their position in `types`.
  bool Meta(PyObject* val, std::string* out);

  // The document's member "types": a JSON list.
  std::string Types() const { return '[' + types_text_ + ']'; }

  // The described values by identity, for the way back.
  const std::unordered_map<PyObject*, std::string>& described() const {
    return described_;
  }
  // A SymInt, SymFloat or SymBool per expression that occurred.
  const std::unordered_map<std::string, nb::object>& symbolic() const {
    return symbolic_;
  }
  // The text of a symbolic size.
  const std::string& ExprText(PyObject* sym);

 private:
  bool Describe(PyObject* val, std::string* out);
  bool NameTensor(PyObject* tensor, std::string* out);
  bool DescribeTensor(PyObject* tensor, std::string* out);
  bool Sizes(PyObject* tuple, std::string* out);
  void Items(PyObject* sequence, const char* tag, const std::string& place,
             std::string* out);

  StateTensors& tensors_;
  std::unordered_map<PyObject*, std::string> described_;
  std::unordered_map<std::string, size_t> types_;  // by text
  std::string types_text_;
  std::unordered_map<PyObject*, std::string> exprs_;  // by sympy expression
  std::unordered_map<std::string, nb::object> symbolic_;
  std::vector<nb::object> kept_;
};

}  // namespace tenon::python
