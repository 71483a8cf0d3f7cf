// A random graph under construction: which values there are, how to pick among
// them, and the types of what is made from them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "testing/choices.h"
#include "testing/emitter.h"

namespace tenon::testing {

class Scene {
 public:
  Scene(Program* program, GraphId graph, Choices* source)
      : emit(program, graph), choices(*source) {}

  Emitter emit;
  Choices& choices;
  std::vector<ValueId> tensors;
  std::vector<ValueId> sym_ints;
  // Children that may be called, with the graph's own kind of inputs.
  std::vector<GraphId>* children = nullptr;
  int depth = 0;  // of nested graphs

  Program& program() const { return emit.program(); }
  Context& context() const { return program().context(); }
  const Type& type(ValueId v) const { return program().type(v); }

  // A tensor for which `fits(type)` holds. Looks at a bounded number of values,
  // newer ones more often; nullopt when none of them fits.
  template <typename Fits>
  std::optional<ValueId> Pick(Fits&& fits) const {
    constexpr int kTries = 12;
    for (int i = 0; i < kTries && !tensors.empty(); ++i) {
      const ValueId v = Draw();
      if (fits(type(v))) return v;
    }
    return std::nullopt;
  }
  // A pick of the very same type.
  std::optional<ValueId> PickLike(TypeId wanted) const {
    constexpr int kTries = 12;
    for (int i = 0; i < kTries && !tensors.empty(); ++i) {
      const ValueId v = Draw();
      if (program().value(v).type == wanted) return v;
    }
    return std::nullopt;
  }

  // Emits a node and makes its tensor results available.
  bool Make(std::string_view op, std::initializer_list<Operand> positional,
            TypeId result, std::initializer_list<Keyword> keywords = {});
  bool MakeAll(std::string_view op, std::initializer_list<Operand> positional,
               std::initializer_list<TypeId> results,
               std::initializer_list<Keyword> keywords = {});
  bool MakeList(std::string_view op, std::initializer_list<Operand> positional,
                std::span<const TypeId> results);

  // --- types ---
  TypeId Intern(Type type) const {
    return context().types.Intern(std::move(type));
  }
  // Row-major at offset 0.
  TypeId RowMajor(DType dtype, std::vector<SymInt> sizes) const;
  // The same sizes and strides with another dtype, at offset 0.
  TypeId Like(const Type& type, DType dtype) const;
  SymInt Times(const SymInt& a, const SymInt& b) const;
  SymInt Plus(const SymInt& a, const SymInt& b) const;
  std::vector<SymInt> RowMajorStrides(const std::vector<SymInt>& sizes) const;

  bool IsRowMajor(const Type& type) const;
  // An operator that works element by element keeps these strides: row-major,
  // or a permutation of it without dimensions of size 1, whose strides
  // wouldn't say where they belong.
  bool KeepsStrides(const Type& type) const;
  // Elements, the symbols by their hints.
  static int64_t NumElementsHint(const Type& type);

 private:
  ValueId Draw() const;
  void Keep(NodeId node);
};

// One way to extend a scene. `run` returns false, and changes nothing, when
// the scene has no fitting operands.
struct Recipe {
  std::string_view name;
  uint32_t weight;
  bool (*run)(Scene& scene);
};

std::span<const Recipe> PointwiseRecipes();
std::span<const Recipe> ViewRecipes();
std::span<const Recipe> RearrangeRecipes();
std::span<const Recipe> ReductionRecipes();
std::span<const Recipe> SymbolicRecipes();
std::span<const Recipe> NestedGraphRecipes();

// Extends the scene by about `num_nodes` nodes.
void ExtendScene(Scene& scene, size_t num_nodes);

}  // namespace tenon::testing
