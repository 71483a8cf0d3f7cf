// Writes a pickle as Python's own pickler does at protocol 2: what a text or an
// import was written once is fetched from the memo the next time, and so the
// bytes of a payload are the ones that PyTorch would write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tenon {

// Pushes one value on the unpickler's stack by each call; a tuple, a call, a
// persistent reference take what was pushed for them.
class PickleWriter {
 public:
  PickleWriter();

  void None();
  void Bool(bool value);
  void Int(int64_t value);
  void Text(std::string_view text);
  // "module name", imported.
  void Global(std::string_view module, std::string_view name);

  // A tuple of `count` values that are pushed between the two calls.
  void BeginTuple(size_t count);
  void EndTuple(size_t count);
  // Calls a callable with a tuple, pushed before, and pushes the result.
  void Call();
  // The object that the unpickler's owner knows by the value pushed before.
  void Persistent();

  // A dict of `count` entries. Before each entry DictEntry is called, behind
  // the last one EndDict.
  void BeginDict(size_t count);
  void DictEntry();
  void EndDict();

  // Where the memo keeps the tuple, call, text or import pushed last, and that
  // very object again.
  uint32_t last_slot() const { return num_slots_ - 1; }
  void Fetch(uint32_t slot);

  // The pickle. The writer is done then.
  std::string Finish();

 private:
  void Memoize();
  template <typename T>
  void Raw(T value);

  std::string out_;
  uint32_t num_slots_ = 0;
  std::unordered_map<std::string, uint32_t> texts_;
  std::unordered_map<std::string, uint32_t> globals_;
  // Of the one dict: entries that are still to come, and how many of them are
  // in the run at hand.
  size_t dict_left_ = 0;
  size_t run_left_ = 0;
  size_t run_size_ = 0;
};

}  // namespace tenon
