#include "xnnpack/xnn_payload.h"

#include <cstring>
#include <string>

#include "support/byte_cursor.h"
#include "xnnpack/xnn_schema.h"

namespace tenon::xnnpack {
namespace {

constexpr size_t kHeaderBytes = 30;
constexpr size_t kAlignment = 16;

template <typename T>
void Put(T value, size_t at, std::string* out) {
  std::memcpy(out->data() + at, &value, sizeof(value));
}

}  // namespace

std::vector<std::byte> WritePayload(const Graph& graph) {
  GraphTables tables;
  tables.nodes = &graph.nodes;
  for (const TensorValue& value : graph.values) {
    if (value.quant) {
      tables.values.push_back({QuantizedTensorValue{value}});
    } else {
      tables.values.push_back({value});
    }
  }
  tables.num_externs =
      static_cast<uint32_t>(graph.inputs.size() + graph.outputs.size());
  tables.inputs = &graph.inputs;
  tables.outputs = &graph.outputs;
  tables.constants = &graph.constants;
  FlatEncoder encoder("XN01", 0);
  const auto image = encoder.Root(tables);
  if (!image) return {};
  const size_t begin = AlignUp(kHeaderBytes, kAlignment);
  std::string out(begin, '\0');
  out += image->tables;
  out.resize(AlignUp(out.size(), kAlignment));
  std::memcpy(out.data() + 4, "XH00", 4);
  Put(static_cast<uint16_t>(kHeaderBytes), 8, &out);
  Put(static_cast<uint32_t>(begin), 10, &out);
  Put(static_cast<uint32_t>(image->tables.size()), 14, &out);
  Put(static_cast<uint32_t>(out.size()), 18, &out);
  Put(uint64_t{0}, 22, &out);
  const Bytes bytes = AsBytes(out);
  return {bytes.begin(), bytes.end()};
}

}  // namespace tenon::xnnpack
