#include "weights/state_digest.h"

#include <algorithm>

#include "support/mapped_pages.h"
#include "tensor/row_major.h"
#include "weights/state_tensor.h"

namespace tenon {
namespace {

Digest EntryDigest(const Program& program, const StateEntry& entry) {
  Hasher out;
  out.Add(program.view(entry.fqn));
  out.Add(uint64_t{entry.in_state_dict()});
  const Type& type = program.type(entry.type);
  out.Add(Name(type.dtype));
  out.Add(static_cast<uint64_t>(type.sizes.size()));
  for (const SymInt& size : type.sizes) {
    out.Add(static_cast<uint64_t>(size.value));
  }
  if (const Tensor tensor = StateTensor(program, entry); tensor.defined()) {
    out.Add(DigestOfElements(tensor));
  } else if (!IsPlainTensor(program, entry) && entry.storage.valid()) {
    out.Add(DigestOfBytes(program.state.storage(entry.storage).bytes));
  }
  return out.Finish();
}

}  // namespace

Digest DigestOfElements(const Tensor& tensor) {
  Hasher blocks;
  VisitRowMajor(tensor, [&](Bytes block) {
    blocks.Add(HashBytes(block.data(), block.size()));
    return true;
  });
  return blocks.Finish();
}

Digest DigestOfBytes(Bytes bytes) {
  Hasher blocks;
  while (!bytes.empty()) {
    const Bytes block =
        bytes.first(std::min(bytes.size(), kRowMajorBlockBytes));
    blocks.Add(HashBytes(block.data(), block.size()));
    ReleasePages(block);
    bytes = bytes.subspan(block.size());
  }
  return blocks.Finish();
}

Digest StateDigest(const Program& program) {
  std::vector<Digest> entries;
  for (const StateEntry& entry : program.state.entries) {
    entries.push_back(EntryDigest(program, entry));
  }
  std::sort(entries.begin(), entries.end());
  Hasher out;
  for (const Digest& entry : entries) out.Add(entry);
  return out.Finish();
}

Digest WholeDigest(const Digest& wiring, const Digest& state) {
  Hasher out;
  out.Add(wiring);
  out.Add(state);
  return out.Finish();
}

}  // namespace tenon
