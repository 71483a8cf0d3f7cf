#include "operators.h"

namespace tenon::python {
namespace {

// The IR calls Python's operators by the module that defines them.
std::string IrName(const std::string& name) {
  return name.substr(0, 9) == "operator." ? "_" + name : name;
}

nb::object Resolve(std::string_view op_name) {
  std::string name(op_name);
  nb::object at = nb::borrow(Torch::Get().ops);
  if (name.substr(0, 10) == "_operator." || name.substr(0, 5) == "math." ||
      name.substr(0, 6) == "torch.") {
    const size_t dot = name.find('.');
    at = nb::module_::import_(name.substr(0, dot).c_str());
    name = name.substr(dot + 1);
  }
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    at = at.attr(name.substr(begin, end - begin).c_str());
    begin = end + 1;
  }
  return at;
}

}  // namespace

std::string OperatorTable::MakeName(PyObject* target) const {
  const Torch& torch = Torch::Get();
  if (Is(target, torch.op_overload)) return Str(target);
  const nb::handle object(target);
  if (Is(target, torch.higher_order)) {
    return "higher_order." + nb::cast<std::string>(object.attr("name")());
  }
  if (!nb::hasattr(object, "__name__") || !nb::hasattr(object, "__module__")) {
    return "";
  }
  const std::string name = Str(nb::object(object.attr("__name__")).ptr());
  const std::string module = Str(nb::object(object.attr("__module__")).ptr());
  const auto is_from = [&](const char* place) {
    const nb::object found =
        nb::getattr(nb::module_::import_(place), name.c_str(), nb::none());
    return found.is(object);
  };
  if (module == "_operator" && is_from("operator")) return "operator." + name;
  if (module == "math" && is_from("math")) return "math." + name;
  if (name.substr(0, 4) == "sym_" && is_from("torch")) return "torch." + name;
  return "";
}

const std::string& OperatorTable::NameOf(PyObject* target) {
  const auto known = names_.find(target);
  if (known != names_.end()) return known->second;
  const std::string name = MakeName(target);
  if (!name.empty()) targets_.emplace(IrName(name), nb::borrow(target));
  return names_.emplace(target, name).first->second;
}

PyObject* OperatorTable::Find(std::string_view op_name) {
  const auto known = targets_.find(std::string(op_name));
  if (known != targets_.end()) return known->second.ptr();
  nb::object found;
  try {
    found = Resolve(op_name);
  } catch (nb::python_error&) {
    return nullptr;
  }
  return targets_.emplace(std::string(op_name), std::move(found))
      .first->second.ptr();
}

}  // namespace tenon::python
