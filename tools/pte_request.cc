#include "pte_request.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "backend_options.h"
#include "executorch/delegate_regions.h"
#include "formats/kind/file_kind.h"
#include "formats/pt2/pt2.h"
#include "passes/rewrite.h"
#include "pte_constant.h"
#include "read_program.h"
#include "rewrite_options.h"
#include "source_file.h"

namespace tenon::tools {
namespace {

constexpr std::string_view kPortable = "portable";

bool IsNameLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (c >= '0' && c <= '9');
}

// "decode:xnnpack" is for one method, "xnnpack" for all.
struct Scoped {
  std::string method;  // "" for all
  std::string text;
};
Scoped SplitScope(const std::string& text) {
  const size_t colon = text.find(':');
  const bool is_scoped =
      colon != std::string::npos && colon > 0 &&
      std::all_of(text.begin(), text.begin() + static_cast<ptrdiff_t>(colon),
                  IsNameLetter);
  if (!is_scoped) return {"", text};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

std::vector<std::string> SplitAtCommas(const std::string& list) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t comma = std::min(list.find(',', begin), list.size());
    out.push_back(list.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return out;
}

// "prefill=a.pt2" names a method; a path has a slash before its '='.
struct MethodArgument {
  std::optional<std::string> name;
  std::string path;
};
MethodArgument SplitArgument(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || text.find('/') < equals) {
    return {std::nullopt, text};
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// A method, and which of a file's it is.
struct Wanted {
  std::string name;
  std::string path;
  std::string method_in_file;  // "" = 'model', or the only one
};

class RequestReader {
 public:
  RequestReader(const CommandLine& line, Diagnostics& diags)
      : line_(line), diags_(diags) {}

  Expected<PteRequest> Read() {
    TENON_TRY(FindMethods());
    TENON_TRY(CheckNames());
    TENON_TRY(ReadOptionsOfMethods());
    TENON_TRY(ReadFileOptions());
    for (size_t i = 0; i < wanted_.size(); ++i) TENON_TRY(ReadMethod(i));
    return std::move(request_);
  }

 private:
  DiagnosticBuilder Usage() { return diags_.Error(Rule::kUsage); }

  // A file alone is method "forward", or all the methods of its archive.
  Status FindMethods() {
    const std::string only = line_.Get("--method");
    for (const std::string& text : line_.arguments()) {
      MethodArgument argument = SplitArgument(text);
      if (argument.name) {
        wanted_.push_back({*argument.name, argument.path, only});
        continue;
      }
      if (line_.arguments().size() > 1) {
        return Usage() << "'" << text
                       << "' has no name; write each method as NAME=FILE";
      }
      TENON_TRY(FindMethodsOf(argument.path, only));
    }
    return {};
  }

  Status FindMethodsOf(const std::string& path, const std::string& only) {
    std::vector<std::string> names;
    if (only.empty() && path != "-") {
      TENON_ASSIGN(const SourceFile source, OpenSource(path, diags_));
      if (RecogniseFile(source.bytes) == FileKind::kPt2) {
        TENON_ASSIGN(names, ListPt2Methods(path, diags_));
      }
    }
    if (names.size() < 2) {
      wanted_.push_back({"forward", path, only});
      return {};
    }
    for (const std::string& name : names) {
      wanted_.push_back({name, path, name});
    }
    return {};
  }

  // The library checks that names are identifiers, each its own.
  Status CheckNames() {
    for (const std::string& text : line_.GetAll("--constant")) {
      const size_t equals = text.find('=');
      if (equals == std::string::npos) {
        return Usage() << "'" << text << "' isn't of the form NAME=VALUE";
      }
      PteConstantMethod method;
      method.name = text.substr(0, equals);
      TENON_ASSIGN(method.values,
                   ParsePteConstant(text.substr(equals + 1), diags_));
      request_.file.constants.push_back(std::move(method));
    }
    options_.resize(wanted_.size());
    // Names alone, before any file is opened.
    std::vector<PteMethod> named;
    for (const Wanted& w : wanted_) named.push_back({w.name, nullptr, {}});
    return CheckPteNames(named, request_.file, diags_);
  }

  // Calls `set` for each method that a scoped text is for.
  template <typename Set>
  Status ForMethods(std::string_view option, const Set& set) {
    for (const std::string& text : line_.GetAll(option)) {
      const Scoped scoped = SplitScope(text);
      bool is_used = false;
      for (size_t i = 0; i < wanted_.size(); ++i) {
        if (!scoped.method.empty() && wanted_[i].name != scoped.method) {
          continue;
        }
        is_used = true;
        TENON_TRY(set(scoped.text, !scoped.method.empty(), &options_[i]));
      }
      if (is_used) continue;
      return Usage() << "option " << option << " " << text << ": there is no "
                     << "method '" << scoped.method << "'";
    }
    return {};
  }

  Status ReadOptionsOfMethods() {
    // Backends on devices are made for their method's bounds.
    TENON_TRY(ForMethods("--bound", [&](const std::string& text, bool,
                                        PteExportOptions* options) {
      return AddBound(text, options);
    }));
    // What is said of one method stands instead of what is said of all.
    std::map<const PteExportOptions*, bool> has_own;
    TENON_TRY(ForMethods("--backend", [&](const std::string& text, bool is_own,
                                          PteExportOptions* options) {
      if (!is_own && has_own[options]) return Status();
      if (is_own && !std::exchange(has_own[options], true)) {
        options->backends.clear();
      }
      return AddBackends(text, options);
    }));
    for (PteExportOptions& options : options_) {
      TENON_TRY(AddRequests(&options));
    }
    TENON_TRY(ForMethods("--compile-spec", [&](const std::string& text, bool,
                                               PteExportOptions* options) {
      return AddCompileSpec(text, options);
    }));
    return ForMethods("--caller-owned", [&](const std::string& text, bool,
                                            PteExportOptions* options) {
      if (text == "inputs") {
        options->plans_inputs = false;
      } else if (text == "outputs") {
        options->plans_outputs = false;
      } else {
        return Status(Usage() << "option --caller-owned: '" << text
                              << "' is neither inputs nor outputs");
      }
      return Status();
    });
  }

  Status AddBackends(const std::string& text, PteExportOptions* options) {
    for (const std::string& name : SplitAtCommas(text)) {
      if (name == kPortable) continue;
      const Backend* backend = executorch::FindDelegateBackend(name);
      if (backend == nullptr) {
        DeviceBackends& devices = request_.devices.emplace_back();
        TENON_TRY(devices.Configure(line_, options->bounds, diags_));
        TENON_ASSIGN(backend, devices.Find(name, diags_));
        options->cuda_device = devices.cuda_device();
      }
      options->backends.push_back(backend);
    }
    return {};
  }

  // What --allow, --deny and the like say of a method's backends.
  Status AddRequests(PteExportOptions* options) {
    std::vector<BackendRequest> requests;
    for (const Backend* backend : options->backends) {
      requests.emplace_back().backend = backend;
    }
    TENON_TRY(AddToRequests(line_, &requests, diags_));
    for (BackendRequest& request : requests) {
      const std::string name(request.backend->name());
      options->requests.emplace(name, std::move(request));
    }
    return {};
  }

  // "s33=128"
  Status AddBound(const std::string& text, PteExportOptions* options) {
    const size_t equals = text.find('=');
    const char* end = text.data() + text.size();
    int64_t max = 0;
    const auto [rest, code] =
        equals == std::string::npos
            ? std::from_chars_result{text.data(), std::errc::invalid_argument}
            : std::from_chars(text.data() + equals + 1, end, max);
    if (code != std::errc() || rest != end || max < 0) {
      return Usage() << "'" << text << "' isn't of the form SYMBOL=MAX";
    }
    options->bounds[text.substr(0, equals)] = max;
    return {};
  }

  // "xnnpack.KEY=VALUE"
  Status AddCompileSpec(const std::string& text, PteExportOptions* options) {
    const size_t dot = text.find('.');
    const size_t equals = text.find('=');
    if (dot == std::string::npos || equals == std::string::npos ||
        equals < dot + 2) {
      return Usage() << "'" << text << "' isn't of the form BACKEND.KEY=VALUE";
    }
    options->backend_options.push_back({text.substr(0, dot),
                                        text.substr(dot + 1, equals - dot - 1),
                                        text.substr(equals + 1)});
    return {};
  }

  Status ReadFileOptions() {
    PteFileOptions& file = request_.file;
    file.shared_state = line_.GetAll("--share-state");
    file.shares_all_state = line_.Has("--share-all-state");
    for (const std::string& what : line_.GetAll("--inline")) {
      if (what == "payloads") file.inline_payloads = true;
      if (what == "weights") file.weights = PteWeightPlace::kInline;
    }
    if (!line_.Has("--weights-file")) return {};
    if (file.weights == PteWeightPlace::kInline) {
      return Usage() << "options --inline weights and --weights-file "
                        "contradict each other";
    }
    file.weights = PteWeightPlace::kDataFile;
    file.data_path = line_.Get("--weights-file");
    if (!file.data_path.ends_with(".ptd")) {
      return Usage() << "option --weights-file writes a .ptd; '"
                     << file.data_path << "' isn't called so";
    }
    return {};
  }

  Status ReadMethod(size_t i) {
    const auto context = std::make_shared<Context>();
    TENON_ASSIGN(const RewriteOptions rewrite,
                 RewriteOptionsOf(line_, context.get(), diags_));
    ReadOptions read;
    read.limits = line_.read_limits();
    read.method = wanted_[i].method_in_file;
    TENON_ASSIGN(LoadedProgram loaded,
                 ReadProgram(wanted_[i].path, context, read, diags_));
    if (!Rewrite(&loaded.program, rewrite, diags_)) return Failure{};
    request_.programs.push_back(std::move(loaded.program));
    request_.methods.push_back(
        {wanted_[i].name, &request_.programs.back(), options_[i]});
    return {};
  }

  const CommandLine& line_;
  Diagnostics& diags_;
  std::vector<Wanted> wanted_;
  std::vector<PteExportOptions> options_;  // by method
  PteRequest request_;
};

}  // namespace

std::vector<std::string> PteBackendNames(const CommandLine& line) {
  std::vector<std::string> names;
  for (const std::string& text : line.GetAll("--backend")) {
    for (std::string& name : SplitAtCommas(SplitScope(text).text)) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

Expected<PteRequest> ReadPteRequest(const CommandLine& line,
                                    Diagnostics& diags) {
  return RequestReader(line, diags).Read();
}

}  // namespace tenon::tools
