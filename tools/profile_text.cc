#include <algorithm>
#include <cstdio>

#include "json_writer.h"
#include "profile.h"
#include "support/byte_text.h"
#include "support/counted.h"
#include "text_table.h"

namespace tenon::tools {
namespace {

// "12.3 us".
std::string TimeText(double ns) {
  constexpr const char* kUnits[] = {"ns", "us", "ms", "s"};
  size_t unit = 0;
  while (ns >= 1000 && unit + 1 < std::size(kUnits)) {
    ns /= 1000;
    ++unit;
  }
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.3g %s", ns, kUnits[unit]);
  // Three digits, also where %g would take to exponents.
  if (ns >= 999.5)
    std::snprintf(buffer, sizeof buffer, "%.0f %s", ns, kUnits[unit]);
  return buffer;
}

std::string Share(double part, double whole) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.1f %%",
                whole > 0 ? 100 * part / whole : 0.0);
  return buffer;
}

// "1.000": how much larger the arena is than it must be.
std::string RatioText(uint64_t size, uint64_t bound) {
  char buffer[32];
  std::snprintf(
      buffer, sizeof buffer, "%.3f",
      bound > 0 ? static_cast<double>(size) / static_cast<double>(bound) : 1.0);
  return buffer;
}

// Most time first; at most `top` of them, 0 = all.
std::vector<size_t> Longest(const std::vector<double>& times, uint64_t top) {
  std::vector<size_t> order(times.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return times[a] > times[b]; });
  if (top > 0 && order.size() > top) order.resize(top);
  return order;
}

std::string Hidden(size_t count, size_t shown) {
  return shown < count ? "  and " + std::to_string(count - shown) + " more\n"
                       : "";
}

// "aten.add.Tensor, aten.mul.Tensor (2), ...".
std::string OpsText(const std::vector<std::string>& ops) {
  constexpr size_t kShown = 4;
  std::vector<std::pair<std::string, size_t>> counted;
  for (const std::string& op : ops) {
    const auto at = std::find_if(counted.begin(), counted.end(),
                                 [&](const auto& c) { return c.first == op; });
    if (at == counted.end()) {
      counted.emplace_back(op, 1);
    } else {
      ++at->second;
    }
  }
  std::string out;
  for (size_t i = 0; i < std::min(counted.size(), kShown); ++i) {
    if (i > 0) out += ", ";
    out += counted[i].first;
    if (counted[i].second > 1) {
      out += " (" + std::to_string(counted[i].second) + ")";
    }
  }
  return counted.size() > kShown ? out + ", ..." : out;
}

class TextProfile {
 public:
  TextProfile(const Profile& profile, uint64_t top) : p_(profile), top_(top) {}

  std::string Write() {
    Calls();
    Memory();
    Regions();
    for (const RegionProfile& region : p_.regions) Steps(region);
    Operators();
    return std::move(out_);
  }

 private:
  void Line(const std::string& label, const std::string& text) {
    std::string line = label + ":";
    line.resize(std::max<size_t>(line.size() + 1, 12), ' ');
    out_ += line + text + "\n";
  }

  void Calls() {
    const CallTimes& c = p_.calls;
    Line("calls", std::to_string(c.sorted.size()) + " after " +
                      Count(p_.num_warmup, "warm-up call"));
    Line("time", "min " + TimeText(c.Percentile(0)) + ", median " +
                     TimeText(c.Percentile(0.5)) + ", p90 " +
                     TimeText(c.Percentile(0.9)) + ", p99 " +
                     TimeText(c.Percentile(0.99)));
  }

  void Memory() {
    Line("inputs", ByteText(p_.input_bytes));
    Line("outputs", ByteText(p_.output_bytes));
    Line("copies", ByteText(p_.copied_bytes) + " moved unchanged");
    Line("state", ByteText(p_.state_bytes) + ", of it written by calls " +
                      ByteText(p_.own_state_bytes));
    if (p_.arena_bytes + p_.constant_bytes + p_.packed_bytes == 0) return;
    Line("arena", ByteText(p_.arena_bytes) + ", peak-live bound " +
                      ByteText(p_.peak_live_bytes) + ", ratio " +
                      RatioText(p_.arena_bytes, p_.peak_live_bytes) +
                      ", without sharing " + ByteText(p_.unshared_bytes));
    Line("planned", ByteText(p_.constant_bytes) + " of constants, " +
                        ByteText(p_.packed_bytes) + " of packed weights");
  }

  void Regions() {
    if (p_.regions.empty()) return;
    TextTable table({"region", "backend", "time", "share", "inputs", "outputs",
                     "bytes in", "bytes out"},
                    2);
    std::vector<double> times;
    for (const RegionProfile& r : p_.regions) times.push_back(r.time_ns);
    const auto order = Longest(times, top_);
    for (const size_t i : order) {
      const RegionProfile& r = p_.regions[i];
      table.Add({r.name, r.backend, TimeText(r.time_ns),
                 Share(r.time_ns, p_.observed_ns), std::to_string(r.num_inputs),
                 std::to_string(r.num_outputs), std::to_string(r.bytes_read),
                 std::to_string(r.bytes_written)});
    }
    out_ += "\n" + table.ToString() + Hidden(times.size(), order.size());
  }

  void Steps(const RegionProfile& region) {
    if (!region.listing || region.listing->steps.empty()) return;
    TextTable table({region.name + ", step", "computes", "time", "share",
                     "bytes read", "bytes written"},
                    2);
    const auto order = Longest(region.step_time_ns, top_);
    for (const size_t i : order) {
      const ListedStep& step = region.listing->steps[i];
      table.Add({std::to_string(i) + " " + step.name, OpsText(step.ops),
                 TimeText(region.step_time_ns[i]),
                 Share(region.step_time_ns[i], region.time_ns),
                 std::to_string(step.bytes_read),
                 std::to_string(step.bytes_written)});
    }
    out_ += "\n" + table.ToString() +
            Hidden(region.step_time_ns.size(), order.size());
  }

  void Operators() {
    if (p_.operators.empty()) return;
    TextTable table(
        {"operator", "nodes", "time", "share", "bytes read", "bytes written"},
        1);
    const size_t shown = top_ == 0
                             ? p_.operators.size()
                             : std::min<size_t>(p_.operators.size(), top_);
    for (size_t i = 0; i < shown; ++i) {
      const ProfileRow& row = p_.operators[i];
      table.Add({row.name, std::to_string(row.num_nodes), TimeText(row.time_ns),
                 Share(row.time_ns, p_.observed_ns),
                 std::to_string(row.bytes_read),
                 std::to_string(row.bytes_written)});
    }
    out_ += "\n" + table.ToString() + Hidden(p_.operators.size(), shown);
  }

  const Profile& p_;
  const uint64_t top_;
  std::string out_;
};

void WriteNumber(std::string_view key, double value, JsonWriter* json) {
  json->Key(key);
  json->Double(value);
}

void WriteRow(const ProfileRow& row, JsonWriter* json) {
  json->Member("name", row.name);
  json->Member("nodes", row.num_nodes);
  WriteNumber("time_ns", row.time_ns, json);
  json->Member("bytes_read", row.bytes_read);
  json->Member("bytes_written", row.bytes_written);
}

void WriteListing(const RegionProfile& region, JsonWriter* json) {
  const PlanListing& listing = *region.listing;
  json->Member("arena_bytes", listing.arena_bytes);
  json->Member("peak_live_bytes", listing.peak_live_bytes);
  json->Member("unshared_bytes", listing.unshared_bytes);
  json->Member("constant_bytes", listing.constant_bytes);
  json->Member("packed_bytes", listing.packed_bytes);
  json->Key("steps");
  json->BeginArray();
  for (size_t i = 0; i < listing.steps.size(); ++i) {
    const ListedStep& step = listing.steps[i];
    json->BeginObject();
    json->Member("name", step.name);
    json->Key("ops");
    json->BeginArray();
    for (const std::string& op : step.ops) json->String(op);
    json->EndArray();
    json->Member("is_copy", step.is_copy);
    WriteNumber("time_ns", region.step_time_ns[i], json);
    json->Member("bytes_read", step.bytes_read);
    json->Member("bytes_written", step.bytes_written);
    json->EndObject();
  }
  json->EndArray();
  json->Key("buffers");
  json->BeginArray();
  for (const ListedBuffer& buffer : listing.buffers) {
    json->BeginObject();
    json->Member("offset", buffer.offset);
    json->Member("bytes", buffer.size_bytes);
    json->Member("first_step", uint64_t{buffer.first_step});
    json->Member("last_step", uint64_t{buffer.last_step});
    json->EndObject();
  }
  json->EndArray();
}

}  // namespace

std::string ProfileAsText(const Profile& profile, uint64_t top) {
  return TextProfile(profile, top).Write();
}

std::string ProfileAsJson(const Profile& profile) {
  JsonWriter json;
  json.BeginObject();
  json.Member("calls", uint64_t{profile.calls.sorted.size()});
  json.Member("warmup_calls", profile.num_warmup);
  WriteNumber("min_ns", profile.calls.Percentile(0), &json);
  WriteNumber("median_ns", profile.calls.Percentile(0.5), &json);
  WriteNumber("p90_ns", profile.calls.Percentile(0.9), &json);
  WriteNumber("p99_ns", profile.calls.Percentile(0.99), &json);
  WriteNumber("mean_ns", profile.calls.mean(), &json);
  WriteNumber("observed_mean_ns", profile.observed_ns, &json);
  json.Member("input_bytes", profile.input_bytes);
  json.Member("output_bytes", profile.output_bytes);
  json.Member("copied_bytes", profile.copied_bytes);
  json.Member("state_bytes", profile.state_bytes);
  json.Member("own_state_bytes", profile.own_state_bytes);
  json.Member("arena_bytes", profile.arena_bytes);
  json.Member("peak_live_bytes", profile.peak_live_bytes);
  json.Member("unshared_bytes", profile.unshared_bytes);
  json.Member("constant_bytes", profile.constant_bytes);
  json.Member("packed_bytes", profile.packed_bytes);
  json.Key("operators");
  json.BeginArray();
  for (const ProfileRow& row : profile.operators) {
    json.BeginObject();
    WriteRow(row, &json);
    json.EndObject();
  }
  json.EndArray();
  json.Key("regions");
  json.BeginArray();
  for (const RegionProfile& region : profile.regions) {
    json.BeginObject();
    WriteRow(region, &json);
    json.Member("backend", region.backend);
    json.Member("inputs", region.num_inputs);
    json.Member("outputs", region.num_outputs);
    if (region.listing) WriteListing(region, &json);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.Take();
}

}  // namespace tenon::tools
