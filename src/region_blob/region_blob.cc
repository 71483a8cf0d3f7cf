#include "region_blob/region_blob.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "support/assert.h"
#include "support/checked.h"
#include "support/hash.h"

namespace tenon {
namespace {

constexpr std::string_view kMagic = "TENONRGN";
constexpr uint32_t kVersion = 1;
constexpr uint64_t kAlignment = 64;
constexpr uint64_t kDigestAt = 40;
constexpr uint32_t kMaxRank = 64;

uint64_t AlignUp(uint64_t n) { return (n + kAlignment - 1) / kAlignment * 64; }

std::optional<DType> FromScalarType(uint32_t number) {
  for (int i = 0; i < 64; ++i) {
    const auto dtype = DTypeFromCode(i);
    if (dtype && ScalarTypeNumber(*dtype) == static_cast<int32_t>(number)) {
      return dtype;
    }
  }
  return std::nullopt;
}

class Writer {
 public:
  template <typename T>
  void Put(T value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    out_.insert(out_.end(), bytes, bytes + sizeof(T));
  }
  void PutBoundary(const BoundaryTensor& tensor) {
    Put(static_cast<uint32_t>(ScalarTypeNumber(tensor.dtype)));
    Put(static_cast<uint32_t>(tensor.rank()));
    for (size_t d = 0; d < tensor.rank(); ++d) {
      Put(tensor.min[d]);
      Put(tensor.max[d]);
    }
  }
  // Where an offset will stand.
  size_t PutHole() {
    Put(uint64_t{0});
    return out_.size() - sizeof(uint64_t);
  }
  void PutBytes(size_t hole, Bytes bytes) {
    out_.resize(AlignUp(out_.size()));
    Fill(hole, uint64_t{out_.size()});
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }
  void Fill(size_t at, uint64_t value) {
    std::memcpy(out_.data() + at, &value, sizeof(value));
  }
  std::vector<std::byte>& out() { return out_; }

 private:
  std::vector<std::byte> out_;
};

class Reader {
 public:
  Reader(Bytes bytes, Diagnostics& diags)
      : bytes_(bytes), cursor_(bytes), diags_(diags) {}

  Expected<RegionBlob> Read() {
    TENON_ASSIGN(const uint64_t size, SizeOfRegionBlob(bytes_, diags_));
    if (size != bytes_.size()) {
      return Fail() << "the block states " << size << " bytes and has "
                    << bytes_.size();
    }
    uint32_t counts[4];
    std::memcpy(counts, bytes_.data() + 12, sizeof(counts));
    Digest stated;
    std::memcpy(&stated, bytes_.data() + kDigestAt, sizeof(stated));
    if (!(stated == HashBytes(bytes_.data() + kRegionBlobHeadBytes,
                              bytes_.size() - kRegionBlobHeadBytes))) {
      return Fail() << "its digest isn't the stated one: it is damaged";
    }
    cursor_.Seek(kRegionBlobHeadBytes);
    for (uint32_t i = 0; i < counts[0]; ++i) {
      TENON_ASSIGN(auto tensor, ReadBoundary());
      blob_.inputs.push_back(std::move(tensor));
    }
    for (uint32_t i = 0; i < counts[1]; ++i) {
      TENON_ASSIGN(auto tensor, ReadBoundary());
      blob_.outputs.push_back(std::move(tensor));
    }
    std::vector<uint64_t> offsets;
    for (uint32_t i = 0; i < counts[2]; ++i) TENON_TRY(ReadConstant(&offsets));
    for (uint32_t i = 0; i < counts[3]; ++i) TENON_TRY(ReadWrite());
    return Place(offsets);
  }

 private:
  DiagnosticBuilder Fail() {
    auto error = diags_.Error(Rule::kPte36, tenon::Place::File("region"));
    return error;
  }
  Failure EndsEarly() {
    Fail() << "its boundary ends outside of it";
    return Failure{};
  }

  Expected<BoundaryTensor> ReadBoundary() {
    BoundaryTensor tensor;
    const auto number = cursor_.Read<uint32_t>();
    const auto rank = cursor_.Read<uint32_t>();
    if (!rank) return EndsEarly();
    const auto dtype = FromScalarType(*number);
    if (!dtype || *rank > kMaxRank) {
      return Fail() << "a tensor of dtype " << *number << " and rank " << *rank;
    }
    tensor.dtype = *dtype;
    for (uint32_t d = 0; d < *rank; ++d) {
      const auto min = cursor_.Read<int64_t>();
      const auto max = cursor_.Read<int64_t>();
      if (!max) return EndsEarly();
      if (*min < 0 || *max < *min) {
        return Fail() << "a dimension of " << *min << " to " << *max;
      }
      tensor.min.push_back(*min);
      tensor.max.push_back(*max);
    }
    return tensor;
  }

  Status ReadConstant(std::vector<uint64_t>* offsets) {
    BlobConstant constant;
    const auto input = cursor_.Read<uint32_t>();
    const auto number = cursor_.Read<uint32_t>();
    const auto rank = cursor_.Read<uint32_t>();
    const auto zero = cursor_.Read<uint32_t>();
    if (!zero) return EndsEarly();
    const auto dtype = FromScalarType(*number);
    if (!dtype || *rank > kMaxRank || *zero != 0) {
      return Fail() << "a constant of dtype " << *number << " and rank "
                    << *rank;
    }
    const auto& before = blob_.constants;
    if (*input >= uint64_t{blob_.inputs.size()} + CountOfConstants() ||
        (!before.empty() && before.back().input >= *input)) {
      return Fail() << "constant " << before.size() << " is input " << *input
                    << ", which isn't behind the one before, or isn't there";
    }
    constant.input = *input;
    constant.dtype = *dtype;
    int64_t count = static_cast<int64_t>(SizeBytes(*dtype));
    for (uint32_t d = 0; d < *rank; ++d) {
      const auto size = cursor_.Read<int64_t>();
      if (!size) return EndsEarly();
      const auto product = CheckedMul(count, *size);
      if (*size < 0 || !product)
        return Fail() << "a constant of size " << *size;
      count = *product;
      constant.sizes.push_back(*size);
    }
    const auto offset = cursor_.Read<uint64_t>();
    if (!offset) return EndsEarly();
    if (*offset > bytes_.size() ||
        static_cast<uint64_t>(count) > bytes_.size() - *offset) {
      return Fail() << "a constant's bytes lie outside of it";
    }
    constant.bytes = bytes_.subspan(*offset, static_cast<size_t>(count));
    offsets->push_back(*offset);
    blob_.constants.push_back(std::move(constant));
    return {};
  }
  uint32_t CountOfConstants() const {
    uint32_t count = 0;
    std::memcpy(&count, bytes_.data() + 20, sizeof(count));
    return count;
  }

  Status ReadWrite() {
    const auto input = cursor_.Read<uint32_t>();
    const auto output = cursor_.Read<uint32_t>();
    const auto kind = cursor_.Read<uint32_t>();
    if (!kind) return EndsEarly();
    const DeclaredWrite write{*input, *output, static_cast<WriteKind>(*kind)};
    const bool is_again = std::any_of(
        blob_.writes.begin(), blob_.writes.end(), [&](const DeclaredWrite& w) {
          return w.input == write.input || w.output == write.output;
        });
    if (is_again || *kind > static_cast<uint32_t>(WriteKind::kKvCacheUpdate) ||
        *input >= blob_.inputs.size() || *output >= blob_.outputs.size() ||
        blob_.inputs[*input].dtype != blob_.outputs[*output].dtype ||
        blob_.inputs[*input].max != blob_.outputs[*output].max) {
      return Fail() << "output " << *output << " can't lie where input "
                    << *input << " does";
    }
    blob_.writes.push_back(write);
    return {};
  }

  // All bytes lie where the writer puts them.
  Expected<RegionBlob> Place(const std::vector<uint64_t>& offsets) {
    const auto offset = cursor_.Read<uint64_t>();
    const auto size = cursor_.Read<uint64_t>();
    if (!size) return EndsEarly();
    uint64_t end = cursor_.offset();
    const auto takes = [&](uint64_t at, uint64_t count) {
      if (at != AlignUp(end) || at > bytes_.size()) return false;
      for (uint64_t i = end; i < at; ++i) {
        if (bytes_[i] != std::byte{0}) return false;
      }
      end = at + count;
      return true;
    };
    bool holds = true;
    for (size_t i = 0; i < offsets.size() && holds; ++i) {
      holds = takes(offsets[i], blob_.constants[i].bytes.size());
    }
    holds = holds && takes(*offset, 0) && *size == bytes_.size() - *offset;
    if (!holds) return Fail() << "its parts don't lie one behind the other";
    blob_.program = bytes_.subspan(*offset);
    return std::move(blob_);
  }

  Bytes bytes_;
  ByteCursor cursor_;
  Diagnostics& diags_;
  RegionBlob blob_;
};

}  // namespace

int32_t ScalarTypeNumber(DType dtype) {
  // Serialised codes are PyTorch's numbers plus one where both have them.
  if (dtype == DType::kUnknown) return -1;
  if (dtype == DType::kBFloat16) return 15;
  const int code = Code(dtype);
  return code <= Code(DType::kBool) ? code - 1 : -1;
}

std::vector<std::byte> WriteRegionBlob(const RegionBlob& blob) {
  Writer w;
  const Bytes magic = AsBytes(kMagic);
  w.out().insert(w.out().end(), magic.begin(), magic.end());
  w.Put(kVersion);
  w.Put(static_cast<uint32_t>(blob.inputs.size()));
  w.Put(static_cast<uint32_t>(blob.outputs.size()));
  w.Put(static_cast<uint32_t>(blob.constants.size()));
  w.Put(static_cast<uint32_t>(blob.writes.size()));
  w.Put(uint32_t{0});
  const size_t size_at = w.PutHole();
  w.out().resize(kRegionBlobHeadBytes);
  for (const BoundaryTensor& tensor : blob.inputs) w.PutBoundary(tensor);
  for (const BoundaryTensor& tensor : blob.outputs) w.PutBoundary(tensor);
  std::vector<size_t> holes;
  for (const BlobConstant& c : blob.constants) {
    w.Put(c.input);
    w.Put(static_cast<uint32_t>(ScalarTypeNumber(c.dtype)));
    w.Put(static_cast<uint32_t>(c.sizes.size()));
    w.Put(uint32_t{0});
    for (const int64_t size : c.sizes) w.Put(size);
    holes.push_back(w.PutHole());
  }
  for (const DeclaredWrite& write : blob.writes) {
    w.Put(write.input);
    w.Put(write.output);
    w.Put(static_cast<uint32_t>(write.kind));
  }
  const size_t program_at = w.PutHole();
  w.Put(uint64_t{blob.program.size()});
  for (size_t i = 0; i < holes.size(); ++i) {
    w.PutBytes(holes[i], blob.constants[i].bytes);
  }
  w.PutBytes(program_at, blob.program);
  w.Fill(size_at, uint64_t{w.out().size()});
  const Digest digest = HashBytes(w.out().data() + kRegionBlobHeadBytes,
                                  w.out().size() - kRegionBlobHeadBytes);
  std::memcpy(w.out().data() + kDigestAt, &digest, sizeof(digest));
  return std::move(w.out());
}

Expected<uint64_t> SizeOfRegionBlob(Bytes head, Diagnostics& diags) {
  const auto error = [&] {
    return diags.Error(Rule::kPte36, Place::File("region"));
  };
  if (head.size() < kRegionBlobHeadBytes ||
      AsText(head.subspan(0, kMagic.size())) != kMagic) {
    return error() << "no block of a region";
  }
  ByteCursor cursor(head, kMagic.size());
  const uint32_t version = *cursor.Read<uint32_t>();
  if (version != kVersion) {
    return error() << "a block of version " << version
                   << "; this reads version " << kVersion;
  }
  cursor.Seek(28);
  const uint32_t zero = *cursor.Read<uint32_t>();
  const uint64_t size = *cursor.Read<uint64_t>();
  if (zero != 0 || size < kRegionBlobHeadBytes) {
    return error() << "a block of " << size << " bytes";
  }
  return size;
}

Expected<RegionBlob> ReadRegionBlob(Bytes bytes, Diagnostics& diags) {
  return Reader(bytes, diags).Read();
}

}  // namespace tenon
