#include "run_both.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "analysis/digest.h"
#include "json_writer.h"
#include "runtime/draw_inputs.h"
#include "runtime/session.h"
#include "tensor_elements.h"

namespace tenon::tools {
namespace {

RuntimeValue CopyOf(const RuntimeValue& v) {
  return v.is_tensor() && v.tensor().defined()
             ? RuntimeValue(v.tensor().Clone())
             : v;
}

void Merge(const Comparison& c, Comparison* worst) {
  if (!worst->has_same_kind) return;
  if (!c.has_same_kind) {
    *worst = c;
    return;
  }
  worst->is_identical = worst->is_identical && c.is_identical;
  worst->max_difference = std::max(worst->max_difference, c.max_difference);
  worst->max_relative = std::max(worst->max_relative, c.max_relative);
  worst->max_ulps = std::max(worst->max_ulps, c.max_ulps);
}

class Trial {
 public:
  Trial(const Program& source, const Program& result, Diagnostics& diags)
      : source_(source), result_(result), diags_(diags) {}

  Status Load() {
    source_digests_ = ComputeValueDigests(source_);
    result_digests_ = ComputeValueDigests(result_);
    for (const NodeId n : result_.nodes(Program::kRoot)) {
      if (result_.node(n).kind != NodeKind::kDelegateCall) continue;
      const ValueRange results = result_.node(n).results;
      for (uint32_t i = 0; i < results.count; ++i) {
        wanted_[result_digests_[results[i].index]];
      }
    }
    TENON_ASSIGN(source_session_, Open(source_, true));
    TENON_ASSIGN(result_session_, Open(result_, false));
    return {};
  }

  Status Run(const std::vector<RuntimeValue>& inputs) {
    std::vector<RuntimeValue> a, b;
    for (const RuntimeValue& v : inputs) {
      a.push_back(CopyOf(v));
      b.push_back(CopyOf(v));
    }
    source_session_->ResetState();
    result_session_->ResetState();
    const auto expected = source_session_->RunFlat(a, diags_);
    if (!expected) return Failure{};
    const auto found = result_session_->RunFlat(b, diags_);
    if (!found) return Failure{};
    for (size_t i = 0; i < std::min(found->size(), expected->size()); ++i) {
      Add("output " + std::to_string(i), (*found)[i], (*expected)[i]);
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      // What neither wrote isn't told.
      if (Compare(a[i], inputs[i]).is_identical &&
          Compare(b[i], inputs[i]).is_identical) {
        continue;
      }
      Add("input " + std::to_string(i) + " afterwards", b[i], a[i]);
    }
    for (const StateEntry& e : source_.state.entries) {
      const std::string fqn(source_.view(e.fqn));
      const Tensor x = source_session_->State(fqn);
      const Tensor y = result_session_->State(fqn);
      if (!x.defined() || !y.defined() || !x.storage()->writable()) continue;
      Add("mutation of " + fqn, y, x);
    }
    return {};
  }

  std::vector<TriedPlace> TakePlaces() { return std::move(places_); }

 private:
  Expected<std::unique_ptr<Session>> Open(const Program& program,
                                          bool is_source) {
    SessionOptions options;
    options.values_observer =
        [this, is_source](NodeId n, std::span<const RuntimeValue> values) {
          if (is_source) {
            KeepValues(n, values);
          } else {
            CompareRegion(n, values);
          }
        };
    return Session::Load(std::make_shared<const Program>(program.Clone()),
                         options, diags_);
  }

  void KeepValues(NodeId n, std::span<const RuntimeValue> values) {
    const ValueRange results = source_.node(n).results;
    for (uint32_t i = 0; i < std::min<size_t>(results.count, values.size());
         ++i) {
      const auto at = wanted_.find(source_digests_[results[i].index]);
      if (at != wanted_.end()) at->second = CopyOf(values[i]);
    }
  }

  void CompareRegion(NodeId n, std::span<const RuntimeValue> values) {
    const Node& node = result_.node(n);
    if (node.kind != NodeKind::kDelegateCall) return;
    const std::string region(
        result_.view(result_.delegates[node.delegate.index].name));
    for (uint32_t i = 0;
         i < std::min<size_t>(node.results.count, values.size()); ++i) {
      const auto at = wanted_.find(result_digests_[node.results[i].index]);
      if (at == wanted_.end() || !at->second) continue;
      Add("region " + region + ", result " + std::to_string(i), values[i],
          *at->second);
    }
  }

  void Add(const std::string& what, const RuntimeValue& found,
           const RuntimeValue& expected) {
    const Comparison c = Compare(found, expected);
    for (TriedPlace& place : places_) {
      if (place.what != what) continue;
      Merge(c, &place.worst);
      return;
    }
    places_.push_back({what, c});
  }

  const Program& source_;
  const Program& result_;
  Diagnostics& diags_;
  std::vector<Digest> source_digests_, result_digests_;
  // Values of the source that regions of the result give, as they are in the
  // current run.
  std::map<Digest, std::optional<RuntimeValue>> wanted_;
  std::unique_ptr<Session> source_session_, result_session_;
  std::vector<TriedPlace> places_;
};

}  // namespace

bool TriedExport::is_close() const {
  return std::all_of(places.begin(), places.end(), [](const TriedPlace& place) {
    return place.worst.is_close();
  });
}

Expected<TriedExport> TryExport(const Program& source, const Program& result,
                                uint64_t num_runs, uint64_t seed,
                                Diagnostics& diags) {
  Trial trial(source, result, diags);
  TENON_TRY(trial.Load());
  TriedExport out;
  for (uint64_t i = 0; i < num_runs; ++i) {
    DrawOptions options;
    options.seed = seed + i;
    options.sizes = i == 0   ? SizeChoice::kSmallest
                    : i == 1 ? SizeChoice::kLargest
                             : SizeChoice::kRandom;
    TENON_ASSIGN(const std::vector<RuntimeValue> inputs,
                 DrawInputs(source, options, diags));
    TENON_TRY(trial.Run(inputs));
    ++out.num_runs;
  }
  out.places = trial.TakePlaces();
  return out;
}

std::string TriedAsText(const TriedExport& tried) {
  std::string out = "tried on " + std::to_string(tried.num_runs) +
                    " random inputs, smallest and largest sizes included:\n";
  for (const TriedPlace& place : tried.places) {
    const Comparison& c = place.worst;
    out += "  " + place.what + ": ";
    if (!c.has_same_kind) {
      out += c.found + " instead of " + c.expected;
    } else if (c.is_identical) {
      out += "identical";
    } else {
      out += "differs by " + NumberText(c.max_difference) + ", " +
             NumberText(c.max_ulps) + " ulps, " + NumberText(c.max_relative) +
             " of what is tolerated";
    }
    out += "\n";
  }
  return out;
}

}  // namespace tenon::tools
