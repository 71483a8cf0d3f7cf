// Objects above 4 GiB (bug K5-01). Writes that much to the temporary folder, so
// it runs only with TENON_LARGE_TESTS=1, as .ci/run does.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "formats/pt2/pt2.h"

namespace tenon {
namespace {

constexpr size_t kSize = (size_t{4} << 30) + 1;

// Bytes of memory that no file backs.
size_t AnonymousBytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  size_t kilobytes = 0;
  while (status >> word) {
    if (word == "RssAnon:") status >> kilobytes;
  }
  return kilobytes * 1024;
}

// A sparse file of zeros whose last byte is 0x5A, mapped.
class SparseBlob {
 public:
  explicit SparseBlob(const std::string& path) : path_(path) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    const unsigned char last = 0x5A;
    is_written_ =
        fd >= 0 && pwrite(fd, &last, 1, static_cast<off_t>(kSize - 1)) == 1;
    data_ = is_written_ ? mmap(nullptr, kSize, PROT_READ, MAP_SHARED, fd, 0)
                        : MAP_FAILED;
    if (fd >= 0) close(fd);
  }
  ~SparseBlob() {
    if (is_mapped()) munmap(data_, kSize);
    unlink(path_.c_str());
  }
  SparseBlob(const SparseBlob&) = delete;
  SparseBlob& operator=(const SparseBlob&) = delete;

  bool is_mapped() const { return data_ != MAP_FAILED; }
  Bytes bytes() const { return {static_cast<const std::byte*>(data_), kSize}; }

 private:
  const std::string path_;
  bool is_written_ = false;
  void* data_ = MAP_FAILED;
};

TEST(Large, K501AConstantAbove4GiB) {
  if (std::getenv("TENON_LARGE_TESTS") == nullptr) {
    GTEST_SKIP() << "writes 4 GiB; set TENON_LARGE_TESTS=1";
  }
  const std::string folder = testing::TempDir();
  const std::string path = folder + "/tenon_large.pt2";
  const SparseBlob blob(folder + "/tenon_large.blob");
  ASSERT_TRUE(blob.is_mapped());

  const auto context = std::make_shared<Context>();
  Program program(context);
  const GraphId root = program.AddGraph("main");
  Type type;
  type.kind = TypeKind::kTensor;
  type.dtype = DType::kUInt8;
  type.device.type = context->Intern("cpu");
  type.sizes = {SymInt::Literal(static_cast<int64_t>(kSize))};
  type.strides = {SymInt::Literal(1)};
  StateEntry entry;
  entry.fqn = context->Intern("blob");
  entry.type = context->types.Intern(std::move(type));
  entry.storage = program.state.AddStorage({blob.bytes(), nullptr, false});
  InputSpec spec;
  spec.kind = InputKind::kConstantTensor;
  spec.state = program.state.Add(entry);
  program.signature.inputs.push_back(spec);
  program.AddInput(root, entry.type, entry.fqn);

  const size_t before = AnonymousBytes();
  Diagnostics diags;
  ASSERT_TRUE(WritePt2(program, path, Pt2WriteOptions(), diags))
      << diags.ToString();
  auto back =
      ReadPt2(path, std::make_shared<Context>(), Pt2ReadOptions(), diags);
  unlink(path.c_str());
  ASSERT_TRUE(back) << diags.ToString();
  ASSERT_EQ(back->state.storages.size(), 1u);
  const Bytes bytes = back->state.storages[0].bytes;
  ASSERT_EQ(bytes.size(), kSize);
  EXPECT_EQ(bytes[kSize - 1], std::byte{0x5A});
  EXPECT_EQ(bytes[kSize - 2], std::byte{0});
  EXPECT_LT(AnonymousBytes() - before, size_t{64} << 20)
      << "the blob was copied through memory";
}

}  // namespace
}  // namespace tenon
