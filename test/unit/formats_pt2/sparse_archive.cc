#include "sparse_archive.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>
#include <vector>

#include "formats/zip/zip_crc.h"
#include "formats/zip/zip_layout.h"

namespace tenon {
namespace {

using namespace zip;

template <typename T>
void Put(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

// A zip whose members may be holes, with zip64 blocks throughout.
class SparseZip {
 public:
  explicit SparseZip(const std::string& path)
      : file_(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600)) {}
  ~SparseZip() {
    if (file_ >= 0) close(file_);
  }
  SparseZip(const SparseZip&) = delete;
  SparseZip& operator=(const SparseZip&) = delete;

  void Add(std::string_view name, std::string_view text) {
    Begin(name, text.size(), ZipCrc(AsBytes(text)));
    Append(text);
  }
  void AddHole(std::string_view name, uint64_t size) {
    Begin(name, size, 0);
    offset_ += size;
  }
  bool Finish() {
    const uint64_t at = offset_;
    Append(directory_);
    std::string end;
    Put(&end, kEnd64Signature);
    Put<uint64_t>(&end, kEnd64Bytes - 12);
    Put<uint32_t>(&end, 0);  // versions
    Put<uint64_t>(&end, 0);  // disks
    Put<uint64_t>(&end, count_);
    Put<uint64_t>(&end, count_);
    Put<uint64_t>(&end, directory_.size());
    Put<uint64_t>(&end, at);
    Put(&end, kLocator64Signature);
    Put<uint32_t>(&end, 0);
    Put<uint64_t>(&end, at + directory_.size());
    Put<uint32_t>(&end, 1);
    Put(&end, kEndSignature);
    Put<uint32_t>(&end, 0);  // disks
    Put(&end, kMax16);
    Put(&end, kMax16);
    Put(&end, kMax32);
    Put(&end, kMax32);
    Put<uint16_t>(&end, 0);
    Append(end);
    return is_good_;
  }

 private:
  void Begin(std::string_view name, uint64_t size, uint32_t crc) {
    std::string sizes;
    Put<uint64_t>(&sizes, size);
    Put<uint64_t>(&sizes, size);
    std::string extra;
    Put(&extra, kExtraZip64);
    Put<uint16_t>(&extra, 16);
    extra += sizes;
    // Version, flags, method, time and date, checksum, sizes, name, extra.
    std::string fields;
    Put<uint16_t>(&fields, 45);
    Put(&fields, kFlagUtf8);
    Put(&fields, kMethodStored);
    Put<uint32_t>(&fields, 0);
    Put(&fields, crc);
    Put(&fields, kMax32);
    Put(&fields, kMax32);
    Put<uint16_t>(&fields, static_cast<uint16_t>(name.size()));

    const uint64_t header = offset_;
    std::string local;
    Put(&local, kLocalSignature);
    local += fields;
    Put<uint16_t>(&local, static_cast<uint16_t>(extra.size()));
    local += name;
    local += extra;
    Append(local);

    Put(&directory_, kCentralSignature);
    Put<uint16_t>(&directory_, 45);
    directory_ += fields;
    Put<uint16_t>(&directory_, static_cast<uint16_t>(extra.size() + 8));
    directory_.append(10, '\0');  // comment, disk, attributes
    Put(&directory_, kMax32);     // the offset
    directory_ += name;
    Put(&directory_, kExtraZip64);
    Put<uint16_t>(&directory_, 24);
    directory_ += sizes;
    Put<uint64_t>(&directory_, header);
    ++count_;
  }

  void Append(std::string_view text) {
    const ssize_t n =
        pwrite(file_, text.data(), text.size(), static_cast<off_t>(offset_));
    is_good_ = is_good_ && n == static_cast<ssize_t>(text.size());
    offset_ += text.size();
  }

  const int file_;
  uint64_t offset_ = 0;
  uint64_t count_ = 0;
  std::string directory_;
  bool is_good_ = true;
};

std::string TensorMeta(int dtype, uint64_t numel, const char* grad) {
  return "{\"dtype\": " + std::to_string(dtype) +
         ", \"sizes\": [{\"as_int\": " + std::to_string(numel) +
         "}], \"requires_grad\": " + grad +
         ", \"device\": {\"type\": \"cpu\", \"index\": null}, \"strides\": "
         "[{\"as_int\": 1}], \"storage_offset\": {\"as_int\": 0}, \"layout\": "
         "7}";
}

std::string Tensor(const char* name) {
  return std::string("{\"as_tensor\": {\"name\": \"") + name + "\"}}";
}

std::string Model(const std::string& weight) {
  return "{\"graph_module\": {\"graph\": {\"inputs\": [" + Tensor("p_w") +
         ", " + Tensor("x") + "], \"outputs\": [" + Tensor("neg") +
         "], \"nodes\": [{\"target\": \"torch.ops.aten.neg.default\", "
         "\"inputs\": [{\"name\": \"self\", \"arg\": " +
         Tensor("x") + ", \"kind\": 1}], \"outputs\": [" + Tensor("neg") +
         "], \"metadata\": {}, \"is_hop_single_tensor_return\": null}], "
         "\"tensor_values\": {\"p_w\": " +
         weight + ", \"x\": " + TensorMeta(7, 3, "false") +
         ", \"neg\": " + TensorMeta(7, 3, "false") +
         "}, \"sym_int_values\": {}, \"sym_bool_values\": {}, "
         "\"is_single_tensor_return\": false, \"custom_obj_values\": {}, "
         "\"sym_float_values\": {}}, \"signature\": {\"input_specs\": "
         "[{\"parameter\": {\"arg\": {\"name\": \"p_w\"}, "
         "\"parameter_name\": \"w\"}}, {\"user_input\": {\"arg\": " +
         Tensor("x") + "}}], \"output_specs\": [{\"user_output\": {\"arg\": " +
         Tensor("neg") +
         "}}]}, \"module_call_graph\": [], \"metadata\": {}}, "
         "\"opset_version\": {\"aten\": 10}, \"range_constraints\": {}, "
         "\"schema_version\": {\"major\": 8, \"minor\": 14}, \"verifiers\": "
         "[\"TRAINING\"], \"torch_version\": \"2.9.0\", \"guards_code\": []}";
}

}  // namespace

bool WriteSparseArchive(const std::string& path, uint64_t numel,
                        uint64_t bytes_each) {
  const std::string weight = TensorMeta(bytes_each == 1 ? 1 : 7, numel,
                                        bytes_each == 1 ? "false" : "true");
  SparseZip zip(path);
  zip.AddHole("big/data/weights/weight_0", numel * bytes_each);
  zip.Add("big/data/weights/model_weights_config.json",
          "{\"config\": {\"w\": {\"path_name\": \"weight_0\", \"is_param\": "
          "true, \"use_pickle\": false, \"tensor_meta\": " +
              weight + "}}}");
  zip.Add("big/data/constants/model_constants_config.json", "{\"config\": {}}");
  zip.Add("big/models/model.json", Model(weight));
  zip.Add("big/data/sample_inputs/model.pt", "");
  zip.Add("big/archive_format", "pt2");
  zip.Add("big/archive_version", "0");
  zip.Add("big/.data/version", "6\n");
  zip.Add("big/byteorder", "little");
  return zip.Finish();
}

}  // namespace tenon
