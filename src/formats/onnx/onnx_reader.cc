#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "formats/onnx/onnx.h"
#include "formats/onnx/onnx_fields.h"
#include "formats/onnx/protobuf.h"

namespace tenon::onnx {
namespace {

// Graphs in attributes of nodes of graphs: no program nests them deeper.
constexpr int kMaxDepth = 64;

constexpr int64_t kTensorKind = 4, kGraphKind = 5;

// Reads messages, each by a function that is told about its fields.
class ModelReader {
 public:
  ModelReader(std::string file_name, Diagnostics& diags)
      : file_name_(std::move(file_name)), diags_(diags) {}

  Status Read(Bytes bytes, Model* out) {
    return EachField(bytes, "ModelProto", [&](const ProtoField& f) -> Status {
      switch (f.number) {
        case field::kModelIrVersion:
          return Int(f, &out->ir_version);
        case field::kModelProducer:
          return Text(f, &out->producer);
        case field::kModelGraph:
          return IsBytes(f) ? Read(f.bytes, 0, &out->graph) : Unknown(f);
        case field::kModelOpset:
          return IsBytes(f) ? ReadOpset(f.bytes, &out->opset) : Unknown(f);
        case field::kModelMetadata:
          if (!IsBytes(f)) return Unknown(f);
          out->metadata.emplace_back();
          return ReadEntry(f.bytes, &out->metadata.back());
        default:
          return Unknown(f);
      }
    });
  }

 private:
  // Calls visit for each field of the message; it returns a Status.
  template <typename Visit>
  Status EachField(Bytes bytes, std::string_view message, Visit&& visit) {
    const std::string_view outer = std::exchange(message_, message);
    ProtoReader reader(bytes);
    while (!reader.at_end()) {
      const size_t at = reader.offset();
      const auto field = reader.Next();
      if (!field) {
        return Fail() << "byte " << at << " of a " << message
                      << " begins no field of a protobuf message";
      }
      TENON_TRY(visit(*field));
      message_ = message;
    }
    message_ = outer;
    return {};
  }

  DiagnosticBuilder Fail() {
    return diags_.Error(Rule::kUnsupported, Place::File(file_name_));
  }
  Status Unknown(const ProtoField& f) {
    return Fail() << "field " << f.number << " of a " << message_
                  << " isn't one that Tenon reads";
  }

  static bool IsBytes(const ProtoField& f) {
    return f.type == WireType::kBytes;
  }
  Status Int(const ProtoField& f, int64_t* out) {
    if (f.type != WireType::kVarint) return Unknown(f);
    *out = static_cast<int64_t>(f.integer);
    return {};
  }
  Status Text(const ProtoField& f, std::string* out) {
    if (!IsBytes(f)) return Unknown(f);
    *out = f.text();
    return {};
  }
  // One item, or, packed, any number of them.
  Status Ints(const ProtoField& f, std::vector<int64_t>* out) {
    if (f.type == WireType::kVarint) {
      out->push_back(static_cast<int64_t>(f.integer));
      return {};
    }
    if (!IsBytes(f)) return Unknown(f);
    ProtoReader packed(f.bytes);
    while (!packed.at_end()) {
      const auto value = packed.Varint();
      if (!value) return Unknown(f);
      out->push_back(static_cast<int64_t>(*value));
    }
    return {};
  }
  Status Type(const ProtoField& f, ElementType* out) {
    int64_t number = 0;
    TENON_TRY(Int(f, &number));
    constexpr auto kLast = static_cast<int64_t>(ElementType::kFloat8E8M0);
    if (number <= 0 || number > kLast) {
      return Fail() << number << " is no element type that Tenon knows";
    }
    *out = static_cast<ElementType>(number);
    return {};
  }

  Status ReadEntry(Bytes bytes, std::pair<std::string, std::string>* out) {
    return EachField(bytes, "StringStringEntryProto",
                     [&](const ProtoField& f) -> Status {
                       if (f.number == field::kEntryKey)
                         return Text(f, &out->first);
                       if (f.number == field::kEntryValue)
                         return Text(f, &out->second);
                       return Unknown(f);
                     });
  }

  Status ReadOpset(Bytes bytes, int64_t* out) {
    std::string domain;
    TENON_TRY(EachField(bytes, "OperatorSetIdProto",
                        [&](const ProtoField& f) -> Status {
                          if (f.number == field::kOpsetDomain)
                            return Text(f, &domain);
                          if (f.number == field::kOpsetVersion)
                            return Int(f, out);
                          return Unknown(f);
                        }));
    if (!domain.empty() && domain != "ai.onnx") {
      return Fail() << "operators of the domain '" << domain
                    << "' aren't known";
    }
    return {};
  }

  Status Read(Bytes bytes, int depth, Graph* out) {
    if (depth > kMaxDepth) {
      return Fail() << "graphs are nested deeper than " << kMaxDepth;
    }
    return EachField(bytes, "GraphProto", [&](const ProtoField& f) -> Status {
      if (!IsBytes(f)) return Unknown(f);
      switch (f.number) {
        case field::kGraphNode:
          out->nodes.emplace_back();
          return Read(f.bytes, depth, &out->nodes.back());
        case field::kGraphName:
          return Text(f, &out->name);
        case field::kGraphInitializer:
          out->initializers.emplace_back();
          return Read(f.bytes, &out->initializers.back());
        case field::kGraphInput:
          out->inputs.emplace_back();
          return Read(f.bytes, &out->inputs.back());
        case field::kGraphOutput:
          out->outputs.emplace_back();
          return Read(f.bytes, &out->outputs.back());
        default:
          return Unknown(f);
      }
    });
  }

  Status Read(Bytes bytes, int depth, Node* out) {
    return EachField(bytes, "NodeProto", [&](const ProtoField& f) -> Status {
      if (!IsBytes(f)) return Unknown(f);
      switch (f.number) {
        case field::kNodeInput:
          return Text(f, &out->inputs.emplace_back());
        case field::kNodeOutput:
          return Text(f, &out->outputs.emplace_back());
        case field::kNodeOp:
          return Text(f, &out->op);
        case field::kNodeAttribute:
          return Read(f.bytes, depth, &out->attributes.emplace_back());
        default:
          return Unknown(f);
      }
    });
  }

  // An attribute says its kind; of the fields only those of that kind may be
  // there, all others would be data that nobody looks at.
  Status Read(Bytes bytes, int depth, Attribute* out) {
    int64_t kind = 0;
    TENON_TRY(
        EachField(bytes, "AttributeProto", [&](const ProtoField& f) -> Status {
          if (f.number != field::kAttributeType) return {};
          return Int(f, &kind);
        }));
    if (kind < 1 || kind > kNumAttributeTypes) {
      return Fail() << "an attribute of kind " << kind << " isn't known";
    }
    out->value = EmptyValue(kind);
    bool has_value = kind != kTensorKind && kind != kGraphKind;
    TENON_TRY(
        EachField(bytes, "AttributeProto", [&](const ProtoField& f) -> Status {
          if (f.number == field::kAttributeName) return Text(f, &out->name);
          if (f.number == field::kAttributeType) return {};
          // The fields of values are numbered as the kinds are, one higher.
          if (f.number != kind + 1) return Unknown(f);
          has_value = true;
          return ReadValue(f, depth, &out->value);
        }));
    if (!has_value) {
      return Fail() << "attribute '" << out->name << "' has no value";
    }
    return {};
  }

  static Attribute::Value EmptyValue(int64_t kind) {
    switch (kind) {
      case 1:
        return 0.0f;
      case 2:
        return int64_t{0};
      case 3:
        return std::string();
      case kTensorKind:
        return TensorValue();
      case kGraphKind:
        return std::make_shared<const Graph>();
      case 6:
        return std::vector<float>();
      case 7:
        return std::vector<int64_t>();
      default:
        return std::vector<std::string>();
    }
  }

  // One field of an attribute's value, whose kind it is of.
  Status ReadValue(const ProtoField& f, int depth, Attribute::Value* out) {
    if (auto* v = std::get_if<float>(out)) {
      if (f.type != WireType::kFixed32) return Unknown(f);
      *v = f.AsFloat();
      return {};
    }
    if (auto* v = std::get_if<int64_t>(out)) return Int(f, v);
    if (auto* v = std::get_if<std::string>(out)) return Text(f, v);
    if (auto* v = std::get_if<std::vector<float>>(out)) return Floats(f, v);
    if (auto* v = std::get_if<std::vector<int64_t>>(out)) return Ints(f, v);
    if (auto* v = std::get_if<std::vector<std::string>>(out)) {
      return Text(f, &v->emplace_back());
    }
    if (!IsBytes(f)) return Unknown(f);
    if (auto* v = std::get_if<TensorValue>(out)) return Read(f.bytes, v);
    const auto graph = std::make_shared<Graph>();
    *out = std::shared_ptr<const Graph>(graph);
    return Read(f.bytes, depth + 1, graph.get());
  }

  Status Floats(const ProtoField& f, std::vector<float>* out) {
    if (f.type == WireType::kFixed32) {
      out->push_back(f.AsFloat());
      return {};
    }
    if (!IsBytes(f)) return Unknown(f);
    ByteCursor packed(f.bytes);
    while (packed.left() > 0) {
      const auto value = packed.Read<float>();
      if (!value) return Unknown(f);
      out->push_back(*value);
    }
    return {};
  }

  Status Read(Bytes bytes, TensorValue* out) {
    int64_t location = 0;
    ExternalData external;
    TENON_TRY(
        EachField(bytes, "TensorProto", [&](const ProtoField& f) -> Status {
          switch (f.number) {
            case field::kTensorDims:
              return Ints(f, &out->dims);
            case field::kTensorType:
              return Type(f, &out->type);
            case field::kTensorName:
              return Text(f, &out->name);
            case field::kTensorRawData:
              return Text(f, &out->bytes);
            case field::kTensorExternalData:
              return IsBytes(f) ? ReadExternal(f.bytes, &external) : Unknown(f);
            case field::kTensorLocation:
              return Int(f, &location);
            default:
              return Unknown(f);
          }
        }));
    if (location == kLocationExternal) out->external = std::move(external);
    return NeedType(out->type, out->name);
  }

  Status ReadExternal(Bytes bytes, ExternalData* out) {
    std::pair<std::string, std::string> entry;
    TENON_TRY(ReadEntry(bytes, &entry));
    if (entry.first == kExternalLocation) {
      out->location = entry.second;
      return {};
    }
    const bool is_offset = entry.first == kExternalOffset;
    if (!is_offset && entry.first != kExternalLength) {
      return Fail() << "external data has '" << entry.first
                    << "', which isn't known";
    }
    const char* end = entry.second.data() + entry.second.size();
    const auto [rest, code] = std::from_chars(
        entry.second.data(), end, is_offset ? out->offset : out->size);
    if (code != std::errc() || rest != end) {
      return Fail() << "'" << entry.second << "' is no number of bytes";
    }
    return {};
  }

  Status Read(Bytes bytes, ValueInfo* out) {
    TENON_TRY(
        EachField(bytes, "ValueInfoProto", [&](const ProtoField& f) -> Status {
          if (f.number == field::kValueName) return Text(f, &out->name);
          if (f.number != field::kValueType || !IsBytes(f)) return Unknown(f);
          return ReadType(f.bytes, out);
        }));
    return NeedType(out->type, out->name);
  }

  Status ReadType(Bytes bytes, ValueInfo* out) {
    return EachField(bytes, "TypeProto", [&](const ProtoField& f) -> Status {
      if (f.number != field::kTypeTensor || !IsBytes(f)) return Unknown(f);
      return ReadTensorType(f.bytes, out);
    });
  }

  Status NeedType(ElementType type, const std::string& name) {
    if (type != ElementType::kUndefined) return {};
    return Fail() << "'" << name << "' has no element type";
  }

  Status ReadTensorType(Bytes bytes, ValueInfo* out) {
    return EachField(
        bytes, "TypeProto.Tensor", [&](const ProtoField& f) -> Status {
          if (f.number == field::kTensorTypeElement) return Type(f, &out->type);
          if (f.number != field::kTensorTypeShape || !IsBytes(f))
            return Unknown(f);
          return EachField(f.bytes, "TensorShapeProto",
                           [&](const ProtoField& d) -> Status {
                             if (d.number != field::kShapeDim || !IsBytes(d))
                               return Unknown(d);
                             out->dims.emplace_back();
                             return ReadDimension(d.bytes, &out->dims.back());
                           });
        });
  }

  Status ReadDimension(Bytes bytes, Dimension* out) {
    constexpr std::string_view kMessage = "TensorShapeProto.Dimension";
    return EachField(bytes, kMessage, [&](const ProtoField& f) -> Status {
      if (f.number == field::kDimName) return Text(f, &out->name);
      if (f.number != field::kDimValue) return Unknown(f);
      int64_t value = 0;
      TENON_TRY(Int(f, &value));
      out->value = value;
      return {};
    });
  }

  const std::string file_name_;
  Diagnostics& diags_;
  std::string_view message_;  // that is being read
};

}  // namespace

Expected<Model> ReadModel(Bytes bytes, const std::string& file_name,
                          Diagnostics& diags) {
  Model model;
  model.ir_version = model.opset = 0;
  TENON_TRY(ModelReader(file_name, diags).Read(bytes, &model));
  return model;
}

}  // namespace tenon::onnx
