// Rewrite rules: what stands in the place of a node whose operator has no
// kernel, or a worse one (rule T-3).
//
// A rule belongs to one operator and gets one node at a time. It builds what
// replaces the node, states what each result became, and says kDone; then the
// node goes and the new nodes are looked at in turn, so a rule may use
// operators that have rules themselves. kSkip leaves the node as it is: a later
// check says what has no kernel. A rule that skips must have built nothing.
//
// Rules must come to an end: what a rule gives is nearer to kernels than what
// it takes. Each lowers what the operator computes for every argument that it
// doesn't skip, not for the arguments that some program happens to pass.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/bound_args.h"
#include "lower/node_builder.h"

namespace tenon::lower {

enum class Rewritten : uint8_t { kSkip, kDone };

// One node under rewrite.
class NodeRewrite {
 public:
  NodeRewrite(Program* program, GraphId graph, NodeId node,
              const BoundArgs& bound)
      : build(program, graph, node), program_(program), node_(node) {
    for (size_t i = 0; i < bound.schema->args.size(); ++i) {
      const Arg* arg = bound[i];
      has_.push_back(arg != nullptr);
      args_.push_back(arg == nullptr ? DefaultOf(bound.schema->args[i])
                                     : Copy(*arg));
    }
    replacements_.resize(program->node(node).results.count);
  }

  NodeBuilder build;

  const Program& program() const { return *program_; }
  NodeId node() const { return node_; }

  // What the call passes for schema parameter `i`, else the default; None where
  // the schema ends before.
  const Operand& arg(size_t i) const {
    return i < args_.size() ? args_[i] : none_;
  }
  size_t num_args() const { return args_.size(); }
  bool has(size_t i) const { return !arg(i).is_none(); }
  bool is_passed(size_t i) const { return i < has_.size() && has_[i]; }
  // The tensor passed there, or invalid.
  ValueId tensor(size_t i) const;
  const Type& type(size_t i) const { return program_->type(tensor(i)); }
  // A literal int or bool; nullopt for what varies, and None.
  std::optional<int64_t> Int(size_t i) const;
  std::optional<double> Number(size_t i) const;
  bool Bool(size_t i, bool otherwise = false) const;
  std::string_view String(size_t i) const;
  std::optional<DType> Dtype(size_t i) const;
  // Literal items; nullopt when one varies or it isn't a list.
  std::optional<std::vector<int64_t>> Ints(size_t i) const;
  // The same, a single number standing for `count` of them.
  std::optional<std::vector<int64_t>> Ints(size_t i, size_t count) const;
  // All leading arguments, to be passed on.
  std::vector<Operand> FirstArgs(size_t count) const;

  size_t num_results() const { return replacements_.size(); }
  ValueId result(size_t i = 0) const {
    return program_->node(node_).results[static_cast<uint32_t>(i)];
  }
  const Type& result_type(size_t i = 0) const {
    return program_->type(result(i));
  }
  // Whether anything reads the result.
  bool is_used(size_t i) const {
    return program_->value(result(i)).num_uses > 0;
  }

  // What result `i` became.
  void Give(size_t i, ValueId v) { replacements_[i] = v; }
  Rewritten Done(ValueId v) {
    Give(0, v);
    return Rewritten::kDone;
  }
  // The node as a call of another operator with the given operands.
  Rewritten Become(std::string_view op, std::vector<Operand> operands);
  Rewritten Become(std::string_view op, std::vector<Operand> operands,
                   std::initializer_list<NodeBuilder::Named> named);
  ValueId replacement(size_t i) const { return replacements_[i]; }

 private:
  Operand Copy(const Arg& arg) const;
  Operand DefaultOf(const SchemaArg& parameter) const;

  Program* program_;
  NodeId node_;
  const Operand none_;
  std::vector<Operand> args_;
  std::vector<bool> has_;
  std::vector<ValueId> replacements_;
};

using RewriteRule = std::function<Rewritten(NodeRewrite&)>;

struct RuleRow {
  std::string_view op;
  RewriteRule rule;
};

// By family, each in the file of its name.
std::vector<RuleRow> RenamingRules();   // rules_renaming.cc
std::vector<RuleRow> PointwiseRules();  // rules_pointwise.cc
std::vector<RuleRow> ScalarRules();     // rules_scalar.cc
std::vector<RuleRow> ViewRules();       // rules_view.cc
std::vector<RuleRow> MatmulRules();     // rules_matmul.cc
std::vector<RuleRow> AttentionRules();  // rules_attention.cc
std::vector<RuleRow> NeuralRules();     // rules_neural.cc
std::vector<RuleRow> ReductionRules();  // rules_reduction.cc
std::vector<RuleRow> FactoryRules();    // rules_factory.cc
std::vector<RuleRow> IndexRules();      // rules_index.cc
std::vector<RuleRow> CastRules();       // rules_cast.cc

std::vector<RuleRow> ActivationRules();      // rules_activation.cc
std::vector<RuleRow> LateActivationRules();  // rules_activation.cc
std::vector<RuleRow> RecurrentRules();       // rules_recurrent.cc
std::vector<RuleRow> EmbeddingRules();       // rules_embedding.cc
std::vector<RuleRow> EinsumRules();          // rules_einsum.cc
std::vector<RuleRow> AffineRules();          // rules_affine.cc
std::vector<RuleRow> LateAffineRules();      // rules_affine.cc

// Early, all families but those called late: what delegates may take as it is
// stays. Late come the others, too.
enum class RuleStage : uint8_t { kEarly, kLate };

class RuleBook {
 public:
  RuleBook(const Context& context, RuleStage stage)
      : context_(context), stage_(stage) {}
  // Null when the operator has none.
  const RewriteRule* Find(OpId op) const;

 private:
  const Context& context_;
  const RuleStage stage_;
};

// 1.0 as 1.0, True as 1; for numbers in float parameters.
std::optional<double> AsNumber(const Operand& operand);

}  // namespace tenon::lower
