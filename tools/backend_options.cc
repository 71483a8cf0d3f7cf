#include "backend_options.h"

#include <algorithm>
#include <string_view>

namespace tenon::tools {
namespace {

Expected<BackendRequest> Find(const std::string& name, Diagnostics& diags) {
  BackendRequest request;
  request.backend = FindBackend(name);
  if (request.backend != nullptr) return request;
  const std::vector<std::string_view> names = AllBackendNames();
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

// "echo:aten.add" goes to the list of one backend, "aten.add" to all.
Status Distribute(const std::vector<std::string>& texts,
                  std::vector<std::string> BackendRequest::*list,
                  std::vector<BackendRequest>* requests, Diagnostics& diags) {
  for (const std::string& text : texts) {
    const size_t colon = text.find(':');
    const std::string op =
        colon == std::string::npos ? text : text.substr(colon + 1);
    bool is_used = false;
    for (BackendRequest& request : *requests) {
      if (colon == std::string::npos ||
          request.backend->name() == text.substr(0, colon)) {
        (request.*list).push_back(op);
        is_used = true;
      }
    }
    if (!is_used) {
      return diags.Error(Rule::kUsage)
             << "'" << text << "' names a backend that isn't asked for";
    }
  }
  return {};
}

}  // namespace

Expected<std::vector<BackendRequest>> BackendRequests(const CommandLine& line,
                                                      Diagnostics& diags) {
  const std::vector<std::string> names =
      SplitAtCommas(line.GetAll("--backend"));
  if (names.empty()) {
    return diags.Error(Rule::kUsage)
           << "option --backend is missing: which backend may take nodes";
  }
  std::string error;
  const auto min_nodes = line.GetCount("--min-nodes", 1, UINT32_MAX, &error);
  const auto max_regions =
      line.GetCount("--max-regions", 0, UINT32_MAX, &error);
  if (!min_nodes || !max_regions) return diags.Error(Rule::kUsage) << error;

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
    request.min_region_nodes = static_cast<uint32_t>(*min_nodes);
    request.max_regions = static_cast<uint32_t>(*max_regions);
    request.must_take_all = line.Has("--must-take-all");
    requests.push_back(std::move(request));
  }
  TENON_TRY(Distribute(SplitAtCommas(line.GetAll("--allow")),
                       &BackendRequest::allow, &requests, diags));
  TENON_TRY(Distribute(SplitAtCommas(line.GetAll("--deny")),
                       &BackendRequest::deny, &requests, diags));
  return requests;
}

}  // namespace tenon::tools
