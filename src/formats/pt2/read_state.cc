#include "formats/pt2/read_state.h"

#include "formats/pickle/pickle_scan.h"
#include "support/checked.h"

namespace tenon {
namespace {

constexpr std::array<JsonMember, 1> kConfig = {{{"config"}}};
constexpr std::array<JsonMember, 4> kPayloadMeta = {
    {{"path_name"}, {"is_param"}, {"use_pickle"}, {"tensor_meta"}}};

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

}  // namespace

std::string CheckStoredTensor(const Type& type, uint64_t storage_bytes) {
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
  bool is_empty = false;
  for (const SymInt& size : type.sizes) is_empty |= size.value == 0;
  if (is_empty) return "";
  if (!numel || !CheckedMul(*numel, bytes_each)) return "its size overflows";
  if (storage_bytes == 0) return "";  // sizes only
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
  const std::string folder =
      section == Section::kWeights ? "weights" : "constants";
  const std::string name =
      "data/" + folder + "/" + method_ + "_" + folder + "_config.json";
  TENON_ASSIGN(const ZipContent content, archive_.Read(name, false, diags_));
  used_members_.insert(name);
  JsonInput json;
  json.unknown_members = &program_.file.unknown_members;
  json.unknown_prefix = folder + ":";
  TENON_TRY(json.Parse(content.bytes, name, options_.max_depth, diags_));
  TENON_ASSIGN(const auto m, json.Members(json.root(), JsonPath(), kConfig));
  const JsonPath root;
  const JsonPath config_path(root, "config");
  TENON_ASSIGN(const JsonObject config, json.Object(m[0], config_path));
  for (const auto field : config) {
    TENON_TRY(ReadEntry(section, field.key, field.value,
                        JsonPath(config_path, field.key), json));
  }
  return {};
}

Status StateReader::ReadEntry(Section section, std::string_view fqn,
                              const JsonElement& e, const JsonPath& path,
                              const JsonInput& json) {
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
    TypeReader types(&json, &program_.context(), &symbols_);
    TENON_ASSIGN(entry.type, types.Tensor(m[3], meta_path));
  } else if (is_object || entry.is_pickled) {
    Type object;
    object.kind = TypeKind::kObject;
    entry.type = program_.context().types.Intern(std::move(object));
  } else {
    return json.Error(meta_path) << "null, but the payload is a raw record";
  }
  const bool is_raw = !is_object && !entry.is_pickled;
  TENON_ASSIGN(entry.storage,
               ReadStorage(section, path_name, is_raw,
                           JsonPath(path, "path_name"), json));
  if (is_raw) {
    TENON_TRY(CheckView(program_.type(entry.type), entry.storage, path, json));
  }
  entry.kind = is_object            ? StateKind::kObject
               : !is_weight         ? StateKind::kConstant
               : entry.is_param     ? StateKind::kParameter
                                    : StateKind::kPersistentBuffer;
  auto& names = is_weight ? names_.weights : names_.constants;
  if (!names.emplace(entry.fqn, program_.state.Add(entry)).second) {
    return json.Error(path, Rule::kFile10)
           << "'" << fqn << "' is there twice";
  }
  return {};
}

Expected<StorageId> StateReader::ReadStorage(Section section,
                                             std::string_view path_name,
                                             bool is_raw, const JsonPath& path,
                                             const JsonInput& json) {
  std::string member = section == Section::kWeights ? "data/weights/"
                                                    : "data/constants/";
  if (!IsPlainMemberName(path_name) ||
      path_name.find('/') != std::string_view::npos) {
    return json.Error(path) << "'" << path_name << "' leaves the folder '"
                            << member << "'";
  }
  member += path_name;
  const auto it = storages_.find(member);
  if (it != storages_.end()) return it->second;
  if (!archive_.Has(member)) {
    return json.Error(path, Rule::kFile04) << "no member '" << member << "'";
  }
  TENON_ASSIGN(const ZipContent content, archive_.Read(member, true, diags_));
  if (!is_raw) {
    TENON_TRY(CheckCarriedPickle(content.bytes, member, diags_));
  }
  StorageRecord record;
  record.bytes = content.bytes;
  record.owner = content.owner;
  const StorageId storage = program_.state.AddStorage(std::move(record));
  dtypes_.push_back(DType::kUnknown);
  used_members_.insert(member);
  storages_.emplace(std::move(member), storage);
  return storage;
}

Status StateReader::CheckView(const Type& type, StorageId storage,
                              const JsonPath& path, const JsonInput& json) {
  StorageRecord& record = program_.state.storages[storage.index];
  const std::string problem = CheckStoredTensor(type, record.bytes.size());
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
  bool is_empty = false;
  for (const SymInt& size : type.sizes) is_empty |= size.value == 0;
  if (record.bytes.empty() && !is_empty) record.is_weightless = true;
  return {};
}

}  // namespace tenon
