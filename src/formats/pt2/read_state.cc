#include "formats/pt2/read_state.h"

#include <algorithm>
#include <charconv>

#include "formats/pickle/pickle_scan.h"
#include "formats/pickle/torch_save.h"
#include "formats/pt2/plain_zip.h"
#include "formats/pt2/stripped.h"
#include "support/checked.h"

namespace tenon {
namespace {

constexpr std::array<JsonMember, 1> kConfig = {{{"config"}}};
constexpr std::array<JsonMember, 4> kPayloadMeta = {
    {{"path_name"}, {"is_param"}, {"use_pickle"}, {"tensor_meta"}}};

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool IsEmpty(const Type& type) {
  return std::any_of(type.sizes.begin(), type.sizes.end(),
                     [](const SymInt& size) { return size.value == 0; });
}

// "cuda:0" -> {cuda, 0}
Device ParseDevice(std::string_view text, Context* context) {
  Device device;
  const size_t colon = text.find(':');
  device.type = context->Intern(text.substr(0, colon));
  if (colon != std::string_view::npos) {
    std::from_chars(text.data() + colon + 1, text.data() + text.size(),
                    device.index);
  }
  return device;
}

Type TypeOfSaved(const SavedTensor& tensor, Context* context) {
  Type type;
  type.kind = TypeKind::kTensor;
  type.dtype = tensor.dtype;
  type.requires_grad = tensor.requires_grad;
  type.device = ParseDevice(tensor.device, context);
  for (const int64_t size : tensor.sizes) {
    type.sizes.push_back(SymInt::Literal(size));
  }
  for (const int64_t stride : tensor.strides) {
    type.strides.push_back(SymInt::Literal(stride));
  }
  type.storage_offset = SymInt::Literal(tensor.storage_offset);
  // Sparse tensors have no strides; PyTorch writes zeros where it must.
  type.layout = tensor.layout;
  if (tensor.layout != Layout::kStrided) {
    type.strides.assign(type.sizes.size(), SymInt::Literal(0));
  }
  return type;
}

// What is wrong with a tensor's place in its storage, or with a part's; "" when
// it lies inside.
std::string ProblemOf(const SavedTensor& tensor, const SavedDict& dict,
                      Context* context) {
  for (const SavedTensor& part : tensor.parts) {
    std::string problem = ProblemOf(part, dict, context);
    if (!problem.empty()) return problem;
  }
  if (tensor.layout != Layout::kStrided) return "";
  const Type type = TypeOfSaved(tensor, context);
  const uint64_t storage_bytes = dict.storages[tensor.storage].bytes.size();
  std::string problem = CheckStoredTensor(type, storage_bytes);
  if (problem.empty() && storage_bytes == 0 && !IsEmpty(type)) {
    return "its storage has no bytes";
  }
  return problem;
}

}  // namespace

std::string CheckStoredTensor(const Type& type, uint64_t storage_bytes,
                              bool allow_weightless) {
  const auto bytes_each = static_cast<int64_t>(SizeBytes(type.dtype));
  if (!type.storage_offset.is_literal() || !type.has_static_sizes()) {
    return "its sizes must be integers";
  }
  if (type.storage_offset.value < 0) return "a negative storage offset";
  std::optional<int64_t> last = type.storage_offset.value;  // furthest element
  std::optional<int64_t> numel = 1;
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    const int64_t size = type.sizes[d].value;
    if (d >= type.strides.size() || !type.strides[d].is_literal()) {
      return "its strides must be integers";
    }
    const int64_t stride = type.strides[d].value;
    if (size < 0) return "a negative size";
    if (stride < 0) return "a negative stride";
    if (numel) numel = CheckedMul(*numel, size);
    const auto reach = CheckedMul(size > 0 ? size - 1 : 0, stride);
    if (last) last = reach ? CheckedAdd(*last, *reach) : std::nullopt;
  }
  if (IsEmpty(type)) return "";
  if (!numel || !CheckedMul(*numel, bytes_each)) return "its size overflows";
  if (storage_bytes == 0 && allow_weightless) return "";
  if (storage_bytes % static_cast<uint64_t>(bytes_each) != 0) {
    return "a record of " + std::to_string(storage_bytes) +
           " bytes isn't a whole number of elements";
  }
  const auto end = last ? CheckedAdd(*last, 1) : std::nullopt;
  const auto end_bytes = end ? CheckedMul(*end, bytes_each) : std::nullopt;
  if (!end_bytes || static_cast<uint64_t>(*end_bytes) > storage_bytes) {
    return "it needs " +
           (end_bytes ? std::to_string(*end_bytes) : "more than 2^63") +
           " bytes, its record has " + std::to_string(storage_bytes);
  }
  return "";
}

Status StateReader::Read() {
  TENON_TRY(ReadSection(Section::kWeights));
  return ReadSection(Section::kConstants);
}

Status StateReader::ReadSection(Section section) {
  const bool is_weights = section == Section::kWeights;
  if (archive_.is_plain_zip()) {
    return ReadPickle(section, std::string(is_weights ? plain_zip::kWeights
                                                      : plain_zip::kConstants));
  }
  const std::string folder = is_weights ? "weights" : "constants";
  // PyTorch, too, takes the pickle where there is one.
  const std::string pickle = "data/" + folder + "/" + method_ + ".pt";
  if (archive_.Has(pickle)) return ReadPickle(section, pickle);
  return ReadConfig(section, "data/" + folder + "/" + method_ + "_" + folder +
                                 "_config.json");
}

Status StateReader::ReadConfig(Section section, const std::string& name) {
  TENON_ASSIGN(const ZipContent content, archive_.Read(name, false, diags_));
  used_members_[archive_.PositionOf(*archive_.Find(name))] = true;
  JsonInput json;
  json.unknown_members = &program_.file.unknown_members;
  json.unknown_prefix =
      section == Section::kWeights ? "weights:" : "constants:";
  TENON_TRY(json.Parse(content.bytes, true, name, options_.limits, diags_));
  TENON_ASSIGN(const auto m, json.Members(json.root(), JsonPath(), kConfig));
  const JsonPath root;
  const JsonPath config_path(root, "config");
  TENON_ASSIGN(const JsonObject config, json.Object(m[0], config_path));
  TypeReader types(&json, &program_.context(), &symbols_);
  for (const auto field : config) {
    TENON_TRY(ReadEntry(section, field.key, field.value,
                        JsonPath(config_path, field.key), json, &types));
  }
  return {};
}

Status StateReader::ReadEntry(Section section, std::string_view fqn,
                              const JsonElement& e, const JsonPath& path,
                              const JsonInput& json, TypeReader* types) {
  TENON_ASSIGN(const auto m, json.Members(e, path, kPayloadMeta));
  TENON_ASSIGN(const std::string_view path_name,
               json.String(m[0], JsonPath(path, "path_name")));
  StateEntry entry;
  entry.fqn = program_.context().Intern(fqn);
  TENON_ASSIGN(entry.is_param, json.Bool(m[1], JsonPath(path, "is_param")));
  TENON_ASSIGN(entry.is_pickled, json.Bool(m[2], JsonPath(path, "use_pickle")));

  const bool is_weight = section == Section::kWeights;
  const bool is_object = !is_weight && (StartsWith(path_name, "custom_obj_") ||
                                        StartsWith(path_name, "opaque_obj_"));
  if (!is_weight && !is_object && !StartsWith(path_name, "tensor_")) {
    return json.Error(path) << "unknown kind of payload '" << path_name << "'";
  }
  const JsonPath meta_path(path, "tensor_meta");
  if (m.has_value(3)) {
    TENON_ASSIGN(entry.type, types->Tensor(m[3], meta_path));
  } else if (is_object || entry.is_pickled) {
    Type object;
    object.kind = TypeKind::kObject;
    entry.type = program_.context().types.Intern(std::move(object));
  } else {
    return json.Error(meta_path) << "null, but the payload is a raw record";
  }
  const bool is_raw = !is_object && !entry.is_pickled;
  TENON_ASSIGN(entry.storage, ReadStorage(section, path_name, is_raw,
                                          JsonPath(path, "path_name"), json));
  if (is_raw) {
    TENON_TRY(CheckView(program_.type(entry.type), entry.storage, path, json));
  }
  entry.kind = is_object        ? StateKind::kObject
               : !is_weight     ? StateKind::kConstant
               : entry.is_param ? StateKind::kParameter
                                : StateKind::kPersistentBuffer;
  if (Insert(section, entry)) return {};
  return json.Error(path, Rule::kFile10)
         << "'" << program_.view(entry.fqn) << "' is there twice";
}

bool StateReader::Insert(Section section, const StateEntry& entry) {
  auto& names =
      section == Section::kWeights ? names_.weights : names_.constants;
  return names.Add(entry.fqn, program_.state.Add(entry));
}

Status StateReader::AddEntry(Section section, const StateEntry& entry,
                             const Place& place) {
  if (!Insert(section, entry)) {
    return diags_.Error(Rule::kFile10, place)
           << "'" << program_.view(entry.fqn) << "' is there twice";
  }
  return {};
}

Status StateReader::ReadPickle(Section section, const std::string& member) {
  TENON_ASSIGN(const ZipContent content, archive_.Read(member, true, diags_));
  used_members_[archive_.PositionOf(*archive_.Find(member))] = true;
  TENON_ASSIGN(const SavedDict dict,
               ReadTorchSave(content.bytes, content.owner, member, diags_,
                             options_.limits));
  std::vector<StorageId> storages(dict.storages.size());
  for (const auto& [fqn, tensor] : dict.tensors) {
    const std::string problem = ProblemOf(tensor, dict, &program_.context());
    if (!problem.empty()) {
      return diags_.Error(Rule::kFile08, Place::File(member))
             << "tensor '" << fqn << "': " << problem;
    }
    StateEntry entry;
    entry.fqn = program_.context().Intern(fqn);
    entry.type = program_.context().types.Intern(
        TypeOfSaved(tensor, &program_.context()));
    if (tensor.layout == Layout::kStrided) {
      StorageId& storage = storages[tensor.storage];
      if (!storage.valid()) storage = AddStorage(dict.storages[tensor.storage]);
      entry.storage = storage;
    } else {
      entry.is_pickled = true;
      TENON_ASSIGN(entry.storage, AddPayload(dict, tensor, member));
    }
    entry.is_param = tensor.is_parameter;
    entry.kind = section == Section::kConstants ? StateKind::kConstant
                 : entry.is_param               ? StateKind::kParameter
                                                : StateKind::kPersistentBuffer;
    TENON_TRY(AddEntry(section, entry, Place::File(member)));
  }
  return {};
}

StorageId StateReader::AddStorage(const SavedStorage& saved) {
  StorageRecord record;
  record.bytes = saved.bytes;
  record.owner = saved.owner;
  dtypes_.push_back(DType::kUnknown);
  return program_.state.AddStorage(std::move(record));
}

// A sparse tensor is a payload of its own from here on, as layout C keeps
// tensors that have no single storage.
Expected<StorageId> StateReader::AddPayload(const SavedDict& dict,
                                            SavedTensor tensor,
                                            const std::string& member) {
  SavedDict single;
  for (SavedTensor& part : tensor.parts) {
    single.storages.push_back(dict.storages[part.storage]);
    part.storage = single.storages.size() - 1;
  }
  single.tensors.emplace_back("", std::move(tensor));
  const auto payload = std::make_shared<std::string>();
  ZipWriter zip;
  if (!zip.OpenMemory(payload.get(), "archive") ||
      !WriteSavedTensor(single, &zip) || !zip.WriteDirectory()) {
    return diags_.Error(Rule::kIo, Place::File(member)) << zip.error();
  }
  return AddStorage({AsBytes(*payload), payload});
}

Expected<StorageId> StateReader::ReadStorage(Section section,
                                             std::string_view path_name,
                                             bool is_raw, const JsonPath& path,
                                             const JsonInput& json) {
  const std::string_view folder =
      section == Section::kWeights ? "data/weights/" : "data/constants/";
  member_.assign(folder).append(path_name);
  const bool is_plain = path_name.find('/') == std::string_view::npos;
  const ZipMember* member = is_plain ? archive_.Find(member_) : nullptr;
  if (member == nullptr) {
    if (!is_plain || !IsPlainMemberName(path_name)) {
      return json.Error(path)
             << "'" << path_name << "' leaves the folder '" << folder << "'";
    }
    return json.Error(path, Rule::kFile04) << "no member '" << member_ << "'";
  }
  const size_t position = archive_.PositionOf(*member);
  if (storages_[position].valid()) return storages_[position];
  TENON_ASSIGN(ZipContent content, archive_.Read(*member, true, diags_));
  if (!is_raw) {
    TENON_TRY(
        CheckCarriedPickle(content.bytes, member_, diags_, options_.limits));
  }
  StorageRecord record;
  record.bytes = content.bytes;
  record.owner = std::move(content.owner);
  const StorageId storage = program_.state.AddStorage(std::move(record));
  dtypes_.push_back(DType::kUnknown);
  used_members_[position] = true;
  storages_[position] = storage;
  return storage;
}

Status StateReader::CheckView(const Type& type, StorageId storage,
                              const JsonPath& path, const JsonInput& json) {
  StorageRecord& record = program_.state.storages[storage.index];
  const bool may_be_empty =
      options_.allow_weightless || archive_.Has(std::string(kStrippedMember));
  const std::string problem =
      CheckStoredTensor(type, record.bytes.size(), may_be_empty);
  if (!problem.empty()) {
    return json.Error(path, Rule::kFile08) << problem;
  }
  DType& dtype = dtypes_[storage.index];
  if (dtype == DType::kUnknown) dtype = type.dtype;
  if (dtype != type.dtype) {
    return json.Error(path, Rule::kFile08)
           << "dtype " << Name(type.dtype)
           << ", but another entry has the same record as " << Name(dtype);
  }
  if (record.bytes.empty() && !IsEmpty(type)) record.is_weightless = true;
  return {};
}

}  // namespace tenon
