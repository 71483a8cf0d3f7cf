// Higher-order operators, by the argument orders of docs/formats/pt2.md.
#include <algorithm>
#include <string>
#include <utility>

#include "interpreter/evaluator.h"
#include "kernels/elements.h"
#include "kernels/kernel.h"
#include "kernels/promotion.h"

namespace tenon {
namespace {

using List = RuntimeValue::List;

class Call {
 public:
  Call(Evaluator* evaluator, HigherOrderCall call)
      : evaluator_(*evaluator), call_(std::move(call)) {}

  Expected<Results> Cond() {
    if (!Shaped({kAny, kGraph, kGraph, kList})) return Misshapen();
    const auto truth = Truth(call_.args[0]);
    if (!truth) return evaluator_.ErrorHere() << "the predicate is no bool";
    return evaluator_.Run(call_.graphs[*truth ? 1 : 2], call_.args[3].list());
  }

  Expected<Results> WhileLoop() {
    if (!Shaped({kGraph, kGraph, kList, kList})) return Misshapen();
    List carried = call_.args[2].list();
    for (int64_t i = 0; i < evaluator_.options().max_iterations; ++i) {
      auto again = evaluator_.Run(call_.graphs[0], With(carried, 3));
      if (!again) return Failure{};
      const auto truth = again->size() == 1 ? Truth((*again)[0]) : std::nullopt;
      if (!truth) return evaluator_.ErrorHere() << "the condition is no bool";
      if (!*truth) return carried;
      auto next = evaluator_.Run(call_.graphs[1], With(carried, 3));
      if (!next) return Failure{};
      if (next->size() != carried.size()) {
        return evaluator_.ErrorHere()
               << "the body returns " << next->size() << " values, carried are "
               << carried.size();
      }
      // An untouched input passed through would alias the carried value.
      carried = std::move(*next);
    }
    return evaluator_.ErrorHere()
           << "more than " << evaluator_.options().max_iterations
           << " iterations";
  }

  Expected<Results> Map() {
    if (!Shaped({kGraph, kList, kList})) return Misshapen();
    const List& xs = call_.args[1].list();
    const auto length = Length(xs);
    if (!length) return Failure{};
    std::vector<List> rows;
    for (int64_t i = 0; i < *length; ++i) {
      auto row = evaluator_.Run(call_.graphs[0], With(Row(xs, i), 2));
      if (!row) return Failure{};
      rows.push_back(std::move(*row));
    }
    return Stacked(rows);
  }

  // Carries first, then the stacked per-step outputs.
  Expected<Results> Scan() {
    // torch 2.6 wrote dim and reverse before the additional inputs.
    const bool old_form = call_.args.size() == 6;
    if (old_form ? !Shaped({kGraph, kList, kList, kAny, kAny, kList})
                 : !Shaped({kGraph, kList, kList, kList})) {
      return Misshapen();
    }
    if (old_form &&
        (!call_.args[3].is_int() || call_.args[3].int_value() != 0 ||
         !call_.args[4].is_bool())) {
      return evaluator_.ErrorHere() << "scan over a dimension other than 0";
    }
    const bool reverse = old_form && call_.args[4].bool_value();
    List carried = call_.args[1].list();
    const List& xs = call_.args[2].list();
    const auto length = Length(xs);
    if (!length) return Failure{};
    const size_t num_carried = carried.size();
    std::vector<List> rows(static_cast<size_t>(*length));
    for (int64_t step = 0; step < *length; ++step) {
      const int64_t i = reverse ? *length - 1 - step : step;
      List inputs = carried;
      for (RuntimeValue& x : Row(xs, i)) inputs.push_back(std::move(x));
      auto out = evaluator_.Run(call_.graphs[0],
                                With(std::move(inputs), old_form ? 5 : 3));
      if (!out) return Failure{};
      if (out->size() < num_carried) return Misshapen();
      const auto split =
          out->begin() + static_cast<std::ptrdiff_t>(num_carried);
      carried.assign(out->begin(), split);
      rows[static_cast<size_t>(i)].assign(split, out->end());
    }
    Results results = std::move(carried);
    auto stacked = Stacked(rows);
    if (!stacked) return Failure{};
    for (RuntimeValue& v : *stacked) results.push_back(std::move(v));
    return results;
  }

  // Graph, identifier, operands: spread or as one list.
  Expected<Results> InvokeSubgraph() {
    if (call_.args.size() < 2 || !call_.graphs[0].valid()) return Misshapen();
    return evaluator_.Run(call_.graphs[0], Operands(2));
  }

  // What gradient mode doesn't change: the values.
  Expected<Results> WrapWithSetGradEnabled() {
    if (call_.args.size() < 2 || !call_.graphs[1].valid()) return Misshapen();
    return evaluator_.Run(call_.graphs[1], Operands(2));
  }

  // Device, dtype, enabled, cache flag, graph, operands. A dtype of None is the
  // device's default.
  Expected<Results> WrapWithAutocast() {
    if (call_.args.size() < 5 || !call_.graphs[4].valid() ||
        !call_.args[2].is_bool()) {
      return Misshapen();
    }
    const DType outer = evaluator_.autocast;
    evaluator_.autocast = !call_.args[2].bool_value() ? DType::kUnknown
                          : call_.args[1].is_dtype()  ? call_.args[1].dtype()
                                                      : DType::kBFloat16;
    auto results = evaluator_.Run(call_.graphs[4], Operands(5));
    evaluator_.autocast = outer;
    return results;
  }

  // Operator, dtype, the operator's arguments: computed in the type that the
  // arguments and a tensor of the dtype promote to, then cast.
  Expected<Results> OutDType() {
    if (call_.args.size() < 2 || !call_.args[0].is_string() ||
        !call_.args[1].is_dtype()) {
      return Misshapen();
    }
    const std::string& name = call_.args[0].string();
    const DType dtype = call_.args[1].dtype();
    const OpSchema* schema = FindSchema(name);
    const Kernel kernel = FindKernel(name);
    if (schema == nullptr || kernel == nullptr) {
      return evaluator_.ErrorHere()
             << "no reference kernel for '" << name << "'";
    }
    Results args(call_.args.begin() + 2, call_.args.end());
    std::vector<Operand> operands = {{Tensor::Empty(dtype, {1})}};
    for (const RuntimeValue& arg : args) {
      if (arg.is_tensor()) operands.push_back({arg.tensor()});
    }
    DType promoted = ResultType(operands);
    if (promoted == DType::kUnknown) {
      return evaluator_.ErrorHere() << "the arguments have no common dtype";
    }
    if (promoted == DType::kFloat16 || promoted == DType::kBFloat16) {
      promoted = DType::kFloat32;
    }
    for (RuntimeValue& arg : args) {
      if (arg.is_tensor()) arg = Cast(arg.tensor(), promoted);
    }
    std::vector<bool> present(args.size(), true);
    present.resize(schema->args.size(), false);
    args.resize(schema->args.size());
    std::string error;
    if (!CompleteArgs(*schema, &args, present, &error)) {
      return evaluator_.ErrorHere() << error;
    }
    KernelCall inner(*schema, std::move(args));
    if (!kernel(inner)) return evaluator_.ErrorHere() << inner.error();
    for (RuntimeValue& result : inner.results()) {
      if (result.is_tensor()) result = Cast(result.tensor(), dtype);
    }
    return std::move(inner.results());
  }

  // Graph, operands.
  Expected<Results> TagActivationCheckpoint() {
    if (call_.args.empty() || !call_.graphs[0].valid()) return Misshapen();
    return evaluator_.Run(call_.graphs[0], Operands(1));
  }

 private:
  enum Shape { kAny, kGraph, kList };

  bool Shaped(std::initializer_list<Shape> shapes) const {
    if (call_.args.size() != shapes.size()) return false;
    size_t i = 0;
    for (const Shape shape : shapes) {
      if (shape == kGraph && !call_.graphs[i].valid()) return false;
      if (shape == kList && !call_.args[i].is_list()) return false;
      ++i;
    }
    return true;
  }

  Failure Misshapen() {
    return evaluator_.ErrorHere()
           << "arguments of '" << call_.op << "' have an unknown form";
  }

  static std::optional<bool> Truth(const RuntimeValue& v) {
    if (v.is_bool()) return v.bool_value();
    if (v.is_int()) return v.int_value() != 0;
    if (!v.is_tensor() || !v.tensor().defined() || v.tensor().numel() != 1 ||
        v.tensor().dtype() != DType::kBool) {
      return std::nullopt;
    }
    return *v.tensor().data<uint8_t>() != 0;
  }

  // `values`, then the items of the additional-inputs argument.
  List With(List values, size_t additional) const {
    for (const RuntimeValue& v : call_.args[additional].list()) {
      values.push_back(v);
    }
    return values;
  }

  List Operands(size_t first) const {
    if (call_.args.size() == first + 1 && call_.args[first].is_list()) {
      return call_.args[first].list();
    }
    return List(call_.args.begin() + static_cast<std::ptrdiff_t>(first),
                call_.args.end());
  }

  // The common size of dimension 0.
  Expected<int64_t> Length(const List& xs) {
    int64_t length = -1;
    for (const RuntimeValue& x : xs) {
      if (!x.is_tensor() || x.tensor().dim() == 0 ||
          (length >= 0 && x.tensor().size(0) != length)) {
        return evaluator_.ErrorHere()
               << "the operands differ in the size of dimension 0";
      }
      length = x.tensor().size(0);
    }
    if (length < 0) return evaluator_.ErrorHere() << "nothing to iterate over";
    return length;
  }

  static List Row(const List& xs, int64_t i) {
    List row;
    for (const RuntimeValue& x : xs) {
      const Tensor& t = x.tensor();
      row.push_back(t.View(Sizes(t.sizes().begin() + 1, t.sizes().end()),
                           Sizes(t.strides().begin() + 1, t.strides().end()),
                           t.offset() + i * t.stride(0)));
    }
    return row;
  }

  Expected<Results> Stacked(const std::vector<List>& rows) {
    if (rows.empty()) {
      return evaluator_.ErrorHere() << "no steps: the result's type is unknown";
    }
    Results out;
    for (size_t k = 0; k < rows[0].size(); ++k) {
      if (!rows[0][k].is_tensor()) return Misshapen();
      const Tensor& first = rows[0][k].tensor();
      Sizes sizes = first.sizes();
      sizes.insert(sizes.begin(), static_cast<int64_t>(rows.size()));
      Tensor stacked = Tensor::Empty(first.dtype(), sizes);
      for (size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].size() != rows[0].size() || !rows[i][k].is_tensor() ||
            rows[i][k].tensor().sizes() != first.sizes() ||
            rows[i][k].tensor().dtype() != first.dtype()) {
          return evaluator_.ErrorHere() << "steps give results of other sizes";
        }
        Row({stacked}, static_cast<int64_t>(i))[0].tensor().CopyFrom(
            rows[i][k].tensor());
      }
      out.push_back(std::move(stacked));
    }
    return out;
  }

  Evaluator& evaluator_;
  HigherOrderCall call_;
};

struct HigherOrderOp {
  std::string_view name;
  Expected<Results> (Call::*run)();
};

constexpr HigherOrderOp kHigherOrderOps[] = {
    {"higher_order.cond", &Call::Cond},
    {"higher_order.while_loop", &Call::WhileLoop},
    {"higher_order.map", &Call::Map},
    {"higher_order.map_impl", &Call::Map},
    {"higher_order.out_dtype", &Call::OutDType},
    {"higher_order.scan", &Call::Scan},
    {"higher_order.invoke_subgraph", &Call::InvokeSubgraph},
    {"higher_order.tag_activation_checkpoint", &Call::TagActivationCheckpoint},
    {"higher_order.wrap_with_autocast", &Call::WrapWithAutocast},
    {"higher_order.wrap_with_set_grad_enabled", &Call::WrapWithSetGradEnabled},
};

const HigherOrderOp* FindHigherOrderOp(std::string_view name) {
  const auto it =
      std::find_if(std::begin(kHigherOrderOps), std::end(kHigherOrderOps),
                   [&](const HigherOrderOp& op) { return op.name == name; });
  return it == std::end(kHigherOrderOps) ? nullptr : &*it;
}

}  // namespace

bool IsKnownHigherOrder(std::string_view op_name) {
  return FindHigherOrderOp(op_name) != nullptr;
}

Expected<Results> CallHigherOrder(Evaluator* evaluator, HigherOrderCall call) {
  const HigherOrderOp* op = FindHigherOrderOp(call.op);
  if (op == nullptr) {
    return evaluator->diags().Error(Rule::kUnsupported)
           << "the reference executor doesn't run '" << call.op << "'";
  }
  Call runner(evaluator, std::move(call));
  return (runner.*op->run)();
}

}  // namespace tenon
