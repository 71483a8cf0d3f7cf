#include "profile.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "call_options.h"

namespace tenon::tools {
namespace {

using Clock = std::chrono::steady_clock;

double NanosecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// Dimensions of stride 0 repeat what was touched already.
uint64_t BytesOf(const RuntimeValue& v) {
  if (!v.is_tensor() || !v.tensor().defined()) return 0;
  const Tensor& t = v.tensor();
  uint64_t bytes = SizeBytes(t.dtype());
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (t.stride(d) != 0 || t.size(d) == 0) {
      bytes *= static_cast<uint64_t>(t.size(d));
    }
  }
  return bytes;
}

uint64_t BytesOf(const std::vector<RuntimeValue>& values) {
  uint64_t sum = 0;
  for (const RuntimeValue& v : values) sum += BytesOf(v);
  return sum;
}

// Operators of the reference executor that move elements and do nothing else.
bool IsCopy(std::string_view op) {
  constexpr std::string_view kCopies[] = {
      "aten.clone.default", "aten.contiguous.default", "aten.copy.default",
      "aten.copy_.default"};
  return std::find(std::begin(kCopies), std::end(kCopies), op) !=
         std::end(kCopies);
}

class StepTimes : public StepObserver {
 public:
  void OnStep(size_t step, std::chrono::nanoseconds time) override {
    if (step >= sums_.size()) sums_.resize(step + 1);
    sums_[step] += static_cast<double>(time.count());
  }
  // Per call.
  std::vector<double> Means(uint64_t num_calls, size_t num_steps) const {
    std::vector<double> out = sums_;
    out.resize(num_steps);
    for (double& t : out) t /= static_cast<double>(num_calls);
    return out;
  }

 private:
  std::vector<double> sums_;
};

class Profiler {
 public:
  Profiler(std::shared_ptr<const Program> program,
           const std::vector<RuntimeValue>& inputs,
           const ProfileOptions& options, Diagnostics& diags)
      : program_(std::move(program)),
        inputs_(inputs),
        options_(options),
        diags_(diags) {}

  Expected<Profile> Run() {
    TENON_TRY(TimeCalls());
    TENON_TRY(LookInside());
    Sum();
    return std::move(out_);
  }

 private:
  Expected<double> Call(Session* session, uint64_t number, const char* what) {
    if (options_.progress) {
      options_.progress(std::string(what) + " " + std::to_string(number + 1));
    }
    std::vector<RuntimeValue> copies = CopiesOf(inputs_);
    const auto start = Clock::now();
    TENON_ASSIGN(const auto results,
                 session->RunFlat(std::move(copies), diags_));
    const double time = NanosecondsSince(start);
    out_.output_bytes = BytesOf(results);
    return time;
  }

  // Nothing looks on: these are the times that count.
  Status TimeCalls() {
    TENON_ASSIGN(const auto session,
                 Session::Load(program_, options_.session, diags_));
    for (uint64_t i = 0; i < options_.num_warmup; ++i) {
      TENON_TRY(Call(session.get(), i, "warm-up call"));
    }
    for (uint64_t i = 0; i < options_.num_calls; ++i) {
      TENON_ASSIGN(const double time, Call(session.get(), i, "call"));
      out_.calls.sorted.push_back(time);
    }
    std::sort(out_.calls.sorted.begin(), out_.calls.sorted.end());
    out_.num_warmup = options_.num_warmup;
    return {};
  }

  Status LookInside() {
    SessionOptions options = options_.session;
    options.before_node = [this](NodeId) { start_ = Clock::now(); };
    options.values_observer = [this](NodeId n,
                                     std::span<const RuntimeValue> values) {
      const double time = NanosecondsSince(start_);
      if (is_counting_) Note(n, values, time);
    };
    out_.regions.resize(program_->delegates.size());
    TENON_ASSIGN(const auto session, Session::Load(program_, options, diags_));
    NoteInputs();
    // The first call makes plans.
    TENON_TRY(Call(session.get(), 0, "observed call"));
    std::vector<StepTimes> steps(program_->delegates.size());
    for (size_t d = 0; d < steps.size(); ++d) {
      session->executable(DelegateId(d)).set_step_observer(&steps[d]);
    }
    is_counting_ = true;
    for (uint64_t i = 0; i < options_.num_calls; ++i) {
      TENON_ASSIGN(const double time,
                   Call(session.get(), i + 1, "observed call"));
      out_.observed_ns += time / static_cast<double>(options_.num_calls);
    }
    for (size_t d = 0; d < steps.size(); ++d) {
      Executable& executable = session->executable(DelegateId(d));
      executable.set_step_observer(nullptr);
      RegionProfile& region = out_.regions[d];
      region.name = program_->view(program_->delegates[d].name);
      region.backend = program_->view(program_->delegates[d].backend);
      region.listing = executable.last_listing();
      if (!region.listing) continue;
      region.step_time_ns =
          steps[d].Means(options_.num_calls, region.listing->steps.size());
    }
    out_.own_state_bytes = session->own_state_bytes();
    return {};
  }

  void NoteInputs() {
    bytes_.resize(program_->num_values());
    const Graph& root = program_->root();
    size_t next_user = 0;
    for (size_t i = 0; i < root.inputs.size(); ++i) {
      const InputSpec& spec = program_->signature.inputs[i];
      uint64_t& bytes = bytes_[root.inputs[i].index];
      if (spec.kind == InputKind::kUserInput) {
        if (next_user < inputs_.size()) bytes = BytesOf(inputs_[next_user++]);
      } else if (spec.state.valid()) {
        bytes = BytesOfState(spec.state);
      }
    }
    out_.input_bytes = BytesOf(inputs_);
    for (const StorageRecord& storage : program_->state.storages) {
      out_.state_bytes += storage.bytes.size();
    }
  }

  uint64_t BytesOfState(StateId state) const {
    const StateEntry& entry = program_->state.get(state);
    if (!entry.type.valid()) return 0;
    const Type& type = program_->type(entry.type);
    if (!type.is_tensor()) return 0;
    uint64_t bytes = SizeBytes(type.dtype);
    for (const SymInt& size : type.sizes) {
      bytes *= static_cast<uint64_t>(size.value);
    }
    return bytes;
  }

  void Note(NodeId n, std::span<const RuntimeValue> values, double time) {
    const Node& node = program_->node(n);
    const bool is_region = node.kind == NodeKind::kDelegateCall;
    ProfileRow& row =
        is_region ? out_.regions[node.delegate.index] : operators_[NameOf(n)];
    ++row.num_nodes;
    row.time_ns += time;
    // Views move nothing.
    const OpSchema* schema =
        node.kind == NodeKind::kOp ? program_->schema(n) : nullptr;
    const bool is_view = schema != nullptr && schema->is_view();
    if (!is_view) {
      program_->ForEachOperand(
          n, [&](ValueId v) { row.bytes_read += bytes_[v.index]; });
    }
    uint64_t written = 0;
    for (uint32_t i = 0;
         i < std::min<size_t>(node.results.count, values.size()); ++i) {
      bytes_[node.results[i].index] = BytesOf(values[i]);
      if (!is_view) written += BytesOf(values[i]);
    }
    row.bytes_written += written;
    if (node.kind == NodeKind::kOp && IsCopy(program_->op_name(n))) {
      out_.copied_bytes += written;
    }
    if (!is_region) return;
    RegionProfile& region = out_.regions[node.delegate.index];
    region.num_inputs = 0;
    program_->ForEachOperand(n, [&](ValueId) { ++region.num_inputs; });
    region.num_outputs = node.results.count;
  }

  std::string NameOf(NodeId n) const {
    const Node& node = program_->node(n);
    return node.kind == NodeKind::kOp ? std::string(program_->op_name(n))
                                      : "call of a graph";
  }

  // From sums over all calls to those of one.
  void Sum() {
    const uint64_t n = options_.num_calls;
    const auto per_call = [n](ProfileRow* row) {
      row->num_nodes /= n;
      row->time_ns /= static_cast<double>(n);
      row->bytes_read /= n;
      row->bytes_written /= n;
    };
    out_.copied_bytes /= n;
    for (auto& [name, row] : operators_) {
      row.name = name;
      per_call(&row);
      out_.operators.push_back(row);
    }
    std::stable_sort(out_.operators.begin(), out_.operators.end(),
                     [](const ProfileRow& a, const ProfileRow& b) {
                       return a.time_ns > b.time_ns;
                     });
    for (RegionProfile& region : out_.regions) {
      per_call(&region);
      if (!region.listing) continue;
      out_.arena_bytes += region.listing->arena_bytes;
      out_.peak_live_bytes += region.listing->peak_live_bytes;
      out_.unshared_bytes += region.listing->unshared_bytes;
      out_.constant_bytes += region.listing->constant_bytes;
      out_.packed_bytes += region.listing->packed_bytes;
      for (const ListedStep& step : region.listing->steps) {
        if (step.is_copy) {
          out_.copied_bytes += step.bytes_written * region.num_nodes;
        }
      }
    }
  }

  const std::shared_ptr<const Program> program_;
  const std::vector<RuntimeValue>& inputs_;
  const ProfileOptions& options_;
  Diagnostics& diags_;
  Profile out_;
  Clock::time_point start_;
  bool is_counting_ = false;
  std::map<std::string, ProfileRow> operators_;
  std::vector<uint64_t> bytes_;  // by value
};

}  // namespace

double CallTimes::Percentile(double share) const {
  if (sorted.empty()) return 0;
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  const size_t at = rank < 1 ? 0 : static_cast<size_t>(rank) - 1;
  return sorted[std::min(at, sorted.size() - 1)];
}

double CallTimes::mean() const {
  if (sorted.empty()) return 0;
  return std::accumulate(sorted.begin(), sorted.end(), 0.0) /
         static_cast<double>(sorted.size());
}

Expected<Profile> ProfileCalls(std::shared_ptr<const Program> program,
                               const std::vector<RuntimeValue>& inputs,
                               const ProfileOptions& options,
                               Diagnostics& diags) {
  return Profiler(std::move(program), inputs, options, diags).Run();
}

}  // namespace tenon::tools
