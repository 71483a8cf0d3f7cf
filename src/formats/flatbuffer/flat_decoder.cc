#include "formats/flatbuffer/flat_decoder.h"

namespace tenon {
namespace {

// Two visits of each byte allow for shared strings and vectors.
constexpr uint64_t kVisitsPerByte = 2;
constexpr uint32_t kMinVtableBytes = 4;

}  // namespace

FlatDecoder::FlatDecoder(Bytes bytes, std::shared_ptr<const void> owner,
                         std::string file, const FlatRules& rules,
                         Diagnostics& diags)
    : bytes_(bytes),
      owner_(std::move(owner)),
      file_(std::move(file)),
      rules_(rules),
      diags_(diags),
      budget_(bytes.size() * kVisitsPerByte) {}

DiagnosticBuilder FlatDecoder::Fail(Rule rule, uint64_t position) {
  failed_ = true;
  DiagnosticBuilder error = diags_.Error(rule, Place::Offset(file_, position));
  if (!frame_.table.empty()) error << frame_.table;
  return error;
}

DiagnosticBuilder FlatDecoder::FailField(Rule rule, uint64_t position,
                                         std::string_view name) {
  DiagnosticBuilder error = Fail(rule, position);
  error << "." << name;
  return error;
}

void FlatDecoder::MissingField(std::string_view name) {
  if (failed_) return;
  FailField(rules_.required, frame_.position, name) << " is missing";
}

bool FlatDecoder::Spend(uint64_t size, uint64_t position) {
  if (size > budget_) {
    Fail(rules_.structure, position)
        << ": objects are shared so often that together they are more than "
        << kVisitsPerByte << " times the file";
    return false;
  }
  budget_ -= size;
  return true;
}

std::optional<uint32_t> FlatDecoder::Follow(uint64_t position) {
  if (!Holds(position, sizeof(uint32_t))) {
    Fail(rules_.structure, position) << ": an offset lies past the end";
    return std::nullopt;
  }
  const uint32_t offset = Load<uint32_t>(position);
  const uint64_t target = position + offset;
  if (offset == 0 || !Holds(target, sizeof(uint32_t))) {
    Fail(rules_.structure, position)
        << ": offset " << offset << " leads outside the program of "
        << bytes_.size() << " bytes";
    return std::nullopt;
  }
  return static_cast<uint32_t>(target);
}

bool FlatDecoder::Enter(uint32_t position, std::string_view table) {
  frame_.table = table;
  frame_.position = position;
  if (position % sizeof(uint32_t) != 0) {
    Fail(rules_.structure, position) << ": the table is misaligned";
    return false;
  }
  const int64_t vtable = int64_t{position} - Load<int32_t>(position);
  if (vtable < 0 || vtable % sizeof(uint16_t) != 0 ||
      !Holds(vtable, kMinVtableBytes)) {
    Fail(rules_.structure, position)
        << ": its vtable at " << vtable << " lies outside the program";
    return false;
  }
  frame_.vtable = static_cast<uint32_t>(vtable);
  frame_.vtable_bytes = Load<uint16_t>(frame_.vtable);
  frame_.table_bytes = Load<uint16_t>(frame_.vtable + sizeof(uint16_t));
  if (frame_.vtable_bytes < kMinVtableBytes ||
      frame_.vtable_bytes % sizeof(uint16_t) != 0 ||
      !Holds(frame_.vtable, frame_.vtable_bytes)) {
    Fail(rules_.structure, frame_.vtable)
        << ": its vtable of " << frame_.vtable_bytes
        << " bytes reaches past the end or is odd";
    return false;
  }
  if (frame_.table_bytes < sizeof(int32_t) ||
      !Holds(position, frame_.table_bytes)) {
    Fail(rules_.structure, position) << ": the table of " << frame_.table_bytes
                                     << " bytes reaches past the end";
    return false;
  }
  return Spend(frame_.table_bytes, position);
}

// Fields are only ever appended to a table. One that the schema lacks belongs
// to a later version and may change what the others mean.
void FlatDecoder::CheckNoMoreFields() {
  const uint32_t num_fields =
      (frame_.vtable_bytes - kMinVtableBytes) / sizeof(uint16_t);
  for (uint32_t id = frame_.next_id; id < num_fields && !failed_; ++id) {
    const uint32_t slot =
        frame_.vtable + kMinVtableBytes + id * uint32_t{sizeof(uint16_t)};
    if (Load<uint16_t>(slot) == 0) continue;
    Fail(Rule::kUnsupported, slot)
        << ": field " << id << " is of a later schema";
  }
}

std::optional<uint32_t> FlatDecoder::Field(std::string_view name,
                                           uint32_t size) {
  const uint32_t slot =
      kMinVtableBytes + uint32_t{sizeof(uint16_t)} * frame_.next_id++;
  if (failed_ || slot + sizeof(uint16_t) > frame_.vtable_bytes) {
    return std::nullopt;
  }
  const uint32_t offset = Load<uint16_t>(frame_.vtable + slot);
  if (offset == 0) return std::nullopt;
  if (offset < sizeof(int32_t) || offset + size > frame_.table_bytes) {
    FailField(rules_.structure, frame_.vtable + slot, name)
        << " of " << size << " bytes at " << offset
        << " reaches past its table of " << frame_.table_bytes << " bytes";
    return std::nullopt;
  }
  const uint32_t position = frame_.position + offset;
  if (position % size != 0) {
    FailField(rules_.structure, position, name) << " is misaligned";
    return std::nullopt;
  }
  return position;
}

std::optional<FlatDecoder::Elements> FlatDecoder::VectorField(
    std::string_view name, uint32_t element_bytes, FlatPresence presence) {
  const auto field = Field(name, sizeof(uint32_t));
  if (!field) {
    if (presence == FlatPresence::kRequired) MissingField(name);
    return std::nullopt;
  }
  const auto vector = Follow(*field);
  if (!vector) return std::nullopt;
  const Elements elements = {*vector + uint32_t{sizeof(uint32_t)},
                             Load<uint32_t>(*vector)};
  if (*vector % sizeof(uint32_t) != 0 ||
      (elements.count > 0 && elements.position % element_bytes != 0)) {
    FailField(rules_.structure, *vector, name) << " is misaligned";
    return std::nullopt;
  }
  const uint64_t size = uint64_t{elements.count} * element_bytes;
  if (!Holds(elements.position, size)) {
    FailField(rules_.structure, *vector, name)
        << ": " << elements.count << " elements of " << element_bytes
        << " bytes, but only " << bytes_.size() - elements.position
        << " bytes are left";
    return std::nullopt;
  }
  if (!Spend(size + sizeof(uint32_t), *vector)) return std::nullopt;
  return elements;
}

void FlatDecoder::String(std::string_view name, std::string& text,
                         FlatPresence presence) {
  text.clear();
  const auto elements = VectorField(name, 1, presence);
  if (!elements) return;
  const uint64_t end = uint64_t{elements->position} + elements->count;
  if (!Holds(end, 1) || Load<char>(end) != '\0') {
    FailField(rules_.structure, elements->position, name)
        << ": the string of " << elements->count
        << " bytes doesn't end in a zero";
    return;
  }
  text = AsText(bytes_.subspan(elements->position, elements->count));
}

void FlatDecoder::Blob(std::string_view name, FlatBlob& blob,
                       FlatPresence presence, uint64_t) {
  blob = FlatBlob();
  const auto elements = VectorField(name, 1, presence);
  if (!elements) return;
  blob.bytes = bytes_.subspan(elements->position, elements->count);
  blob.owner = owner_;
  blob.alignment = AlignmentOf(elements->position);
}

}  // namespace tenon
