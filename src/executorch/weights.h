// Where a file's constants lie: in a segment of the .pte, in its tables, or
// beside it in a data file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "executorch/export_pte.h"
#include "executorch/stored_data.h"
#include "formats/pte/ptd.h"
#include "formats/pte/pte_program.h"

namespace tenon::executorch {

// Of all methods of a file. Equal bytes are stored once, whoever has them.
//
// In a data file a tensor's key is its FQN. Where another method has something
// else by that name, METHOD is put behind it, "w@decode"; a tensor over the
// same bytes with other sizes adds those, "w[6, 4]".
class Weights {
 public:
  explicit Weights(PteWeightPlace place) : place_(place) {}

  // Stores the bytes and says in `tensor`, whose type is known, where they are.
  void Store(std::string_view method, std::string_view fqn, Bytes bytes,
             const std::shared_ptr<const void>& owner, PteTensor* tensor);
  // Another tensor over the bytes of one that was stored.
  void StoreView(const PteTensor& stored, PteTensor* view);
  // Opaque bytes for a delegate's payload, equal ones once; with `stays_inside`
  // never in a data file. False: the key has other bytes already.
  bool StoreNamed(const NamedBytes& named, bool stays_inside);

  // Each puts its part of what was stored into the file, behind the segments
  // that are there, and is called once.
  void AddConstantsTo(PteProgram* program, PteExportReport* report);
  void AddNamedDataTo(PteProgram* program, PteExportReport* report);
  // Nothing when the .pte holds everything.
  std::optional<PtdFile> TakeDataFile(PteExportReport* report);

 private:
  std::string KeyFor(std::string_view method, std::string_view fqn,
                     uint32_t segment, const PtdTensorLayout& layout);
  uint32_t DataSegmentOf(Bytes bytes, const std::shared_ptr<const void>& owner);

  static constexpr uint64_t kConstantAlignment = 16;

  const PteWeightPlace place_;
  StoredData constants_{kConstantAlignment};
  PtdFile data_;
  std::map<ContentKey, uint32_t> data_segments_;
  std::map<std::string, size_t, std::less<>> entries_;  // of data_, by key
  // Named data inside of the .pte; segments in the order of `named_segments_`.
  std::vector<PteNamedData> named_;
  std::vector<NamedBytes> named_segments_;
  std::map<ContentKey, uint32_t> known_named_;
  std::map<std::string, ContentKey> keys_;
  uint64_t deduplicated_ = 0;
};

}  // namespace tenon::executorch
