#include "formats/zip/zip_crc.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <vector>

namespace tenon {
namespace {

TEST(ZipCrc, EqualsZlibsForEachLengthAndStart) {
  std::vector<std::byte> bytes(2000);
  std::mt19937 random(1);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  for (size_t from = 0; from < 17; ++from) {
    for (size_t size = 0; size + from <= 700; ++size) {
      const auto before = static_cast<uint32_t>(random());
      const Bytes part = Bytes(bytes).subspan(from, size);
      const auto expected = static_cast<uint32_t>(
          crc32_z(before, reinterpret_cast<const Bytef*>(part.data()), size));
      ASSERT_EQ(ZipCrc(part, before), expected) << from << ", " << size;
    }
  }
}

TEST(ZipCrc, ContinuesAnEarlierOne) {
  const std::vector<std::byte> bytes(1000, std::byte{0xA5});
  const Bytes all(bytes);
  EXPECT_EQ(ZipCrc(all.subspan(333), ZipCrc(all.first(333))), ZipCrc(all));
}

TEST(ZipCrc, OfTheDigitsIsTheOneThatIsPublished) {
  EXPECT_EQ(ZipCrc(AsBytes("123456789")), 0xCBF43926u);
}

}  // namespace
}  // namespace tenon
