#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <string>

#include "../../limit_boundary.h"
#include "formats/zip/zip_layout.h"
#include "formats/zip/zip_reader.h"
#include "formats/zip/zip_writer.h"

namespace tenon {
namespace {

LimitedRead Opening(const std::string& archive) {
  return [archive](const ReadLimits& limits, Diagnostics& diags) {
    return ZipArchive::Open(AsBytes(archive), nullptr, "x.zip", limits, diags)
        .ok();
  };
}

template <typename T>
void Put(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

// One member "m", deflated.
std::string Deflated(const std::string& content) {
  std::string packed(compressBound(content.size()) + 16, '\0');
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, 0), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);

  std::string common;  // of both headers, from the flags on
  Put<uint16_t>(&common, 0);
  Put<uint16_t>(&common, zip::kMethodDeflated);
  Put<uint32_t>(&common, 0);
  Put<uint32_t>(&common, ZipCrc(AsBytes(content)));
  Put<uint32_t>(&common, static_cast<uint32_t>(packed.size()));
  Put<uint32_t>(&common, static_cast<uint32_t>(content.size()));
  Put<uint16_t>(&common, 1);  // bytes of the name
  Put<uint16_t>(&common, 0);
  std::string out;
  Put(&out, zip::kLocalSignature);
  Put<uint16_t>(&out, 20);
  out += common + "m" + packed;
  const auto directory = static_cast<uint32_t>(out.size());
  Put(&out, zip::kCentralSignature);
  Put<uint32_t>(&out, 20);
  out += common + std::string(14, '\0') + "m";
  const auto size = static_cast<uint32_t>(out.size()) - directory;
  Put(&out, zip::kEndSignature);
  Put<uint32_t>(&out, 0);
  Put<uint16_t>(&out, 1);
  Put<uint16_t>(&out, 1);
  Put(&out, size);
  Put(&out, directory);
  Put<uint16_t>(&out, 0);
  return out;
}

TEST(ZipLimits, Members) {
  std::string archive;
  ZipWriter zip;
  ASSERT_TRUE(zip.OpenMemory(&archive, "r"));
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(zip.Add(name, {}));
  ASSERT_TRUE(zip.WriteDirectory());
  ExpectBoundary(&ReadLimits::max_members, 3, Opening(archive));
}

TEST(ZipLimits, NameBytes) {
  std::string archive;
  ZipWriter zip;
  ASSERT_TRUE(zip.OpenMemory(&archive, "r"));
  ASSERT_TRUE(zip.Add("of_12_bytes_", {}));
  ASSERT_TRUE(zip.WriteDirectory());
  ExpectBoundary(&ReadLimits::max_name_bytes, 14, Opening(archive));
}

TEST(ZipLimits, InflatedBytes) {
  ExpectBoundary(&ReadLimits::max_inflated_bytes, 5000,
                 Opening(Deflated(std::string(5000, 'x'))));
}

TEST(ZipLimits, InflateRatio) {
  const std::string content(4 << 20, 'x');
  const std::string archive = Deflated(content);
  ReadLimits all;
  all.max_inflate_ratio = 2000;
  Diagnostics diags;
  const auto opened =
      ZipArchive::Open(AsBytes(archive), nullptr, "x.zip", all, diags);
  ASSERT_TRUE(opened);
  const uint64_t stored = opened->members()[0].stored_bytes;
  // The ratio is taken as a whole number.
  uint64_t least = 1;
  while (content.size() / least > stored) ++least;
  ExpectBoundary(&ReadLimits::max_inflate_ratio, least, Opening(archive));
}

}  // namespace
}  // namespace tenon
