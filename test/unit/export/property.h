// Properties of random programs: the seed that breaks one is printed with the
// smallest program that still does. TENON_SEEDS=N tries N seeds.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/draw_inputs.h"
#include "runtime/session.h"
#include "testing/generator.h"
#include "testing/reducer.h"
#include "text/text.h"
#include "verify/verify.h"

namespace tenon {

inline uint64_t NumSeeds(uint64_t otherwise) {
  const char* text = std::getenv("TENON_SEEDS");
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

inline Program RandomProgram(uint64_t seed, bool with_child_calls = false) {
  testing::GeneratorOptions options;
  options.shape = testing::ProgramShape::kRandom;
  options.num_nodes = 20 + seed % 40;
  options.seed = seed;
  options.with_child_calls = with_child_calls;
  return testing::GenerateProgram(options, std::make_shared<Context>());
}

// "" when it holds, else what is wrong. Must not depend on anything but the
// program: reducing asks again.
using Property = std::function<std::string(const Program&)>;

// Why the verifier refuses the program; "" when it doesn't.
inline std::string WhyRefused(const Program& program) {
  Diagnostics diags;
  return Verify(program, VerifyOptions(), diags) ? "" : diags.ToString();
}

inline std::string TextOf(const Program& program) {
  PrintOptions options;
  options.inline_limit_bytes = SIZE_MAX;
  return PrintProgram(program, options);
}

inline void ExpectHolds(const Program& program, uint64_t seed,
                        const Property& property) {
  if (property(program).empty()) return;
  const Program smallest =
      testing::Reduce(program, [&](const Program& candidate) {
        return WhyRefused(candidate).empty() && !property(candidate).empty();
      });
  ADD_FAILURE() << "seed " << seed << ": " << property(smallest) << "\n"
                << TextOf(smallest);
}

// For each seed a program, with child calls or without, and a property of it.
inline void ForRandomPrograms(
    uint64_t num_seeds, bool with_child_calls,
    const std::function<std::string(const Program&, uint64_t seed)>& property) {
  for (uint64_t seed = 0; seed < NumSeeds(num_seeds); ++seed) {
    ExpectHolds(RandomProgram(seed, with_child_calls), seed,
                [&](const Program& p) { return property(p, seed); });
    if (::testing::Test::HasFailure()) return;
  }
}

// --- results ---

// "" when equal: dtype, sizes, bytes in logical order.
inline std::string Difference(const RuntimeValue& a, const RuntimeValue& b) {
  if (a.variant().index() != b.variant().index()) return "kinds differ";
  if (a.is_int() && a.int_value() != b.int_value()) return "ints differ";
  if (a.is_bool() && a.bool_value() != b.bool_value()) return "bools differ";
  if (a.is_float()) {
    const double x = a.float_value(), y = b.float_value();
    return std::memcmp(&x, &y, sizeof x) == 0 ? "" : "floats differ";
  }
  if (!a.is_tensor()) return "";
  if (a.tensor().dtype() != b.tensor().dtype() ||
      a.tensor().sizes() != b.tensor().sizes()) {
    return a.tensor().ToString() + " and " + b.tensor().ToString();
  }
  const Tensor x = a.tensor().Contiguous(), y = b.tensor().Contiguous();
  const size_t bytes = static_cast<size_t>(x.numel()) * SizeBytes(x.dtype());
  return bytes == 0 || std::memcmp(x.raw(), y.raw(), bytes) == 0
             ? ""
             : "values differ";
}

struct Outcome {
  bool ok = false;
  std::string why;
  std::vector<RuntimeValue> results;
  std::vector<Tensor> state;
};

// Two calls, so that state carries over.
inline Outcome RunTwice(const Program& program, uint64_t seed) {
  Outcome out;
  Diagnostics diags;
  auto shared = std::make_shared<const Program>(program.Clone());
  auto session = Session::Load(shared, SessionOptions(), diags);
  for (uint64_t call = 0; session && call < 2; ++call) {
    DrawOptions draw;
    draw.seed = seed * 2 + call;
    auto inputs = DrawInputs(program, draw, diags);
    if (!inputs) break;
    auto results = (*session)->RunFlat(*inputs, diags);
    if (!results) break;
    out.ok = call == 1;
    // Copies: a later call may write what these view.
    for (RuntimeValue& r : *results) {
      out.results.push_back(r.is_tensor() ? r.tensor().Clone() : r);
    }
  }
  out.why = diags.ToString();
  if (!out.ok) return out;
  for (const StateEntry& entry : program.state.entries) {
    const Tensor t = (*session)->State(program.view(entry.fqn));
    if (t.defined()) out.state.push_back(t.Clone());
  }
  return out;
}

// "" when both ran alike, bit by bit.
inline std::string Difference(const Outcome& a, const Outcome& b) {
  if (a.ok != b.ok) return "only one ran: " + a.why + b.why;
  if (a.results.size() != b.results.size() || a.state.size() != b.state.size())
    return "another number of results";
  for (size_t i = 0; i < a.results.size(); ++i) {
    const std::string why = Difference(a.results[i], b.results[i]);
    if (!why.empty()) return "result " + std::to_string(i) + ": " + why;
  }
  for (size_t i = 0; i < a.state.size(); ++i) {
    const std::string why = Difference(a.state[i], b.state[i]);
    if (!why.empty()) return "state " + std::to_string(i) + ": " + why;
  }
  return "";
}

}  // namespace tenon
