#include "formats/tensor/npy.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "../../scratch.h"

namespace tenon {
namespace {

std::shared_ptr<std::string> File(std::string_view dict,
                                  std::string_view payload) {
  auto file = std::make_shared<std::string>("\x93NUMPY");
  *file += {'\1', '\0', static_cast<char>(dict.size() & 0xff),
            static_cast<char>(dict.size() >> 8)};
  *file += dict;
  *file += payload;
  return file;
}

Expected<Tensor> Read(const std::shared_ptr<std::string>& file,
                      Diagnostics& diags) {
  return ReadNpy(AsBytes(*file), file, "t.npy", diags);
}

TEST(NpyTest, ReadsBothOrders) {
  const std::string payload = {1, 2, 3, 4, 5, 6};
  Diagnostics diags;
  const auto c =
      Read(File("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }\n",
                payload),
           diags);
  ASSERT_TRUE(c) << diags.ToString();
  EXPECT_EQ(c->strides(), (Sizes{3, 1}));
  const auto f =
      Read(File("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}\n",
                payload),
           diags);
  ASSERT_TRUE(f) << diags.ToString();
  EXPECT_EQ(f->strides(), (Sizes{1, 2}));
  EXPECT_EQ(f->dtype(), DType::kUInt8);
}

TEST(NpyTest, RefusesDamage) {
  const std::string four(4, '\0');
  const char* dicts[] = {
      "",
      "{",
      "{'descr': '<f4'}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
      "{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
      "{'descr': '<f4', 'fortran_order': 1, 'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': False, "
      "'shape': (4611686018427387904, 4, 1)}",
      "{'descr': '<f4', 'fortran_order': False, "
      "'shape': (99999999999999999999,)}",
  };
  for (const char* dict : dicts) {
    Diagnostics diags;
    EXPECT_FALSE(Read(File(dict, four), diags)) << dict;
    EXPECT_EQ(diags.num_errors(), 1u) << dict;
  }
}

TEST(NpyTest, EveryCutIsAnError) {
  const auto whole = File(
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n", "abcd");
  for (size_t size = 0; size < whole->size(); ++size) {
    Diagnostics diags;
    EXPECT_FALSE(
        Read(std::make_shared<std::string>(whole->substr(0, size)), diags))
        << size;
  }
}

TEST(NpyTest, WritesWhatItReads) {
  const std::string path = ScratchPath("written.npy");
  Tensor tensor = Tensor::Zeros(DType::kInt64, {2, 2});
  tensor.mutable_data<int64_t>()[1] = -5;
  for (const Tensor& t :
       {tensor, tensor.View({2, 2}, {1, 2}, 0), tensor.View({}, {}, 1)}) {
    Diagnostics diags;
    ASSERT_TRUE(WriteNpy(path, t, diags)) << diags.ToString();
    EXPECT_EQ((std::filesystem::file_size(path) -
               static_cast<uintmax_t>(t.numel()) * 8) %
                  64,
              0u);
    const auto read = OpenNpy(path, diags);
    ASSERT_TRUE(read) << diags.ToString();
    ASSERT_EQ(read->sizes(), t.sizes());
    const Tensor dense = t.Contiguous();
    for (int64_t i = 0; i < t.numel(); ++i) {
      EXPECT_EQ(read->data<int64_t>()[i], dense.data<int64_t>()[i]);
    }
  }
  Diagnostics diags;
  EXPECT_FALSE(WriteNpy(path, Tensor::Zeros(DType::kBFloat16, {1}), diags));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tenon
