// torch.gradient: finite differences along some dimensions, between neighbours
// that are a number apart or lie at given coordinates.
//
// Inside, the slope is that of the parabola through three neighbours; at the
// edges that of the line through two (edge_order 1) or of the parabola.
#include <numeric>
#include <string>
#include <vector>

#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/registry.h"

namespace tenon {
namespace {

// Elements `begin` to `end` along `dim`; negative places count from the end.
class Axis {
 public:
  Axis(KernelChain& chain, const Tensor& tensor, int64_t dim)
      : chain_(chain), tensor_(tensor), dim_(dim) {}

  Tensor Slice(int64_t begin, int64_t end) const {
    const int64_t size = tensor_.size(dim_);
    const auto place = [&](int64_t at) { return at < 0 ? at + size : at; };
    return chain_("aten.slice.Tensor",
                  {tensor_, dim_, place(begin), end == 0 ? size : place(end)});
  }
  Tensor At(int64_t i) const { return Slice(i, i == -1 ? 0 : i + 1); }

 private:
  KernelChain& chain_;
  const Tensor& tensor_;
  int64_t dim_;
};

Tensor Combined(KernelChain& chain,
                const std::vector<std::pair<RuntimeValue, Tensor>>& terms) {
  Tensor sum;
  for (const auto& [factor, tensor] : terms) {
    const Tensor term = chain("aten.mul.Tensor", {tensor, factor});
    sum = sum.defined() ? chain("aten.add.Tensor", {sum, term}) : term;
  }
  return sum;
}

Tensor Joined(KernelChain& chain, const Tensor& first, const Tensor& center,
              const Tensor& last, int64_t dim) {
  if (!chain.ok()) return Tensor();
  return chain("aten.cat.default", {TensorList({first, center, last}), dim});
}

Tensor AtEvenSpacing(KernelChain& chain, const Tensor& self, int64_t dim,
                     const RuntimeValue& spacing, int64_t edge_order) {
  const Axis x(chain, self, dim);
  const auto over = [&](const Tensor& t) {
    return chain("aten.div.Tensor", {t, spacing});
  };
  Tensor center = chain("aten.sub.Tensor", {x.Slice(2, 0), x.Slice(0, -2)});
  center = chain("aten.div.Tensor", {over(center), 2.0});
  if (edge_order == 1) {
    return Joined(chain, over(chain("aten.sub.Tensor", {x.At(1), x.At(0)})),
                  center, over(chain("aten.sub.Tensor", {x.At(-1), x.At(-2)})),
                  dim);
  }
  const Tensor first =
      Combined(chain, {{-1.5, x.At(0)}, {2.0, x.At(1)}, {-0.5, x.At(2)}});
  const Tensor last =
      Combined(chain, {{0.5, x.At(-3)}, {-2.0, x.At(-2)}, {1.5, x.At(-1)}});
  return Joined(chain, over(first), center, over(last), dim);
}

Tensor AtCoordinates(KernelChain& chain, const Tensor& self, int64_t dim,
                     const Tensor& coordinates, int64_t edge_order) {
  const auto op = [&](std::string_view name) {
    return [&chain, name](const Tensor& a, const Tensor& b) {
      return chain(name, {a, b});
    };
  };
  const auto add = op("aten.add.Tensor"), sub = op("aten.sub.Tensor"),
             mul = op("aten.mul.Tensor"), div = op("aten.div.Tensor");
  const auto neg = [&](const Tensor& t) {
    return chain("aten.neg.default", {t});
  };
  std::vector<int64_t> along(static_cast<size_t>(self.dim()), 1);
  along[static_cast<size_t>(dim)] = -1;
  const Axis points(chain, coordinates, 0);
  const Tensor steps =
      chain.Reshape(sub(points.Slice(1, 0), points.Slice(0, -1)), along);
  if (!chain.ok()) return Tensor();
  const Axis step(chain, steps, dim), x(chain, self, dim);
  Tensor d1 = step.Slice(0, -1), d2 = step.Slice(1, 0);
  const Tensor center =
      Combined(chain, {{div(neg(d2), mul(d1, add(d1, d2))), x.Slice(0, -2)},
                       {div(sub(d2, d1), mul(d1, d2)), x.Slice(1, -1)},
                       {div(d1, mul(d2, add(d1, d2))), x.Slice(2, 0)}});
  if (edge_order == 1) {
    return Joined(chain, div(sub(x.At(1), x.At(0)), step.At(0)), center,
                  div(sub(x.At(-1), x.At(-2)), step.At(-1)), dim);
  }
  d1 = step.At(0);
  d2 = step.At(1);
  const Tensor first = Combined(
      chain, {{neg(div(add(add(d1, d1), d2), mul(d1, add(d1, d2)))), x.At(0)},
              {div(add(d1, d2), mul(d1, d2)), x.At(1)},
              {neg(div(d1, mul(d2, add(d1, d2)))), x.At(2)}});
  d1 = step.At(-2);
  d2 = step.At(-1);
  const Tensor last = Combined(
      chain, {{div(d2, mul(d1, add(d1, d2))), x.At(-3)},
              {neg(div(add(d1, d2), mul(d1, d2))), x.At(-2)},
              {div(add(add(d2, d2), d1), mul(d2, add(d1, d2))), x.At(-1)}});
  return Joined(chain, first, center, last, dim);
}

// --- arguments: the overloads differ in which they have ---

const RuntimeValue* ArgNamed(KernelCall& call, std::string_view name) {
  const int at = call.schema().FindArg(name);
  return at < 0 || call.is_none(static_cast<size_t>(at))
             ? nullptr
             : &call.arg(static_cast<size_t>(at));
}

bool ReadDims(KernelCall& call, int64_t edge_order, std::vector<int64_t>* out) {
  const Tensor& self = call.tensor(0);
  if (ArgNamed(call, "dim") == nullptr) {
    out->resize(static_cast<size_t>(self.dim()));
    std::iota(out->begin(), out->end(), int64_t{0});
  } else {
    *out = call.Ints(static_cast<size_t>(call.schema().FindArg("dim")));
  }
  std::vector<bool> seen(static_cast<size_t>(self.dim()), false);
  for (int64_t& d : *out) {
    if (d < -self.dim() || d >= self.dim()) {
      return call.Fail("a dimension is out of range");
    }
    if (d < 0) d += self.dim();
    if (seen[static_cast<size_t>(d)]) {
      return call.Fail("a dimension is named twice");
    }
    seen[static_cast<size_t>(d)] = true;
    if (self.size(d) < edge_order + 1) {
      return call.Fail("each dimension needs edge_order + 1 elements");
    }
  }
  return true;
}

// One spacing per dimension.
bool ReadSpacings(KernelCall& call, size_t count,
                  std::vector<RuntimeValue>* out) {
  const RuntimeValue* spacing = ArgNamed(call, "spacing");
  if (spacing == nullptr) {
    out->assign(count, int64_t{1});
  } else if (!spacing->is_list()) {
    out->assign(count, *spacing);
  } else {
    for (const RuntimeValue& item : spacing->list()) out->push_back(item);
  }
  return out->size() == count ||
         call.Fail("as many spacings as dimensions are needed");
}

bool Gradient(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const int64_t edge_order =
      call.Int(static_cast<size_t>(call.schema().FindArg("edge_order")));
  if (edge_order != 1 && edge_order != 2) {
    return call.Fail("edge_order is 1 or 2");
  }
  std::vector<int64_t> dims;
  std::vector<RuntimeValue> spacings;
  if (!ReadDims(call, edge_order, &dims) ||
      !ReadSpacings(call, dims.size(), &spacings)) {
    return false;
  }
  KernelChain chain(call);
  std::vector<Tensor> results;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!spacings[i].is_tensor()) {
      results.push_back(
          AtEvenSpacing(chain, self, dims[i], spacings[i], edge_order));
      continue;
    }
    const Tensor& coordinates = spacings[i].tensor();
    if (coordinates.dim() != 1 || coordinates.size(0) != self.size(dims[i])) {
      return call.Fail("one coordinate per element of the dimension is needed");
    }
    results.push_back(
        AtCoordinates(chain, self, dims[i], coordinates, edge_order));
  }
  if (!chain.ok()) return false;
  call.Return(TensorList(results));
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten.gradient.array", &Gradient},
    {"aten.gradient.scalararray", &Gradient},
    {"aten.gradient.scalarint", &Gradient},
    {"aten.gradient.scalarrayarray", &Gradient},
    {"aten.gradient.scalarrayint", &Gradient},
    {"aten.gradient.tensorarray", &Gradient},
    {"aten.gradient.tensorarrayint", &Gradient},
};

}  // namespace

std::span<const KernelEntry> GradientKernels() { return kEntries; }

}  // namespace tenon
