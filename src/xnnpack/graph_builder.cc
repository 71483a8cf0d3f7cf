#include "xnnpack/graph_builder.h"

#include <algorithm>

#include "analysis/node_reader.h"
#include "support/assert.h"
#include "support/hash.h"

namespace tenon::xnnpack {
namespace {

constexpr size_t kImageRank = 4, kRowRank = 3;

std::vector<uint32_t> ToDims(const Sizes& sizes) {
  // XNNPACK has no dimensionless values.
  if (sizes.empty()) return {1};
  return {sizes.begin(), sizes.end()};
}

}  // namespace

bool IsImage(const Program& program, ValueId v) {
  const std::vector<SymInt>& sizes = program.type(v).sizes;
  const auto varies = [](const SymInt& s) { return !s.is_literal(); };
  return sizes.size() == kImageRank ||
         (sizes.size() == kRowRank &&
          std::count_if(sizes.begin(), sizes.end(), varies) <= 1);
}

uint32_t PlaceWithChannelsLast(size_t rank, size_t dim) {
  constexpr uint32_t kOfImage[kImageRank] = {0, 3, 1, 2};
  constexpr uint32_t kOfRow[kRowRank] = {0, 3, 2};
  return rank == kImageRank ? kOfImage[dim] : kOfRow[dim];
}

Tensor WithChannelsLast(const Tensor& image) {
  const Sizes& s = image.sizes();
  const Sizes& t = image.strides();
  if (image.dim() == kRowRank) {
    return image
        .View({s[0], 1, s[2], s[1]}, {t[0], 0, t[2], t[1]}, image.offset())
        .Contiguous();
  }
  return image
      .View({s[0], s[2], s[3], s[1]}, {t[0], t[2], t[3], t[1]}, image.offset())
      .Contiguous();
}

GraphBuilder::GraphBuilder(const Program& region,
                           const std::vector<RegionConstant>& constants,
                           bool rounds)
    : region_(region), rounds_(rounds) {
  const auto& inputs = region.root().inputs;
  for (const RegionConstant& c : constants) {
    constants_.emplace(inputs[c.input].index, c.tensor);
  }
  // Externals come first, so that their ids are those of the call's arguments.
  const auto add = [&](ValueId v, uint32_t flag, std::vector<uint32_t>* ids) {
    const uint32_t id = NewValue(DimsOf(v, Order::kPlain));
    graph_.values[id].external_id = id;
    graph_.values[id].flags = flag;
    ids->push_back(id);
    return id;
  };
  for (const ValueId v : inputs) {
    if (!Stored(v).defined()) {
      forms_[v.index].plain = add(v, kExternalInput, &graph_.inputs);
    }
  }
  for (const Arg& output : region.outputs(Program::kRoot)) {
    const ValueId v = output.value();
    outputs_.push_back(v);
    forms_[v.index].external = add(v, kExternalOutput, &graph_.outputs);
  }
}

const Tensor* GraphBuilder::FindConstant(ValueId v) {
  const auto at = constants_.find(v.index);
  if (at != constants_.end()) return &at->second;
  const QuantizedWeight* weight = FindWeight(v);
  if (weight == nullptr) return nullptr;
  return &constants_.emplace(v.index, Dequantized(*weight)).first->second;
}

Tensor GraphBuilder::Stored(ValueId v) const {
  const auto at = constants_.find(v.index);
  return at == constants_.end() ? Tensor() : at->second;
}

const QuantizedWeight* GraphBuilder::FindWeight(ValueId v) const {
  const auto at = weights_.find(v.index);
  return at == weights_.end() ? nullptr : &at->second;
}

const PerTensorQuant* GraphBuilder::FindIntegers(ValueId v) const {
  const auto at = integers_.find(v.index);
  return at == integers_.end() ? nullptr : &at->second;
}

void GraphBuilder::DefineIntegers(ValueId v, PerTensorQuant quant) {
  integers_.emplace(v.index, quant);
  // Arguments of the call have values already.
  const auto at = forms_.find(v.index);
  if (at == forms_.end()) return;
  for (const uint32_t id : {at->second.plain, at->second.external}) {
    if (id == kNoId) continue;
    graph_.values[id].datatype = Datatype::kQint8;
    graph_.values[id].quant = quant;
  }
}

ValueId GraphBuilder::IntegersOf(ValueId v) const {
  const auto at = numbers_.find(v.index);
  return at == numbers_.end() ? ValueId() : at->second;
}

bool GraphBuilder::IsUnmade(ValueId v) const {
  if (!IntegersOf(v).valid()) return false;
  const auto at = forms_.find(v.index);
  return at == forms_.end() ||
         (at->second.plain == kNoId && at->second.last == kNoId);
}

ValueId GraphBuilder::Shown(ValueId v) const {
  const ValueId integers = IntegersOf(v);
  return integers.valid() && gives_integers_ ? integers : v;
}

void GraphBuilder::MakeNumbers(ValueId v) {
  const ValueId integers = IntegersOf(v);
  const Order order = OrderFor({integers});
  const uint32_t in = Get(integers, order);
  Add(NodeKind::kConvert, Unary{in, Define(v, order), 0});
}

ValueId GraphBuilder::FindDynamic(ValueId v) const {
  const auto at = rows_.find(v.index);
  return at == rows_.end() ? ValueId() : at->second;
}

uint32_t GraphBuilder::GetDynamic(ValueId v) {
  const auto [at, is_new] = dynamic_.emplace(v.index, kNoId);
  if (!is_new) return at->second;
  const uint32_t in = Get(v, Order::kPlain);
  at->second = NewValue(DimsOf(v, Order::kPlain), Datatype::kQdint8,
                        PerTokenDynamicQuant());
  const uint32_t id = at->second;
  Add(NodeKind::kConvert, Unary{in, id, 0});
  return id;
}

uint32_t GraphBuilder::NewValueFor(ValueId v, Order order) {
  const PerTensorQuant* quant = FindIntegers(v);
  if (quant == nullptr) return NewValue(DimsOf(v, order));
  return NewValue(DimsOf(v, order), Datatype::kQint8, *quant);
}

uint32_t GraphBuilder::NewValue(std::vector<uint32_t> dims, Datatype datatype,
                                std::optional<QuantParams> quant) {
  TensorValue value;
  value.datatype = datatype;
  value.quant = quant;
  value.dims = std::move(dims);
  value.id = static_cast<uint32_t>(graph_.values.size());
  graph_.values.push_back(std::move(value));
  return graph_.values.back().id;
}

std::vector<uint32_t> GraphBuilder::DimsOf(ValueId v, Order order) const {
  const auto sizes = SeenSizes(region_, v);
  TENON_ASSERT(sizes, "nodes of unknown sizes are refused");
  const std::vector<uint32_t> dims = ToDims(*sizes);
  if (order == Order::kPlain) return dims;
  std::vector<uint32_t> last(kImageRank, 1);
  for (size_t d = 0; d < dims.size(); ++d) {
    last[PlaceWithChannelsLast(dims.size(), d)] = dims[d];
  }
  return last;
}

std::vector<uint32_t> GraphBuilder::ShapeOf(ValueId v, Order order) const {
  std::vector<uint32_t> shape = DimsOf(v, order);
  const std::vector<SymInt>& sizes = region_.type(v).sizes;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d].is_literal()) continue;
    shape[order == Order::kPlain ? d : PlaceWithChannelsLast(sizes.size(), d)] =
        0;
  }
  return shape;
}

uint32_t GraphBuilder::AddData(const Tensor& tensor) {
  const Tensor dense = tensor.Contiguous();
  const Bytes bytes(dense.raw(), static_cast<size_t>(dense.numel()) *
                                     SizeBytes(dense.dtype()));
  const std::string key =
      "tenon_" + HashBytes(bytes.data(), bytes.size()).ToHex();
  const auto [at, is_new] =
      entries_.emplace(key, static_cast<uint32_t>(graph_.constants.size()));
  if (is_new) {
    graph_.constants.push_back({bytes.size(), key});
    data_.push_back({key, bytes, dense.storage()});
  }
  return at->second;
}

uint32_t GraphBuilder::AddConstant(const Tensor& tensor,
                                   std::vector<uint32_t> dims,
                                   Datatype datatype,
                                   std::optional<QuantParams> quant) {
  const uint32_t data = AddData(tensor);
  const uint32_t id = NewValue(std::move(dims), datatype, std::move(quant));
  graph_.values[id].constant = data;
  return id;
}

uint32_t GraphBuilder::AddScalar(float value) {
  Tensor tensor = Tensor::Empty(DType::kFloat32, {1});
  *tensor.mutable_data<float>() = value;
  return AddConstant(tensor, {1});
}

uint32_t GraphBuilder::Get(ValueId value, Order order) {
  const ValueId v = Shown(value);
  if (IsUnmade(v)) MakeNumbers(v);
  Forms& forms = forms_[v.index];
  uint32_t& id = order == Order::kPlain ? forms.plain : forms.last;
  if (id != kNoId) return id;
  if (const Tensor* constant = FindConstant(v)) {
    id = AddConstant(
        order == Order::kPlain ? *constant : WithChannelsLast(*constant),
        DimsOf(v, order));
    return id;
  }
  const bool is_output = order == Order::kPlain && forms.external != kNoId;
  const uint32_t made = is_output ? forms.external : NewValueFor(v, order);
  if (is_output) forms.external = kNoId;
  TransposeInto(v, forms, order, made);
  id = made;
  return id;
}

uint32_t GraphBuilder::GetPacked(ValueId v) {
  const auto [at, is_new] = packed_.emplace(v.index, kNoId);
  if (!is_new) return at->second;
  const Tensor* constant = FindConstant(v);
  TENON_ASSERT(constant != nullptr, "filters and biases are known");
  const uint32_t id = AddConstant(*constant, DimsOf(v, Order::kPlain));
  packed_[v.index] = id;
  return id;
}

void GraphBuilder::TransposeInto(ValueId v, const Forms& forms, Order order,
                                 uint32_t to) {
  const uint32_t from = order == Order::kPlain ? forms.last : forms.plain;
  TENON_ASSERT(from != kNoId, "a value is defined before it is read");
  const auto transpose = [&](std::vector<uint32_t> perm, uint32_t input,
                             uint32_t output) {
    Add(NodeKind::kTranspose, Transpose{std::move(perm), input, output, 0});
  };
  const bool is_plain = order == Order::kPlain;
  if (region_.type(v).sizes.size() == kImageRank) {
    return transpose(is_plain ? std::vector<uint32_t>{0, 3, 1, 2}
                              : std::vector<uint32_t>{0, 2, 3, 1},
                     from, to);
  }
  // A row: [batch, width, channels] between the two.
  const std::vector<uint32_t> shape = ShapeOf(v, order);
  const std::vector<uint32_t> plain = ShapeOf(v, Order::kPlain);
  if (plain[1] == 1 || plain[2] == 1) {
    return Add(NodeKind::kReshape, Reshape{shape, from, to, 0});
  }
  const std::vector<uint32_t> dims = DimsOf(v, Order::kPlain);
  const TensorValue& like = graph_.values[from];
  const uint32_t between =
      NewValue({dims[0], dims[2], dims[1]}, like.datatype, like.quant);
  if (is_plain) {
    const std::vector<uint32_t> turned = {plain[0], plain[2], plain[1]};
    Add(NodeKind::kReshape, Reshape{turned, from, between, 0});
    transpose({0, 2, 1}, between, to);
  } else {
    transpose({0, 2, 1}, from, between);
    Add(NodeKind::kReshape, Reshape{shape, between, to, 0});
  }
}

Order GraphBuilder::OrderFor(const std::vector<ValueId>& values) const {
  bool is_last = false;
  const size_t rank = region_.type(values[0]).sizes.size();
  for (const ValueId value : values) {
    const ValueId v = IsUnmade(value) ? IntegersOf(value) : Shown(value);
    if (!IsImage(region_, v) || region_.type(v).sizes.size() != rank) {
      return Order::kPlain;
    }
    const auto at = forms_.find(v.index);
    is_last = is_last || (at != forms_.end() && at->second.plain == kNoId &&
                          at->second.last != kNoId);
  }
  return is_last ? Order::kChannelsLast : Order::kPlain;
}

uint32_t GraphBuilder::Define(ValueId v, Order order) {
  Forms& forms = forms_[v.index];
  if (order == Order::kChannelsLast) {
    forms.last = NewValueFor(v, order);
    return forms.last;
  }
  forms.plain =
      forms.external != kNoId ? forms.external : NewValueFor(v, order);
  forms.external = kNoId;
  return forms.plain;
}

void GraphBuilder::Add(NodeKind kind, decltype(Node::op) op,
                       std::optional<OutputRange> range) {
  graph_.nodes.push_back({kind, std::move(op), range});
}

void GraphBuilder::Finish() {
  for (const ValueId v : outputs_) Get(v, Order::kPlain);
}

}  // namespace tenon::xnnpack
