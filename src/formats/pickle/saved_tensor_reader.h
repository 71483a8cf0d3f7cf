// Understands the calls by which a torch.save pickle builds tensors: plain
// ones, sparse ones, parameters (rule V-FILE-07). Any other call is an error.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/pickle/pickle_tree.h"
#include "formats/pickle/torch_save.h"

namespace tenon {

class SavedTensorReader {
 public:
  // `root` is the container's root folder with its '/'. Storages are added to
  // `out` as tensors name them, once each.
  SavedTensorReader(const ZipArchive* zip, std::string root,
                    const PickleTree* tree, const std::string* name,
                    SavedDict* out, Diagnostics* diags)
      : zip_(*zip),
        root_(std::move(root)),
        tree_(*tree),
        name_(*name),
        out_(*out),
        diags_(*diags) {}

  // `key` stands in messages.
  Expected<SavedTensor> Read(std::string_view key, const PickleNode& node);

  // Whether the node calls "module name".
  bool IsCallOf(const PickleNode& node, std::string_view global) const;

 private:
  // The arguments of a call when there are at least `count`, else null.
  const std::vector<PickleRef>* Arguments(const PickleNode& call,
                                          size_t count) const;
  bool IsTensorCall(const PickleNode& node) const;

  Expected<SavedTensor> ReadParameter(std::string_view key,
                                      const PickleNode& call);
  Expected<SavedTensor> ReadOfType(std::string_view key,
                                   const PickleNode& call);
  Expected<SavedTensor> ReadTensor(std::string_view key,
                                   const PickleNode& call);
  Expected<SavedTensor> ReadPlain(std::string_view key, const PickleNode& call);
  Expected<SavedTensor> ReadSparse(std::string_view key,
                                   const PickleNode& call);
  std::optional<Layout> ReadLayout(const PickleNode& call) const;
  bool ReadInts(PickleRef ref, std::vector<int64_t>* out) const;
  Status ReadStorage(std::string_view key, const PickleNode& node,
                     bool is_untyped, SavedTensor* tensor);
  // Carries out the lazy bits that a tensor's last argument sets.
  Status ApplyBits(std::string_view key, const PickleNode& bits,
                   SavedTensor* tensor);
  Status Compute(std::string_view key, bool conj, bool neg,
                 SavedTensor* tensor);

  DiagnosticBuilder Error();
  DiagnosticBuilder Malformed(std::string_view key);
  DiagnosticBuilder Refuse(std::string_view key, const PickleNode& node);
  void Remark(std::string_view key, const std::string& what);

  const ZipArchive& zip_;
  const std::string root_;
  const PickleTree& tree_;
  const std::string& name_;
  SavedDict& out_;
  Diagnostics& diags_;
  std::unordered_map<std::string, size_t> storages_;  // by member
};

}  // namespace tenon
