#include "formats/tensorrt/engine_delegate.h"

#include <unordered_map>

#include "formats/tensorrt/engine_shapes.h"

namespace tenon {
namespace {

// The fields that are metadata of the delegate, in the record's order.
constexpr EngineField kMetadataFields[] = {
    EngineField::kAbiVersion,      EngineField::kName,
    EngineField::kDevice,          EngineField::kHardwareCompatible,
    EngineField::kMetadata,        EngineField::kPlatform,
    EngineField::kOutputAllocator, EngineField::kResourceStrategy,
    EngineField::kMultiDevice,
};

std::string FieldText(EngineField field) {
  return "engine record, field " + std::to_string(static_cast<int>(field)) +
         " '" + std::string(Name(field)) + "': ";
}

// "float32[2, s0] on cuda:0".
std::string TypeText(const Program& program, TypeId id) {
  const Type& type = program.type(id);
  if (!type.is_tensor()) return "no tensor";
  std::string out(Name(type.dtype));
  out += '[';
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    if (d > 0) out += ", ";
    const SymInt& size = type.sizes[d];
    out += size.is_literal() ? std::to_string(size.value)
                             : program.context().exprs.PrintInfix(size.expr);
  }
  out += ']';
  return out;
}

std::string DeviceText(const Program& program, const Device& device) {
  std::string out(program.view(device.type));
  if (device.index >= 0) out += ':' + std::to_string(device.index);
  return out;
}

bool SameSizes(const Type& a, const Type& b) {
  if (a.rank() != b.rank()) return false;
  for (size_t d = 0; d < a.sizes.size(); ++d) {
    const SymInt &x = a.sizes[d], &y = b.sizes[d];
    if (x.is_literal() != y.is_literal()) return false;
    if (x.is_literal() ? x.value != y.value : x.expr != y.expr) return false;
  }
  return true;
}

class BindingsCheck {
 public:
  BindingsCheck(const Program& program, const EngineRecord& record,
                const std::vector<TypeId>& operands,
                const std::vector<TypeId>& results, const Place& place,
                Diagnostics& diags)
      : program_(program),
        record_(record),
        operands_(operands),
        outputs_(results),
        num_stated_(results.size()),
        place_(place),
        diags_(diags) {
    IndexNames(record.input_names, &input_by_name_);
    IndexNames(record.output_names, &output_by_name_);
    for (size_t i = 0; i < record.aliases.size(); ++i) {
      alias_by_output_.emplace(record.aliases[i].output, i);
    }
  }

  Expected<std::vector<TypeId>> Run() {
    CheckArity(EngineField::kInputNames, record_.input_names.size(),
               operands_.size(), "operands");
    // The types of both sides are needed for the rest.
    if (!is_fine_ || !AddOutputs()) return Failure{};
    CheckTensors(EngineField::kInputNames, operands_, record_.input_names);
    CheckTensors(EngineField::kOutputNames, outputs_, record_.output_names);
    if (!is_fine_) return Failure{};
    CheckShapes();
    for (const EngineAlias& alias : record_.aliases) CheckAlias(alias);
    if (!is_fine_) return Failure{};
    return std::move(outputs_);
  }

 private:
  using Index = std::unordered_map<std::string_view, size_t>;

  static void IndexNames(const std::vector<std::string>& names, Index* out) {
    for (size_t i = 0; i < names.size(); ++i) out->emplace(names[i], i);
  }

  DiagnosticBuilder Error(EngineField field, Rule rule = Rule::kEngine02) {
    is_fine_ = false;
    DiagnosticBuilder error = diags_.Error(rule, place_);
    error << FieldText(field);
    return error;
  }

  void CheckArity(EngineField field, size_t names, size_t values,
                  const char* what) {
    if (names == values) return;
    Error(field) << names << " names, but the call has " << values << " "
                 << what
                 << (names > values ? ": one too many, or a '%' inside a name"
                                    : "");
  }

  // Exporters leave out results that only show what was written in place.
  bool AddOutputs() {
    const auto& names = record_.output_names;
    if (names.size() < num_stated_) {
      CheckArity(EngineField::kOutputNames, names.size(), num_stated_,
                 "results");
      return false;
    }
    for (size_t i = num_stated_; i < names.size(); ++i) {
      const auto alias = alias_by_output_.find(names[i]);
      const auto input =
          alias == alias_by_output_.end()
              ? input_by_name_.end()
              : input_by_name_.find(record_.aliases[alias->second].input);
      if (input == input_by_name_.end()) {
        CheckArity(EngineField::kOutputNames, names.size(), num_stated_,
                   "results");
        return false;
      }
      outputs_.push_back(operands_[input->second]);
    }
    return true;
  }

  void CheckTensors(EngineField field, const std::vector<TypeId>& types,
                    const std::vector<std::string>& names) {
    for (size_t i = 0; i < types.size(); ++i) {
      if (program_.type(types[i]).is_tensor()) continue;
      Error(field) << "binding '" << names[i] << "' is no tensor in the call";
    }
  }

  // The metadata knows the region's own inputs and outputs: a prefix of the
  // bindings.
  void CheckShapes() {
    const auto shapes = ReadEngineShapes(record_.metadata);
    if (!shapes || shapes->inputs.size() != operands_.size() ||
        shapes->outputs.size() > outputs_.size()) {
      return;
    }
    CheckShapesOf("input", shapes->inputs, operands_, record_.input_names);
    CheckShapesOf("output", shapes->outputs, outputs_, record_.output_names);
  }

  void CheckShapesOf(const char* what, const std::vector<EngineTensor>& engine,
                     const std::vector<TypeId>& call,
                     const std::vector<std::string>& names) {
    for (size_t i = 0; i < engine.size(); ++i) {
      const Type& type = program_.type(call[i]);
      if (engine[i].is_scalar ||
          (engine[i].dtype == type.dtype &&
           engine[i].rank == static_cast<size_t>(type.rank()))) {
        continue;
      }
      Error(EngineField::kMetadata)
          << what << " '" << names[i] << "' is " << Name(engine[i].dtype)
          << " of rank " << engine[i].rank << ", but "
          << TypeText(program_, call[i]) << " in the call";
    }
  }

  void CheckAlias(const EngineAlias& alias) {
    const auto out = output_by_name_.find(alias.output);
    const auto in = input_by_name_.find(alias.input);
    const auto error = [&] {
      DiagnosticBuilder builder =
          Error(EngineField::kAliasedIo, Rule::kEngine03);
      builder << "output '" << alias.output << "' aliases input '"
              << alias.input << "', but ";
      return builder;
    };
    if (out == output_by_name_.end() || in == input_by_name_.end()) {
      error() << "one of them isn't bound";
      return;
    }
    const TypeId output_id = outputs_[out->second];
    const TypeId input_id = operands_[in->second];
    const Type& output = program_.type(output_id);
    const Type& input = program_.type(input_id);
    if (output.dtype != input.dtype || !SameSizes(output, input)) {
      error() << "they are " << TypeText(program_, output_id) << " and "
              << TypeText(program_, input_id);
    }
    for (const auto& [what, device] :
         {std::pair("the input", input.device),
          std::pair("the output", output.device)}) {
      if (program_.view(device.type) == "cuda" &&
          (device.index < 0 || device.index == record_.device.id)) {
        continue;
      }
      error() << what << " lives on " << DeviceText(program_, device)
              << ", the engine on cuda:" << record_.device.id;
    }
  }

  const Program& program_;
  const EngineRecord& record_;
  const std::vector<TypeId>& operands_;
  std::vector<TypeId> outputs_;
  size_t num_stated_;
  const Place& place_;
  Diagnostics& diags_;
  Index input_by_name_, output_by_name_, alias_by_output_;
  bool is_fine_ = true;
};

}  // namespace

std::string_view FindMetadata(const Program& program, const Delegate& delegate,
                              std::string_view key) {
  for (const auto& [k, text] : delegate.metadata) {
    if (program.view(k) == key) return program.view(text);
  }
  return {};
}

Expected<std::vector<TypeId>> CheckEngineBindings(
    const Program& program, const EngineRecord& record,
    const std::vector<TypeId>& operands, const std::vector<TypeId>& results,
    const Place& place, Diagnostics& diags) {
  return BindingsCheck(program, record, operands, results, place, diags).Run();
}

Delegate MakeEngineDelegate(const EngineRecord& record,
                            const std::vector<TypeId>& inputs,
                            const std::vector<TypeId>& outputs,
                            Context* context) {
  Delegate d;
  d.name = context->Intern(record.name);
  d.backend = context->Intern(kEngineBackend);
  d.payload = record.engine;
  d.payload_owner = record.engine_owner;
  d.payload_digest = HashBytes(d.payload.data(), d.payload.size());
  d.inputs = inputs;
  d.outputs = outputs;
  std::unordered_map<std::string_view, uint32_t> input_by_name, output_by_name;
  for (const std::string& name : record.input_names) {
    input_by_name.emplace(name, static_cast<uint32_t>(d.input_names.size()));
    d.input_names.push_back(context->Intern(name));
  }
  for (const std::string& name : record.output_names) {
    output_by_name.emplace(name, static_cast<uint32_t>(d.output_names.size()));
    d.output_names.push_back(context->Intern(name));
  }
  for (const EngineAlias& alias : record.aliases) {
    d.writes.push_back({input_by_name.at(alias.input),
                        output_by_name.at(alias.output), alias.kind});
  }
  const auto flag = [](bool value) { return std::string(value ? "1" : "0"); };
  const std::string texts[] = {
      std::string(kEngineAbiVersion),
      record.name,
      PrintEngineDevice(record.device),
      flag(record.hardware_compatible),
      record.metadata,
      record.platform,
      flag(record.requires_output_allocator),
      flag(record.allocates_dynamically),
      flag(record.requires_multi_device),
  };
  for (size_t i = 0; i < std::size(kMetadataFields); ++i) {
    d.metadata.emplace_back(context->Intern(Name(kMetadataFields[i])),
                            context->Intern(texts[i]));
  }
  return d;
}

Expected<EngineRecord> RecordOfDelegate(const Program& program,
                                        const Delegate& delegate,
                                        const Place& place,
                                        Diagnostics& diags) {
  // As the strings of a record, so that there is one reader of them; names and
  // aliases are typed here already.
  EngineStrings strings;
  strings.fields.resize(kNumEngineFields);
  strings.engine_is_raw = true;
  strings.owner = delegate.payload_owner;
  bool is_fine = true;
  for (const EngineField field : kMetadataFields) {
    std::string_view* text = nullptr;
    for (const auto& [key, value] : delegate.metadata) {
      if (program.view(key) != Name(field)) continue;
      text = &strings.fields[static_cast<size_t>(field)];
      *text = program.view(value);
    }
    if (text != nullptr) continue;
    is_fine = false;
    diags.Error(Rule::kEngine01, place)
        << FieldText(field) << "the delegate's metadata doesn't have it";
  }
  if (!is_fine) return Failure{};
  strings.fields[static_cast<size_t>(EngineField::kEngine)] =
      AsText(delegate.payload);
  TENON_ASSIGN(EngineRecord record, ParseEngineRecord(strings, place, diags));
  for (const StringId name : delegate.input_names) {
    record.input_names.emplace_back(program.view(name));
  }
  for (const StringId name : delegate.output_names) {
    record.output_names.emplace_back(program.view(name));
  }
  for (const DeclaredWrite& w : delegate.writes) {
    if (w.output >= record.output_names.size() ||
        w.input >= record.input_names.size()) {
      return diags.Error(Rule::kEngine03, place)
             << FieldText(EngineField::kAliasedIo) << "output " << w.output
             << " aliases input " << w.input << ", but they have no names";
    }
    record.aliases.push_back(
        {record.output_names[w.output], record.input_names[w.input], w.kind});
  }
  return record;
}

}  // namespace tenon
