// A test double of the CUDA runtime, for LD_PRELOAD. Never installed.
//
// Copies are checked against what their pointers are, and counted by kind, with
// their bytes; so are kernels that were launched. When the process ends, the
// counts are written as JSON to the file that TENON_HOST_CUDA_REPORT names.
#include "host_cuda.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace {

// cudaError_t
constexpr int kSuccess = 0, kInvalidValue = 1, kMemoryAllocation = 2,
              kInvalidDevice = 101;
// cudaMemcpyKind
constexpr int kHostToHost = 0, kHostToDevice = 1, kDeviceToHost = 2,
              kDeviceToDevice = 3, kByPointers = 4;

constexpr size_t kDeviceBytes = size_t{4} << 30;
constexpr size_t kAlignment = 256;

class Device {
 public:
  static Device& Get() {
    static Device* const device = new Device;  // outlives other destructors
    return *device;
  }

  int Allocate(void** out, size_t bytes) {
    const std::lock_guard lock(mutex_);
    const size_t room =
        (bytes + kAlignment) / kAlignment * kAlignment + kAlignment;
    if (base_ == nullptr || next_ + room > kDeviceBytes) {
      return kMemoryAllocation;
    }
    // Addresses are never used twice: a stale pointer is never right by chance.
    *out = base_ + next_;
    live_[base_ + next_] = bytes;
    std::memset(shadow_ + next_, 0xA5, bytes);
    next_ += room;
    return kSuccess;
  }
  int Free(void* pointer) {
    if (pointer == nullptr) return kSuccess;
    const std::lock_guard lock(mutex_);
    return live_.erase(static_cast<std::byte*>(pointer)) == 1 ? kSuccess
                                                              : kInvalidValue;
  }
  bool Owns(const void* pointer) const {
    const auto* p = static_cast<const std::byte*>(pointer);
    return base_ != nullptr && p >= base_ && p < base_ + kDeviceBytes;
  }
  void* Bytes(const void* pointer, size_t bytes) {
    const auto* p = static_cast<const std::byte*>(pointer);
    const std::lock_guard lock(mutex_);
    auto at = live_.upper_bound(const_cast<std::byte*>(p));
    if (!Owns(p) || at == live_.begin()) return nullptr;
    --at;
    const size_t offset = static_cast<size_t>(p - at->first);
    if (offset > at->second || bytes > at->second - offset) return nullptr;
    return shadow_ + (p - base_);
  }

  int Copy(void* to, const void* from, size_t bytes, int kind) {
    const bool to_device = Owns(to), from_device = Owns(from);
    const int is = from_device ? (to_device ? kDeviceToDevice : kDeviceToHost)
                               : (to_device ? kHostToDevice : kHostToHost);
    if (kind != kByPointers && kind != is) {
      return Refuse("a copy of kind " + std::to_string(kind) +
                    " between pointers of kind " + std::to_string(is));
    }
    void* const target = to_device ? Bytes(to, bytes) : to;
    const void* const source = from_device ? Bytes(from, bytes) : from;
    if (bytes > 0 && (target == nullptr || source == nullptr)) {
      return Refuse("a copy outside of allocated memory");
    }
    if (bytes > 0) std::memmove(target, source, bytes);
    const std::lock_guard lock(mutex_);
    ++counts_[is].copies;
    counts_[is].bytes += bytes;
    return kSuccess;
  }
  int Set(void* to, int value, size_t bytes) {
    void* const target = Owns(to) ? Bytes(to, bytes) : nullptr;
    if (bytes > 0 && target == nullptr) {
      return Refuse("a memset outside of allocated memory");
    }
    if (bytes > 0) std::memset(target, value, bytes);
    return kSuccess;
  }

  void Report() {
    const char* const path = std::getenv("TENON_HOST_CUDA_REPORT");
    if (path == nullptr) return;
    std::FILE* const file = std::fopen(path, "w");
    if (file == nullptr) return;
    const std::lock_guard lock(mutex_);
    constexpr const char* kNames[] = {"host_to_host", "host_to_device",
                                      "device_to_host", "device_to_device"};
    std::fprintf(file, "{");
    for (int i = 0; i < 4; ++i) {
      std::fprintf(file, "\"%s\": {\"copies\": %llu, \"bytes\": %llu}, ",
                   kNames[i], counts_[i].copies, counts_[i].bytes);
    }
    std::fprintf(file, "\"refused\": %llu}\n", refused_);
    std::fclose(file);
  }

 private:
  struct Count {
    unsigned long long copies = 0, bytes = 0;
  };

  Device() {
    const int file = memfd_create("tenon device", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, kDeviceBytes) != 0) return;
    void* const hidden =
        mmap(nullptr, kDeviceBytes, PROT_NONE, MAP_SHARED, file, 0);
    void* const shown = mmap(nullptr, kDeviceBytes, PROT_READ | PROT_WRITE,
                             MAP_SHARED, file, 0);
    close(file);
    if (hidden == MAP_FAILED || shown == MAP_FAILED) return;
    base_ = static_cast<std::byte*>(hidden);
    shadow_ = static_cast<std::byte*>(shown);
  }

  int Refuse(const std::string& why) {
    std::fprintf(stderr, "host CUDA double: %s\n", why.c_str());
    const std::lock_guard lock(mutex_);
    ++refused_;
    return kInvalidValue;
  }

  std::mutex mutex_;
  std::byte* base_ = nullptr;    // nobody may touch it
  std::byte* shadow_ = nullptr;  // the same bytes
  size_t next_ = 0;
  std::map<std::byte*, size_t> live_;  // bytes of each allocation
  Count counts_[4];                    // by cudaMemcpyKind
  unsigned long long refused_ = 0;
};

struct AtEnd {
  ~AtEnd() { Device::Get().Report(); }
} at_end;

// Streams and events are addresses that nobody follows.
int MakeToken(void** out) {
  *out = std::malloc(1);
  return kSuccess;
}
int FreeToken(void* token) {
  std::free(token);
  return kSuccess;
}

// As CUDA 13 lays it out.
struct PointerAttributes {
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
  long reserved[8];
};

}  // namespace

extern "C" {

void* tenon_host_cuda_bytes(const void* device, size_t bytes) {
  return Device::Get().Bytes(device, bytes);
}

int cudaMalloc(void** out, size_t bytes) {
  return Device::Get().Allocate(out, bytes);
}
int cudaMallocAsync(void** out, size_t bytes, void*) {
  return Device::Get().Allocate(out, bytes);
}
int cudaFree(void* pointer) { return Device::Get().Free(pointer); }
int cudaFreeAsync(void* pointer, void*) { return Device::Get().Free(pointer); }
int cudaMemcpy(void* to, const void* from, size_t bytes, int kind) {
  return Device::Get().Copy(to, from, bytes, kind);
}
int cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void*) {
  return Device::Get().Copy(to, from, bytes, kind);
}
int cudaMemset(void* to, int value, size_t bytes) {
  return Device::Get().Set(to, value, bytes);
}
int cudaMemsetAsync(void* to, int value, size_t bytes, void*) {
  return Device::Get().Set(to, value, bytes);
}
int cudaPointerGetAttributes(PointerAttributes* out, const void* pointer) {
  const bool is_device = Device::Get().Owns(pointer);
  *out = {};
  out->type = is_device ? 2 : 0;
  if (is_device) out->device_pointer = const_cast<void*>(pointer);
  return kSuccess;
}
int cudaGetDevice(int* out) {
  *out = 0;
  return kSuccess;
}
int cudaGetDeviceCount(int* out) {
  *out = 1;
  return kSuccess;
}
int cudaSetDevice(int device) {
  return device == 0 ? kSuccess : kInvalidDevice;
}
int cudaDeviceGetAttribute(int* out, int, int) {
  *out = 0;
  return kSuccess;
}
int cudaDeviceSynchronize() { return kSuccess; }
int cudaStreamCreate(void** out) { return MakeToken(out); }
int cudaStreamCreateWithFlags(void** out, unsigned) { return MakeToken(out); }
int cudaStreamDestroy(void* stream) { return FreeToken(stream); }
int cudaStreamSynchronize(void*) { return kSuccess; }
int cudaEventCreateWithFlags(void** out, unsigned) { return MakeToken(out); }
int cudaEventDestroy(void* event) { return FreeToken(event); }
int cudaEventRecord(void*, void*) { return kSuccess; }
int cudaEventSynchronize(void*) { return kSuccess; }
int cudaGetLastError() { return kSuccess; }
int cudaPeekAtLastError() { return kSuccess; }

}  // extern "C"
