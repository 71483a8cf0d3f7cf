#include "formats/pt2/schema_check.h"

#include <set>
#include <string>

namespace tenon {
namespace {

using namespace schema_minor;

// The minor version in which the schema got a code for the dtype.
int64_t MinorOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E5M2:
      return 7;
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2FNUZ:
      return 14;
    case DType::kFloat8E8M0FNU:
      return 18;
    case DType::kUInt32:
    case DType::kUInt64:
      return 20;
    case DType::kUnknown:
    case DType::kUInt8:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kFloat16:
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kComplex32:
    case DType::kComplex64:
    case DType::kComplex128:
    case DType::kBool:
    case DType::kBFloat16:
    case DType::kUInt16:
      return 0;
  }
  return 0;
}

// The same for the tag of a list.
int64_t MinorOf(ListTag tag) {
  switch (tag) {
    case ListTag::kIntLists:
      return kIntLists;
    case ListTag::kNestedTensors:
      return kNestedTensors;
    case ListTag::kFloatLists:
      return kFloatLists;
    case ListTag::kTensors:
    case ListTag::kOptionalTensors:
    case ListTag::kInts:
    case ListTag::kSymInts:
    case ListTag::kFloats:
    case ListTag::kSymFloats:
    case ListTag::kBools:
    case ListTag::kSymBools:
    case ListTag::kStrings:
      return 0;
  }
  return 0;
}

class SchemaCheck {
 public:
  SchemaCheck(const Program& program, const Pt2Release& release,
              Diagnostics& diags)
      : program_(program), release_(release), diags_(diags) {}

  void Run() {
    CheckGraph(Program::kRoot);
    CheckSpecs();
    for (const StateEntry& entry : program_.state.entries) {
      if (release_.layout != Pt2Layout::kRaw || !entry.type.valid()) continue;
      CheckDType(program_.type(entry.type).dtype,
                 Place::Node(std::string(program_.view(entry.fqn))));
    }
  }

 private:
  void Want(int64_t minor, const Place& place, const std::string& what) {
    if (minor <= release_.schema_minor) return;
    diags_.Error(Rule::kFile11, place)
        << what << " came with schema 8." << minor << ", torch "
        << release_.name << " has 8." << release_.schema_minor;
  }

  void CheckDType(DType dtype, const Place& place) {
    Want(MinorOf(dtype), place, "dtype " + std::string(Name(dtype)));
  }

  void CheckGraph(GraphId g) {
    const tenon::Graph& graph = program_.graph(g);
    for (const ValueId v : graph.inputs) {
      CheckDType(
          program_.type(v).dtype,
          Place::Node(std::string(program_.view(graph.name)) + "/%" +
                      std::string(program_.view(program_.value(v).name))));
    }
    for (const NodeId n : program_.nodes(g)) {
      const Place place = Place::Node(program_.Describe(g, n));
      const ValueRange results = program_.node(n).results;
      for (uint32_t i = 0; i < results.count; ++i) {
        CheckDType(program_.type(results[i]).dtype, place);
      }
      program_.ForEachArg(program_.node(n).args, [&](const Arg& arg, ArgId) {
        CheckArgument(arg, place);
      });
    }
  }

  void CheckArgument(const Arg& arg, const Place& place) {
    switch (arg.kind) {
      case ArgKind::kComplex:
        return Want(kRawRecords, place, "a complex literal (as_complex)");
      case ArgKind::kDict:
        return Want(kDicts, place, "a dict argument (as_string_to_argument)");
      case ArgKind::kDtype:
        return CheckDType(arg.dtype(), place);
      case ArgKind::kList:
        return Want(
            MinorOf(arg.list_tag), place,
            "a list of lists (" + std::string(Pt2Tag(arg.list_tag)) + ")");
      case ArgKind::kGraph:
        return CheckGraph(arg.graph);
      case ArgKind::kNone:
      case ArgKind::kValue:
      case ArgKind::kInt:
      case ArgKind::kFloat:
      case ArgKind::kBool:
      case ArgKind::kString:
      case ArgKind::kLayout:
      case ArgKind::kMemoryFormat:
      case ArgKind::kDevice:
      case ArgKind::kOperator:
      case ArgKind::kObject:
        return;
    }
  }

  void CheckSpecs() {
    for (size_t i = 0; i < program_.signature.outputs.size(); ++i) {
      if (program_.signature.outputs[i].kind !=
          OutputKind::kParameterMutation) {
        continue;
      }
      Want(kRawRecords, Place::Node("output " + std::to_string(i)),
           "a parameter that is written (parameter_mutation)");
    }
  }

  const Program& program_;
  const Pt2Release& release_;
  Diagnostics& diags_;
};

}  // namespace

Status CheckSchema(const Program& program, const Pt2Release& release,
                   Diagnostics& diags) {
  const size_t before = diags.num_errors();
  SchemaCheck(program, release, diags).Run();
  return diags.num_errors() > before ? Status(Failure{}) : Status();
}

}  // namespace tenon
