#include "rewrite_options.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace tenon::tools {
namespace {

Expected<MoveDeviceOptions> ParseMove(std::string_view text, Context* context,
                                      Diagnostics& diags) {
  const size_t equals = text.find('=');
  const std::string_view to =
      equals == std::string_view::npos ? text : text.substr(equals + 1);
  const auto device = [&](std::string_view name) -> Expected<Device> {
    const auto parsed = ParseDevice(name, context);
    if (parsed) return *parsed;
    return diags.Error(Rule::kUsage)
           << "--device: '" << name << "' is no device, as 'cuda:0' is";
  };
  MoveDeviceOptions options;
  if (equals != std::string_view::npos) {
    TENON_ASSIGN(options.from, device(text.substr(0, equals)));
  }
  TENON_ASSIGN(options.to, device(to));
  return options;
}

}  // namespace

Expected<RewriteOptions> RewriteOptionsOf(const CommandLine& line,
                                          Context* context,
                                          Diagnostics& diags) {
  RewriteOptions options;
  options.fold.weights = line.Has("--fold-weights");
  options.fold_constants = line.Has("--fold-constants") || options.fold.weights;
  options.remove_dead_code = line.Has("--remove-dead-code");
  std::string error;
  const auto growth = line.GetCount(
      "--fold-growth", options.fold.max_growth_bytes, INT64_MAX, &error);
  if (!growth) return diags.Error(Rule::kUsage) << error;
  if (line.Has("--fold-growth") && !options.fold_constants) {
    return diags.Error(Rule::kUsage)
           << "--fold-growth says nothing without --fold-constants";
  }
  options.fold.max_growth_bytes = *growth;
  if (line.Has("--device")) {
    TENON_ASSIGN(options.move, ParseMove(line.Get("--device"), context, diags));
  }
  if (line.Has("--output-names")) {
    const std::string names = line.Get("--output-names");
    for (size_t begin = 0; begin <= names.size();) {
      const size_t end = std::min(names.find(',', begin), names.size());
      options.output_names.push_back(names.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return options;
}

}  // namespace tenon::tools
