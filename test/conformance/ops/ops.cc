#include "conformance/ops/ops.h"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "conformance/ops/compare.h"
#include "conformance/ops/delegated.h"
#include "conformance/ops/lowered.h"
#include "conformance/ops/onnx_calls.h"
#include "conformance/ops/records.h"
#include "conformance/ops/types.h"
#include "kernels/kernel.h"

namespace tenon {
namespace {

using simdjson::dom::element;

struct Counts {
  int passed = 0;
  int failed = 0;
  int skipped = 0;
  TypeCounts types;
  LoweredCounts lowered;
  DelegatedCounts delegated;
};

std::vector<std::string> OperatorNames(const std::string& folder,
                                       const std::string& filter,
                                       std::error_code* error) {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder, *error)) {
    if (entry.path().extension() != ".json") continue;
    std::string name = entry.path().stem().string();
    if (filter.empty() || fnmatch(filter.c_str(), name.c_str(), 0) == 0) {
      names.push_back(std::move(name));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

double NumberOr(element value, std::string_view key, double otherwise) {
  double number = 0;
  return value[key].get(number) == simdjson::SUCCESS ? number : otherwise;
}

bool Flag(element value, std::string_view key) {
  bool flag = false;
  return value[key].get(flag) == simdjson::SUCCESS && flag;
}

std::string_view TextOf(element value, std::string_view key) {
  std::string_view text;
  return value[key].get(text) == simdjson::SUCCESS ? text : std::string_view();
}

// One recorded call, ready to run.
struct Call {
  // By position ("0") or keyword, as the record names them.
  std::vector<std::pair<std::string, RuntimeValue>> arguments;
  std::vector<RuntimeValue> args;  // in schema order
  std::vector<bool> present;
};

// "" or why the record can't be read.
std::string DecodeCall(element record, const OpSchema& schema,
                       const Safetensors& storages, Call* call) {
  call->args.resize(schema.args.size());
  call->present.resize(schema.args.size());
  const auto add = [&](const std::string& name, size_t position, element v) {
    auto value = DecodeValue(v, storages);
    if (!value || position >= schema.args.size()) return false;
    call->args[position] = *value;
    call->present[position] = true;
    call->arguments.emplace_back(name, std::move(*value));
    return true;
  };
  simdjson::dom::array args;
  simdjson::dom::object kwargs;
  if (record["args"].get(args) != simdjson::SUCCESS ||
      record["kwargs"].get(kwargs) != simdjson::SUCCESS) {
    return "the record has no args or kwargs";
  }
  size_t position = 0;
  for (const element value : args) {
    if (!add(std::to_string(position), position, value)) {
      return "argument " + std::to_string(position) + " can't be read";
    }
    ++position;
  }
  for (const auto field : kwargs) {
    const std::string name(field.key);
    const int at = schema.FindArg(field.key);
    if (at < 0 || !add(name, static_cast<size_t>(at), field.value)) {
      return "argument " + name + " can't be read";
    }
  }
  return {};
}

bool HasTie(element record, size_t output) {
  simdjson::dom::array ties;
  if (record["ties"].get(ties) != simdjson::SUCCESS) return false;
  for (const element tie : ties) {
    uint64_t position = 0;
    if (tie.get(position) == simdjson::SUCCESS && position == output) {
      return true;
    }
  }
  return false;
}

std::string CompareResults(element record, const OpSchema& schema,
                           const std::vector<RuntimeValue>& results,
                           const Comparison& how) {
  element out;
  if (record["out"].get(out) != simdjson::SUCCESS) return "no recorded result";
  if (results.size() != schema.returns.size()) {
    return std::to_string(results.size()) + " results, want " +
           std::to_string(schema.returns.size());
  }
  if (results.empty()) return {};
  if (results.size() == 1) {
    return Compare(results[0], out, how, HasTie(record, 0));
  }
  simdjson::dom::array items;
  if (out["list"].get(items) != simdjson::SUCCESS ||
      items.size() != results.size()) {
    return "the recorded results aren't as many as the schema's";
  }
  for (size_t i = 0; i < results.size(); ++i) {
    std::string why =
        Compare(results[i], items.at(i).value_unsafe(), how, HasTie(record, i));
    if (!why.empty()) return "result " + std::to_string(i) + ": " + why;
  }
  return {};
}

std::string CompareMutated(element record, const OpSchema& schema,
                           const KernelCall& call, Comparison how) {
  simdjson::dom::object mutates;
  if (record["mutates"].get(mutates) != simdjson::SUCCESS) return {};
  // Written arguments share storage with themselves; only values count.
  const std::vector<std::pair<std::string, RuntimeValue>> none;
  how.arguments = &none;
  for (const auto field : mutates) {
    const std::string name(field.key);
    const int position = std::isdigit(static_cast<unsigned char>(name[0]))
                             ? std::atoi(name.c_str())
                             : schema.FindArg(name);
    if (position < 0 || static_cast<size_t>(position) >= call.num_args()) {
      return "no argument " + name + " that the call could write";
    }
    // The call's own copy: some operators change the view, not the bytes.
    std::string why = Compare(call.arg(static_cast<size_t>(position)),
                              field.value, how, false);
    if (!why.empty()) return "argument " + name + " after the call: " + why;
  }
  return {};
}

bool WantsError(element record) {
  return record["error"].error() == simdjson::SUCCESS;
}

// "" when backend cpu refuses the call, or gives what the record says.
std::string ReplayOnCpu(element record, const OpSchema& schema,
                        const Call& call,
                        const std::vector<RuntimeValue>& results,
                        Comparison how, DelegatedCounts* counts) {
  std::string why;
  const auto got = RunDelegated(*FindBackend("cpu"), schema, call.args,
                                call.present, results, &why);
  if (!got) {
    if (why.empty()) ++counts->refused;
    return why;
  }
  // Its vectorised functions and sums round otherwise than PyTorch's.
  how.tolerance.rtol = std::max(how.tolerance.rtol, 1e-4);
  how.tolerance.atol = std::max(how.tolerance.atol, 1e-5);
  why = CompareResults(record, schema, *got, how);
  if (!why.empty()) return "on backend cpu: " + why;
  ++counts->agreed;
  return {};
}

// "" when the kernel did what the record says, and so does what the operator is
// lowered to, and backend cpu.
std::string Replay(element record, const OpSchema& schema, Kernel kernel,
                   const Safetensors& storages, Call call, Counts* counts) {
  std::string error;
  const bool want_error = WantsError(record);
  if (!CompleteArgs(schema, &call.args, call.present, &error)) {
    return want_error ? "" : error;
  }
  KernelCall kernel_call(schema, call.args);
  const bool ok = kernel(kernel_call);
  if (want_error) {
    if (!ok || Flag(record, "optional")) return {};
    return "no error, want '" + std::string(TextOf(record, "error")) + "'";
  }
  if (!ok) return "failed: " + kernel_call.error();
  Comparison how;
  how.storages = &storages;
  how.tolerance = {NumberOr(record, "rtol", 0), NumberOr(record, "atol", 0)};
  how.arguments = &call.arguments;
  error = CompareResults(record, schema, kernel_call.results(), how);
  if (error.empty() && !HasTie(record, 0)) {
    const double rtol = std::max(how.tolerance.rtol, 1e-4);
    const double atol = std::max(how.tolerance.atol, 1e-5);
    error = CompareLowered(schema, call.args, call.present,
                           kernel_call.results(), rtol, atol, &counts->lowered);
  }
  if (error.empty()) {
    error = ReplayOnCpu(record, schema, call, kernel_call.results(), how,
                        &counts->delegated);
  }
  return error.empty() ? CompareMutated(record, schema, kernel_call, how)
                       : error;
}

enum class Verdict { kPassed, kFailed, kSkipped };

struct Outcome {
  Verdict verdict;
  std::string why;  // of kFailed
};

// Holds a call against its record: first the types that the rules say of it,
// with a kernel also what that does. `known_failure`: why it is known to do
// something else; null: it isn't. That excuses no type.
Outcome Judge(element record, const OpSchema* schema, Kernel kernel,
              const Safetensors& storages, const std::string* known_failure,
              TypeCounts* types, Counts* counts) {
  if (schema == nullptr) return {Verdict::kSkipped, ""};
  Call call;
  std::string why = DecodeCall(record, *schema, storages, &call);
  if (!why.empty()) {
    const bool is_error = WantsError(record);
    return {is_error ? Verdict::kPassed : Verdict::kFailed, why};
  }
  if (!WantsError(record)) {
    why = CheckTypes(*schema, call.args, call.present, record, types);
    if (!why.empty()) return {Verdict::kFailed, why};
  }
  if (kernel == nullptr) return {Verdict::kSkipped, ""};
  why = Replay(record, *schema, kernel, storages, std::move(call), counts);
  if (known_failure == nullptr) {
    return {why.empty() ? Verdict::kPassed : Verdict::kFailed, why};
  }
  if (!why.empty()) return {Verdict::kSkipped, ""};
  return {Verdict::kFailed,
          "passes, but is listed as failing: " + *known_failure};
}

void Print(const std::string& name, int number, element record,
           std::string_view what) {
  std::printf("%s case %d (%s): %s\n", name.c_str(), number,
              std::string(TextOf(record, "source")).c_str(),
              std::string(what).c_str());
}

// False when the operator's files can't be read.
bool ReplayOperator(const std::string& folder, const std::string& name,
                    bool verbose, const OpsLists& lists, Counts* counts) {
  const std::string base = folder + "/" + name;
  simdjson::dom::parser parser;
  simdjson::dom::array records;
  Diagnostics diags;
  const auto storages = OpenSafetensors(base + ".safetensors", diags);
  if (!storages ||
      parser.load(base + ".json").get(records) != simdjson::SUCCESS) {
    std::printf("%s: can't be read: %s\n", name.c_str(),
                diags.FirstError().c_str());
    return false;
  }
  const Kernel kernel = FindKernel(name);
  const OpSchema* schema = FindSchema(name);
  TypeCounts types;
  int number = 0;
  for (const element record : records) {
    const auto known = lists.failures.find({name, number});
    const Outcome outcome =
        Judge(record, schema, kernel, *storages,
              known == lists.failures.end() ? nullptr : &known->second, &types,
              counts);
    switch (outcome.verdict) {
      case Verdict::kPassed:
        ++counts->passed;
        if (verbose) Print(name, number, record, "ok");
        break;
      case Verdict::kFailed:
        ++counts->failed;
        Print(name, number, record, outcome.why);
        break;
      case Verdict::kSkipped:
        ++counts->skipped;
        if (verbose) Print(name, number, record, "skipped");
        break;
    }
    ++number;
  }
  counts->types.Add(types);
  const std::string gap =
      lists.type_gaps ? CompareGaps(name, types, *lists.type_gaps) : "";
  if (!gap.empty()) {
    ++counts->failed;
    std::printf("%s: %s\n", name.c_str(), gap.c_str());
  }
  return true;
}

}  // namespace

bool ReadKnownFailures(const std::string& path, KnownFailures* known) {
  std::ifstream file(path);
  if (!file) return false;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    const size_t first = line.find('\t');
    const size_t second = line.find('\t', first + 1);
    if (first == std::string::npos || second == std::string::npos) return false;
    const std::string number = line.substr(first + 1, second - first - 1);
    (*known)[{line.substr(0, first), std::atoi(number.c_str())}] =
        line.substr(second + 1);
  }
  return true;
}

int RunOps(const std::string& path, const std::string& filter, bool verbose,
           bool list, const OpsLists& lists) {
  // The folder itself, or the one above that also holds the README.
  std::string folder = path;
  if (std::filesystem::is_directory(folder + "/vectors")) folder += "/vectors";
  std::error_code error;
  const std::vector<std::string> names = OperatorNames(folder, filter, &error);
  if (error) {
    std::printf("%s: %s\n", folder.c_str(), error.message().c_str());
    return 2;
  }
  Counts counts;
  std::optional<OnnxCalls> onnx;
  if (!lists.onnx_folder.empty()) {
    std::filesystem::create_directories(lists.onnx_folder, error);
    counts.lowered.onnx = &onnx.emplace(lists.onnx_folder);
  }
  bool readable = true;
  for (const std::string& name : names) {
    if (list) {
      std::printf("%s\n", name.c_str());
    } else {
      readable =
          ReplayOperator(folder, name, verbose, lists, &counts) && readable;
    }
  }
  if (!list && filter.empty() && lists.type_gaps) {
    for (const auto& [name, gap] : *lists.type_gaps) {
      if (std::binary_search(names.begin(), names.end(), name)) continue;
      ++counts.failed;
      std::printf("%s: listed, but has no records\n", name.c_str());
    }
  }
  if (!list) {
    std::printf(
        "types of results: %d calls said whole, %d in part, %d not at all\n",
        counts.types.complete, counts.types.partial, counts.types.open);
    std::printf("lowered: %d calls agree, %d are refused\n",
                counts.lowered.agreed, counts.lowered.refused);
    std::printf("backend cpu: %d calls agree, %d are refused\n",
                counts.delegated.agreed, counts.delegated.refused);
    if (onnx) {
      std::printf("ONNX: %u calls can't be said\n", onnx->num_refused());
    }
    std::printf("%d passed, %d failed, %d skipped\n", counts.passed,
                counts.failed, counts.skipped);
  }
  if (!readable) return 2;
  return counts.failed > 0 ? 1 : 0;
}

}  // namespace tenon
