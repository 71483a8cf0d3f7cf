#include "formats/pickle/saved_tensor_reader.h"

#include <algorithm>
#include <new>

#include "support/checked.h"

namespace tenon {
namespace {

constexpr std::string_view kTorch = "torch ";

// A layout as torch.serialization names it: "torch.sparse_coo".
std::optional<Layout> FindSparseLayout(std::string_view text) {
  for (const Layout layout :
       {Layout::kSparseCoo, Layout::kSparseCsr, Layout::kSparseCsc,
        Layout::kSparseBsr, Layout::kSparseBsc}) {
    if (text == "torch." + std::string(Name(layout))) return layout;
  }
  return std::nullopt;
}

}  // namespace

DiagnosticBuilder SavedTensorReader::Error() {
  return diags_.Error(Rule::kFile07, Place::File(name_));
}

DiagnosticBuilder SavedTensorReader::Malformed(std::string_view key) {
  DiagnosticBuilder error = Error();
  error << "tensor '" << key << "' has malformed arguments";
  return error;
}

DiagnosticBuilder SavedTensorReader::Refuse(std::string_view key,
                                            const PickleNode& node) {
  DiagnosticBuilder error = Error();
  if (node.kind == PickleKind::kReduce || node.kind == PickleKind::kObject) {
    error << "'" << key << "' is made by '" << tree_.get(node.items[0]).text
          << "', which is not allowed; only plain tensors are read";
  } else {
    error << "'" << key << "' isn't a tensor";
  }
  return error;
}

void SavedTensorReader::Remark(std::string_view key, const std::string& what) {
  Diagnostic note;
  note.severity = Severity::kNote;
  note.rule = Rule::kFile07;
  note.place = Place::File(name_);
  note.message = "tensor '" + std::string(key) + "' " + what;
  diags_.Report(std::move(note));
}

bool SavedTensorReader::IsCallOf(const PickleNode& node,
                                 std::string_view global) const {
  if (node.kind != PickleKind::kReduce) return false;
  const PickleNode& callee = tree_.get(node.items[0]);
  return callee.kind == PickleKind::kGlobal && callee.text == global;
}

const std::vector<PickleRef>* SavedTensorReader::Arguments(
    const PickleNode& call, size_t count) const {
  const PickleNode& args = tree_.get(call.items[1]);
  if (args.kind != PickleKind::kTuple || args.items.size() < count) {
    return nullptr;
  }
  return &args.items;
}

bool SavedTensorReader::IsTensorCall(const PickleNode& node) const {
  return IsCallOf(node, "torch._utils _rebuild_tensor_v2") ||
         IsCallOf(node, "torch._utils _rebuild_tensor_v3") ||
         IsCallOf(node, "torch._utils _rebuild_sparse_tensor");
}

Expected<SavedTensor> SavedTensorReader::Read(std::string_view key,
                                              const PickleNode& node) {
  if (IsCallOf(node, "torch._utils _rebuild_parameter") ||
      IsCallOf(node, "torch._utils _rebuild_parameter_with_state")) {
    return ReadParameter(key, node);
  }
  if (IsCallOf(node, "torch._tensor _rebuild_from_type_v2")) {
    return ReadOfType(key, node);
  }
  if (!IsTensorCall(node)) return Refuse(key, node);
  return ReadTensor(key, node);
}

// (data, requires_grad, hooks), and perhaps the Python attributes.
Expected<SavedTensor> SavedTensorReader::ReadParameter(std::string_view key,
                                                       const PickleNode& call) {
  const auto* args = Arguments(call, 2);
  if (args == nullptr) return Malformed(key);
  const PickleNode& data = tree_.get((*args)[0]);
  if (!IsTensorCall(data)) return Refuse(key, data);
  TENON_ASSIGN(SavedTensor tensor, ReadTensor(key, data));
  tensor.is_parameter = true;
  tensor.requires_grad = tree_.get((*args)[1]).i != 0;
  if (args->size() > 3) Remark(key, "lost the Python attributes it had");
  return tensor;
}

// Tensors with Python attributes: (function, type, arguments, state).
Expected<SavedTensor> SavedTensorReader::ReadOfType(std::string_view key,
                                                    const PickleNode& call) {
  const auto* args = Arguments(call, 3);
  if (args == nullptr) return Malformed(key);
  if (tree_.get((*args)[1]).text != "torch Tensor") {
    return Error() << "'" << key << "' is a tensor of class '"
                   << tree_.get((*args)[1]).text << "', not a plain one";
  }
  PickleNode rebuild;
  rebuild.kind = PickleKind::kReduce;
  rebuild.items = {(*args)[0], (*args)[2]};
  if (!IsTensorCall(rebuild)) return Refuse(key, rebuild);
  Remark(key, "lost the Python attributes it had");
  return ReadTensor(key, rebuild);
}

Expected<SavedTensor> SavedTensorReader::ReadTensor(std::string_view key,
                                                    const PickleNode& call) {
  return IsCallOf(call, "torch._utils _rebuild_sparse_tensor")
             ? ReadSparse(key, call)
             : ReadPlain(key, call);
}

Expected<SavedTensor> SavedTensorReader::ReadPlain(std::string_view key,
                                                   const PickleNode& call) {
  const bool is_v3 = IsCallOf(call, "torch._utils _rebuild_tensor_v3");
  const auto* args = Arguments(call, is_v3 ? 7 : 6);
  if (args == nullptr) return Malformed(key);
  SavedTensor tensor;
  const PickleNode& offset = tree_.get((*args)[1]);
  if (offset.kind != PickleKind::kInt || !ReadInts((*args)[2], &tensor.sizes) ||
      !ReadInts((*args)[3], &tensor.strides)) {
    return Malformed(key);
  }
  tensor.storage_offset = offset.i;
  tensor.requires_grad = tree_.get((*args)[4]).i != 0;
  if (is_v3) {
    const PickleNode& dtype = tree_.get((*args)[6]);
    const std::string_view text = dtype.text;
    const auto found = text.starts_with(kTorch)
                           ? FindTorchDType(text.substr(kTorch.size()))
                           : std::nullopt;
    if (dtype.kind != PickleKind::kGlobal || !found) {
      return Error() << "tensor '" << key << "' has the unknown dtype '" << text
                     << "'";
    }
    tensor.dtype = *found;
  }
  TENON_TRY(ReadStorage(key, tree_.get((*args)[0]), is_v3, &tensor));
  const size_t metadata = is_v3 ? 7 : 6;
  if (args->size() > metadata) {
    TENON_TRY(ApplyBits(key, tree_.get((*args)[metadata]), &tensor));
  }
  return tensor;
}

// (layout, data): data is (indices, values, size, is_coalesced) of sparse_coo,
// where older releases leave out the last, else (compressed indices, plain
// indices, values, size).
Expected<SavedTensor> SavedTensorReader::ReadSparse(std::string_view key,
                                                    const PickleNode& call) {
  const auto* args = Arguments(call, 2);
  if (args == nullptr) return Malformed(key);
  const auto layout = ReadLayout(tree_.get((*args)[0]));
  if (!layout) {
    return Error() << "tensor '" << key << "' is sparse of an unknown layout";
  }
  const PickleNode& data = tree_.get((*args)[1]);
  const size_t num_parts = *layout == Layout::kSparseCoo ? 2 : 3;
  if (data.kind != PickleKind::kTuple || data.items.size() < num_parts + 1) {
    return Malformed(key);
  }
  SavedTensor tensor;
  tensor.layout = *layout;
  for (size_t i = 0; i < num_parts; ++i) {
    const PickleNode& part = tree_.get(data.items[i]);
    if (!IsTensorCall(part) ||
        IsCallOf(part, "torch._utils _rebuild_sparse_tensor")) {
      return Refuse(key, part);
    }
    TENON_ASSIGN(SavedTensor read, ReadPlain(key, part));
    tensor.parts.push_back(std::move(read));
  }
  const SavedTensor& values = tensor.parts.back();
  tensor.dtype = values.dtype;
  tensor.device = values.device;
  tensor.requires_grad = values.requires_grad;
  if (!ReadInts(data.items[num_parts], &tensor.sizes)) return Malformed(key);
  if (*layout == Layout::kSparseCoo && data.items.size() > num_parts + 1) {
    const PickleNode& is_coalesced = tree_.get(data.items[num_parts + 1]);
    if (is_coalesced.kind == PickleKind::kBool) {
      tensor.is_coalesced = is_coalesced.i != 0;
    } else if (is_coalesced.kind != PickleKind::kNone) {
      return Malformed(key);
    }
  }
  return tensor;
}

std::optional<Layout> SavedTensorReader::ReadLayout(
    const PickleNode& call) const {
  if (!IsCallOf(call, "torch.serialization _get_layout")) return std::nullopt;
  const auto* args = Arguments(call, 1);
  if (args == nullptr) return std::nullopt;
  return FindSparseLayout(tree_.get((*args)[0]).text);
}

bool SavedTensorReader::ReadInts(PickleRef ref,
                                 std::vector<int64_t>* out) const {
  const PickleNode* node = &tree_.get(ref);
  // torch.Size(tuple)
  if (IsCallOf(*node, "torch Size")) {
    const auto* args = Arguments(*node, 1);
    if (args == nullptr) return false;
    node = &tree_.get((*args)[0]);
  }
  if (node->kind != PickleKind::kTuple) return false;
  for (const PickleRef item : node->items) {
    if (tree_.get(item).kind != PickleKind::kInt) return false;
    out->push_back(tree_.get(item).i);
  }
  return true;
}

// ("storage", class, key, location, number of elements)
Status SavedTensorReader::ReadStorage(std::string_view key,
                                      const PickleNode& node, bool is_untyped,
                                      SavedTensor* tensor) {
  const PickleNode* id = node.kind == PickleKind::kPersistent
                             ? &tree_.get(node.items[0])
                             : nullptr;
  if (id == nullptr || id->kind != PickleKind::kTuple ||
      id->items.size() != 5) {
    return Malformed(key);
  }
  const PickleNode& storage_class = tree_.get(id->items[1]);
  const PickleNode& storage_key = tree_.get(id->items[2]);
  const PickleNode& location = tree_.get(id->items[3]);
  const PickleNode& count = tree_.get(id->items[4]);
  if (tree_.get(id->items[0]).text != "storage" ||
      storage_class.kind != PickleKind::kGlobal ||
      storage_key.kind != PickleKind::kString ||
      location.kind != PickleKind::kString || count.kind != PickleKind::kInt ||
      count.i < 0) {
    return Malformed(key);
  }
  if (!is_untyped) {
    const std::string_view text = storage_class.text;
    const auto dtype = text.starts_with(kTorch)
                           ? DTypeOfStorageClass(text.substr(kTorch.size()))
                           : std::nullopt;
    if (!dtype) {
      return Error() << "tensor '" << key << "' has a storage of class '"
                     << text << "', which isn't supported";
    }
    tensor->dtype = *dtype;
  }
  tensor->device = std::string(location.text);
  const auto bytes = CheckedMul(
      count.i, is_untyped ? 1 : static_cast<int64_t>(SizeBytes(tensor->dtype)));
  const std::string member = root_ + "data/" + std::string(storage_key.text);
  const auto it = storages_.find(member);
  if (it != storages_.end()) {
    tensor->storage = it->second;
    return {};
  }
  const ZipMember* found = zip_.Find(member);
  if (found == nullptr) {
    return diags_.Error(Rule::kFile04, Place::File(name_))
           << "no record '" << member << "' for tensor '" << key << "'";
  }
  if (!bytes || static_cast<uint64_t>(*bytes) != found->size_bytes) {
    return diags_.Error(Rule::kFile08, Place::File(name_))
           << "the storage of tensor '" << key << "' has " << found->size_bytes
           << " bytes, which isn't " << count.i << " elements";
  }
  TENON_ASSIGN(const ZipContent content, zip_.Read(*found, false, diags_));
  tensor->storage = out_.storages.size();
  storages_.emplace(member, tensor->storage);
  out_.storages.push_back({content.bytes, content.owner});
  return {};
}

// {"conj": True, "neg": True}: the stored numbers are to be conjugated or
// negated.
Status SavedTensorReader::ApplyBits(std::string_view key,
                                    const PickleNode& bits,
                                    SavedTensor* tensor) {
  bool conj = false, neg = false;
  for (size_t i = 0; i + 1 < bits.items.size(); i += 2) {
    const std::string_view name = tree_.get(bits.items[i]).text;
    const bool is_set = tree_.get(bits.items[i + 1]).i != 0;
    if (name == "conj") {
      conj = is_set;
    } else if (name == "neg") {
      neg = is_set;
    } else {
      return Error() << "tensor '" << key << "' has the unknown property '"
                     << name << "'";
    }
  }
  if (!conj && !neg) return {};
  const bool is_complex = IsComplex(tensor->dtype);
  if (!is_complex && (conj || !IsFloating(tensor->dtype))) {
    return Error() << "tensor '" << key << "' of dtype " << Name(tensor->dtype)
                   << " is conjugated or negated";
  }
  return Compute(key, conj, neg, tensor);
}

// In a copy of the storage that only this tensor sees.
Status SavedTensorReader::Compute(std::string_view key, bool conj, bool neg,
                                  SavedTensor* tensor) {
  const Bytes from = out_.storages[tensor->storage].bytes;
  const auto copy =
      std::shared_ptr<std::byte[]>(new (std::nothrow) std::byte[from.size()]);
  if (copy == nullptr) return Error() << "no memory for tensor '" << key << "'";
  std::copy(from.begin(), from.end(), copy.get());
  const bool is_complex = IsComplex(tensor->dtype);
  const size_t part_bytes = SizeBytes(tensor->dtype) / (is_complex ? 2 : 1);
  for (size_t part = 0; (part + 1) * part_bytes <= from.size(); ++part) {
    const bool is_imaginary = is_complex && part % 2 == 1;
    if (neg == (conj && is_imaginary)) continue;  // twice is not at all
    copy[(part + 1) * part_bytes - 1] ^= std::byte{0x80};  // the sign
  }
  tensor->storage = out_.storages.size();
  out_.storages.push_back({Bytes(copy.get(), from.size()), copy});
  Remark(key, std::string("was stored to be ") +
                  (conj && neg ? "conjugated and negated"
                   : conj      ? "conjugated"
                               : "negated") +
                  " when it is used; it was at once");
  return {};
}

}  // namespace tenon
