#include "formats/tensorrt/engine_container.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "formats/json/json_document.h"
#include "formats/json/json_text.h"

namespace tenon {
namespace {

constexpr std::string_view kPlain = "TR01", kAliased = "TR02";
constexpr uint64_t kHeadBytes = 32;
constexpr uint64_t kAlignment = 16;
constexpr uint32_t kMaxDepth = 16;
constexpr size_t kMaxBindings = 1 << 16;
constexpr std::string_view kBindings = "io_bindings";
constexpr std::string_view kPlatforms[] = {"",
                                           "linux_x86_64",
                                           "linux_aarch64",
                                           "windows_x86_64",
                                           "windows_arm64",
                                           "unknown"};

// What the delegate's reader takes for itself inside a string.
bool IsPlainName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
  });
}

// Names and aliases, whichever way the container comes about.
class ContainerCheck {
 public:
  ContainerCheck(const EngineContainer& container, const Place& place,
                 Diagnostics& diags)
      : container_(container), place_(place), diags_(diags) {}

  bool Holds() {
    for (const auto* list : {&container_.inputs, &container_.outputs}) {
      for (const EngineBinding& binding : *list) CheckName(binding);
    }
    if (container_.engine.empty()) Error() << "there is no engine";
    if (container_.device_id < 0) {
      Error() << "device_id is " << container_.device_id;
    }
    const std::string& platform = container_.target_platform;
    if (std::find(std::begin(kPlatforms), std::end(kPlatforms), platform) ==
        std::end(kPlatforms)) {
      Error() << "target_platform is '" << platform.substr(0, 80) << "'";
    }
    for (const EngineAlias& alias : container_.aliases) CheckAlias(alias);
    return is_fine_;
  }

 private:
  DiagnosticBuilder Error(Rule rule = Rule::kEngine04) {
    is_fine_ = false;
    return diags_.Error(rule, place_);
  }

  void CheckName(const EngineBinding& binding) {
    if (!IsPlainName(binding.name)) {
      Error() << "a binding is called '" << binding.name.substr(0, 80)
              << "', which the delegate can't read";
    } else if (!names_.insert(binding.name).second) {
      Error() << "two bindings are called '" << binding.name << "'";
    }
  }

  static const EngineBinding* Find(const std::vector<EngineBinding>& list,
                                   std::string_view name) {
    const auto at =
        std::find_if(list.begin(), list.end(),
                     [&](const EngineBinding& b) { return b.name == name; });
    return at == list.end() ? nullptr : &*at;
  }

  void CheckAlias(const EngineAlias& alias) {
    const EngineBinding* input = Find(container_.inputs, alias.input);
    const EngineBinding* output = Find(container_.outputs, alias.output);
    const auto error = [&] {
      auto e = Error(Rule::kEngine03);
      e << "output '" << alias.output << "' aliases input '" << alias.input
        << "', but ";
      return e;
    };
    if (input == nullptr || output == nullptr) {
      error() << "one of them isn't bound";
      return;
    }
    if (!aliased_.insert(alias.input).second ||
        !aliased_.insert(alias.output).second) {
      error() << "one of them is aliased already";
    }
    if (!input->shape.empty() && !output->shape.empty() &&
        input->shape != output->shape) {
      error() << "their shapes differ";
    }
    if (!input->dtype.empty() && !output->dtype.empty() &&
        input->dtype != output->dtype) {
      error() << "they are " << input->dtype << " and " << output->dtype;
    }
  }

  const EngineContainer& container_;
  const Place& place_;
  Diagnostics& diags_;
  std::unordered_set<std::string_view> names_, aliased_;
  bool is_fine_ = true;
};

class MetadataReader {
 public:
  MetadataReader(EngineContainer* out, const Place& place, Diagnostics& diags)
      : out_(*out), place_(place), diags_(diags) {}

  Status Read(std::string_view text) {
    JsonDocument document;
    if (document.Parse(text, false, kMaxDepth).what != nullptr) {
      return Error() << "the metadata isn't JSON";
    }
    JsonObject root;
    if (!document.root().Get(&root)) {
      return Error() << "the metadata is no object";
    }
    if (root.size() == 0 || root.begin().key() != kBindings) {
      return Error() << "the metadata doesn't begin with the key io_bindings";
    }
    std::unordered_set<std::string_view> seen;
    for (const JsonObject::Field field : root) {
      if (!seen.insert(field.key).second) {
        return Error() << "the metadata has the key '" << field.key
                       << "' twice";
      }
      TENON_TRY(ReadField(field.key, field.value));
    }
    return {};
  }

 private:
  DiagnosticBuilder Error() { return diags_.Error(Rule::kEngine04, place_); }
  Failure Wrong(std::string_view key) {
    Error() << "the metadata's '" << key << "' isn't of the published form";
    return Failure{};
  }

  Status ReadField(std::string_view key, const JsonElement& value) {
    if (key == kBindings) return ReadBindings(value);
    if (key == "aliased_io") return ReadAliases(value);
    std::string_view text;
    if (key == "hardware_compatible") {
      if (!value.Get(&out_.hardware_compatible)) return Wrong(key);
    } else if (key == "device_id") {
      if (!value.Get(&out_.device_id)) return Wrong(key);
    } else if (key == "serialized_metadata") {
      if (!value.Get(&text)) return Wrong(key);
      out_.serialized_metadata = text;
    } else if (key == "target_platform") {
      if (!value.Get(&text)) return Wrong(key);
      out_.target_platform = text;
    }
    return {};
  }

  Status ReadBindings(const JsonElement& value) {
    JsonArray list;
    if (!value.Get(&list) || list.size() > kMaxBindings) {
      return Wrong(kBindings);
    }
    for (const JsonElement item : list) {
      EngineBinding binding;
      std::string_view name, dtype;
      bool is_input = false;
      JsonArray shape;
      if (!item["name"].Get(&name) || !item["is_input"].Get(&is_input) ||
          (item["dtype"].valid() && !item["dtype"].Get(&dtype)) ||
          (item["shape"].valid() && !item["shape"].Get(&shape))) {
        return Wrong(kBindings);
      }
      binding.name = name;
      binding.dtype = dtype;
      if (item["shape"].valid()) {
        for (const JsonElement size : shape) {
          int64_t n = 0;
          if (!size.Get(&n) || n < -1) return Wrong(kBindings);
          binding.shape.push_back(n);
        }
      }
      if (is_input && !out_.outputs.empty()) {
        return Error() << "input '" << binding.name << "' comes behind outputs";
      }
      (is_input ? out_.inputs : out_.outputs).push_back(std::move(binding));
    }
    return {};
  }

  Status ReadAliases(const JsonElement& value) {
    JsonArray list;
    if (!value.Get(&list) || list.size() > kMaxBindings) {
      return Wrong("aliased_io");
    }
    for (const JsonElement item : list) {
      // Older exporters know one kind and don't name it.
      std::string_view output, input,
          kind = AliasKindName(WriteKind::kKvCacheUpdate);
      if (!item["output"].Get(&output) || !item["input"].Get(&input) ||
          (item["kind"].valid() && !item["kind"].Get(&kind))) {
        return Wrong("aliased_io");
      }
      EngineAlias alias{std::string(output), std::string(input),
                        WriteKind::kUser};
      if (kind == AliasKindName(WriteKind::kKvCacheUpdate)) {
        alias.kind = WriteKind::kKvCacheUpdate;
      } else if (kind != AliasKindName(WriteKind::kUser)) {
        return diags_.Error(Rule::kEngine03, place_)
               << "output '" << output << "' aliases an input in a way called '"
               << kind << "', which nobody knows";
      }
      out_.aliases.push_back(std::move(alias));
    }
    return {};
  }

  EngineContainer& out_;
  const Place& place_;
  Diagnostics& diags_;
};

// Compact, in the published order of keys.
std::string MetadataText(const EngineContainer& container) {
  std::string out = "{\"io_bindings\":[";
  const auto add = [&](const EngineBinding& binding, bool is_input) {
    if (out.back() == '}') out += ',';
    out += "{\"name\":";
    AppendJsonString(binding.name, &out);
    out += ",\"dtype\":";
    AppendJsonString(binding.dtype, &out);
    out += ",\"shape\":[";
    for (size_t d = 0; d < binding.shape.size(); ++d) {
      out += (d == 0 ? "" : ",") + std::to_string(binding.shape[d]);
    }
    out += "],\"is_input\":";
    out += is_input ? "true}" : "false}";
  };
  for (const EngineBinding& b : container.inputs) add(b, true);
  for (const EngineBinding& b : container.outputs) add(b, false);
  out += "],\"aliased_io\":[";
  for (const EngineAlias& alias : container.aliases) {
    if (out.back() == '}') out += ',';
    out += "{\"output\":";
    AppendJsonString(alias.output, &out);
    out += ",\"input\":";
    AppendJsonString(alias.input, &out);
    out += ",\"kind\":\"" + std::string(AliasKindName(alias.kind)) + "\"}";
  }
  out += "],\"hardware_compatible\":";
  out += container.hardware_compatible ? "true" : "false";
  out += ",\"device_id\":" + std::to_string(container.device_id);
  out += ",\"serialized_metadata\":";
  AppendJsonString(container.serialized_metadata, &out);
  out += ",\"target_platform\":\"" + container.target_platform + "\"}";
  return out;
}

}  // namespace

bool IsEngineContainer(Bytes payload) {
  if (payload.size() < kPlain.size()) return false;
  const std::string_view magic = AsText(payload.subspan(0, kPlain.size()));
  return magic == kPlain || magic == kAliased;
}

Expected<EngineContainer> ReadEngineContainer(Bytes payload, const Place& place,
                                              Diagnostics& diags) {
  const auto error = [&] { return diags.Error(Rule::kEngine04, place); };
  if (payload.size() < kHeadBytes || !IsEngineContainer(payload)) {
    return error() << "no container of an engine";
  }
  ByteCursor cursor(payload, kPlain.size());
  const uint64_t metadata_at = *cursor.Read<uint32_t>();
  const uint64_t metadata_bytes = *cursor.Read<uint32_t>();
  const uint64_t engine_at = *cursor.Read<uint32_t>();
  const uint64_t engine_bytes = *cursor.Read<uint64_t>();
  if (metadata_at < kHeadBytes || engine_at % kAlignment != 0 ||
      metadata_at + metadata_bytes > engine_at || engine_at > payload.size() ||
      engine_bytes > payload.size() - engine_at) {
    return error() << "metadata at " << metadata_at << " of " << metadata_bytes
                   << " bytes and engine at " << engine_at << " of "
                   << engine_bytes << " bytes don't lie in " << payload.size()
                   << " bytes";
  }
  EngineContainer out;
  out.engine = payload.subspan(engine_at, engine_bytes);
  TENON_TRY(MetadataReader(&out, place, diags)
                .Read(AsText(payload.subspan(metadata_at, metadata_bytes))));
  if (!ContainerCheck(out, place, diags).Holds()) return Failure{};
  if (!out.aliases.empty() && AsText(payload.subspan(0, 4)) == kPlain) {
    return diags.Error(Rule::kEngine03, place)
           << "outputs are aliased in a TR01, which readers without aliases "
              "take, too";
  }
  return out;
}

Expected<std::vector<std::byte>> WriteEngineContainer(
    const EngineContainer& container, const Place& place, Diagnostics& diags) {
  if (!ContainerCheck(container, place, diags).Holds()) return Failure{};
  const std::string metadata = MetadataText(container);
  const uint64_t engine_at =
      (kHeadBytes + metadata.size() + kAlignment - 1) / kAlignment * kAlignment;
  if (engine_at > UINT32_MAX) {
    return diags.Error(Rule::kEngine04, place)
           << "the metadata's bytes don't fit 32 bits";
  }
  std::vector<std::byte> out(engine_at);
  const auto put = [&](size_t at, const auto& value) {
    std::memcpy(out.data() + at, &value, sizeof(value));
  };
  const std::string_view magic = container.aliases.empty() ? kPlain : kAliased;
  std::memcpy(out.data(), magic.data(), magic.size());
  put(4, static_cast<uint32_t>(kHeadBytes));
  put(8, static_cast<uint32_t>(metadata.size()));
  put(12, static_cast<uint32_t>(engine_at));
  put(16, uint64_t{container.engine.size()});
  put(24, uint64_t{1});
  std::memcpy(out.data() + kHeadBytes, metadata.data(), metadata.size());
  out.insert(out.end(), container.engine.begin(), container.engine.end());
  return out;
}

std::string InputBindingName(size_t n) { return "input_" + std::to_string(n); }
std::string OutputBindingName(size_t n) {
  return "output_" + std::to_string(n);
}

}  // namespace tenon
