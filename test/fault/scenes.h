// What is done while something fails: reads, checks, exports, joins, writes of
// small programs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/error.h"

namespace tenon::fault {

// Made beforehand, so that a scene allocates nothing outside the library.
struct Places {
  std::string source, target, folder;
  std::string result;  // what the target holds when nothing fails
};

struct Scene {
  std::string_view name;
  // The file that it reads, or how the files begin; and the name of the file
  // that it writes, which is there before, with other content. Empty: none.
  std::string_view reads, writes;
  // No errors: it succeeded.
  Errors (*run)(const Places& places);
};

std::span<const Scene> AllScenes();
const Scene& GetScene(std::string_view name);

// What a scene leaves behind, to be compared before and after.
struct Traces {
  size_t num_descriptors = 0;
  size_t num_mappings = 0;  // of files that tests read or write
  std::vector<std::string> files;
  std::string target;  // content of the file that the scene writes
};
Traces Observe(const Places& places);

// An empty folder with the target of `scene`, after the scene was run once:
// what is made once per process is there.
Places Prepare(const Scene& scene);

}  // namespace tenon::fault
