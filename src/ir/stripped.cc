#include "ir/stripped.h"

namespace tenon {

const FileInfo::Member* FindStrippedMember(const Program& program) {
  for (const FileInfo::Member& member : program.file.members) {
    if (member.name == kStrippedMember) return &member;
  }
  return nullptr;
}

}  // namespace tenon
