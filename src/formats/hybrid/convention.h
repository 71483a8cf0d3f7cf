// The calling convention of a hybrid program: its specs, or those of an
// example call (S-2, S-3).
#pragma once

#include <string>
#include <vector>

#include "formats/hybrid/item.h"
#include "formats/hybrid/module.h"
#include "formats/json/json_input.h"
#include "formats/tensor/safetensors.h"

namespace tenon::hybrid {

class ConventionReader {
 public:
  ConventionReader(const JsonInput& json, const Module& root,
                   const Safetensors& tensors, Program* program)
      : json_(json), root_(root), tensors_(tensors), program_(*program) {}

  // Sets in_spec and the names of positional arguments. `in_spec` and
  // `example` (args, kwargs of a call) may be null.
  Status ReadInputs(const JsonElement* in_spec, const JsonElement* example);
  // Of the example call, one per placeholder; invalid where it has none. Only
  // after ReadInputs.
  const std::vector<TypeId>& example_types() const { return example_types_; }

  // Sets out_spec and puts the graph's outputs into its order.
  Status ReadOutputs(const JsonElement* out_spec, const Item& returned);

  // Puts the inputs into the order of in_spec's leaves. After the graph.
  void OrderInputs();

 private:
  struct Leaves {
    TreeSpec spec;
    std::vector<int64_t> order;  // leaf numbers in the order of the spec
  };

  Expected<Leaves> ReadSpec(const JsonElement& spec, const JsonPath& path);
  Status ReadSpecInto(const JsonElement& spec, const JsonPath& path,
                      TreeSpec* out, std::vector<int64_t>* order);
  // A tuple or list of children, or a dict of [key, child]; `path` is that of
  // the elements. Calls read_child(element, path, TreeSpec*) for each.
  template <typename ReadChild>
  Status ReadContainer(const JsonVariant& v, const JsonPath& path,
                       TreeSpec* out, ReadChild read_child);
  Status CheckLeaves(const Leaves& leaves, size_t count, Rule rule,
                     const JsonPath& path);
  Status UsePlainConvention();
  Status UseExample(const JsonElement& example);
  // A value of the call: its structure, and per leaf a type.
  Status ReadExample(const JsonElement& v, const JsonPath& path, TreeSpec* spec,
                     std::vector<TypeId>* types);
  // The placeholders that keyword argument `key` stands for, by path.
  Status BindKeyword(std::string_view key, const TreeSpec& spec,
                     const std::vector<TypeId>& types, const JsonPath& path,
                     std::vector<uint32_t>* placeholders);
  void NamePositional(size_t count);

  const JsonInput& json_;
  const Module& root_;
  const Safetensors& tensors_;
  Program& program_;
  std::vector<TypeId> example_types_;
  std::vector<uint32_t> input_order_;
};

}  // namespace tenon::hybrid
