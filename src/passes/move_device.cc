#include "passes/move_device.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>
#include <vector>

namespace tenon {
namespace {

class Mover {
 public:
  Mover(Program* program, const MoveDeviceOptions& options, Diagnostics& diags)
      : program_(*program),
        options_(options),
        diags_(diags),
        moved_(program->context().types.size()) {}

  Expected<MoveDeviceReport> Run() {
    TENON_TRY(Check());
    for (uint32_t v = 0; v < program_.num_values(); ++v) {
      MoveType(&program_.mutable_value(ValueId(v)).type);
    }
    for (StateEntry& entry : program_.state.entries) MoveType(&entry.type);
    for (uint32_t a = 0; a < program_.num_args(); ++a) MoveArg(ArgId(a));
    for (uint32_t g = 0; g < program_.num_graphs(); ++g) {
      if (program_.graph(GraphId(g)).is_erased) continue;
      for (const NodeId n : program_.nodes(GraphId(g))) VisitNode(n);
    }
    return report_;
  }

 private:
  Status Check() {
    bool ok = true;
    for (const Delegate& d : program_.delegates) {
      ok = false;
      diags_.Error(Rule::kUnsupported,
                   Place::Node(std::string(program_.view(d.name))))
          << "a delegate was compiled for its device and can't be moved; move "
             "the program that it was made of";
    }
    for (const std::string& guard : program_.file.guards_code) {
      if (guard.find(".device") == std::string::npos) continue;
      ok = false;
      diags_.Error(Rule::kUnsupported)
          << "the guard '" << guard
          << "' is about a device, so the program can't be moved";
    }
    if (!ok) return Failure{};
    return {};
  }

  bool Moves(StringId type, int32_t index) const {
    if (!type.valid()) return false;
    if (!options_.from) return true;
    return type == options_.from->type &&
           (options_.from->index < 0 || index == options_.from->index);
  }

  void MoveType(TypeId* id) {
    if (!id->valid()) return;
    // Types that were made meanwhile lie behind the table's end.
    if (id->index >= moved_.size()) return;
    if (!moved_[id->index].valid()) moved_[id->index] = Moved(*id);
    if (moved_[id->index] == *id) return;
    *id = moved_[id->index];
    ++report_.num_types;
  }

  TypeId Moved(TypeId id) {
    const Type& type = program_.type(id);
    if (!type.is_tensor() || !Moves(type.device.type, type.device.index)) {
      return id;
    }
    Type other = type;
    other.device = options_.to;
    return program_.context().types.Intern(std::move(other));
  }

  void MoveArg(ArgId id) {
    const Arg arg = program_.arg(id);
    if (arg.kind != ArgKind::kDevice) return;
    if (!Moves(arg.device.type, arg.device.index)) return;
    if (arg.device.type == options_.to.type &&
        arg.device.index == options_.to.index) {
      return;
    }
    program_.SetArg(id, Arg::OfDevice(options_.to.type, options_.to.index),
                    /*keep_label=*/true);
    ++report_.num_arguments;
  }

  void VisitNode(NodeId n) {
    if (program_.node(n).kind != NodeKind::kOp) return;
    if (program_.op_name(n) == "higher_order.wrap_with_autocast" ||
        program_.op_name(n).ends_with("_enter_autocast")) {
      MoveAutocast(n);
    } else if (MakesOnDefaultDevice(n)) {
      NameDevice(n);
    }
  }

  // The first argument is a device's type, as text.
  void MoveAutocast(NodeId n) {
    const ArgRange args = program_.node(n).args;
    if (args.count == 0) return;
    const Arg& arg = program_.arg(args[0]);
    if (arg.kind != ArgKind::kString || arg.text == options_.to.type ||
        (options_.from && arg.text != options_.from->type)) {
      return;
    }
    program_.SetArg(args[0], Arg::String(options_.to.type),
                    /*keep_label=*/true);
    ++report_.num_arguments;
  }

  // An operator that takes no tensor and doesn't say where its result lies,
  // although that was moved.
  bool MakesOnDefaultDevice(NodeId n) const {
    const OpSchema* schema = program_.schema(n);
    const Node& node = program_.node(n);
    if (schema == nullptr || schema->FindArg("device") < 0 ||
        node.results.count == 0) {
      return false;
    }
    for (const SchemaArg& arg : schema->args) {
      if (arg.type == SchemaType::kTensor) return false;
    }
    const Type& type = program_.type(node.results[0]);
    if (!type.is_tensor() || type.device != options_.to) return false;
    const Arg* device = program_.FindArg(n, "device");
    if (device != nullptr) return device->kind == ArgKind::kNone;
    return true;
  }

  void NameDevice(NodeId n) {
    Context& context = program_.context();
    const ArgRange old = program_.node(n).args;
    const StringId label = context.Intern("device");
    ArgId place;
    for (uint32_t i = 0; i < old.count; ++i) {
      if (program_.arg(old[i]).name == label) place = old[i];
    }
    if (!place.valid()) {
      const ArgRange longer = program_.NewArgs(old.count + 1);
      for (uint32_t i = 0; i < old.count; ++i) {
        program_.CopyArg(old[i], longer[i], n);
      }
      place = longer[old.count];
      program_.SetArgLabel(place, label, PassKind::kKeyword);
      program_.ReplaceArgs(n, longer);
    }
    program_.SetArg(place, Arg::OfDevice(options_.to.type, options_.to.index),
                    /*keep_label=*/true);
    ++report_.num_arguments;
  }

  Program& program_;
  const MoveDeviceOptions& options_;
  Diagnostics& diags_;
  std::vector<TypeId> moved_;  // by type; invalid: not asked yet
  MoveDeviceReport report_;
};

}  // namespace

Expected<MoveDeviceReport> MoveDevice(Program* program,
                                      const MoveDeviceOptions& options,
                                      Diagnostics& diags) {
  return Mover(program, options, diags).Run();
}

std::optional<Device> ParseDevice(std::string_view text, Context* context) {
  Device device;
  const size_t colon = text.find(':');
  const std::string_view type = text.substr(0, colon);
  const bool is_word =
      !type.empty() && std::all_of(type.begin(), type.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
      });
  if (!is_word) return std::nullopt;
  if (colon != std::string_view::npos) {
    const std::string_view index = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(
        index.data(), index.data() + index.size(), device.index);
    if (error != std::errc() || end != index.data() + index.size() ||
        device.index < 0) {
      return std::nullopt;
    }
  }
  device.type = context->Intern(type);
  return device;
}

}  // namespace tenon
