// Targets of fx calls by Tenon's operator names, and back.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "torch_objects.h"

namespace tenon::python {

class OperatorTable {
 public:
  // The name in hybrid documents: "aten.add.Tensor", "operator.mul",
  // "higher_order.cond", "math.trunc", "torch.sym_max". "" when the target is
  // none of these.
  const std::string& NameOf(PyObject* target);

  // The target of an operator of the IR; borrowed, null when there is none.
  PyObject* Find(std::string_view op_name);

 private:
  std::string MakeName(PyObject* target) const;

  std::unordered_map<PyObject*, std::string> names_;
  std::unordered_map<std::string, nb::object> targets_;  // by IR name
};

}  // namespace tenon::python
