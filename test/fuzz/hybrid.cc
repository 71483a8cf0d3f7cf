// A hybrid graph: read, verified, joined, lifted; the digest stays.
#include "formats/hybrid/hybrid.h"

#include "analysis/digest.h"
#include "fuzz/program_checks.h"
#include "fuzz/target.h"
#include "link/join.h"
#include "verify/verify.h"

namespace tenon::fuzz {
namespace {

// What a document's state and runs may refer to, by the names that the seeds
// use: w0, w1, x0, ..., x7.
Safetensors NamedTensors() {
  constexpr int kNumStates = 2, kNumInputs = 8;
  Safetensors out;
  const auto add = [&](char letter, int count) {
    for (int i = 0; i < count; ++i) {
      out.tensors.push_back(
          {letter + std::to_string(i), Tensor::Zeros(DType::kFloat32, {2, 3})});
    }
  };
  add('w', kNumStates);
  add('x', kNumInputs);
  return out;
}

}  // namespace

void FuzzHybrid(Bytes bytes) {
  const Safetensors tensors = NamedTensors();
  Diagnostics diags;
  HybridReadOptions options;
  options.limits.max_nodes = 10'000;
  auto program = ReadHybrid(bytes, tensors, "fuzz.json",
                            std::make_shared<Context>(), options, diags);
  if (!program) {
    Expect(diags.has_errors(), "a refusal to read says why");
    return;
  }
  CheckTextForm(*program);
  if (!Verify(*program, VerifyOptions(), diags)) return;
  const Digest before = WiringDigest(*program);
  if (!JoinAll(&*program, diags)) return;
  Expect(Verify(*program, VerifyOptions(), diags).ok(),
         "a joined program holds the rules", diags.ToString());
  Expect(WiringDigest(*program) == before, "joining keeps the digest");
}

}  // namespace tenon::fuzz
