#include "formats/tensorrt/engine_shapes.h"

#include "formats/pickle/pickle_tree.h"
#include "formats/pickle/torch_save.h"
#include "formats/tensorrt/base64.h"

namespace tenon {
namespace {

// The value of a string key; null when there is none.
const PickleNode* FindKey(const PickleTree& tree, const PickleNode& dict,
                          std::string_view key) {
  if (dict.kind != PickleKind::kDict) return nullptr;
  for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PickleNode& k = tree.get(dict.items[i]);
    if (k.kind == PickleKind::kString && k.text == key) {
      return &tree.get(dict.items[i + 1]);
    }
  }
  return nullptr;
}

std::optional<EngineTensor> ReadTensor(const PickleTree& tree,
                                       const PickleNode& dict) {
  constexpr std::string_view kTorch = "torch ";
  const PickleNode* shape = FindKey(tree, dict, "shape_exprs");
  const PickleNode* dtype = FindKey(tree, dict, "dtype");
  if (shape == nullptr || shape->kind != PickleKind::kList ||
      dtype == nullptr || dtype->kind != PickleKind::kGlobal ||
      dtype->text.substr(0, kTorch.size()) != kTorch) {
    return std::nullopt;
  }
  const auto kind = FindTorchDType(dtype->text.substr(kTorch.size()));
  if (!kind) return std::nullopt;
  EngineTensor out;
  out.dtype = *kind;
  out.rank = shape->items.size();
  out.is_scalar = FindKey(tree, dict, "is_scalar") != nullptr;
  return out;
}

std::optional<std::vector<EngineTensor>> ReadTensors(const PickleTree& tree,
                                                     const PickleNode* list) {
  if (list == nullptr || list->kind != PickleKind::kList) return std::nullopt;
  std::vector<EngineTensor> out;
  for (const PickleRef ref : list->items) {
    const auto tensor = ReadTensor(tree, tree.get(ref));
    if (!tensor) return std::nullopt;
    out.push_back(*tensor);
  }
  return out;
}

}  // namespace

std::optional<EngineShapes> ReadEngineShapes(std::string_view metadata) {
  const auto bytes = DecodeBase64(metadata);
  if (!bytes) return std::nullopt;
  Diagnostics unheard;
  const auto tree = PickleTree::Parse(*bytes, "engine metadata", unheard);
  if (!tree) return std::nullopt;
  const PickleNode* shapes = FindKey(*tree, tree->root(), "inout_symexprs");
  if (shapes == nullptr) return std::nullopt;
  auto inputs = ReadTensors(*tree, FindKey(*tree, *shapes, "inputs"));
  auto outputs = ReadTensors(*tree, FindKey(*tree, *shapes, "outputs"));
  if (!inputs || !outputs) return std::nullopt;
  return EngineShapes{std::move(*inputs), std::move(*outputs)};
}

}  // namespace tenon
