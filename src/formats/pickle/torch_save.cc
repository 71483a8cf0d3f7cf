#include "formats/pickle/torch_save.h"

#include <algorithm>
#include <new>
#include <unordered_map>
#include <unordered_set>

#include "formats/pickle/pickle_tree.h"
#include "support/checked.h"

namespace tenon {
namespace {

constexpr std::string_view kZipStart("PK\x03\x04", 4);
constexpr std::string_view kPickleMember = "/data.pkl";

struct StorageClass {
  std::string_view name;
  DType dtype;
};
constexpr StorageClass kStorageClasses[] = {
    {"DoubleStorage", DType::kFloat64},
    {"FloatStorage", DType::kFloat32},
    {"HalfStorage", DType::kFloat16},
    {"BFloat16Storage", DType::kBFloat16},
    {"LongStorage", DType::kInt64},
    {"IntStorage", DType::kInt32},
    {"ShortStorage", DType::kInt16},
    {"CharStorage", DType::kInt8},
    {"ByteStorage", DType::kUInt8},
    {"BoolStorage", DType::kBool},
    {"ComplexDoubleStorage", DType::kComplex128},
    {"ComplexFloatStorage", DType::kComplex64},
};

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() &&
         text.substr(text.size() - end.size()) == end;
}

class TorchSaveReader {
 public:
  TorchSaveReader(const ZipArchive& zip, std::string root,
                  const PickleTree& tree, const std::string& name,
                  Diagnostics& diags)
      : zip_(zip),
        root_(std::move(root)),
        tree_(tree),
        name_(name),
        diags_(diags) {}

  Expected<SavedDict> Read() {
    const PickleNode* dict = &tree_.root();
    size_t first = 0;
    if (dict->kind == PickleKind::kReduce) {
      // OrderedDict(): its items follow callable and arguments.
      if (!IsCallOf(*dict, "collections OrderedDict")) return NotADict(*dict);
      first = 2;
    } else if (dict->kind != PickleKind::kDict) {
      return NotADict(*dict);
    }
    std::unordered_set<std::string_view> names;
    for (size_t i = first; i + 1 < dict->items.size(); i += 2) {
      const PickleNode& key = tree_.get(dict->items[i]);
      if (key.kind != PickleKind::kString) {
        return Error() << "a key of the dict isn't a string";
      }
      if (!names.insert(key.text).second) {
        return Error() << "'" << key.text << "' is there twice";
      }
      TENON_ASSIGN(SavedTensor tensor,
                   ReadTensor(key.text, tree_.get(dict->items[i + 1])));
      out_.tensors.emplace_back(key.text, std::move(tensor));
    }
    return std::move(out_);
  }

 private:
  DiagnosticBuilder Error() {
    return diags_.Error(Rule::kFile07, Place::File(name_));
  }
  DiagnosticBuilder NotADict(const PickleNode& node) {
    DiagnosticBuilder error = Error();
    if (node.kind == PickleKind::kReduce || node.kind == PickleKind::kObject) {
      const PickleNode& callee = tree_.get(node.items[0]);
      error << "the call of '" << callee.text << "' is not allowed";
    } else {
      error << "the pickle isn't a dict of tensors";
    }
    return error;
  }

  bool IsCallOf(const PickleNode& node, std::string_view global) const {
    if (node.kind != PickleKind::kReduce) return false;
    const PickleNode& callee = tree_.get(node.items[0]);
    return callee.kind == PickleKind::kGlobal && callee.text == global;
  }
  // The arguments of a call when there are at least `count`, else null.
  const std::vector<PickleRef>* Arguments(const PickleNode& call,
                                          size_t count) const {
    const PickleNode& args = tree_.get(call.items[1]);
    if (args.kind != PickleKind::kTuple || args.items.size() < count) {
      return nullptr;
    }
    return &args.items;
  }

  Expected<SavedTensor> ReadTensor(std::string_view key,
                                   const PickleNode& node) {
    if (IsCallOf(node, "torch._utils _rebuild_parameter") ||
        IsCallOf(node, "torch._utils _rebuild_parameter_with_state")) {
      const auto* args = Arguments(node, 2);
      if (args == nullptr) return Malformed(key);
      const PickleNode& data = tree_.get((*args)[0]);
      if (!IsTensorCall(data)) return Refuse(key, data);
      TENON_ASSIGN(SavedTensor tensor, ReadPlainTensor(key, data));
      tensor.is_parameter = true;
      tensor.requires_grad = tree_.get((*args)[1]).i != 0;
      return tensor;
    }
    // Tensors with Python attributes: (function, type, arguments, state).
    if (IsCallOf(node, "torch._tensor _rebuild_from_type_v2")) {
      const auto* args = Arguments(node, 3);
      if (args == nullptr) return Malformed(key);
      if (tree_.get((*args)[1]).text != "torch Tensor") {
        return Error() << "'" << key << "' is a tensor of class '"
                       << tree_.get((*args)[1]).text << "', not a plain one";
      }
      PickleNode call;
      call.kind = PickleKind::kReduce;
      call.items = {(*args)[0], (*args)[2]};
      if (!IsTensorCall(call)) return Refuse(key, call);
      return ReadPlainTensor(key, call);
    }
    if (!IsTensorCall(node)) return Refuse(key, node);
    return ReadPlainTensor(key, node);
  }

  bool IsTensorCall(const PickleNode& node) const {
    return IsCallOf(node, "torch._utils _rebuild_tensor_v2") ||
           IsCallOf(node, "torch._utils _rebuild_tensor_v3");
  }

  DiagnosticBuilder Malformed(std::string_view key) {
    DiagnosticBuilder error = Error();
    error << "tensor '" << key << "' has malformed arguments";
    return error;
  }
  DiagnosticBuilder Refuse(std::string_view key, const PickleNode& node) {
    DiagnosticBuilder error = Error();
    if (node.kind == PickleKind::kReduce || node.kind == PickleKind::kObject) {
      error << "'" << key << "' is made by '" << tree_.get(node.items[0]).text
            << "', which is not allowed; only plain tensors are read";
    } else {
      error << "'" << key << "' isn't a tensor";
    }
    return error;
  }

  Expected<SavedTensor> ReadPlainTensor(std::string_view key,
                                        const PickleNode& call) {
    const bool is_v3 = IsCallOf(call, "torch._utils _rebuild_tensor_v3");
    const auto* args = Arguments(call, is_v3 ? 7 : 6);
    if (args == nullptr) return Malformed(key);
    SavedTensor tensor;
    const PickleNode& offset = tree_.get((*args)[1]);
    if (offset.kind != PickleKind::kInt ||
        !ReadInts((*args)[2], &tensor.sizes) ||
        !ReadInts((*args)[3], &tensor.strides)) {
      return Malformed(key);
    }
    tensor.storage_offset = offset.i;
    tensor.requires_grad = tree_.get((*args)[4]).i != 0;
    if (is_v3) {
      const PickleNode& dtype = tree_.get((*args)[6]);
      const std::string_view text = dtype.text;
      const auto found = text.substr(0, 6) == "torch "
                             ? FindTorchDType(text.substr(6))
                             : std::nullopt;
      if (dtype.kind != PickleKind::kGlobal || !found) {
        return Error() << "tensor '" << key << "' has the unknown dtype '"
                       << text << "'";
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

  // {"conj": True, "neg": True}: the stored numbers are to be conjugated or
  // negated. They are, in a copy that only this tensor sees.
  Status ApplyBits(std::string_view key, const PickleNode& bits,
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
    size_t part_bytes = SizeBytes(tensor->dtype);
    if (IsComplex(tensor->dtype)) part_bytes /= 2;
    if (!(IsComplex(tensor->dtype) || (neg && !conj)) ||
        (!IsComplex(tensor->dtype) && !IsFloating(tensor->dtype))) {
      return Error() << "tensor '" << key << "' of dtype "
                     << Name(tensor->dtype) << " is conjugated or negated";
    }
    const Bytes from = out_.storages[tensor->storage].bytes;
    const auto copy =
        std::shared_ptr<std::byte[]>(new (std::nothrow) std::byte[from.size()]);
    if (copy == nullptr)
      return Error() << "no memory for tensor '" << key << "'";
    std::copy(from.begin(), from.end(), copy.get());
    const bool is_complex = IsComplex(tensor->dtype);
    for (size_t part = 0; (part + 1) * part_bytes <= from.size(); ++part) {
      const bool is_imaginary = is_complex && part % 2 == 1;
      if (neg == (conj && is_imaginary)) continue;  // twice is not at all
      copy[(part + 1) * part_bytes - 1] ^= std::byte{0x80};  // the sign
    }
    tensor->storage = out_.storages.size();
    out_.storages.push_back({Bytes(copy.get(), from.size()), copy});
    return {};
  }

  bool ReadInts(PickleRef ref, std::vector<int64_t>* out) const {
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
  Status ReadStorage(std::string_view key, const PickleNode& node,
                     bool is_untyped, SavedTensor* tensor) {
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
        location.kind != PickleKind::kString ||
        count.kind != PickleKind::kInt || count.i < 0) {
      return Malformed(key);
    }
    if (!is_untyped) {
      const std::string_view text = storage_class.text;
      const auto dtype = text.substr(0, 6) == "torch "
                             ? DTypeOfStorageClass(text.substr(6))
                             : std::nullopt;
      if (!dtype) {
        return Error() << "tensor '" << key << "' has a storage of class '"
                       << text << "', which isn't supported";
      }
      tensor->dtype = *dtype;
    }
    tensor->device = std::string(location.text);
    const auto bytes = CheckedMul(
        count.i,
        is_untyped ? 1 : static_cast<int64_t>(SizeBytes(tensor->dtype)));
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
             << "the storage of tensor '" << key << "' has "
             << found->size_bytes << " bytes, which isn't " << count.i
             << " elements";
    }
    TENON_ASSIGN(const ZipContent content, zip_.Read(*found, false, diags_));
    tensor->storage = out_.storages.size();
    storages_.emplace(member, tensor->storage);
    out_.storages.push_back({content.bytes, content.owner});
    return {};
  }

  const ZipArchive& zip_;
  std::string root_;
  const PickleTree& tree_;
  const std::string& name_;
  Diagnostics& diags_;
  SavedDict out_;
  std::unordered_map<std::string, size_t> storages_;
};

const ZipMember* FindPickleMember(const ZipArchive& zip) {
  for (const ZipMember& m : zip.members()) {
    if (EndsWith(m.name, kPickleMember)) return &m;
  }
  return nullptr;
}

Expected<ZipArchive> OpenPayload(Bytes bytes, std::shared_ptr<const void> owner,
                                 const std::string& name, Diagnostics& diags) {
  if (AsText(bytes).substr(0, kZipStart.size()) != kZipStart) {
    return diags.Error(Rule::kFile07, Place::File(name))
           << "not a torch.save payload";
  }
  return ZipArchive::Open(bytes, std::move(owner), name, ZipLimits(), diags);
}

}  // namespace

std::optional<DType> DTypeOfStorageClass(std::string_view name) {
  for (const StorageClass& known : kStorageClasses) {
    if (known.name == name) return known.dtype;
  }
  return std::nullopt;
}

std::optional<DType> FindTorchDType(std::string_view name) {
  const auto dtype = FindDType(name);
  // Short names are ours, not PyTorch's.
  if (!dtype || *dtype == DType::kUnknown || Name(*dtype) != name) {
    return std::nullopt;
  }
  return dtype;
}

Expected<ZipContent> FindPickle(Bytes bytes, const std::string& name,
                                Diagnostics& diags) {
  if (AsText(bytes).substr(0, kZipStart.size()) != kZipStart) {
    return ZipContent{bytes, nullptr};
  }
  TENON_ASSIGN(const ZipArchive zip, OpenPayload(bytes, nullptr, name, diags));
  const ZipMember* pickle = FindPickleMember(zip);
  if (pickle == nullptr) {
    return diags.Error(Rule::kFile07, Place::File(name))
           << "a payload without data.pkl";
  }
  return zip.Read(*pickle, true, diags);
}

Expected<SavedDict> ReadTorchSave(Bytes bytes,
                                  std::shared_ptr<const void> owner,
                                  const std::string& name, Diagnostics& diags) {
  if (bytes.empty()) return SavedDict();
  TENON_ASSIGN(const ZipArchive zip,
               OpenPayload(bytes, std::move(owner), name, diags));
  const ZipMember* member = FindPickleMember(zip);
  if (member == nullptr) {
    return diags.Error(Rule::kFile07, Place::File(name))
           << "a payload without data.pkl";
  }
  TENON_ASSIGN(const ZipContent pickle, zip.Read(*member, true, diags));
  TENON_ASSIGN(const PickleTree tree,
               PickleTree::Parse(pickle.bytes, name, diags));
  const std::string root(
      member->name.substr(0, member->name.size() - kPickleMember.size() + 1));
  return TorchSaveReader(zip, root, tree, name, diags).Read();
}

}  // namespace tenon
