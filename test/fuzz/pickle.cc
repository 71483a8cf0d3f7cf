// A pickle alone, and as the data.pkl of a torch.save container with storages.
#include "formats/pickle/pickle_scan.h"
#include "formats/pickle/pickle_tree.h"
#include "formats/pickle/torch_save.h"
#include "formats/zip/zip_writer.h"
#include "fuzz/target.h"

namespace tenon::fuzz {
namespace {

constexpr size_t kStorageBytes = 256;

std::string Container(Bytes pickle) {
  const std::string zeros(kStorageBytes, '\0');
  std::string out;
  ZipWriter zip;
  const bool is_written =
      zip.OpenMemory(&out, "archive") && zip.Add("data.pkl", pickle) &&
      zip.Add("byteorder", AsBytes("little")) &&
      zip.Add("data/0", AsBytes(zeros)) && zip.Add("data/1", AsBytes(zeros)) &&
      zip.Add("version", AsBytes("3\n")) && zip.WriteDirectory();
  Expect(is_written, "a container can be written", zip.error());
  return out;
}

// Every tensor lies inside its storage.
void CheckTensors(const SavedDict& dict) {
  for (const auto& [name, tensor] : dict.tensors) {
    Expect(tensor.storage < dict.storages.size(), "a tensor has a storage");
    Expect(tensor.sizes.size() == tensor.strides.size(),
           "a tensor has as many strides as sizes");
  }
}

}  // namespace

void FuzzPickle(Bytes bytes) {
  Diagnostics diags;
  const auto tree = PickleTree::Parse(bytes, "fuzz.pkl", diags);
  Expect(tree.ok() || diags.has_errors(), "a refusal to parse says why");
  CheckCarriedPickle(bytes, "fuzz.pkl", diags).ok();
  const std::string container = Container(bytes);
  std::string reason;
  IsPlainTorchSave(AsBytes(container), &reason);
  for (const Bytes payload : {bytes, AsBytes(container)}) {
    const auto dict = ReadTorchSave(payload, nullptr, "fuzz.pt", diags);
    if (dict) CheckTensors(*dict);
  }
}

}  // namespace tenon::fuzz
