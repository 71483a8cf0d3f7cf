#include "formats/zip/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <new>

namespace tenon {
namespace {

// zlib counts in unsigned int.
constexpr size_t kZlibStepBytes = size_t{1} << 30;

}  // namespace

Expected<ZipContent> Inflate(Bytes in, uint64_t size_bytes,
                             const std::string& name, Diagnostics& diags) {
  const Place place = Place::File(name);
  const auto buffer = std::shared_ptr<std::byte[]>(
      new (std::nothrow) std::byte[size_bytes + kZipSlackBytes]);
  if (buffer == nullptr) {
    return diags.Error(Rule::kIo, place)
           << "no memory for " << size_bytes << " bytes";
  }
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
    return diags.Error(Rule::kIo, place) << "no memory to inflate";
  }
  size_t taken = 0, given = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    const size_t in_step = std::min(in.size() - taken, kZlibStepBytes);
    // One byte more than announced, so that a longer stream shows.
    const size_t out_step =
        std::min<size_t>(size_bytes + 1 - given, kZlibStepBytes);
    stream.next_in =
        reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data() + taken));
    stream.avail_in = static_cast<uInt>(in_step);
    stream.next_out = reinterpret_cast<Bytef*>(buffer.get() + given);
    stream.avail_out = static_cast<uInt>(out_step);
    status = inflate(&stream, Z_NO_FLUSH);
    taken += in_step - stream.avail_in;
    given += out_step - stream.avail_out;
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END || given != size_bytes) {
    return diags.Error(Rule::kFile02, place)
           << "the deflated content is damaged: " << given << " of "
           << size_bytes << " bytes";
  }
  return ZipContent{Bytes(buffer.get(), size_bytes), buffer};
}

}  // namespace tenon
