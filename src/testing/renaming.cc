#include "testing/renaming.h"

#include <utility>
#include <vector>

namespace tenon::testing {
namespace {

using Labels = std::span<const std::string_view>;

constexpr std::string_view kOneName[] = {"add"};
constexpr std::string_view kNoName[] = {""};
constexpr std::string_view kOperatorNames[] = {
    "aten.add.Tensor", "add",      "getitem",     "output",  "placeholder",
    "call_module",     "get_attr", "p_weight",    "b_cache", "lifted_tensor_0",
    "execute_engine",  "delegate", "true_graph_0"};
constexpr std::string_view kTwinNames[] = {"a.b",  "a_b", "a-b", "a b",
                                           "a__b", "A_b", "_a_b"};
constexpr std::string_view kUnicodeNames[] = {
    "\xC3\xA9",      // e with acute, composed
    "e\xCC\x81",     // the same, decomposed
    "\xEF\xAC\x81",  // the ligature fi
    "\xE5\x90\x8D", "fi", "%x", "@main", "\"", "x#2", "1", " ", "\xFF"};

constexpr Renaming kAll[] = {Renaming::kOneName,   Renaming::kNone,
                             Renaming::kOperators, Renaming::kSwapped,
                             Renaming::kTwins,     Renaming::kUnicode};

Labels LabelsOf(Renaming renaming) {
  switch (renaming) {
    case Renaming::kOneName:
      return kOneName;
    case Renaming::kNone:
    case Renaming::kSwapped:
      return kNoName;
    case Renaming::kOperators:
      return kOperatorNames;
    case Renaming::kTwins:
      return kTwinNames;
    case Renaming::kUnicode:
      return kUnicodeNames;
  }
  return kNoName;
}

void SwapValueLabels(Program* program, Choices* choices) {
  const auto count = static_cast<uint32_t>(program->num_values());
  for (uint32_t i = count; i > 1; --i) {
    Value& a = program->mutable_value(ValueId(i - 1));
    Value& b = program->mutable_value(ValueId(choices->Below(i)));
    std::swap(a.name, b.name);
  }
}

}  // namespace

std::string_view Name(Renaming renaming) {
  switch (renaming) {
    case Renaming::kOneName:
      return "one name";
    case Renaming::kNone:
      return "no names";
    case Renaming::kOperators:
      return "names of operators";
    case Renaming::kSwapped:
      return "each other's names";
    case Renaming::kTwins:
      return "names that sanitising makes equal";
    case Renaming::kUnicode:
      return "unicode";
  }
  return "";
}

std::span<const Renaming> AllRenamings() { return kAll; }

void Rename(Program* program, Renaming renaming, Choices* choices) {
  if (renaming == Renaming::kSwapped) {
    SwapValueLabels(program, choices);
    return;
  }
  const Labels labels = LabelsOf(renaming);
  const auto draw = [&] {
    return program->context().Intern(choices->PickFrom(labels));
  };
  for (uint32_t v = 0; v < program->num_values(); ++v) {
    program->mutable_value(ValueId(v)).name = draw();
  }
  for (uint32_t n = 0; n < program->num_nodes(); ++n) {
    program->mutable_node(NodeId(n)).name = draw();
  }
  for (uint32_t g = 0; g < program->num_graphs(); ++g) {
    program->mutable_graph(GraphId(g)).name = draw();
  }
  for (Region& region : program->regions) region.name = draw();
}

}  // namespace tenon::testing
