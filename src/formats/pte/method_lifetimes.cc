#include "formats/pte/method_lifetimes.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "formats/pte/checks.h"
#include "formats/pte/kernels.h"
#include "memory/control_flow.h"

namespace tenon {
namespace {

using Instructions = std::vector<PteInstruction>;

// --- jumps ------------------------------------------------------------------

class Regions {
 public:
  Regions(const PtePlan& plan, const Instructions& instructions)
      : plan_(plan), instructions_(instructions) {
    for (size_t i = 0; i < instructions.size(); ++i) {
      const auto* jump = JumpAt(i);
      if (jump == nullptr || ends_branch_.contains(i)) continue;
      const auto target = static_cast<size_t>(jump->target);
      if (target <= i) {
        loops_.push_back({Steps(target, i + 1), !IsLeftInside(target, i)});
      } else if (target > i + 1) {
        AddChoice(i, target);
      }
    }
  }

  std::optional<ControlFlow> Make() const {
    return ControlFlow::Make(loops_, choices_);
  }

 private:
  const PteJumpFalseCall* JumpAt(size_t i) const {
    return std::get_if<PteJumpFalseCall>(&instructions_[i].action);
  }

  // Of the instructions from `begin` to before `end`.
  static StepRange Steps(size_t begin, size_t end) {
    return {static_cast<uint32_t>(begin + 1), static_cast<uint32_t>(end)};
  }

  bool IsLeftInside(size_t first, size_t last) const {
    for (size_t i = first; i < last; ++i) {
      const auto* jump = JumpAt(i);
      if (jump != nullptr && static_cast<size_t>(jump->target) > last) {
        return true;
      }
    }
    return false;
  }

  // The first branch ends with a jump on a constant false, over the second.
  void AddChoice(size_t jump_at, size_t target) {
    const auto* over = JumpAt(target - 1);
    if (over != nullptr && static_cast<size_t>(over->target) > target) {
      const auto* condition =
          std::get_if<PteBool>(&plan_.values[over->condition].content);
      if (condition != nullptr && !condition->value) {
        ends_branch_.insert(target - 1);
        choices_.push_back({{Steps(jump_at + 1, target),
                             Steps(target, static_cast<size_t>(over->target))},
                            true});
        return;
      }
    }
    choices_.push_back({{Steps(jump_at + 1, target)}, false});
  }

  const PtePlan& plan_;
  const Instructions& instructions_;
  std::set<size_t> ends_branch_;
  std::vector<LoopSteps> loops_;
  std::vector<ChoiceSteps> choices_;
};

// --- touches ----------------------------------------------------------------

class Finder {
 public:
  Finder(const PtePlan& plan, uint64_t alignment)
      : plan_(plan), alignment_(alignment), values_(plan.values.size()) {}

  std::optional<PteMethodLifetimes> Find() {
    const Instructions& instructions = plan_.chains[0].instructions;
    const auto flow = Regions(plan_, instructions).Make();
    if (!flow) return std::nullopt;
    end_ = static_cast<uint32_t>(instructions.size()) + 1;
    FindRoots(instructions);
    FindTouches(instructions);
    // What is written anywhere is no view; that is known only now.
    std::vector<bool> is_defined;
    for (Value& v : values_) is_defined.push_back(v.is_written);
    values_.assign(values_.size(), Value());
    last_written_.clear();
    shared_touches_.clear();
    for (size_t v = 0; v < values_.size(); ++v) {
      values_[v].may_be_view = !is_defined[v];
    }
    FindRoots(instructions);
    FindTouches(instructions);
    MergeAlternatives();
    return Lifetimes(*flow);
  }

 private:
  struct Value {
    std::set<int32_t> roots;  // whose memory it is
    bool is_root = false;
    bool is_written = false;  // so far
    bool may_be_view = false;
    bool is_state = false;
    std::vector<Touch> touches;  // of a root
    // Of a root: from the first to the last step at which a value is touched
    // or moved that can only be this one.
    std::optional<StepRange> own_steps;
    int32_t merged_into = -1;  // a root in whose place it lies
  };
  // At a step, a value that may be any of these roots.
  struct SharedTouch {
    uint32_t step = 0;
    std::set<int32_t> roots;
  };
  using Slot = std::tuple<uint32_t, uint64_t, uint64_t>;  // arena, offset, size

  const PteKernel* KernelOf(const PteKernelCall& call) const {
    return FindPteKernel(KernelName(plan_.operators[call.operator_index]));
  }

  static bool IsView(const PteKernel* kernel) {
    return kernel != nullptr &&
           kernel->name == "executorch_prim::et_view.default";
  }

  Slot SlotOf(int32_t v) const {
    const PteTensor& t = *plan_.values[v].tensor();
    return {t.allocation->memory_id, t.allocation->offset, BytesOf(v)};
  }

  uint64_t BytesOf(int32_t v) const {
    const PteTensor& t = *plan_.values[v].tensor();
    return pte::TensorBytes(t.type, t.sizes).value_or(0);
  }

  // Calls visit(from, to) where one value becomes another.
  template <typename Visit>
  void ForEachMove(const Instructions& instructions, Visit&& visit) const {
    for (const PteInstruction& i : instructions) {
      if (const auto* move = std::get_if<PteMoveCall>(&i.action)) {
        visit(move->from, move->to);
      }
      if (const auto* call = std::get_if<PteKernelCall>(&i.action)) {
        if (IsView(KernelOf(*call))) visit(call->args[0], call->args[2]);
      }
    }
  }

  void FindRoots(const Instructions& instructions) {
    std::vector<bool> is_moved_to(values_.size());
    ForEachMove(instructions,
                [&](int32_t, int32_t to) { is_moved_to[to] = true; });
    for (size_t v = 0; v < values_.size(); ++v) {
      const PteTensor* t = plan_.values[v].tensor();
      if (t == nullptr || !t->allocation || is_moved_to[v]) continue;
      values_[v].is_root = true;
      values_[v].roots.insert(static_cast<int32_t>(v));
    }
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      ForEachMove(instructions, [&](int32_t from, int32_t to) {
        if (from == to) return;
        const size_t before = values_[to].roots.size();
        values_[to].roots.insert(values_[from].roots.begin(),
                                 values_[from].roots.end());
        has_changed |= values_[to].roots.size() != before;
      });
    }
  }

  void FindTouches(const Instructions& instructions) {
    step_ = 0;
    for (const int32_t v : plan_.inputs) Write(v);
    for (const PteInstruction& instruction : instructions) {
      ++step_;
      std::visit([&](const auto& a) { Add(a); }, instruction.action);
    }
    step_ = end_;
    for (const int32_t v : plan_.outputs) Read(v);
  }

  void AddTouch(int32_t root, TouchKind kind) {
    values_[root].touches.push_back({step_, kind});
  }

  void NoteUse(const std::set<int32_t>& roots) {
    if (roots.size() != 1) {
      shared_touches_.push_back({step_, roots});
      return;
    }
    auto& own = values_[*roots.begin()].own_steps;
    if (!own) own = StepRange{step_, step_};
    own->last = step_;
  }

  // Calls visit(index) for the tensors that a value is or holds.
  template <typename Visit>
  void ForEachTensor(int32_t value, Visit&& visit) const {
    const PteContent& content = plan_.values[value].content;
    if (std::holds_alternative<PteTensor>(content)) visit(value);
    if (const auto* list = std::get_if<PteTensorList>(&content)) {
      for (const int32_t item : list->items) visit(item);
    }
    if (const auto* list = std::get_if<PteOptionalTensorList>(&content)) {
      for (const int32_t item : list->items) {
        if (item != PteOptionalTensorList::kNone) visit(item);
      }
    }
  }

  void Read(int32_t value) {
    ForEachTensor(value, [&](int32_t v) {
      BecomeView(v);
      NoteUse(values_[v].roots);
      for (const int32_t root : values_[v].roots) {
        Value& r = values_[root];
        r.is_state |= !r.is_written;
        AddTouch(root, TouchKind::kRead);
      }
    });
  }

  // Nothing wrote it, and it has no bytes of its own: it is a view of what was
  // written to its place last, from now on.
  void BecomeView(int32_t v) {
    if (!values_[v].is_root || !values_[v].may_be_view) return;
    const auto last = last_written_.find(SlotOf(v));
    if (last == last_written_.end() || plan_.values[v].tensor()->data_index > 0)
      return;
    values_[v].is_root = false;
    values_[v].roots = {last->second};
  }

  void Write(int32_t value) { Write(value, TouchKind::kWrite); }

  void Write(int32_t value, TouchKind kind) {
    ForEachTensor(value, [&](int32_t v) {
      const auto& roots = values_[v].roots;
      NoteUse(roots);
      // Of several it isn't known which is written.
      if (roots.size() != 1) kind = TouchKind::kRead;
      for (const int32_t root : roots) {
        values_[root].is_written = true;
        AddTouch(root, kind);
        last_written_[SlotOf(root)] = root;
      }
    });
  }

  void Add(const PteKernelCall& call) {
    const PteKernel* kernel = KernelOf(call);
    if (kernel == nullptr) return AddUnknown(call.args);
    if (IsView(kernel)) return Move(call.args[0], call.args[2]);
    const auto& args = kernel->schema.args;
    for (size_t i = 0; i < args.size(); ++i) {
      const bool is_result = args[i].is_written && args[i].keyword_only;
      if (!is_result && !IsPartOf(*kernel, args[i])) Read(call.args[i]);
    }
    for (size_t i = 0; i < args.size(); ++i) {
      if (!args[i].is_written) continue;
      Write(call.args[i],
            IsPartOf(*kernel, args[i]) ? TouchKind::kRead : TouchKind::kWrite);
    }
  }

  // The runtime's own kernels write part of their result.
  template <typename Arg>
  static bool IsPartOf(const PteKernel& kernel, const Arg& arg) {
    return kernel.library == "runtime" && arg.is_written;
  }

  void Add(const PteDelegateCall& call) { AddUnknown(call.args); }
  void Add(const PteMoveCall& move) { Move(move.from, move.to); }
  void Add(const PteJumpFalseCall& jump) { Read(jump.condition); }
  void Add(const PteFreeCall&) {}

  void Move(int32_t from, int32_t to) {
    BecomeView(from);
    const auto& kept = values_[from].roots;
    NoteUse(kept);
    for (const int32_t root : values_[to].roots) {
      if (!kept.contains(root)) AddTouch(root, TouchKind::kForget);
    }
  }

  // Nothing says which arguments are results: those without a value so far.
  void AddUnknown(const std::vector<int32_t>& args) {
    std::vector<int32_t> results;
    for (const int32_t arg : args) {
      ForEachTensor(arg, [&](int32_t v) {
        const auto& roots = values_[v].roots;
        const bool has_value =
            plan_.values[v].tensor()->data_index > 0 ||
            std::any_of(roots.begin(), roots.end(), [&](int32_t root) {
              return values_[root].is_written || !values_[root].touches.empty();
            });
        if (has_value) {
          Read(v);
        } else {
          results.push_back(v);
        }
      });
    }
    for (const int32_t v : results) Write(v);
  }

  // Roots that one value may stand for are never needed at once, if each is
  // done with when it becomes that value and the value isn't touched while one
  // of them is made. They lie in one place then: the results of two branches.
  void MergeAlternatives() {
    for (const Value& value : values_) {
      if (value.roots.size() > 1 && AreAlternatives(value.roots)) {
        Merge(value.roots);
      }
    }
  }

  bool AreAlternatives(const std::set<int32_t>& roots) const {
    std::vector<StepRange> steps;
    for (const int32_t root : roots) {
      const Value& r = values_[root];
      if (!r.own_steps || r.is_state || r.own_steps->first == 0 ||
          plan_.values[root].tensor()->data_index > 0) {
        return false;
      }
      steps.push_back(*r.own_steps);
    }
    std::sort(steps.begin(), steps.end(),
              [](const StepRange& a, const StepRange& b) {
                return a.first < b.first;
              });
    for (size_t i = 1; i < steps.size(); ++i) {
      if (steps[i].first <= steps[i - 1].last) return false;
    }
    return std::none_of(
        shared_touches_.begin(), shared_touches_.end(),
        [&](const SharedTouch& touch) {
          const bool is_one_of_them =
              std::any_of(touch.roots.begin(), touch.roots.end(),
                          [&](int32_t root) { return roots.contains(root); });
          return is_one_of_them && std::any_of(steps.begin(), steps.end(),
                                               [&](const StepRange& s) {
                                                 return s.first <= touch.step &&
                                                        touch.step <= s.last;
                                               });
        });
  }

  int32_t PlaceOf(int32_t root) const {
    while (values_[root].merged_into >= 0) root = values_[root].merged_into;
    return root;
  }

  void Merge(const std::set<int32_t>& roots) {
    const int32_t place = PlaceOf(*roots.begin());
    for (const int32_t root : roots) {
      const int32_t other = PlaceOf(root);
      if (other != place) values_[other].merged_into = place;
    }
  }

  // What one of them forgets, another has just become.
  std::vector<Touch> TouchesOfPlace(const std::vector<int32_t>& roots) const {
    std::vector<Touch> all;
    for (const int32_t root : roots) {
      for (const Touch& touch : values_[root].touches) {
        if (roots.size() > 1 && touch.kind == TouchKind::kForget) continue;
        all.push_back(touch);
      }
    }
    std::stable_sort(
        all.begin(), all.end(),
        [](const Touch& a, const Touch& b) { return a.step < b.step; });
    return all;
  }

  PteMethodLifetimes Lifetimes(const ControlFlow& flow) {
    std::map<int32_t, std::vector<int32_t>> roots_of_place;
    for (size_t v = 0; v < values_.size(); ++v) {
      const auto root = static_cast<int32_t>(v);
      if (values_[v].is_root) roots_of_place[PlaceOf(root)].push_back(root);
    }
    PteMethodLifetimes out;
    for (const auto& [place, roots] : roots_of_place) {
      Lifetime life;
      for (const int32_t root : roots) {
        life.size_bytes = std::max(life.size_bytes, BytesOf(root));
      }
      life.alignment = alignment_;
      if (values_[place].is_state ||
          plan_.values[place].tensor()->data_index > 0) {
        life.last = end_;
      } else if (!flow.SetLifetime(TouchesOfPlace(roots), &life)) {
        continue;  // never used
      }
      out.values.push_back(roots);
      out.lifetimes.push_back(std::move(life));
    }
    return out;
  }

  const PtePlan& plan_;
  const uint64_t alignment_;
  std::vector<Value> values_;
  std::map<Slot, int32_t> last_written_;  // roots
  std::vector<SharedTouch> shared_touches_;
  uint32_t step_ = 0;
  uint32_t end_ = 0;
};

}  // namespace

std::optional<PteMethodLifetimes> FindLifetimes(const PtePlan& plan,
                                                uint64_t alignment) {
  if (plan.chains.size() != 1) return std::nullopt;
  return Finder(plan, alignment).Find();
}

}  // namespace tenon
