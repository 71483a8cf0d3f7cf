// Tenon's side of a comparison (peers.py).
//
//   tenon_peer_side            reads lines "OPERATION NODES TIMES" and answers
//                              each with "WALL_NS CPU_NS", the best of TIMES
//   tenon_peer_side OPERATION NODES [TIMES]     the same for one
//
// The programs are kept from line to line, so that a caller may take turns with
// what it compares to.
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "operations.h"

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
    const Operation* operation = FindOperation(name);
    if (operation == nullptr || num_nodes < 1 || num_nodes > 10'000'000) {
      return false;
    }
    Case& c = cases_.try_emplace(num_nodes, num_nodes).first->second;
    const Duration best = BestOf(*operation, c, times < 1 ? 1 : times);
    std::printf("%.0f %.0f\n", best.wall_s * 1e9, best.cpu_s * 1e9);
    std::fflush(stdout);
    return true;
  }

 private:
  std::map<int64_t, Case> cases_;  // by nodes
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
