#include "weights/write_weights.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "formats/json/json_output.h"
#include "formats/tensor/safetensors.h"
#include "ir/stripped.h"
#include "weights/state_tensor.h"

namespace tenon {
namespace {

constexpr std::string_view kReservedName = "__metadata__";
// What transformers looks for.
constexpr std::string_view kFormatKey = "format";

bool IsWholeStorage(const Tensor& tensor) {
  return tensor.is_contiguous() && tensor.offset() == 0 &&
         static_cast<uint64_t>(tensor.numel()) * SizeBytes(tensor.dtype()) ==
             tensor.storage()->size_bytes();
}

void AppendInts(const Sizes& values, std::string* out) {
  JsonArrayOut array(out);
  for (const int64_t value : values) AppendJsonInt(value, array.Item());
  array.Close();
}

class Writer {
 public:
  Writer(const Program& program, const std::string& path,
         const WriteWeightsOptions& options, Diagnostics& diags)
      : program_(program), path_(path), options_(options), diags_(diags) {}

  Expected<WriteWeightsReport> Write() {
    TENON_TRY(CheckExpansion(program_, diags_));
    const size_t errors_before = diags_.num_errors();
    for (const StateEntry& entry : program_.state.entries) {
      if (entry.in_state_dict() || options_.with_constants) Add(entry);
    }
    if (diags_.num_errors() > errors_before) return Failure{};
    content_.metadata.emplace_back(kFormatKey, "pt");
    RecordStorages();
    for (auto& [name, kept] : written_as_) {
      content_.metadata.emplace_back(name, kept);
    }
    // Payloads are read in place where each is aligned for its elements.
    std::stable_sort(content_.tensors.begin(), content_.tensors.end(),
                     [](const NamedTensor& a, const NamedTensor& b) {
                       return SizeBytes(a.tensor.dtype()) >
                              SizeBytes(b.tensor.dtype());
                     });
    TENON_TRY(WriteSafetensors(path_, content_, diags_));
    report_.num_tensors = content_.tensors.size();
    return std::move(report_);
  }

 private:
  struct View {
    std::string name;
    Tensor tensor;
  };
  // What tells views apart: storage, dtype, offset, sizes, strides.
  using ViewKey = std::tuple<StorageId, DType, int64_t, Sizes, Sizes>;

  DiagnosticBuilder Error(Rule rule, const StateEntry& entry) {
    return diags_.Error(rule,
                        Place::Node(std::string(program_.view(entry.fqn))));
  }

  void Add(const StateEntry& entry) {
    const std::string name(program_.view(entry.fqn));
    if (entry.kind == StateKind::kObject) {
      report_.notes.push_back("'" + name +
                              "' is an object, no tensor: left out");
      return;
    }
    if (!IsPlainTensor(program_, entry)) {
      Error(Rule::kUnsupported, entry)
          << "this tensor is a pickled object, which safetensors can't hold";
      return;
    }
    const DType dtype = program_.type(entry.type).dtype;
    if (!HasSafetensorsName(dtype)) {
      Error(Rule::kUnsupported, entry)
          << "safetensors has no dtype " << Name(dtype);
      return;
    }
    if (name == kReservedName || !names_.emplace(name, entry.storage).second) {
      Error(Rule::kUnsupported, entry)
          << "safetensors can't hold " << Name(entry.kind)
          << " of this name: it is taken";
      return;
    }
    Tensor tensor = StateTensor(program_, entry);
    if (!tensor.defined()) {
      Error(Rule::kUnsupported, entry)
          << (IsStripped(program_)
                  ? "the program's weights were stripped"
                  : "the program was saved without this tensor's values");
      return;
    }
    AddTensor(name, std::move(tensor), entry.storage);
  }

  void AddTensor(const std::string& name, Tensor tensor, StorageId storage) {
    const ViewKey key{storage, tensor.dtype(), tensor.offset(), tensor.sizes(),
                      tensor.strides()};
    const auto [first, is_new] = first_of_.emplace(key, name);
    const bool is_again =
        options_.once && !is_new && name != kFormatKey && name != kStoragesKey;
    std::vector<View>& views = views_[storage];
    if (is_again) {
      written_as_.emplace_back(name, first->second);
    } else {
      report_.bytes +=
          static_cast<uint64_t>(tensor.numel()) * SizeBytes(tensor.dtype());
      content_.tensors.push_back({name, tensor});
    }
    if (!views.empty()) {
      report_.notes.push_back(
          "'" + name + "' shares the storage of '" + views.front().name +
          "': " + (is_again ? "named in the metadata" : "written again"));
    }
    if (!tensor.is_contiguous()) {
      report_.notes.push_back("'" + name + "' is strided: written row-major");
    }
    views.push_back({name, std::move(tensor)});
  }

  void RecordStorages() {
    std::string text;
    JsonArrayOut storages(&text);
    for (const auto& [id, views] : views_) {
      if (views.size() == 1 && IsWholeStorage(views[0].tensor)) continue;
      JsonObjectOut storage(storages.Item());
      storage.Int("bytes", static_cast<int64_t>(
                               views[0].tensor.storage()->size_bytes()));
      JsonObjectOut all(storage.Key("views"));
      for (const View& view : views) {
        JsonObjectOut one(all.Key(view.name));
        AppendInts(view.tensor.strides(), one.Key("strides"));
        one.Int("offset", view.tensor.offset());
        one.Close();
      }
      all.Close();
      storage.Close();
    }
    storages.Close();
    if (text != "[]") {
      content_.metadata.emplace_back(kStoragesKey, std::move(text));
    }
  }

  const Program& program_;
  const std::string& path_;
  const WriteWeightsOptions& options_;
  Diagnostics& diags_;
  Safetensors content_;
  WriteWeightsReport report_;
  std::unordered_map<std::string, StorageId> names_;
  std::map<StorageId, std::vector<View>> views_;  // in the order of the table
  std::map<ViewKey, std::string> first_of_;
  // With `once`: names that aren't written, and the one that stands for each.
  std::vector<std::pair<std::string, std::string>> written_as_;
};

}  // namespace

Expected<WriteWeightsReport> WriteWeights(const Program& program,
                                          const std::string& path,
                                          const WriteWeightsOptions& options,
                                          Diagnostics& diags) {
  return Writer(program, path, options, diags).Write();
}

}  // namespace tenon
