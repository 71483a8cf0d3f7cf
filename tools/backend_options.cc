#include "backend_options.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "support/mapped_file.h"
#include "tensorrt/tensorrt_backend.h"

namespace tenon::tools {
namespace {

// Those that run here, and TensorRT, which runs elsewhere.
const Backend* FindNamed(std::string_view name) {
  const Backend& tensorrt = GetTensorrtBackend();
  return name == tensorrt.name() ? &tensorrt : FindBackend(name);
}

Expected<BackendRequest> Find(const std::string& name, Diagnostics& diags) {
  BackendRequest request;
  request.backend = FindNamed(name);
  if (request.backend != nullptr) return request;
  std::vector<std::string_view> names = AllBackendNames();
  names.push_back(GetTensorrtBackend().name());
  std::string known = "none";
  for (const std::string_view n : names) known += ", " + std::string(n);
  const std::string_view closest = ClosestName(name, names);
  return diags.Error(Rule::kUsage)
         << "this build has no backend '" << name << "'; "
         << (closest.empty() ? "it has " + known
                             : "did you mean '" + std::string(closest) + "'?");
}

// "cpu,echo" names two, as does giving the option twice.
std::vector<std::string> SplitAtCommas(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts) {
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      out.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return out;
}

// Lines that say something; '#' starts a comment.
Expected<std::vector<std::string>> ReadLines(const std::string& path,
                                             Diagnostics& diags) {
  std::string error;
  const auto file = MappedFile::Open(path, &error);
  if (file == nullptr) {
    return diags.Error(Rule::kIo, Place::File(path)) << error;
  }
  constexpr std::string_view kBlank = " \t\r";
  std::vector<std::string> lines;
  std::string_view text = AsText(file->bytes());
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, line.find('#'));
    const size_t begin = line.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) continue;
    line = line.substr(begin, line.find_last_not_of(kBlank) + 1 - begin);
    lines.emplace_back(line);
  }
  return lines;
}

using Requests = std::vector<BackendRequest>;

// "echo:aten.add" is for one backend, "aten.add" for all. Neither node names
// ("%a:b") nor files are mistaken for it. Cuts the backend's name off `text`
// and gives the requests that it concerns.
Expected<std::vector<BackendRequest*>> Addressed(std::string* text,
                                                 Requests* requests,
                                                 Diagnostics& diags) {
  size_t colon = text->find(':');
  if (text->starts_with('%') || text->starts_with('@')) {
    colon = std::string::npos;
  }
  std::vector<BackendRequest*> out;
  for (BackendRequest& request : *requests) {
    if (colon == std::string::npos ||
        request.backend->name() == text->substr(0, colon)) {
      out.push_back(&request);
    }
  }
  if (out.empty()) {
    return diags.Error(Rule::kUsage)
           << "'" << *text << "' names a backend that isn't asked for";
  }
  if (colon != std::string::npos) text->erase(0, colon + 1);
  return out;
}

template <typename ListOf>
Status AddToLists(const CommandLine& line, std::string_view option,
                  ListOf&& list_of, Requests* requests, Diagnostics& diags) {
  for (std::string& text : SplitAtCommas(line.GetAll(option))) {
    TENON_ASSIGN(const auto addressed, Addressed(&text, requests, diags));
    std::vector<std::string> items = {text};
    if (text.starts_with('@')) {
      TENON_ASSIGN(items, ReadLines(text.substr(1), diags));
    }
    for (BackendRequest* request : addressed) {
      std::vector<std::string>& list = list_of(request);
      list.insert(list.end(), items.begin(), items.end());
    }
  }
  return {};
}

// The list comes into being, be it empty: an empty file allows nothing.
std::vector<std::string>& AllowOf(BackendRequest* request) {
  if (!request->allow) request->allow.emplace();
  return *request->allow;
}
std::vector<std::string>& DenyOf(BackendRequest* request) {
  return request->deny;
}

Status AddGroups(const CommandLine& line, Requests* requests,
                 Diagnostics& diags) {
  for (std::string& text : line.GetAll("--group")) {
    TENON_ASSIGN(const auto addressed, Addressed(&text, requests, diags));
    std::vector<std::string> groups = {text};
    if (text.starts_with('@')) {
      TENON_ASSIGN(groups, ReadLines(text.substr(1), diags));
    }
    for (const std::string& group : groups) {
      const std::vector<std::string> names = SplitAtCommas({group});
      for (const std::string& name : names) {
        if (name.starts_with('%')) continue;
        return diags.Error(Rule::kUsage)
               << "a group lists nodes, as in '%add_1,%mul'; '" << name
               << "' isn't one";
      }
      for (BackendRequest* request : addressed) {
        request->groups.push_back(names);
      }
    }
  }
  return {};
}

// Sets a number where the option gives one: set(request, number).
template <typename Set>
Status SetNumbers(const CommandLine& line, std::string_view option,
                  uint64_t min, uint64_t max, Set&& set, Requests* requests,
                  Diagnostics& diags) {
  for (std::string& text : line.GetAll(option)) {
    TENON_ASSIGN(const auto addressed, Addressed(&text, requests, diags));
    uint64_t number = 0;
    const auto [end, code] =
        std::from_chars(text.data(), text.data() + text.size(), number);
    if (code != std::errc() || end != text.data() + text.size() ||
        number < min || number > max) {
      return diags.Error(Rule::kUsage)
             << "option " << option << " is a whole number from " << min
             << " to " << max << ", not '" << text << "'";
    }
    for (BackendRequest* request : addressed) set(request, number);
  }
  return {};
}

Status SetAllNumbers(const CommandLine& line, Requests* requests,
                     Diagnostics& diags) {
  // Products with the number of nodes stay in range.
  constexpr uint64_t kMaxNs = 1'000'000'000;
  const auto count = [](uint32_t BackendRequest::*field) {
    return [field](BackendRequest* r, uint64_t n) {
      r->*field = static_cast<uint32_t>(n);
    };
  };
  const auto cost = [](int64_t CostModel::*field) {
    return [field](BackendRequest* r, uint64_t n) {
      r->cost.*field = static_cast<int64_t>(n);
    };
  };
  TENON_TRY(SetNumbers(line, "--min-nodes", 0, UINT32_MAX,
                       count(&BackendRequest::min_region_nodes), requests,
                       diags));
  TENON_TRY(SetNumbers(line, "--max-regions", 0, UINT32_MAX,
                       count(&BackendRequest::max_regions), requests, diags));
  TENON_TRY(SetNumbers(line, "--launch-ns", 0, kMaxNs,
                       cost(&CostModel::launch_ns), requests, diags));
  TENON_TRY(SetNumbers(line, "--bandwidth", 1, kMaxNs,
                       cost(&CostModel::bandwidth_gb_per_s), requests, diags));
  return SetNumbers(line, "--node-saving-ns", 0, kMaxNs,
                    cost(&CostModel::node_saving_ns), requests, diags);
}

}  // namespace

Expected<std::vector<BackendRequest>> FindBackends(
    const std::vector<std::string>& texts, Diagnostics& diags) {
  const std::vector<std::string> names = SplitAtCommas(texts);
  std::vector<BackendRequest> requests;
  const bool has_none =
      std::find(names.begin(), names.end(), "none") != names.end();
  if (has_none && names.size() > 1) {
    return diags.Error(Rule::kUsage)
           << "backend 'none' can't be combined with others";
  }
  if (has_none) return requests;
  for (const std::string& name : names) {
    TENON_ASSIGN(BackendRequest request, Find(name, diags));
    requests.push_back(std::move(request));
  }
  return requests;
}

Status AddToRequests(const CommandLine& line,
                     std::vector<BackendRequest>* requests,
                     Diagnostics& diags) {
  for (BackendRequest& request : *requests) {
    request.drop_costly = line.Has("--drop-costly");
  }
  TENON_TRY(SetAllNumbers(line, requests, diags));
  TENON_TRY(AddToLists(line, "--allow", AllowOf, requests, diags));
  TENON_TRY(AddToLists(line, "--deny", DenyOf, requests, diags));
  return AddGroups(line, requests, diags);
}

Expected<std::vector<BackendRequest>> BackendRequests(const CommandLine& line,
                                                      Diagnostics& diags) {
  if (!line.Has("--backend")) {
    return diags.Error(Rule::kUsage)
           << "option --backend is missing: which backend may take nodes";
  }
  TENON_ASSIGN(std::vector<BackendRequest> requests,
               FindBackends(line.GetAll("--backend"), diags));
  if (requests.empty()) return requests;
  // What the others leave over is the last one's.
  requests.back().must_take_all = line.Has("--must-take-all");
  TENON_TRY(AddToRequests(line, &requests, diags));
  return requests;
}

}  // namespace tenon::tools
