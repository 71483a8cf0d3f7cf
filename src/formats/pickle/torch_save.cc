#include "formats/pickle/torch_save.h"

#include <unordered_set>

#include "formats/pickle/pickle_tree.h"
#include "formats/pickle/saved_tensor_reader.h"

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

const ZipMember* FindPickleMember(const ZipArchive& zip) {
  for (const ZipMember& m : zip.members()) {
    if (EndsWith(m.name, kPickleMember)) return &m;
  }
  return nullptr;
}

Expected<ZipArchive> OpenPayload(Bytes bytes, std::shared_ptr<const void> owner,
                                 const std::string& name, Diagnostics& diags,
                                 const ReadLimits& limits) {
  if (AsText(bytes).substr(0, kZipStart.size()) != kZipStart) {
    return diags.Error(Rule::kFile07, Place::File(name))
           << "not a torch.save payload";
  }
  return ZipArchive::Open(bytes, std::move(owner), name, limits, diags);
}

// A payload taken apart.
struct OpenedPayload {
  ZipArchive zip;
  std::string root;  // with its '/'
  ZipContent pickle;
  PickleTree tree;  // borrows `pickle`
};

Expected<OpenedPayload> OpenAndParse(Bytes bytes,
                                     std::shared_ptr<const void> owner,
                                     const std::string& name,
                                     Diagnostics& diags,
                                     const ReadLimits& limits) {
  OpenedPayload out;
  TENON_ASSIGN(out.zip,
               OpenPayload(bytes, std::move(owner), name, diags, limits));
  const ZipMember* member = FindPickleMember(out.zip);
  if (member == nullptr) {
    return diags.Error(Rule::kFile07, Place::File(name))
           << "a payload without data.pkl";
  }
  out.root =
      member->name.substr(0, member->name.size() - kPickleMember.size() + 1);
  TENON_ASSIGN(out.pickle, out.zip.Read(*member, true, diags));
  TENON_ASSIGN(out.tree,
               PickleTree::Parse(out.pickle.bytes, name, diags, limits));
  return out;
}

DiagnosticBuilder NotADict(const PickleTree& tree, const std::string& name,
                           Diagnostics& diags) {
  const PickleNode& node = tree.root();
  DiagnosticBuilder error = diags.Error(Rule::kFile07, Place::File(name));
  if (node.kind == PickleKind::kReduce || node.kind == PickleKind::kObject) {
    error << "the call of '" << tree.get(node.items[0]).text
          << "' is not allowed";
  } else {
    error << "the pickle isn't a dict of tensors";
  }
  return error;
}

}  // namespace

std::optional<DType> DTypeOfStorageClass(std::string_view name) {
  for (const StorageClass& known : kStorageClasses) {
    if (known.name == name) return known.dtype;
  }
  return std::nullopt;
}

std::string_view StorageClassOf(DType dtype) {
  for (const StorageClass& known : kStorageClasses) {
    if (known.dtype == dtype) return known.name;
  }
  return {};
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
                                Diagnostics& diags, const ReadLimits& limits) {
  if (AsText(bytes).substr(0, kZipStart.size()) != kZipStart) {
    return ZipContent{bytes, nullptr};
  }
  TENON_ASSIGN(const ZipArchive zip,
               OpenPayload(bytes, nullptr, name, diags, limits));
  const ZipMember* pickle = FindPickleMember(zip);
  if (pickle == nullptr) {
    return diags.Error(Rule::kFile07, Place::File(name))
           << "a payload without data.pkl";
  }
  return zip.Read(*pickle, true, diags);
}

Expected<SavedDict> ReadTorchSave(Bytes bytes,
                                  std::shared_ptr<const void> owner,
                                  const std::string& name, Diagnostics& diags,
                                  const ReadLimits& limits) {
  if (bytes.empty()) return SavedDict();
  TENON_ASSIGN(const OpenedPayload payload,
               OpenAndParse(bytes, std::move(owner), name, diags, limits));
  const PickleTree& tree = payload.tree;
  SavedDict out;
  SavedTensorReader reader(&payload.zip, payload.root, &tree, &name, &out,
                           &diags);
  const PickleNode& dict = tree.root();
  // OrderedDict(): its items follow callable and arguments.
  const bool is_ordered = reader.IsCallOf(dict, "collections OrderedDict");
  if (!is_ordered && dict.kind != PickleKind::kDict) {
    return NotADict(tree, name, diags);
  }
  const auto error = [&] {
    return diags.Error(Rule::kFile07, Place::File(name));
  };
  std::unordered_set<std::string_view> names;
  for (size_t i = is_ordered ? 2 : 0; i + 1 < dict.items.size(); i += 2) {
    const PickleNode& key = tree.get(dict.items[i]);
    if (key.kind != PickleKind::kString) {
      return error() << "a key of the dict isn't a string";
    }
    if (!names.insert(key.text).second) {
      return error() << "'" << key.text << "' is there twice";
    }
    TENON_ASSIGN(SavedTensor tensor,
                 reader.Read(key.text, tree.get(dict.items[i + 1])));
    out.tensors.emplace_back(key.text, std::move(tensor));
  }
  return out;
}

Expected<SavedDict> ReadSavedTensor(Bytes bytes,
                                    std::shared_ptr<const void> owner,
                                    const std::string& name, Diagnostics& diags,
                                    const ReadLimits& limits) {
  TENON_ASSIGN(const OpenedPayload payload,
               OpenAndParse(bytes, std::move(owner), name, diags, limits));
  SavedDict out;
  SavedTensorReader reader(&payload.zip, payload.root, &payload.tree, &name,
                           &out, &diags);
  TENON_ASSIGN(SavedTensor tensor, reader.Read("", payload.tree.root()));
  out.tensors.emplace_back("", std::move(tensor));
  return out;
}

}  // namespace tenon
