// tenon weights: state to files of tensors and back, and what it is like.
#include "analysis/digest.h"
#include "console.h"
#include "json_writer.h"
#include "read_program.h"
#include "stats_table.h"
#include "support/byte_text.h"
#include "support/counted.h"
#include "verbs.h"
#include "verdict.h"
#include "verify/verify.h"
#include "weights/replace_weights.h"
#include "weights/state_digest.h"
#include "weights/state_tensor.h"
#include "weights/write_weights.h"
#include "write_program.h"

namespace tenon::tools {
namespace {

constexpr Option kOptions[] = {
    {"--to", 0, "FILE",
     "Writes the state dict as .safetensors: each tensor by its FQN, strided "
     "ones row-major."},
    {"--from", 0, "FILE",
     "Replaces values by those of a .safetensors, or of several behind an "
     ".index.json; --output says where the program goes. Names, dtypes and "
     "shapes must be the program's; strides, requires_grad and shared storages "
     "stay."},
    {"--stats", 0, "",
     "Shows range, mean, norm, zeros, NaN and infinities of each tensor. "
     "Range, mean and norm are those of the finite elements; of complex "
     "numbers the range is that of magnitudes."},
    {"--output", 'o', "FILE",
     "With --from: the .pt2 to write, or a .tenon for the text form."},
    {"--constants", 0, "",
     "With --to: constants and buffers outside the state dict, too."},
    {"--once", 0, "",
     "With --to: writes what several names mean once; the metadata names the "
     "others, as safetensors.torch.save_model does."},
    {"--allow", 0, "missing|unknown",
     "With --from: tensors that the file lacks keep their values; tensors that "
     "the program lacks are left out. May be repeated.",
     /*repeatable=*/true},
    {"--json", 0, "", "Writes JSON."},
    {"--method", 'm', "NAME",
     "The method to read. Default: 'model', or the only one."},
    kTorchOption,
};

void SayNotes(const std::vector<std::string>& notes, Console& console) {
  for (const std::string& note : notes) console.Err("note: " + note + "\n");
}

Status WriteTo(const CommandLine& line, const Program& program,
               Console& console, Diagnostics& diags) {
  WriteWeightsOptions options;
  options.with_constants = line.Has("--constants");
  options.once = line.Has("--once");
  TENON_ASSIGN(const WriteWeightsReport report,
               WriteWeights(program, line.Get("--to"), options, diags));
  SayNotes(report.notes, console);
  if (line.Has("--json")) {
    JsonWriter json;
    json.BeginObject();
    json.Member("tensors", uint64_t{report.num_tensors});
    json.Member("bytes", report.bytes);
    json.EndObject();
    console.Out(json.Take());
  } else {
    console.Out(Count(report.num_tensors, "tensor") + ", " +
                ByteText(report.bytes) + "\n");
  }
  return {};
}

// The digests that --from reports.
struct Digests {
  Digest wiring, state;

  explicit Digests(const Program& program)
      : wiring(WiringDigest(program)), state(StateDigest(program)) {}
  std::string Whole() const { return WholeDigest(wiring, state).ToHex(); }
};

bool IsWeightless(const Program& program) {
  for (const StorageRecord& storage : program.state.storages) {
    if (storage.is_weightless) return true;
  }
  return false;
}

// Before the file gets its name, what was written must have these values.
Status WriteReplaced(const Program& program, const Digest& state,
                     const std::string& path, Pt2WriteOptions options,
                     Console& console, Diagnostics& diags) {
  options.check = [&](const std::string& written) -> Status {
    Pt2ReadOptions read;
    read.method = program.name;
    read.allow_weightless = IsWeightless(program);
    TENON_ASSIGN(const Program back,
                 ReadPt2(written, program.shared_context(), read, diags));
    if (StateDigest(back) == state) return {};
    return diags.Error(Rule::kT2, Place::File(path))
           << "the file that was written has other weights than were to be "
              "written";
  };
  return WriteProgram(program, path, options, console, diags);
}

// What became of a program that was stripped; "" when it wasn't.
std::string_view StrippedText(ReplaceWeightsReport::Stripped stripped) {
  using Stripped = ReplaceWeightsReport::Stripped;
  switch (stripped) {
    case Stripped::kNo:
      return "";
    case Stripped::kSame:
      return "the weights that were stripped";
    case Stripped::kOther:
      return "other weights than were stripped";
    case Stripped::kStillStripped:
      return "some weights are still missing";
  }
  return "";
}

std::string ReplacedAsText(const ReplaceWeightsReport& report,
                           const Digest& wiring, const std::string& before,
                           const std::string& after) {
  std::string out = Count(report.num_replaced, "tensor") + ", " +
                    ByteText(report.bytes) + " replaced";
  if (report.num_missing > 0) {
    out += "; " + std::to_string(report.num_missing) + " not in the file";
  }
  if (report.num_unknown > 0) {
    out += "; " + std::to_string(report.num_unknown) + " not in the program";
  }
  const std::string_view stripped = StrippedText(report.stripped);
  if (!stripped.empty()) out.append("; ").append(stripped);
  out += "\ndigest:               " + wiring.ToHex() + "\n";
  if (!before.empty()) out += "with weights, before: " + before + "\n";
  return out + "with weights:         " + after + "\n";
}

std::string ReplacedAsJson(const ReplaceWeightsReport& report,
                           const Digest& wiring, const std::string& before,
                           const std::string& after) {
  JsonWriter json;
  json.BeginObject();
  json.Member("replaced", uint64_t{report.num_replaced});
  json.Member("bytes", report.bytes);
  json.Member("missing", uint64_t{report.num_missing});
  json.Member("unknown", uint64_t{report.num_unknown});
  const std::string_view stripped = StrippedText(report.stripped);
  if (!stripped.empty()) json.Member("stripped", stripped);
  json.Member("digest", wiring.ToHex());
  if (!before.empty()) json.Member("digest_with_weights_before", before);
  json.Member("digest_with_weights", after);
  json.EndObject();
  return json.Take();
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status ReadFrom(const CommandLine& line, Program* program, Console& console,
                Diagnostics& diags) {
  TENON_TRY(CheckExpansion(*program, diags));
  TENON_ASSIGN(const WeightsFile file,
               WeightsFile::Open(line.Get("--from"), diags));
  const std::string output = line.Get("--output");
  TENON_ASSIGN(Pt2WriteOptions write_options,
               Pt2OptionsOf(line, output, diags));
  ReplaceWeightsOptions options;
  options.scratch_folder = FolderOf(output);
  for (const std::string& what : line.GetAll("--allow")) {
    (what == "missing" ? options.allow_missing : options.allow_unknown) = true;
  }
  std::string before;
  if (!IsWeightless(*program)) before = Digests(*program).Whole();
  TENON_ASSIGN(const ReplaceWeightsReport report,
               ReplaceWeights(file, options, program, diags));
  const Digests after(*program);
  TENON_TRY(WriteReplaced(*program, after.state, output,
                          std::move(write_options), console, diags));
  SayNotes(report.notes, console);
  const auto write = line.Has("--json") ? ReplacedAsJson : ReplacedAsText;
  console.Out(write(report, after.wiring, before, after.Whole()));
  return {};
}

Status ShowStats(const CommandLine& line, const Program& program,
                 Console& console, Diagnostics& diags) {
  TENON_TRY(CheckExpansion(program, diags));
  std::vector<NamedStats> tensors;
  for (const StateEntry& entry : program.state.entries) {
    const std::string name(program.view(entry.fqn));
    if (!IsPlainTensor(program, entry)) {
      console.Err("note: '" + name + "' is no plain tensor: left out\n");
      continue;
    }
    const Tensor tensor = StateTensor(program, entry);
    if (!tensor.defined()) {
      diags.Error(Rule::kUnsupported, Place::Node(name))
          << "the program doesn't have this tensor's values";
      continue;
    }
    tensors.push_back(
        {name, std::string(Name(entry.kind)), tensor, ComputeStats(tensor)});
  }
  if (diags.has_errors()) return Failure{};
  console.Out(line.Has("--json") ? StatsAsJson(tensors) : StatsAsText(tensors));
  return {};
}

// "" where the options fit each other.
std::string OptionProblem(const CommandLine& line) {
  const int num_actions =
      line.Has("--to") + line.Has("--from") + line.Has("--stats");
  if (num_actions != 1) return "say one of --to, --from and --stats";
  if (line.Has("--from") != line.Has("--output")) {
    return line.Has("--from") ? "option --output is missing: where to write"
                              : "option --output goes with --from";
  }
  constexpr std::pair<std::string_view, std::string_view> kPairs[] = {
      {"--constants", "--to"},
      {"--once", "--to"},
      {"--allow", "--from"},
      {"--torch", "--from"},
  };
  for (const auto& [option, action] : kPairs) {
    if (line.Has(option) && !line.Has(action)) {
      return "option " + std::string(option) + " goes with " +
             std::string(action);
    }
  }
  return "";
}

ExitCode Run(const CommandLine& line, Console& console) {
  const std::string problem = OptionProblem(line);
  if (!problem.empty()) return FailUsage(problem, console);
  Diagnostics diags;
  ReadOptions read;
  read.method = line.Get("--method");
  read.allow_weightless = true;
  Expected<LoadedProgram> loaded = ReadProgram(
      line.arguments()[0], std::make_shared<Context>(), read, diags);
  if (!loaded || !Verify(loaded->program, VerifyOptions(), diags)) {
    return Finish(diags, console);
  }
  // Reports what went wrong itself.
  if (line.Has("--to")) {
    (void)WriteTo(line, loaded->program, console, diags);
  } else if (line.Has("--from")) {
    (void)ReadFrom(line, &loaded->program, console, diags);
  } else {
    (void)ShowStats(line, loaded->program, console, diags);
  }
  return Finish(diags, console);
}

}  // namespace

const Verb kWeightsVerb = {
    "weights",
    "FILE",
    1,
    1,
    "writes, replaces and examines a program's weights",
    "Moves the state of a program to and from files of tensors, so that it "
    "can be re-weighted without exporting it again, and says what each tensor "
    "is like. What is written is read back and compared before the file gets "
    "its name; both digests are shown, of the wiring alone and with the "
    "weights. Works from file to file: memory doesn't grow with the weights.",
    "tenon weights model.pt2 --to model.safetensors\n"
    "tenon weights model.pt2 --from tuned.safetensors -o tuned.pt2\n"
    "tenon weights model.pt2 --from model.safetensors.index.json -o big.pt2\n"
    "tenon weights model.pt2 --stats\n",
    kOptions,
    Run};

}  // namespace tenon::tools
