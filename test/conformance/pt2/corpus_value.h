// Values as the corpus of exported programs records them: what a caller
// passed and got back, containers included.
//
//   {"t": key}                     a tensor of the program's safetensors file
//   {"i": 3} {"f": 1.5} {"b": true} {"s": "x"} {"n": null}
//   {"list": [..]} {"tuple": [..]} {"deque": [..], "maxlen": 4}
//   {"dict": [[key, V], ..]} {"ordereddict": ..} {"defaultdict": ..}
//   {"namedtuple": name, "fields": [[key, V], ..]} {"dataclass": ..}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tensor/safetensors.h"
#include "ir/tree_spec.h"
#include "tensor/value.h"

namespace tenon::conformance {

struct CorpusValue {
  enum class Kind : uint8_t {
    kLeaf,
    kList,
    kTuple,
    kDeque,
    kDict,
    kOrderedDict,
    kDefaultDict,
    kNamedTuple,
    kDataclass,
  };

  Kind kind = Kind::kLeaf;
  RuntimeValue leaf;
  std::vector<CorpusValue> items;
  // Dict kinds: one per item, as JSON text ("\"a\"", "3"). Named kinds: the
  // fields' names, plain.
  std::vector<std::string> keys;
  std::string class_name;  // named kinds; a defaultdict's factory
  int64_t maxlen = -1;     // deque; -1 = unbounded
};

// Reads one recorded value from its JSON text. Tensors are fresh copies, so a
// call that writes its inputs leaves the recording alone. On failure returns
// false with what is wrong in `error`.
bool DecodeCorpusValue(std::string_view json, const Safetensors& tensors,
                       CorpusValue* out, std::string* error);

// The leaves in pytree order. A dataclass's fields that are None are no
// leaves, as torch.export registers dataclasses.
void CollectLeaves(const CorpusValue& value, std::vector<RuntimeValue>* out);

// The pytree structure that torch.export gives such a value.
TreeSpec SpecOf(const CorpusValue& value);

// "" when two structures are the same, containers, their contexts, keys and
// the order of keys included; else the first difference.
std::string DifferSpecs(const TreeSpec& got, const TreeSpec& want,
                        const std::string& path);

}  // namespace tenon::conformance
