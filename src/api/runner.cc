#include "tenon/runner.h"

#include <algorithm>

#include "api/errors.h"
#include "api/model_impl.h"
#include "runtime/binding.h"
#include "runtime/session.h"

namespace tenon {

struct Runner::Impl {
  std::unique_ptr<Session> session;
  std::vector<std::string> paths;
};

namespace {

// A tensor over the caller's memory; undefined after an error.
Tensor Borrow(const std::string& path, const TensorView& view,
              Diagnostics& diags) {
  const auto fail = [&](const char* what) {
    diags.Error(Rule::kS5, Place::Node(path)) << what;
    return Tensor();
  };
  const auto dtype = FindDType(view.dtype);
  if (!dtype) return fail("an unknown dtype");
  if (!view.strides.empty() && view.strides.size() != view.sizes.size()) {
    return fail("as many strides as sizes are expected");
  }
  int64_t reach = 1, count = 1;
  const Sizes strides =
      view.strides.empty() ? ContiguousStrides(view.sizes) : view.strides;
  for (size_t d = 0; d < view.sizes.size(); ++d) {
    if (view.sizes[d] < 0 || strides[d] < 0) {
      return fail("a negative size or stride");
    }
    int64_t step = 0;
    if (__builtin_mul_overflow(std::max<int64_t>(view.sizes[d] - 1, 0),
                               strides[d], &step) ||
        __builtin_add_overflow(reach, step, &reach) ||
        __builtin_mul_overflow(count, view.sizes[d], &count)) {
      return fail("sizes that overflow");
    }
  }
  int64_t bytes = 0;
  if (__builtin_mul_overflow(count == 0 ? 0 : reach,
                             static_cast<int64_t>(SizeBytes(*dtype)), &bytes)) {
    return fail("sizes that overflow");
  }
  if (view.data == nullptr && bytes > 0) return fail("no memory is given");
  return Tensor(Storage::Borrow(view.data, static_cast<size_t>(bytes), nullptr),
                *dtype, view.sizes, strides, 0);
}

// By number of the output; undefined where none is given.
std::vector<Tensor> BorrowOutputs(
    const Program& program,
    const std::vector<std::pair<size_t, TensorView>>& outputs,
    Diagnostics& diags) {
  const size_t num_outputs = program.outputs(Program::kRoot).size();
  std::vector<Tensor> buffers;
  for (const auto& [number, view] : outputs) {
    const std::string path = "output " + std::to_string(number);
    if (number >= num_outputs) {
      diags.Error(Rule::kS5, Place::Node(path)) << "there is no such output";
      continue;
    }
    if (number >= buffers.size()) buffers.resize(number + 1);
    if (buffers[number].defined()) {
      diags.Error(Rule::kS5, Place::Node(path)) << "given twice";
    }
    buffers[number] = Borrow(path, view, diags);
  }
  return buffers;
}

}  // namespace

Runner::Runner(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&&) noexcept = default;
Runner::~Runner() = default;

Result<Runner> Runner::Load(const Model& model) {
  return api::WithinMemory<Runner>([&]() -> Result<Runner> {
    Diagnostics diags;
    auto session = Session::Load(model.impl_->program, SessionOptions(), diags);
    if (!session) return api::ErrorsOf(diags);
    auto impl = std::make_unique<Impl>();
    impl->session = std::move(*session);
    impl->paths = UserInputPaths(impl->session->program());
    return Runner(std::move(impl));
  });
}

Result<std::vector<OwnedTensor>> Runner::Run(
    const std::vector<std::pair<std::string, TensorView>>& inputs) {
  return Run(inputs, {});
}

Result<std::vector<OwnedTensor>> Runner::Run(
    const std::vector<std::pair<std::string, TensorView>>& inputs,
    const std::vector<std::pair<size_t, TensorView>>& outputs) {
  Diagnostics diags;
  const std::vector<std::string>& paths = impl_->paths;
  std::vector<RuntimeValue> values(paths.size());
  std::vector<bool> is_given(paths.size(), false);
  for (const auto& [path, view] : inputs) {
    size_t i = 0;
    while (i < paths.size() && paths[i] != path && std::to_string(i) != path) {
      ++i;
    }
    if (i == paths.size()) {
      diags.Error(Rule::kS5, Place::Node(path)) << "no input has this path";
      continue;
    }
    if (is_given[i]) diags.Error(Rule::kS5, Place::Node(path)) << "given twice";
    is_given[i] = true;
    values[i] = Borrow(path, view, diags);
  }
  const Program& program = impl_->session->program();
  const std::vector<uint32_t> positions = UserInputPositions(program);
  for (size_t i = 0; i < paths.size(); ++i) {
    const TypeId type = program.value(program.root().inputs[positions[i]]).type;
    const bool is_none = program.type(type).kind == TypeKind::kNone;
    if (!is_given[i] && !is_none) {
      diags.Error(Rule::kS5, Place::Node(paths[i])) << "isn't given";
    }
  }
  const std::vector<Tensor> buffers = BorrowOutputs(program, outputs, diags);
  if (diags.num_errors() > 0) return api::ErrorsOf(diags);
  const auto results =
      impl_->session->RunFlat(std::move(values), buffers, diags);
  if (!results) return api::ErrorsOf(diags);
  std::vector<OwnedTensor> out;
  for (const RuntimeValue& v : *results) {
    if (!v.is_tensor()) continue;
    const Tensor& t = v.tensor();
    OwnedTensor owned;
    owned.view.dtype = std::string(Name(t.dtype()));
    owned.view.sizes = t.sizes();
    owned.view.strides = t.strides();
    owned.view.data = const_cast<std::byte*>(t.raw());
    owned.owner = t.storage();
    out.push_back(std::move(owned));
  }
  return out;
}

void Runner::ResetState() { impl_->session->ResetState(); }

}  // namespace tenon
