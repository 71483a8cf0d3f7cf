// The modules of a hybrid document: what a child is before it is called.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/hybrid/item.h"
#include "formats/json/json_input.h"

namespace tenon::hybrid {

// One way of being called: a graph of the program.
struct Instance {
  GraphId graph;
  DelegateId delegate;  // of a child with a backend
  // The returned structure. A value leaf is the number of a result, the others
  // are literals.
  Item returns;
  std::vector<TypeId> result_types;
};

struct Placeholder {
  std::string_view name, target;
  JsonElement default_value;
  bool has_default = false;
};

struct WriteRecord {
  int64_t output = 0, input = 0;
  WriteKind kind = WriteKind::kUser;
};

struct Module {
  // "" for the root, else "child." with all that leads to it: state names of
  // the module follow.
  std::string prefix;
  std::string json_path;  // of its graph, for messages
  JsonElement graph;
  std::string backend;  // "" = ordinary operators
  std::vector<WriteRecord> writes;
  // An engine from outside: a payload, and no graph. Its placeholders are the
  // payload's input bindings.
  bool is_opaque = false;
  std::string payload_key;  // of its bytes among the document's tensors; or ""
  std::vector<std::string> input_names, output_names;
  // By path; several paths may name one module.
  std::map<std::string, Module*, std::less<>> children;
  std::vector<Placeholder> placeholders;
  // By the pattern of the arguments.
  std::unordered_map<std::string, std::unique_ptr<Instance>> instances;
  RegionId region;       // of the program; invalid until it is called
  bool is_open = false;  // being read: a call of it now is a recursion
};

// Reads the tree of modules; their graphs stay JSON until they are called.
class ModuleTree {
 public:
  explicit ModuleTree(const JsonInput& json) : json_(json) {}

  Status Read(const JsonElement& graph, const JsonElement* modules);
  Module* root() { return all_.front().get(); }

 private:
  struct Alias {
    Module* parent;
    std::string path, target, json_path;
  };

  Module* Add(std::string prefix, std::string json_path);
  Status ReadGraph(Module* module, const JsonElement& graph);
  Status ReadPlaceholder(Module* module, const JsonElement& node,
                         const JsonPath& path);
  Status ReadChildren(Module* parent, const JsonElement& modules,
                      const std::string& json_path);
  Status ReadChild(Module* parent, std::string_view path,
                   const JsonElement& child, const std::string& json_path);
  Status ReadBindings(Module* module, const JsonElement* inputs,
                      const JsonElement* outputs, const JsonPath& path);
  Status ReadWrites(Module* module, const JsonElement& aliases,
                    const JsonPath& path);
  Status ResolveAliases();

  const JsonInput& json_;
  std::vector<std::unique_ptr<Module>> all_;
  std::unordered_map<std::string, Module*> by_path_;
  std::vector<Alias> aliases_;
};

}  // namespace tenon::hybrid
