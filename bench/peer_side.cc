// Tenon's side of a comparison (peers.py).
//
//   tenon_peer_side            reads lines "OPERATION NODES TIMES" and answers
//                              each with "WALL_NS CPU_NS", the best of TIMES
//   tenon_peer_side OPERATION NODES [TIMES]     the same for one
//
// OPERATION may be run:MODEL: a call of the program MODEL.pt2 in the folder of
// peers.py, with NODES threads; or export_pte:MODEL, write_pte:MODEL or
// copy_pte:MODEL (pte_exports.h).
//
// The programs are kept from line to line, so that a caller may take turns with
// what it compares to.
#include <cstdio>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "model_runs.h"
#include "operations.h"
#include "pte_exports.h"

namespace tenon::bench {
namespace {

class Server {
 public:
  // False when the line asks for nothing that there is.
  bool Answer(const std::string& line) {
    std::istringstream words(line);
    std::string name;
    int64_t num_nodes = 0;
    int times = 1;
    words >> name >> num_nodes;
    if (!words) return false;
    words >> times;
    times = times < 1 ? 1 : times;
    if (name.starts_with(kRun)) {
      if (num_nodes < 1 || num_nodes > kMaxThreads) return false;
      const auto key = std::pair(name.substr(kRun.size()), num_nodes);
      auto at = models_.find(key);
      if (at == models_.end()) {
        models_.clear();  // one at a time: they are large
        at = models_.try_emplace(key, key.first, num_nodes).first;
      }
      Tell(at->second.Call(times));
      return true;
    }
    if (const size_t colon = name.find("_pte:"); colon != std::string::npos) {
      return AnswerPte(name.substr(0, colon), name.substr(colon + 5), times);
    }
    const Operation* operation = FindOperation(name);
    if (operation == nullptr || num_nodes < 1 || num_nodes > 10'000'000) {
      return false;
    }
    Case& c = cases_.try_emplace(num_nodes, num_nodes).first->second;
    Tell(BestOf(*operation, c, times));
    return true;
  }

 private:
  static constexpr std::string_view kRun = "run:";
  static constexpr int64_t kMaxThreads = 1024;

  bool AnswerPte(const std::string& what, const std::string& model, int times) {
    if (!exports_ || exports_->first != model) {
      exports_.emplace(model, PteExports(model));
    }
    const PteExports& exports = exports_->second;
    if (what == "export") {
      Tell(exports.Export(times));
    } else if (what == "write") {
      Tell(exports.Write(times));
    } else if (what == "copy") {
      Tell(exports.Copy(times));
    } else {
      return false;
    }
    return true;
  }

  static void Tell(const Duration& best) {
    std::printf("%.0f %.0f\n", best.wall_s * 1e9, best.cpu_s * 1e9);
    std::fflush(stdout);
  }

  std::map<int64_t, Case> cases_;  // by nodes
  std::map<std::pair<std::string, int64_t>, LoadedModel> models_;
  std::optional<std::pair<std::string, PteExports>> exports_;
};

int Complain(const std::string& line) {
  std::cerr << "no such operation: " << line << "\n";
  return 2;
}

}  // namespace
}  // namespace tenon::bench

int main(int argc, char** argv) {
  tenon::bench::KeepFreedMemory();
  tenon::bench::Server server;
  std::string line;
  for (int i = 1; i < argc; ++i) line += std::string(argv[i]) + " ";
  if (argc > 1) return server.Answer(line) ? 0 : tenon::bench::Complain(line);
  while (std::getline(std::cin, line)) {
    if (!server.Answer(line)) return tenon::bench::Complain(line);
  }
  return 0;
}
