#include "engine_source.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "onnx/export_onnx.h"
#include "support/mapped_file.h"
#include "tensorrt/trtexec.h"

extern char** environ;

namespace tenon::tools {
namespace {

Expected<std::vector<std::byte>> ReadAll(const std::string& path,
                                         Diagnostics& diags) {
  std::string error;
  const auto file = MappedFile::Open(path, &error);
  if (file == nullptr) {
    return diags.Error(Rule::kIo, Place::File(path))
           << "can't be read: " << error;
  }
  const Bytes bytes = file->bytes();
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

// A folder that goes with its contents.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code error;
    std::string pattern =
        (std::filesystem::temp_directory_path(error) / "tenon-engine-XXXXXX")
            .string();
    if (!error && mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  bool valid() const { return !path_.empty(); }
  std::string File(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

bool WriteBytes(const std::string& path, Bytes bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  out.close();
  return !out.fail();
}

// PATH.onnx, its weights beside it, and PATH.sh, which makes `engine` of it.
Status WriteModel(const EngineRequest& request, const std::string& path,
                  const std::string& engine, Diagnostics& diags) {
  std::vector<onnx::KnownInput> known;
  for (const RegionConstant& c : request.constants) {
    known.push_back({c.input, c.tensor});
  }
  TENON_ASSIGN(const OnnxExportReport report,
               ExportOnnx(request.region, known, path + ".onnx",
                          onnx::TranslateOptions(), diags));
  const std::string line = tensorrt::TrtexecLine(request.region, report.model,
                                                 path + ".onnx", engine);
  if (WriteBytes(path + ".sh", AsBytes(line + "\n"))) return {};
  return diags.Error(Rule::kIo, Place::File(path + ".sh"))
         << "can't be written";
}

// What is wrong with the run; "" when the program ended with 0.
std::string RunProgram(const std::string& program, const std::string& first,
                       const std::string& second) {
  std::string copies[] = {program, first, second};
  char* argv[] = {copies[0].data(), copies[1].data(), copies[2].data(),
                  nullptr};
  pid_t pid = 0;
  const int failed =
      posix_spawnp(&pid, program.c_str(), nullptr, nullptr, argv, environ);
  if (failed != 0) return std::strerror(failed);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return std::strerror(errno);
  }
  if (WIFSIGNALED(status)) {
    return "it ended by signal " + std::to_string(WTERMSIG(status));
  }
  const int code = WEXITSTATUS(status);
  return code == 0 ? "" : "it ended with " + std::to_string(code);
}

}  // namespace

Status EngineFiles::Configure(const CommandLine& line, Diagnostics& diags) {
  for (const std::string& text : line.GetAll("--engine")) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos ||
        equals + 1 == text.size()) {
      return diags.Error(Rule::kUsage)
             << "'" << text << "' isn't of the form REGION=FILE";
    }
    files_[text.substr(0, equals)] = text.substr(equals + 1);
  }
  command_ = line.Get("--engine-builder");
  requests_ = line.Get("--engine-requests");
  return {};
}

Expected<std::vector<std::byte>> EngineFiles::Get(const EngineRequest& request,
                                                  Diagnostics& diags) const {
  const auto file = files_.find(request.name);
  if (file != files_.end()) return ReadAll(file->second, diags);
  if (!command_.empty()) return Build(request, diags);
  if (!requests_.empty()) {
    const std::string path = requests_ + "/" + request.name;
    TENON_TRY(WriteModel(request, path, path + ".engine", diags));
    return diags.Error(Rule::kUsage)
           << "no engine was given for it; " << path
           << ".sh builds one, for --engine " << request.name << "=" << path
           << ".engine";
  }
  return diags.Error(Rule::kUsage)
         << "no engine was given for it: --engine " << request.name << "=FILE";
}

Expected<std::vector<std::byte>> EngineFiles::Build(
    const EngineRequest& request, Diagnostics& diags) const {
  const auto error = [&] {
    return diags.Error(Rule::kIo, Place::File(command_));
  };
  const ScratchFolder folder;
  const std::string block = folder.File("request"),
                    engine = folder.File("engine");
  if (!folder.valid()) return error() << "there is no room for its files";
  if (!WriteBytes(block, request.block)) {
    return error() << "the request can't be written to " << block;
  }
  TENON_TRY(WriteModel(request, block, engine, diags));
  const std::string why = RunProgram(command_, block, engine);
  if (!why.empty()) return error() << "built no engine: " << why;
  return ReadAll(engine, diags);
}

}  // namespace tenon::tools
