#include "tenon/runner.h"

#include <algorithm>
#include <optional>

#include "api/errors.h"
#include "api/model_impl.h"
#include "runtime/binding.h"
#include "runtime/session.h"

namespace tenon {

struct Runner::Impl {
  // Keeps the sessions that this one shares its weights with.
  std::shared_ptr<const void> model;
  std::unique_ptr<Session> session;
  std::vector<std::string> paths;
  // By input: what Set was given, or what was fixed at export.
  std::vector<std::optional<RuntimeValue>> set, fixed;

  const Program& program() const { return session->program(); }
  // The input's number; nullopt after an error.
  std::optional<size_t> Find(const std::string& address,
                             Diagnostics& diags) const {
    auto at = FindUserInput(program(), paths, address);
    if (!at) {
      diags.Error(Rule::kS5, Place::Node(address)) << "no input has this path";
    }
    return at;
  }
};

namespace {

// A tensor over the caller's memory; undefined after an error.
Tensor Borrow(const std::string& path, const OwnedTensor& tensor,
              Diagnostics& diags) {
  const TensorView& view = tensor.view;
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
  return Tensor(
      Storage::Borrow(view.data, static_cast<size_t>(bytes), tensor.owner),
      *dtype, view.sizes, strides, 0);
}

// What a program is called with; None after an error.
RuntimeValue Import(const std::string& path, const CallValue& value,
                    Diagnostics& diags) {
  if (value.is_tensor()) return Borrow(path, value.owned_tensor(), diags);
  if (value.is_int()) return RuntimeValue(value.int_value());
  if (value.is_float()) return RuntimeValue(value.float_value());
  if (value.is_bool()) return RuntimeValue(value.bool_value());
  if (value.is_string()) return RuntimeValue(value.string());
  return RuntimeValue();
}

// What a caller gets. Kinds that no caller can pass come back as None.
CallValue ExportValue(const RuntimeValue& value) {
  if (value.is_int()) return value.int_value();
  if (value.is_float()) return value.float_value();
  if (value.is_bool()) return value.bool_value();
  if (value.is_string()) return value.string();
  if (!value.is_tensor()) return CallValue();
  const Tensor& t = value.tensor();
  OwnedTensor owned;
  owned.view.dtype = std::string(Name(t.dtype()));
  owned.view.sizes = t.sizes();
  owned.view.strides = t.strides();
  owned.view.data = const_cast<std::byte*>(t.raw());
  owned.owner = t.storage();
  return owned;
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
    buffers[number] = Borrow(path, {view, nullptr}, diags);
  }
  return buffers;
}

}  // namespace

Runner::Runner(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&&) noexcept = default;
Runner::~Runner() = default;

Result<Runner> Runner::Load(const Model& model, const RunnerOptions& options) {
  return api::WithinMemory<Runner>([&]() -> Result<Runner> {
    Diagnostics diags;
    auto session =
        model.impl_->NewSession(std::max(options.num_threads, 1), diags);
    if (!session) return api::ErrorsOf(diags);
    auto impl = std::make_unique<Impl>();
    impl->model = model.impl_;
    impl->session = std::move(*session);
    const Program& program = impl->program();
    impl->paths = UserInputPaths(program);
    for (const uint32_t i : UserInputPositions(program)) {
      impl->fixed.push_back(FixedInput(
          program, program.type(program.value(program.root().inputs[i]).type)));
    }
    impl->set.resize(impl->fixed.size());
    return Runner(std::move(impl));
  });
}

Result<bool> Runner::Set(const std::string& address, CallValue value) {
  return api::WithinMemory<bool>([&]() -> Result<bool> {
    Diagnostics diags;
    const auto at = impl_->Find(address, diags);
    if (!at) return api::ErrorsOf(diags);
    RuntimeValue imported = Import(address, value, diags);
    if (diags.has_errors()) return api::ErrorsOf(diags);
    impl_->set[*at] = std::move(imported);
    return true;
  });
}

Result<bool> Runner::Set(size_t position, CallValue value) {
  return Set(std::to_string(position), std::move(value));
}

void Runner::ClearInputs() {
  for (auto& value : impl_->set) value.reset();
}

Result<std::vector<CallValue>> Runner::Run(const Inputs& inputs) {
  return Run(inputs, {});
}

Result<std::vector<CallValue>> Runner::Run(const Inputs& inputs,
                                           const Outputs& outputs) {
  using Values = std::vector<CallValue>;
  return api::WithinMemory<Values>([&]() -> Result<Values> {
    Diagnostics diags;
    const size_t count = impl_->set.size();
    std::vector<RuntimeValue> values(count);
    std::vector<bool> is_given(count, false);
    for (const auto& [path, value] : inputs) {
      const auto at = impl_->Find(path, diags);
      if (!at) continue;
      if (is_given[*at]) {
        diags.Error(Rule::kS5, Place::Node(path)) << "given twice";
      }
      is_given[*at] = true;
      values[*at] = Import(path, value, diags);
    }
    for (size_t i = 0; i < count; ++i) {
      if (is_given[i]) continue;
      const auto& other = impl_->set[i] ? impl_->set[i] : impl_->fixed[i];
      if (other) {
        values[i] = *other;
      } else {
        diags.Error(Rule::kS5, Place::Node(impl_->paths[i])) << "isn't given";
      }
    }
    const std::vector<Tensor> buffers =
        BorrowOutputs(impl_->program(), outputs, diags);
    if (diags.num_errors() > 0) return api::ErrorsOf(diags);
    const auto results =
        impl_->session->RunFlat(std::move(values), buffers, diags);
    if (!results) return api::ErrorsOf(diags);
    Values out;
    for (const RuntimeValue& v : *results) out.push_back(ExportValue(v));
    return out;
  });
}

void Runner::ResetState() { impl_->session->ResetState(); }

}  // namespace tenon
