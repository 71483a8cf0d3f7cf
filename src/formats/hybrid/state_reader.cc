#include "formats/hybrid/state_reader.h"

#include "formats/hybrid/types.h"

namespace tenon::hybrid {
namespace {

constexpr std::array<JsonMember, 5> kEntry = {{{"key"},
                                               {"kind"},
                                               {"persistent", false},
                                               {"requires_grad", false},
                                               {"device", false}}};

}  // namespace

StateReader::StateReader(const JsonInput& json, const Safetensors& tensors,
                         Program* program)
    : json_(json), program_(*program) {
  for (const NamedTensor& t : tensors.tensors) {
    tensors_.emplace(t.name, &t.tensor);
  }
}

Status StateReader::Read(const JsonElement& state, const JsonPath& path) {
  TENON_ASSIGN(const JsonObject object, json_.Object(state, path));
  for (const auto field : object) {
    TENON_TRY(ReadEntry(field.key, field.value, JsonPath(path, field.key)));
  }
  return {};
}

Status StateReader::ReadEntry(std::string_view fqn, const JsonElement& e,
                              const JsonPath& path) {
  TENON_ASSIGN(const auto m, json_.Members(e, path, kEntry));
  TENON_ASSIGN(const std::string_view key,
               json_.String(m[0], JsonPath(path, "key")));
  TENON_ASSIGN(const std::string_view kind,
               json_.String(m[1], JsonPath(path, "kind")));
  StateEntry entry;
  entry.fqn = program_.context().Intern(fqn);
  bool requires_grad = false;
  if (kind == "param") {
    entry.kind = StateKind::kParameter;
    entry.is_param = true;
    if (!m.has_value(3)) {
      return json_.Error(path) << "a parameter says whether it requires_grad";
    }
    TENON_ASSIGN(requires_grad,
                 json_.Bool(m[3], JsonPath(path, "requires_grad")));
  } else if (kind == "buffer") {
    // L-4: always stated, never assumed.
    if (!m.has_value(2)) {
      return json_.Error(path) << "a buffer says whether it is persistent";
    }
    TENON_ASSIGN(const bool persistent,
                 json_.Bool(m[2], JsonPath(path, "persistent")));
    entry.kind = persistent ? StateKind::kPersistentBuffer
                            : StateKind::kNonPersistentBuffer;
  } else if (kind == "constant") {
    entry.kind = StateKind::kConstant;
  } else {
    return json_.Error(JsonPath(path, "kind"))
           << "unknown kind '" << kind << "', expected param, buffer, constant";
  }
  TENON_ASSIGN(entry.storage, StorageOf(key, JsonPath(path, "key")));
  entry.type = TypeOf(*tensors_.at(key), requires_grad);
  if (m.has_value(4)) {
    Type type = program_.type(entry.type);
    TENON_ASSIGN(type.device, ReadDevice(json_, m[4], JsonPath(path, "device"),
                                         &program_.context()));
    entry.type = program_.context().types.Intern(std::move(type));
  }
  if (!by_fqn_.emplace(fqn, StateId(program_.state.entries.size())).second) {
    return json_.Error(path) << "the entry is there twice";
  }
  program_.state.Add(entry);
  return {};
}

StateId StateReader::Find(std::string_view fqn) const {
  const auto at = by_fqn_.find(std::string(fqn));
  return at == by_fqn_.end() ? StateId() : at->second;
}

const Tensor* StateReader::FindTensor(std::string_view key) const {
  const auto at = tensors_.find(key);
  return at == tensors_.end() ? nullptr : at->second;
}

Expected<StorageId> StateReader::AddStorage(std::string_view key,
                                            const JsonPath& path) {
  const auto at = tensors_.find(key);
  if (at == tensors_.end()) {
    return json_.Error(path, Rule::kState02)
           << "the tensors file has no '" << key << "'";
  }
  const std::shared_ptr<Storage>& storage = at->second->storage();
  StorageRecord record;
  record.bytes = Bytes(storage->data(), storage->size_bytes());
  record.owner = storage;
  record.is_weightless = storage->data() == nullptr && at->second->numel() > 0;
  return program_.state.AddStorage(std::move(record));
}

Expected<StorageId> StateReader::StorageOf(std::string_view key,
                                           const JsonPath& path) {
  const auto known = storages_.find(std::string(key));
  if (known != storages_.end()) return known->second;
  const auto tensor = tensors_.find(key);
  const Storage* shared =
      tensor == tensors_.end() ? nullptr : tensor->second->storage().get();
  const auto view = views_.find(shared);
  if (view != views_.end()) return view->second;  // J-9: one storage, shared
  TENON_ASSIGN(const StorageId id, AddStorage(key, path));
  storages_.emplace(key, id);
  views_.emplace(shared, id);
  return id;
}

TypeId StateReader::TypeOf(const Tensor& tensor, bool requires_grad) {
  Type type;
  type.kind = TypeKind::kTensor;
  type.dtype = tensor.dtype();
  type.requires_grad = requires_grad;
  type.device.type = program_.context().Intern("cpu");
  for (const int64_t size : tensor.sizes()) {
    type.sizes.push_back(SymInt::Literal(size));
  }
  for (const int64_t stride : tensor.strides()) {
    type.strides.push_back(SymInt::Literal(stride));
  }
  type.storage_offset = SymInt::Literal(tensor.offset());
  return program_.context().types.Intern(std::move(type));
}

Expected<StateId> StateReader::Literal(std::string_view key,
                                       const JsonPath& path) {
  const auto known = literals_.find(std::string(key));
  if (known != literals_.end()) return known->second;
  StateEntry entry;
  entry.kind = StateKind::kConstant;
  // A storage of its own: a literal is no entry of the state, even where both
  // are filled from one tensor of the file.
  TENON_ASSIGN(entry.storage, AddStorage(key, path));
  entry.type = TypeOf(*tensors_.at(key), false);
  std::string fqn;
  for (size_t i = literals_.size(); fqn.empty() || by_fqn_.count(fqn) > 0;
       ++i) {
    fqn = "_tensor_constant" + std::to_string(i);
  }
  entry.fqn = program_.context().Intern(fqn);
  const StateId id = program_.state.Add(entry);
  by_fqn_.emplace(fqn, id);
  literals_.emplace(key, id);
  return id;
}

}  // namespace tenon::hybrid
