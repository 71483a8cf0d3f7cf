#include "conformance/pt2/corpus_value.h"

#include <simdjson.h>

#include <optional>

namespace tenon::conformance {
namespace {

using Json = simdjson::dom::element;
using Kind = CorpusValue::Kind;

// Where a dtype has no name in safetensors its elements were stored as
// another: complex numbers as pairs in a last dimension of 2, others bit for
// bit.
std::optional<Tensor> Reinterpret(const Tensor& stored, DType dtype) {
  Sizes sizes = stored.sizes();
  if (IsComplex(dtype)) {
    if (sizes.empty() || sizes.back() != 2) return std::nullopt;
    sizes.pop_back();
  }
  const size_t elements = static_cast<size_t>(NumElements(sizes));
  const size_t stored_bytes =
      static_cast<size_t>(stored.numel()) * SizeBytes(stored.dtype());
  if (elements * SizeBytes(dtype) != stored_bytes) return std::nullopt;
  return Tensor(stored.storage(), dtype, sizes, ContiguousStrides(sizes), 0);
}

class Decoder {
 public:
  Decoder(const Safetensors& tensors, std::string* error)
      : tensors_(tensors), error_(error) {}

  bool Decode(Json json, CorpusValue* out) {
    simdjson::dom::object object;
    if (json.get(object) || object.size() == 0) {
      return Fail("a value that is no object");
    }
    const std::string_view tag = (*object.begin()).key;
    const Json content = (*object.begin()).value;
    if (tag == "t") return DecodeTensor(object, content, out);
    if (tag == "list") return DecodeItems(Kind::kList, content, out);
    if (tag == "tuple") return DecodeItems(Kind::kTuple, content, out);
    if (tag == "dict") return DecodePairs(Kind::kDict, content, out);
    if (tag == "ordereddict") {
      return DecodePairs(Kind::kOrderedDict, content, out);
    }
    if (tag == "deque") {
      if (object["maxlen"].get(out->maxlen)) out->maxlen = -1;
      return DecodeItems(Kind::kDeque, content, out);
    }
    if (tag == "defaultdict") {
      return Text(object["factory"], &out->class_name) &&
             DecodePairs(Kind::kDefaultDict, content, out);
    }
    if (tag == "namedtuple" || tag == "dataclass" || tag == "object") {
      Json fields;
      if (object["fields"].get(fields)) return Fail("no fields");
      return Text(content, &out->class_name) &&
             DecodePairs(
                 tag == "namedtuple" ? Kind::kNamedTuple : Kind::kDataclass,
                 fields, out);
    }
    return DecodeScalar(tag, content, out);
  }

 private:
  bool Fail(std::string what) {
    if (error_->empty()) *error_ = std::move(what);
    return false;
  }

  // `json` is an element, or the result of a look-up.
  template <typename Element>
  bool Text(const Element& json, std::string* out) {
    std::string_view text;
    if (json.get(text)) return Fail("a text is missing");
    *out = text;
    return true;
  }

  bool DecodeScalar(std::string_view tag, Json content, CorpusValue* out) {
    if (tag == "n") {
      out->leaf = RuntimeValue();
      return true;
    }
    if (tag == "i") {
      int64_t value;
      if (content.get(value)) return Fail("an int is none");
      out->leaf = value;
      return true;
    }
    if (tag == "b") {
      bool value;
      if (content.get(value)) return Fail("a bool is none");
      out->leaf = value;
      return true;
    }
    if (tag == "s") {
      std::string text;
      if (!Text(content, &text)) return false;
      out->leaf = std::move(text);
      return true;
    }
    if (tag == "f") return DecodeFloat(content, out);
    return Fail("unknown kind of value '" + std::string(tag) + "'");
  }

  bool DecodeFloat(Json content, CorpusValue* out) {
    double value;
    std::string_view text;
    if (!content.get(value)) {
      out->leaf = value;
    } else if (!content.get(text) &&
               (text == "inf" || text == "-inf" || text == "nan")) {
      out->leaf = std::stod(std::string(text));
    } else {
      return Fail("a float is none");
    }
    return true;
  }

  bool DecodeTensor(simdjson::dom::object object, Json content,
                    CorpusValue* out) {
    std::string key;
    if (!Text(content, &key)) return false;
    const Tensor* stored = tensors_.Find(key);
    if (stored == nullptr) return Fail("no tensor '" + key + "' in the file");
    Tensor tensor = stored->Clone();
    std::string_view dtype_name;
    if (!object["dtype"].get(dtype_name)) {
      const auto dtype = FindDType(dtype_name);
      const auto cast =
          dtype ? Reinterpret(tensor, *dtype) : std::optional<Tensor>();
      if (!cast) return Fail("tensor '" + key + "' isn't of its dtype");
      tensor = *cast;
    }
    simdjson::dom::array strides;
    if (!object["strides"].get(strides) || !object["stride"].get(strides)) {
      if (!Restride(strides, &tensor)) {
        return Fail("tensor '" + key + "' doesn't have its strides");
      }
    }
    out->leaf = std::move(tensor);
    return true;
  }

  // Lays the elements out as they were when recorded. Strides of 0 (expanded
  // tensors) stay row-major: a written element would be several.
  bool Restride(simdjson::dom::array json, Tensor* tensor) {
    Sizes strides;
    for (Json item : json) {
      int64_t stride;
      if (item.get(stride) || stride < 0) return false;
      if (stride == 0) return true;
      strides.push_back(stride);
    }
    if (strides.size() != tensor->sizes().size()) return false;
    Tensor laid_out =
        Tensor::EmptyStrided(tensor->dtype(), tensor->sizes(), strides);
    if (!laid_out.defined()) return false;
    laid_out.CopyFrom(*tensor);
    *tensor = std::move(laid_out);
    return true;
  }

  bool DecodeItems(Kind kind, Json content, CorpusValue* out) {
    simdjson::dom::array items;
    if (content.get(items)) return Fail("items are no array");
    out->kind = kind;
    for (Json item : items) {
      if (!Decode(item, &out->items.emplace_back())) return false;
    }
    return true;
  }

  bool DecodePairs(Kind kind, Json content, CorpusValue* out) {
    simdjson::dom::array pairs;
    if (content.get(pairs)) return Fail("pairs are no array");
    out->kind = kind;
    for (Json pair : pairs) {
      Json key, value;
      if (pair.at(0).get(key) || pair.at(1).get(value)) {
        return Fail("a pair that isn't [key, value]");
      }
      const bool is_named =
          kind == Kind::kNamedTuple || kind == Kind::kDataclass;
      std::string_view text;
      out->keys.push_back(is_named && !key.get(text) ? std::string(text)
                                                     : simdjson::minify(key));
      if (!Decode(value, &out->items.emplace_back())) return false;
    }
    return true;
  }

  const Safetensors& tensors_;
  std::string* error_;
};

bool IsAbsentField(const CorpusValue& value) {
  return value.kind == Kind::kLeaf && value.leaf.is_none();
}

// The items that are children of the value's pytree node.
std::vector<const CorpusValue*> ChildrenOf(const CorpusValue& value) {
  std::vector<const CorpusValue*> children;
  for (const CorpusValue& item : value.items) {
    if (value.kind == Kind::kDataclass && IsAbsentField(item)) continue;
    children.push_back(&item);
  }
  return children;
}

std::string PytreeType(const CorpusValue& value) {
  switch (value.kind) {
    case Kind::kLeaf:
      return "";
    case Kind::kList:
      return "builtins.list";
    case Kind::kTuple:
      return "builtins.tuple";
    case Kind::kDeque:
      return "collections.deque";
    case Kind::kDict:
      return "builtins.dict";
    case Kind::kOrderedDict:
      return "collections.OrderedDict";
    case Kind::kDefaultDict:
      return "collections.defaultdict";
    case Kind::kNamedTuple:
      return "collections.namedtuple";
    case Kind::kDataclass:
      return "corpus." + value.class_name;  // as the corpus registers it
  }
  return "";
}

std::string JoinJson(const std::vector<std::string>& parts) {
  std::string out = "[";
  for (const std::string& part : parts) {
    out += (out.size() > 1 ? ", " : "") + part;
  }
  return out + "]";
}

// As Python's json.dumps writes it.
std::string ContextOf(const CorpusValue& value) {
  switch (value.kind) {
    case Kind::kDeque:
      return value.maxlen < 0 ? "null" : std::to_string(value.maxlen);
    case Kind::kDict:
    case Kind::kOrderedDict:
      return JoinJson(value.keys);
    case Kind::kDefaultDict:
      return "{\"default_factory_module\": \"builtins\", "
             "\"default_factory_name\": \"" +
             value.class_name +
             "\", \"dict_context\": " + JoinJson(value.keys) + "}";
    case Kind::kNamedTuple:
      return "corpus." + value.class_name;
    case Kind::kDataclass: {
      std::vector<std::string> present, absent;
      for (size_t i = 0; i < value.items.size(); ++i) {
        (IsAbsentField(value.items[i]) ? absent : present)
            .push_back('"' + value.keys[i] + '"');
      }
      return "[" + JoinJson(present) + ", " + JoinJson(absent) + "]";
    }
    case Kind::kLeaf:
    case Kind::kList:
    case Kind::kTuple:
      return "null";
  }
  return "";
}

// Without blanks, where it is JSON.
std::string Minified(const std::string& json) {
  simdjson::dom::parser parser;
  Json element;
  if (parser.parse(json).get(element)) return json;
  return simdjson::minify(element);
}

std::string Describe(const TreeSpec& spec) {
  return spec.is_leaf ? "a leaf" : spec.type + " " + spec.context;
}

}  // namespace

bool DecodeCorpusValue(std::string_view json, const Safetensors& tensors,
                       CorpusValue* out, std::string* error) {
  simdjson::dom::parser parser;
  Json element;
  if (parser.parse(json.data(), json.size()).get(element)) {
    *error = "a value that is no JSON";
    return false;
  }
  *out = CorpusValue();
  error->clear();
  return Decoder(tensors, error).Decode(element, out);
}

void CollectLeaves(const CorpusValue& value, std::vector<RuntimeValue>* out) {
  if (value.kind == Kind::kLeaf) {
    out->push_back(value.leaf);
    return;
  }
  for (const CorpusValue* child : ChildrenOf(value)) CollectLeaves(*child, out);
}

TreeSpec SpecOf(const CorpusValue& value) {
  TreeSpec spec;
  if (value.kind == Kind::kLeaf) return spec;
  spec.is_leaf = false;
  spec.type = PytreeType(value);
  spec.context = ContextOf(value);
  spec.context_is_json = value.kind == Kind::kDefaultDict;
  for (const CorpusValue* child : ChildrenOf(value)) {
    spec.children.push_back(SpecOf(*child));
  }
  return spec;
}

std::string DifferSpecs(const TreeSpec& got, const TreeSpec& want,
                        const std::string& path) {
  if (got.is_leaf != want.is_leaf || got.type != want.type ||
      Minified(got.context) != Minified(want.context)) {
    return path + ": " + Describe(got) + " instead of " + Describe(want);
  }
  if (got.children.size() != want.children.size()) {
    return path + ": " + std::to_string(got.children.size()) +
           " children instead of " + std::to_string(want.children.size());
  }
  for (size_t i = 0; i < got.children.size(); ++i) {
    std::string difference = DifferSpecs(got.children[i], want.children[i],
                                         path + "." + want.PathPart(i));
    if (!difference.empty()) return difference;
  }
  return "";
}

}  // namespace tenon::conformance
