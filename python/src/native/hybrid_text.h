// An fx.GraphModule and its children as a hybrid document in memory
// (docs/formats/hybrid.md): structure as text, tensors by reference.
//
//   fx                                     document
//   GraphModule, at any depth              root graph, or a module by its path
//   the same object under two paths       "same_as"
//   module with tenon_backend              an engine; with a graph when it has
//                                          one, else payload and bindings
//   parameters, buffers                    state by full path
//   tensor attribute that a node gets      constant
//   node i in order of writing             its metadata "#" is i
//
// Nothing is judged here but whether the encoding has a word for it: what is
// wrong with the graph, the reader and the verifier say.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "operators.h"
#include "state_tensors.h"
#include "value_text.h"

namespace tenon::python {

// Where a graph's nodes are in the document, for messages.
struct GraphPlace {
  std::string json_path;  // "$.modules.a.graph"
  std::string path;       // "a", "" for the root
  std::vector<std::string> node_names;
};

class HybridText {
 public:
  // `vals` replaces meta["val"] by node, where it has one; may be None.
  HybridText(OperatorTable* operators, nb::object vals)
      : operators_(*operators), vals_(std::move(vals)), values_(&tensors_) {}

  void WriteModules(PyObject* root);
  // Members of the document beside those; `text` is JSON.
  void AddMember(std::string_view name, std::string_view text);
  // An example call: `args` a tuple, `kwargs` a dict.
  void AddExample(PyObject* args, PyObject* kwargs);
  // The finished document.
  std::string Take();

  const StateTensors& tensors() const { return tensors_; }
  ValueWriter& values() { return values_; }
  // Node "#" i of the document.
  const std::vector<nb::object>& nodes() const { return nodes_; }
  // The torch tensor of each state entry.
  const std::vector<std::pair<std::string, nb::object>>& state() const {
    return state_;
  }
  const std::vector<GraphPlace>& places() const { return places_; }
  // Calls of operators, and inputs of the root, whose value nothing states.
  size_t num_missing_vals() const { return num_missing_vals_; }

 private:
  struct Child {
    std::string path;
    PyObject* module;
  };

  void Module(PyObject* module, const std::string& prefix,
              const std::string& json_path, int depth, std::string* out);
  void Walk(PyObject* module, const std::string& prefix,
            const std::string& path, int depth, std::vector<Child>* children);
  void Engine(PyObject* module, const std::string& place, std::string* out);
  void Graph(PyObject* module, const std::string& prefix,
             const std::string& json_path, std::string* out);
  void Node(PyObject* node, PyObject* module, const std::string& prefix,
            const std::string& place, std::string* out);
  void GetAttr(PyObject* module, const std::string& prefix,
               std::string_view target, const std::string& place,
               std::string* out);
  void State(const std::string& fqn, PyObject* tensor, const char* kind,
             bool persistent);
  nb::object ValOf(PyObject* node, PyObject* meta);

  OperatorTable& operators_;
  nb::object vals_;
  StateTensors tensors_;
  ValueWriter values_;
  std::string text_ = "{\"format\":\"hybrid-1\"";
  std::string state_text_;
  std::vector<nb::object> nodes_;
  std::vector<std::pair<std::string, nb::object>> state_;
  std::unordered_set<std::string> fqns_;
  std::unordered_map<PyObject*, std::string> seen_;  // graph modules by path
  std::vector<GraphPlace> places_;
  size_t num_missing_vals_ = 0;
};

// Whether the module says that it is an engine.
bool IsEngine(PyObject* module);

}  // namespace tenon::python
