// TR01 and TR02: the layout that the stock delegate reads, and what is refused.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>

#include "formats/tensorrt/engine_container.h"

namespace tenon {
namespace {

const Place kPlace = Place::Node("engine");

EngineContainer Sample() {
  EngineContainer c;
  c.inputs = {{"k", "float32", {2, 4}}, {"x", "", {}}};
  c.outputs = {{"k_out", "float32", {2, 4}}, {"y", "float16", {-1}}};
  c.aliases = {{"k_out", "k", WriteKind::kKvCacheUpdate}};
  c.target_platform = "linux_x86_64";
  c.engine = AsBytes("the plan");
  return c;
}

// A container as the stock exporter lays it out, around other metadata.
std::vector<std::byte> Stock(const std::string& magic,
                             const std::string& metadata,
                             const std::string& engine = "plan") {
  const size_t engine_at = (32 + metadata.size() + 15) / 16 * 16;
  std::vector<std::byte> out(engine_at);
  const auto put = [&](size_t at, auto value) {
    std::memcpy(out.data() + at, &value, sizeof(value));
  };
  std::memcpy(out.data(), magic.data(), 4);
  put(4, uint32_t{32});
  put(8, static_cast<uint32_t>(metadata.size()));
  put(12, static_cast<uint32_t>(engine_at));
  put(16, uint64_t{engine.size()});
  put(24, uint64_t{1});
  std::memcpy(out.data() + 32, metadata.data(), metadata.size());
  const Bytes bytes = AsBytes(engine);
  out.insert(out.end(), bytes.begin(), bytes.end());
  return out;
}

// Of the stock exporter's sample with a cache.
constexpr char kStockMetadata[] =
    R"({"io_bindings":[{"name":"b_kv","dtype":"f","shape":[2,4],)"
    R"("is_input":true},{"name":"a","dtype":"f","shape":[2,4],)"
    R"("is_input":true},{"name":"add","dtype":"f","shape":[2,4],)"
    R"("is_input":false}],"aliased_io":[{"output":"add","input":"b_kv",)"
    R"("kind":"user"}],"hardware_compatible":true,"device_id":1,)"
    R"("serialized_metadata":"gAN9","target_platform":""})";

Diagnostics Refused(const std::vector<std::byte>& payload) {
  Diagnostics diags;
  EXPECT_FALSE(ReadEngineContainer(payload, kPlace, diags));
  EXPECT_TRUE(diags.has_errors());
  return diags;
}
void ExpectRefused(const std::vector<std::byte>& payload, Rule rule,
                   std::string_view reason) {
  const Diagnostics diags = Refused(payload);
  ASSERT_FALSE(diags.all().empty());
  EXPECT_EQ(RuleId(diags.all()[0].rule), RuleId(rule));
  EXPECT_NE(diags.FirstError().find(reason), std::string::npos)
      << diags.FirstError();
}
std::string Changed(std::string_view from, std::string_view to) {
  std::string text = kStockMetadata;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(EngineContainer, ReadsWhatTheStockExporterWrites) {
  Diagnostics diags;
  const auto file = Stock("TR02", kStockMetadata);
  const auto c = ReadEngineContainer(file, kPlace, diags);
  ASSERT_TRUE(c) << diags.ToString();
  ASSERT_EQ(c->inputs.size(), 2u);
  EXPECT_EQ(c->inputs[0].name, "b_kv");
  EXPECT_EQ(c->inputs[0].shape, (std::vector<int64_t>{2, 4}));
  ASSERT_EQ(c->outputs.size(), 1u);
  EXPECT_EQ(c->aliases[0].kind, WriteKind::kUser);
  EXPECT_TRUE(c->hardware_compatible);
  EXPECT_EQ(c->device_id, 1);
  EXPECT_EQ(c->serialized_metadata, "gAN9");
  EXPECT_EQ(AsText(c->engine), "plan");
}

// Older exporters know one kind.
TEST(EngineContainer, AKindThatIsNotNamedIsACacheUpdate) {
  Diagnostics diags;
  const auto c = ReadEngineContainer(
      Stock("TR02", Changed(R"(,"kind":"user")", "")), kPlace, diags);
  ASSERT_TRUE(c) << diags.ToString();
  EXPECT_EQ(c->aliases[0].kind, WriteKind::kKvCacheUpdate);
}

TEST(EngineContainer, WritesThePublishedLayout) {
  Diagnostics diags;
  const auto bytes = WriteEngineContainer(Sample(), kPlace, diags);
  ASSERT_TRUE(bytes) << diags.ToString();
  const std::string metadata =
      R"({"io_bindings":[{"name":"k","dtype":"float32","shape":[2,4],)"
      R"("is_input":true},{"name":"x","dtype":"","shape":[],)"
      R"("is_input":true},{"name":"k_out","dtype":"float32","shape":[2,4],)"
      R"("is_input":false},{"name":"y","dtype":"float16","shape":[-1],)"
      R"("is_input":false}],"aliased_io":[{"output":"k_out","input":"k",)"
      R"("kind":"kv_cache_update"}],"hardware_compatible":false,)"
      R"("device_id":0,"serialized_metadata":"",)"
      R"("target_platform":"linux_x86_64"})";
  EXPECT_EQ(*bytes, Stock("TR02", metadata, "the plan"));
  EngineContainer plain = Sample();
  plain.aliases.clear();
  const auto without = WriteEngineContainer(plain, kPlace, diags);
  EXPECT_EQ(AsText(*without).substr(0, 4), "TR01");
}

TEST(EngineContainer, TRT_04_PartsLieInside) {
  const std::vector<std::byte> whole = Stock("TR02", kStockMetadata);
  for (size_t n = 0; n < whole.size(); ++n) {
    Refused({whole.begin(), whole.begin() + static_cast<long>(n)});
  }
  for (const size_t at : {size_t{4}, size_t{8}, size_t{12}, size_t{16}}) {
    std::vector<std::byte> damaged = whole;
    const uint32_t huge = UINT32_MAX - 15;
    std::memcpy(damaged.data() + at, &huge, sizeof(huge));
    ExpectRefused(damaged, Rule::kEngine04, "don't lie in");
  }
  ExpectRefused(Stock("TR03", kStockMetadata), Rule::kEngine04, "no container");
  ExpectRefused(Stock("TR02", kStockMetadata, ""), Rule::kEngine04,
                "no engine");
}

TEST(EngineContainer, TRT_04_MetadataIsReadable) {
  ExpectRefused(Stock("TR02", "{"), Rule::kEngine04, "isn't JSON");
  ExpectRefused(Stock("TR02", "[]"), Rule::kEngine04, "no object");
  ExpectRefused(Stock("TR02", "{}"), Rule::kEngine04, "io_bindings");
  ExpectRefused(Stock("TR01", R"({"device_id":0,"io_bindings":[]})"),
                Rule::kEngine04, "doesn't begin");
  ExpectRefused(Stock("TR01", R"({"io_bindings":[],"io_bindings":[]})"),
                Rule::kEngine04, "twice");
  ExpectRefused(Stock("TR02", Changed(R"("name":"a")", R"("name":"b_kv")")),
                Rule::kEngine04, "two bindings");
  ExpectRefused(Stock("TR02", Changed(R"("name":"a")", R"("name":"a\"")")),
                Rule::kEngine04, "can't read");
  ExpectRefused(Stock("TR02", Changed(R"("is_input":true)", R"("is_input":1)")),
                Rule::kEngine04, "published form");
  ExpectRefused(Stock("TR02", Changed(R"(:1,)", R"(:-1,)")), Rule::kEngine04,
                "device_id");
  ExpectRefused(Stock("TR02", Changed(R"(form":"")", R"(form":"beos")")),
                Rule::kEngine04, "target_platform");
  ExpectRefused(
      Stock("TR01", R"({"io_bindings":[{"name":"y","is_input":false},)"
                    R"({"name":"x","is_input":true}]})"),
      Rule::kEngine04, "behind outputs");
}

TEST(EngineContainer, TRT_03_Aliases) {
  const auto alias = [](const char* from, const char* to) {
    return Stock("TR02", Changed(from, to));
  };
  ExpectRefused(Stock("TR01", kStockMetadata), Rule::kEngine03, "TR01");
  ExpectRefused(alias(R"("kind":"user")", R"("kind":"bogus")"), Rule::kEngine03,
                "bogus");
  ExpectRefused(alias(R"("input":"b_kv")", R"("input":"add")"), Rule::kEngine03,
                "isn't bound");
  ExpectRefused(alias(R"([2,4],"is_input":false)", R"([2,5],"is_input":false)"),
                Rule::kEngine03, "shapes differ");
  EngineContainer twice = Sample();
  twice.aliases.push_back({"y", "k", WriteKind::kUser});
  Diagnostics diags;
  EXPECT_FALSE(WriteEngineContainer(twice, kPlace, diags));
  EXPECT_EQ(RuleId(diags.all()[0].rule), RuleId(Rule::kEngine03));
}

}  // namespace
}  // namespace tenon
