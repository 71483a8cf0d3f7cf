// One run of the verifier: what the chapters share.
//
// Structure is checked first (V-GRAPH): until it is known to be sound, ids may
// name nothing and lists may run in circles. The other chapters run only on
// sound structure and index freely. Chapters that look at nodes are classes
// with one call per node, so that a program is walked once for all of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/bound_args.h"
#include "analysis/effects.h"
#include "analysis/infer.h"
#include "diag/diagnostics.h"
#include "ir/program.h"

namespace tenon {

struct Verification {
  const Program& program;
  Diagnostics& diags;

  DiagnosticBuilder Error(Rule rule, GraphId g, NodeId n) const {
    return diags.Error(rule, Place::Node(program.Describe(g, n)));
  }
  // At a graph: its label.
  DiagnosticBuilder Error(Rule rule, GraphId g) const {
    return diags.Error(rule, At(g));
  }
  DiagnosticBuilder Error(Rule rule) const {
    return diags.Error(rule, Place::Node(program.name));
  }
  Place At(GraphId g) const {
    return Place::Node(std::string(program.view(program.graph(g).name)));
  }
  // "%name", or a position where there is no name.
  std::string ValueText(ValueId id) const;
  std::string SizeText(const SymInt& s) const;
  // "float32[2, s0]", "symint", ...
  std::string TypeText(TypeId id) const;
};

// True when structure is sound.
bool VerifyGraphs(const Verification& v);
// Every type in use is well formed; false when expressions or sizes can't be
// looked at safely. Part of structure.
bool VerifyTypePool(const Verification& v);

void VerifyCallGraph(const Verification& v);
void VerifySignature(const Verification& v);
void VerifyState(const Verification& v);
void VerifySpecs(const Verification& v);
void VerifySymbols(const Verification& v);
void VerifyEffects(const Verification& v);
void VerifyDelegates(const Verification& v);
void Lint(const Verification& v);

// V-OP of one node after another.
class OpChapter {
 public:
  explicit OpChapter(const Verification& v) : v_(v) {}
  // `bound`: null when the operator has no schema. False when the results
  // aren't those of the operator, so that their types can't be compared.
  bool Check(GraphId g, NodeId n, const BoundArgs* bound,
             const BindError& error);

 private:
  enum class Family : uint8_t {
    kNew,
    kPlain,
    kHigherOrder,
    kScalarFunction,
    kMalformed
  };
  Family FamilyOf(OpId op);
  void CheckArguments(GraphId g, NodeId n, const BoundArgs& bound,
                      const BindError& error);
  void CheckPassing(GraphId g, NodeId n, const BoundArgs& bound);
  bool CheckResults(GraphId g, NodeId n, const OpSchema& schema);
  bool Suits(const Arg& a, const SchemaArg& parameter) const;
  bool SuitsElement(const Arg& a, const SchemaArg& parameter) const;
  bool ResultSuits(ValueId result, SchemaType type) const;

  const Verification& v_;
  std::vector<Family> families_;  // by operator
};

// Higher-order operators: operands and results against the nested graphs, part
// of V-OP and V-TYPE.
void VerifyHigherOrder(const Verification& v, GraphId g, NodeId n);

// V-TYPE of one node after another.
class TypeChapter {
 public:
  explicit TypeChapter(const Verification& v) : v_(v), inference_(v.program) {}
  void Check(GraphId g, NodeId n, const BoundArgs* bound);
  // There nothing is known of a node's results.
  bool IsInAutocast(NodeId n) const { return inference_.IsInAutocast(n); }

 private:
  void Compare(GraphId g, NodeId n, uint32_t i, const InferredType& inferred,
               bool is_written);

  const Verification& v_;
  TypeInference inference_;
};

// V-REGION and the calls of children, one node after another.
void VerifyCall(const Verification& v, GraphId g, NodeId n);

// Whether two types can be one value's: kind, dtype, rank, and sizes where both
// are literals.
bool TypesAgree(const Type& a, const Type& b);
// The same for kind, dtype and rank alone.
bool KindsAgree(const Type& a, const Type& b);
// The type of an output or operand; null for literals and lists.
const Type* TypeOf(const Program& program, const Arg& a);

}  // namespace tenon
