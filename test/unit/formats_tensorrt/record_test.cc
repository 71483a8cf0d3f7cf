#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "formats/tensorrt/base64.h"
#include "formats/tensorrt/engine_record.h"

namespace tenon {
namespace {

using Fields = std::vector<std::string>;

Fields GoodFields() {
  return {"10",
          "_run_on_acc_0_engine",
          "0%9%0%0%NVIDIA H200",
          "cGxhbg==",
          "x%k_in",
          "y%k_out",
          "0",
          "opaque",
          "linux_x86_64",
          "0",
          "1",
          "0",
          "k_out@k_in@kv_cache_update"};
}

std::string& At(Fields& fields, EngineField field) {
  return fields[static_cast<size_t>(field)];
}

Expected<EngineRecord> Parse(const Fields& fields, Diagnostics& diags) {
  EngineStrings strings;
  for (const std::string& field : fields) strings.fields.push_back(field);
  return ParseEngineRecord(strings, Place::Node("call"), diags);
}

// The only error, or all of them where there are more.
std::string Error(const Fields& fields) {
  Diagnostics diags;
  EXPECT_FALSE(Parse(fields, diags));
  std::string out;
  for (const Diagnostic& d : diags.all()) {
    if (!out.empty()) out += " | ";
    out += d.message;
  }
  return out;
}

std::string ErrorWith(EngineField field, const std::string& text) {
  Fields fields = GoodFields();
  At(fields, field) = text;
  return Error(fields);
}

TEST(EngineRecord, FieldsAreTyped) {
  Diagnostics diags;
  const auto record = Parse(GoodFields(), diags);
  ASSERT_TRUE(record) << diags.ToString();
  EXPECT_EQ(record->name, "_run_on_acc_0_engine");
  EXPECT_EQ(record->device.id, 0);
  EXPECT_EQ(record->device.major, 9);
  EXPECT_EQ(record->device.name, "NVIDIA H200");
  EXPECT_EQ(AsText(record->engine), "plan");
  EXPECT_EQ(record->input_names, (Fields{"x", "k_in"}));
  EXPECT_EQ(record->output_names, (Fields{"y", "k_out"}));
  EXPECT_FALSE(record->hardware_compatible);
  EXPECT_TRUE(record->allocates_dynamically);
  ASSERT_EQ(record->aliases.size(), 1u);
  EXPECT_EQ(record->aliases[0].output, "k_out");
  EXPECT_EQ(record->aliases[0].input, "k_in");
  EXPECT_EQ(record->aliases[0].kind, WriteKind::kKvCacheUpdate);
}

TEST(EngineRecord, ComesBackByteForByte) {
  Fields plain = GoodFields();
  At(plain, EngineField::kAliasedIo) = "";
  At(plain, EngineField::kInputNames) = "";
  At(plain, EngineField::kDevice) = "12%8%9%1%";
  At(plain, EngineField::kPlatform) = "win_x86_64";
  for (const Fields& fields : {GoodFields(), plain}) {
    Diagnostics diags;
    const auto record = Parse(fields, diags);
    ASSERT_TRUE(record) << diags.ToString();
    const auto again = PrintEngineRecord(*record, Place(), diags);
    ASSERT_TRUE(again) << diags.ToString();
    EXPECT_EQ(Fields(again->begin(), again->end()), fields);
  }
}

TEST(EngineRecord, AnotherAbiVersion) {
  EXPECT_EQ(ErrorWith(EngineField::kAbiVersion, "9"),
            "engine record, field 0 'abi_version': version '9', expected '10'");
}

TEST(EngineRecord, WrongFieldCount) {
  Fields fields = GoodFields();
  fields.pop_back();
  EXPECT_EQ(Error(fields),
            "engine record of 12 fields, expected 13: 'aliased_io' is missing");
  fields.resize(9);
  EXPECT_EQ(Error(fields),
            "engine record of 9 fields, expected 13: "
            "'requires_output_allocator' and what follows it are missing");
  fields = GoodFields();
  fields.push_back("");
  EXPECT_EQ(
      Error(fields),
      "engine record of 14 fields, expected 13: nothing is known to stand "
      "behind 'aliased_io'");
  EXPECT_EQ(Error({}),
            "engine record of 0 fields, expected 13: 'abi_version' and what "
            "follows it are missing");
}

TEST(EngineRecord, DelimiterInsideADevicesName) {
  EXPECT_EQ(ErrorWith(EngineField::kDevice, "0%9%0%0%a%b"),
            "engine record, field 2 'device': '0%9%0%0%a%b' has 6 parts, "
            "expected id%major%minor%type%name, no '%' inside the name");
}

TEST(EngineRecord, DelimiterInsideAnAliasedName) {
  EXPECT_EQ(ErrorWith(EngineField::kAliasedIo, "k@out@k_in@user"),
            "engine record, field 12 'aliased_io': 'k@out@k_in@user' has 4 "
            "parts, expected output@input@kind, no '@' inside a name");
}

TEST(EngineRecord, DelimiterAtTheEdgeOfAName) {
  EXPECT_EQ(
      ErrorWith(EngineField::kInputNames, "x%k_in%"),
      "engine record, field 4 'input_binding_names': name 2 is empty: two "
      "'%' side by side, or one at an end");
}

TEST(EngineRecord, DelimiterInsideANameIsNotWritten) {
  Diagnostics good;
  auto record = Parse(GoodFields(), good);
  ASSERT_TRUE(record);
  record->input_names[0] = "a%b";
  record->output_names[1] = "k%out";
  record->aliases[0].input = "k@in";
  Diagnostics diags;
  EXPECT_FALSE(PrintEngineRecord(*record, Place(), diags));
  ASSERT_EQ(diags.num_errors(), 3u);
  EXPECT_EQ(
      diags.all()[0].message,
      "engine record, field 4 'input_binding_names': the name 'a%b' holds "
      "the delimiter '%'");
  EXPECT_EQ(diags.all()[1].message,
            "engine record, field 5 'output_binding_names': the name 'k%out' "
            "holds the delimiter '%'");
  EXPECT_EQ(diags.all()[2].message,
            "engine record, field 12 'aliased_io': the name 'k@in' holds the "
            "delimiter '@'");
}

TEST(EngineRecord, DuplicateBindings) {
  EXPECT_EQ(
      ErrorWith(EngineField::kInputNames, "x%k_in%x"),
      "engine record, field 4 'input_binding_names': binding 'x' is there "
      "twice");
  EXPECT_EQ(ErrorWith(EngineField::kOutputNames, "y%k_out%y"),
            "engine record, field 5 'output_binding_names': binding 'y' is "
            "there twice");
  EXPECT_EQ(ErrorWith(EngineField::kOutputNames, "x%k_out"),
            "engine record, field 5 'output_binding_names': binding 'x' is an "
            "input, too");
}

TEST(EngineRecord, AliasToAMissingBinding) {
  EXPECT_EQ(
      ErrorWith(EngineField::kAliasedIo, "k_out@gone@user"),
      "engine record, field 12 'aliased_io': output 'k_out' aliases input "
      "'gone', but no such input is bound");
  EXPECT_EQ(ErrorWith(EngineField::kAliasedIo, "gone@k_in@user"),
            "engine record, field 12 'aliased_io': output 'gone' aliases input "
            "'k_in', but no such output is bound");
}

TEST(EngineRecord, AliasOfUnknownKind) {
  EXPECT_EQ(
      ErrorWith(EngineField::kAliasedIo, "k_out@k_in@magic"),
      "engine record, field 12 'aliased_io': output 'k_out' aliases input "
      "'k_in', but the kind 'magic' is unknown");
}

TEST(EngineRecord, AliasedTwice) {
  EXPECT_EQ(
      ErrorWith(EngineField::kAliasedIo, "k_out@k_in@user%y@k_in@user"),
      "engine record, field 12 'aliased_io': output 'y' aliases input 'k_in', "
      "but output 'k_out' aliases it, too");
  EXPECT_EQ(
      ErrorWith(EngineField::kAliasedIo, "k_out@k_in@user%k_out@x@user"),
      "engine record, field 12 'aliased_io': output 'k_out' aliases input 'x', "
      "but the output aliases another input already");
}

TEST(EngineRecord, AliasWithoutItsParts) {
  EXPECT_EQ(ErrorWith(EngineField::kAliasedIo, "k_out@k_in"),
            "engine record, field 12 'aliased_io': 'k_out@k_in' has 2 parts, "
            "expected output@input@kind");
}

TEST(EngineRecord, AliasOfAnOutputThatIsAllocated) {
  EXPECT_EQ(
      ErrorWith(EngineField::kOutputAllocator, "1"),
      "engine record, field 9 'requires_output_allocator': an output that "
      "is allocated at run time can't alias an input");
}

TEST(EngineRecord, OtherFields) {
  EXPECT_EQ(ErrorWith(EngineField::kEngine, "cGxhbg="),
            "engine record, field 3 'engine': not base64");
  EXPECT_EQ(ErrorWith(EngineField::kEngine, ""),
            "engine record, field 3 'engine': no bytes");
  EXPECT_EQ(
      ErrorWith(EngineField::kHardwareCompatible, "True"),
      "engine record, field 6 'hardware_compatible': 'True', expected '0' "
      "or '1'");
  EXPECT_EQ(ErrorWith(EngineField::kPlatform, "amiga"),
            "engine record, field 8 'target_platform': unknown platform "
            "'amiga'");
  EXPECT_EQ(ErrorWith(EngineField::kResourceStrategy, "2"),
            "engine record, field 10 'resource_allocation_strategy': '2', "
            "expected '0' or '1'");
  EXPECT_EQ(ErrorWith(EngineField::kMultiDevice, ""),
            "engine record, field 11 'requires_native_multidevice': '', "
            "expected '0' or '1'");
  EXPECT_EQ(ErrorWith(EngineField::kDevice, "00%9%x%2%n"),
            "engine record, field 2 'device': id '00', expected a whole number "
            "| engine record, field 2 'device': minor 'x', expected a whole "
            "number | engine record, field 2 'device': type '2', expected 0 or "
            "1");
  EXPECT_EQ(ErrorWith(EngineField::kDevice, "99999999999999999999%9%0%0%n"),
            "engine record, field 2 'device': id '99999999999999999999', "
            "expected a whole number");
}

TEST(Base64, OneSpellingForSomeBytes) {
  for (const char* text : {"", "TQ==", "TWE=", "TWFu", "//8=", "AAAAAA=="}) {
    const auto bytes = DecodeBase64(text);
    ASSERT_TRUE(bytes) << text;
    EXPECT_EQ(EncodeBase64(*bytes), text);
  }
  // Odd lengths, padding inside, foreign letters, bits that belong to no byte.
  for (const char* text : {"TQ", "TQ=", "TQ==TQ==", "T===", "====", "TW-u",
                           "TW\nu", "TR==", "TWF="}) {
    EXPECT_FALSE(DecodeBase64(text)) << text;
  }
}

}  // namespace
}  // namespace tenon
