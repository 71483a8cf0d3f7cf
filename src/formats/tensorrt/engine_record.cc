#include "formats/tensorrt/engine_record.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "formats/tensorrt/base64.h"

namespace tenon {
namespace {

constexpr std::string_view kFieldNames[kNumEngineFields] = {
    "abi_version",
    "name",
    "device",
    "engine",
    "input_binding_names",
    "output_binding_names",
    "hardware_compatible",
    "metadata",
    "target_platform",
    "requires_output_allocator",
    "resource_allocation_strategy",
    "requires_native_multidevice",
    "aliased_io",
};

// The last two are older spellings; they are kept as they are.
constexpr std::string_view kPlatforms[] = {
    "linux_x86_64", "linux_aarch64", "windows_x86_64", "windows_arm64",
    "unknown",      "win_x86_64",    "win_arm64"};

constexpr char kNameDelimiter = '%';
constexpr char kAliasDelimiter = '@';
constexpr size_t kNumDeviceParts = 5;
constexpr size_t kNumAliasParts = 3;

// Messages show this much of a text that may be long.
std::string Shown(std::string_view text) {
  constexpr size_t kMaxBytes = 80;
  if (text.size() <= kMaxBytes) return "'" + std::string(text) + "'";
  return "'" + std::string(text.substr(0, kMaxBytes)) + "...'";
}

// "" has no parts.
std::vector<std::string_view> Split(std::string_view text, char delimiter) {
  std::vector<std::string_view> out;
  if (text.empty()) return out;
  while (true) {
    const size_t end = text.find(delimiter);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

// Only the spelling that std::to_string gives.
std::optional<int64_t> ParseCount(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0 || std::to_string(value) != text) {
    return std::nullopt;
  }
  return value;
}

class RecordParser {
 public:
  RecordParser(const EngineStrings& strings, const Place& place,
               Diagnostics& diags)
      : strings_(strings), place_(place), diags_(diags) {}

  Expected<EngineRecord> Parse() {
    const auto& fields = strings_.fields;
    if (!fields.empty() && Field(EngineField::kAbiVersion) != kEngineAbiVersion)
      Error(EngineField::kAbiVersion)
          << "version " << Shown(Field(EngineField::kAbiVersion))
          << ", expected '" << kEngineAbiVersion << "'";
    if (fields.size() != kNumEngineFields) {
      ReportCount();
      return Failure{};
    }
    record_.name = Field(EngineField::kName);
    ParseDevice();
    ParseEngine();
    record_.input_names = ParseNames(EngineField::kInputNames);
    record_.output_names = ParseNames(EngineField::kOutputNames);
    CheckNamesDiffer();
    ParseFlag(EngineField::kHardwareCompatible, &record_.hardware_compatible);
    record_.metadata = Field(EngineField::kMetadata);
    ParsePlatform();
    ParseFlag(EngineField::kOutputAllocator,
              &record_.requires_output_allocator);
    ParseFlag(EngineField::kResourceStrategy, &record_.allocates_dynamically);
    ParseFlag(EngineField::kMultiDevice, &record_.requires_multi_device);
    ParseAliases();
    if (!is_fine_) return Failure{};
    return std::move(record_);
  }

 private:
  std::string_view Field(EngineField field) const {
    return strings_.fields[static_cast<size_t>(field)];
  }

  DiagnosticBuilder Error(EngineField field, Rule rule = Rule::kEngine01) {
    is_fine_ = false;
    DiagnosticBuilder error = diags_.Error(rule, place_);
    error << "engine record, field " << static_cast<int>(field) << " '"
          << Name(field) << "': ";
    return error;
  }

  void ReportCount() {
    const size_t count = strings_.fields.size();
    DiagnosticBuilder error = diags_.Error(Rule::kEngine01, place_);
    error << "engine record of " << count << " fields, expected "
          << kNumEngineFields;
    if (count < kNumEngineFields) {
      error << ": '" << kFieldNames[count]
            << (count + 1 < kNumEngineFields ? "' and what follows it are"
                                             : "' is")
            << " missing";
    } else {
      error << ": nothing is known to stand behind 'aliased_io'";
    }
  }

  void ParseDevice() {
    const std::string_view text = Field(EngineField::kDevice);
    const auto parts = Split(text, kNameDelimiter);
    if (parts.size() != kNumDeviceParts) {
      Error(EngineField::kDevice)
          << Shown(text) << " has " << parts.size()
          << " parts, expected id%major%minor%type%name"
          << (parts.size() > kNumDeviceParts ? ", no '%' inside the name" : "");
      return;
    }
    int64_t* const numbers[] = {&record_.device.id, &record_.device.major,
                                &record_.device.minor, &record_.device.type};
    constexpr std::string_view kWhat[] = {"id", "major", "minor", "type"};
    for (size_t i = 0; i < std::size(numbers); ++i) {
      const auto value = ParseCount(parts[i]);
      if (!value || (kWhat[i] == "type" && *value > 1)) {
        Error(EngineField::kDevice)
            << kWhat[i] << " " << Shown(parts[i]) << ", expected "
            << (kWhat[i] == "type" ? "0 or 1" : "a whole number");
        continue;
      }
      *numbers[i] = *value;
    }
    record_.device.name = parts[4];
  }

  void ParseEngine() {
    const std::string_view text = Field(EngineField::kEngine);
    if (strings_.engine_is_raw) {
      record_.engine = AsBytes(text);
      record_.engine_owner = strings_.owner;
    } else {
      auto bytes = DecodeBase64(text);
      if (!bytes) {
        Error(EngineField::kEngine) << "not base64";
        return;
      }
      auto owner =
          std::make_shared<const std::vector<std::byte>>(std::move(*bytes));
      record_.engine = *owner;
      record_.engine_owner = std::move(owner);
    }
    if (record_.engine.empty()) Error(EngineField::kEngine) << "no bytes";
  }

  std::vector<std::string> ParseNames(EngineField field) {
    std::vector<std::string> out;
    std::unordered_set<std::string_view> seen;
    for (const std::string_view name : Split(Field(field), kNameDelimiter)) {
      if (name.empty()) {
        Error(field) << "name " << out.size()
                     << " is empty: two '%' side by side, or one at an end";
      } else if (!seen.insert(name).second) {
        Error(field) << "binding " << Shown(name) << " is there twice";
      }
      out.emplace_back(name);
    }
    return out;
  }

  void CheckNamesDiffer() {
    const std::unordered_set<std::string_view> inputs(
        record_.input_names.begin(), record_.input_names.end());
    for (const std::string& name : record_.output_names) {
      if (name.empty() || inputs.count(name) == 0) continue;
      Error(EngineField::kOutputNames)
          << "binding " << Shown(name) << " is an input, too";
    }
  }

  void ParseFlag(EngineField field, bool* out) {
    const std::string_view text = Field(field);
    if (text != "0" && text != "1") {
      Error(field) << Shown(text) << ", expected '0' or '1'";
    }
    *out = text == "1";
  }

  void ParsePlatform() {
    const std::string_view text = Field(EngineField::kPlatform);
    record_.platform = text;
    if (std::find(std::begin(kPlatforms), std::end(kPlatforms), text) ==
        std::end(kPlatforms)) {
      Error(EngineField::kPlatform) << "unknown platform " << Shown(text);
    }
  }

  // What can be said without types; see CheckEngineBindings for the rest.
  void ParseAliases() {
    const auto records = Split(Field(EngineField::kAliasedIo), kNameDelimiter);
    const std::unordered_set<std::string_view> inputs(
        record_.input_names.begin(), record_.input_names.end());
    const std::unordered_set<std::string_view> outputs(
        record_.output_names.begin(), record_.output_names.end());
    std::unordered_map<std::string_view, std::string_view> output_of_input;
    std::unordered_set<std::string_view> aliased;
    for (const std::string_view text : records) {
      const auto parts = Split(text, kAliasDelimiter);
      if (parts.size() != kNumAliasParts) {
        Error(EngineField::kAliasedIo)
            << Shown(text) << " has " << parts.size()
            << " parts, expected output@input@kind"
            << (parts.size() > kNumAliasParts ? ", no '@' inside a name" : "");
        continue;
      }
      const std::string_view output = parts[0], input = parts[1];
      const auto error = [&] {
        DiagnosticBuilder builder =
            Error(EngineField::kAliasedIo, Rule::kEngine03);
        builder << "output " << Shown(output) << " aliases input "
                << Shown(input) << ", but ";
        return builder;
      };
      if (outputs.count(output) == 0) error() << "no such output is bound";
      if (inputs.count(input) == 0) error() << "no such input is bound";
      if (!aliased.insert(output).second) {
        error() << "the output aliases another input already";
      }
      const auto [other, is_new] = output_of_input.emplace(input, output);
      if (!is_new) {
        error() << "output " << Shown(other->second) << " aliases it, too";
      }
      EngineAlias alias{std::string(output), std::string(input),
                        WriteKind::kUser};
      if (parts[2] == AliasKindName(WriteKind::kKvCacheUpdate)) {
        alias.kind = WriteKind::kKvCacheUpdate;
      } else if (parts[2] != AliasKindName(WriteKind::kUser)) {
        error() << "the kind " << Shown(parts[2]) << " is unknown";
      }
      record_.aliases.push_back(std::move(alias));
    }
    if (!records.empty() && record_.requires_output_allocator) {
      Error(EngineField::kOutputAllocator, Rule::kEngine03)
          << "an output that is allocated at run time can't alias an input";
    }
  }

  const EngineStrings& strings_;
  const Place& place_;
  Diagnostics& diags_;
  EngineRecord record_;
  bool is_fine_ = true;
};

class RecordPrinter {
 public:
  RecordPrinter(const EngineRecord& record, const Place& place,
                Diagnostics& diags)
      : record_(record), place_(place), diags_(diags) {}

  Expected<std::array<std::string, kNumEngineFields>> Print() {
    CheckFree(EngineField::kDevice, record_.device.name, kNameDelimiter);
    CheckNames(EngineField::kInputNames, record_.input_names);
    CheckNames(EngineField::kOutputNames, record_.output_names);
    for (const EngineAlias& alias : record_.aliases) {
      CheckFree(EngineField::kAliasedIo, alias.output, kAliasDelimiter);
      CheckFree(EngineField::kAliasedIo, alias.input, kAliasDelimiter);
    }
    if (!is_fine_) return Failure{};
    return std::array<std::string, kNumEngineFields>{
        std::string(kEngineAbiVersion),
        record_.name,
        PrintEngineDevice(record_.device),
        EncodeBase64(record_.engine),
        Names(record_.input_names),
        Names(record_.output_names),
        Flag(record_.hardware_compatible),
        record_.metadata,
        record_.platform,
        Flag(record_.requires_output_allocator),
        Flag(record_.allocates_dynamically),
        Flag(record_.requires_multi_device),
        Aliases()};
  }

 private:
  void CheckFree(EngineField field, std::string_view name, char delimiter) {
    if (name.find(delimiter) == std::string_view::npos) return;
    is_fine_ = false;
    diags_.Error(Rule::kEngine01, place_)
        << "engine record, field " << static_cast<int>(field) << " '"
        << Name(field) << "': the name " << Shown(name) << " holds the "
        << "delimiter '" << delimiter << "'";
  }

  void CheckNames(EngineField field, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      CheckFree(field, name, kNameDelimiter);
    }
  }

  static std::string Flag(bool value) { return value ? "1" : "0"; }

  static std::string Names(const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& name : names) {
      if (!out.empty()) out += kNameDelimiter;
      out += name;
    }
    return out;
  }

  std::string Aliases() const {
    std::string out;
    for (const EngineAlias& alias : record_.aliases) {
      if (!out.empty()) out += kNameDelimiter;
      out += alias.output + kAliasDelimiter + alias.input + kAliasDelimiter;
      out += AliasKindName(alias.kind);
    }
    return out;
  }

  const EngineRecord& record_;
  const Place& place_;
  Diagnostics& diags_;
  bool is_fine_ = true;
};

}  // namespace

std::string_view Name(EngineField field) {
  return kFieldNames[static_cast<size_t>(field)];
}

std::string PrintEngineDevice(const EngineDevice& device) {
  std::string out;
  for (const int64_t number :
       {device.id, device.major, device.minor, device.type}) {
    out += std::to_string(number) + kNameDelimiter;
  }
  return out + device.name;
}

std::string_view AliasKindName(WriteKind kind) {
  return kind == WriteKind::kUser ? "user" : "kv_cache_update";
}

Expected<EngineRecord> ParseEngineRecord(const EngineStrings& strings,
                                         const Place& place,
                                         Diagnostics& diags) {
  return RecordParser(strings, place, diags).Parse();
}

Expected<std::array<std::string, kNumEngineFields>> PrintEngineRecord(
    const EngineRecord& record, const Place& place, Diagnostics& diags) {
  return RecordPrinter(record, place, diags).Print();
}

}  // namespace tenon
