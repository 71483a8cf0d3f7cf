// Where a program's calls spend their time and their memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/profile.h"
#include "diag/diagnostics.h"
#include "ir/program.h"
#include "runtime/session.h"
#include "support/expected.h"
#include "tensor/value.h"

namespace tenon::tools {

struct ProfileOptions {
  uint64_t num_warmup = 3;
  uint64_t num_calls = 20;  // timed; as many again are looked into
  SessionOptions session;
  std::function<void(const std::string&)> progress;
};

// Of whole calls, in nanoseconds.
struct CallTimes {
  std::vector<double> sorted;

  // The smallest time that `share` of the calls didn't exceed (nearest rank).
  double Percentile(double share) const;
  double mean() const;
};

// An operator of the root graph, or a region. Times are the mean of a call's
// sum, bytes are those of one call.
struct ProfileRow {
  std::string name;
  uint64_t num_nodes = 0;  // per call
  double time_ns = 0;
  uint64_t bytes_read = 0, bytes_written = 0;
};

struct RegionProfile : ProfileRow {
  std::string backend;
  uint64_t num_inputs = 0, num_outputs = 0;
  std::optional<PlanListing> listing;
  std::vector<double> step_time_ns;  // by step of the listing
};

struct Profile {
  uint64_t num_warmup = 0;
  CallTimes calls;
  double observed_ns = 0;  // mean of a call that was looked into
  // What the reference executor ran, by operator; most time first.
  std::vector<ProfileRow> operators;
  std::vector<RegionProfile> regions;  // in the order of their delegates
  uint64_t input_bytes = 0, output_bytes = 0;
  // Written by steps and nodes that only move elements.
  uint64_t copied_bytes = 0;
  uint64_t state_bytes = 0;      // of the file
  uint64_t own_state_bytes = 0;  // that calls write: of each runner
  // Sums over the regions.
  uint64_t arena_bytes = 0, peak_live_bytes = 0, unshared_bytes = 0;
  uint64_t constant_bytes = 0, packed_bytes = 0;
};

// Calls the program on copies of `inputs`; state goes on from call to call.
Expected<Profile> ProfileCalls(std::shared_ptr<const Program> program,
                               const std::vector<RuntimeValue>& inputs,
                               const ProfileOptions& options,
                               Diagnostics& diags);

// Tables; at most `top` rows each, 0 = all.
std::string ProfileAsText(const Profile& profile, uint64_t top);
std::string ProfileAsJson(const Profile& profile);

}  // namespace tenon::tools
