// Pickles by hand: every way to import and call, of all protocols.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "formats/pickle/globals.h"
#include "scanned.h"

namespace tenon {
namespace {

using namespace std::string_literals;

// A text of less than 256 bytes, protocol 4.
std::string Text(const std::string& text) {
  return "\x8C"s + static_cast<char>(text.size()) + text;
}
std::string Wide(const std::string& text) {
  return "X"s + static_cast<char>(text.size()) + "\0\0\0"s + text;
}
std::string ShortBytes(const std::string& bytes) {
  return "C"s + static_cast<char>(bytes.size()) + bytes;
}

TEST(ScanPickles, X_PICKLE_01_FindsCallsInAllProtocols) {
  const std::pair<const char*, std::string> kPickles[] = {
      {"GLOBAL and REDUCE, protocol 0", "cos\nsystem\n(S'id'\ntR."},
      {"INST", "(S'id'\nios\nsystem\n."},
      {"OBJ", "(cos\nsystem\nS'id'\no."},
      {"REDUCE, protocol 2",
       "\x80\x02"
       "cos\nsystem\n" +
           Wide("id") + "\x85R."},
      {"NEWOBJ",
       "\x80\x02"
       "csubprocess\nPopen\n" +
           Wide("id") + "\x85\x81."},
      {"NEWOBJ_EX",
       "\x80\x04"
       "csubprocess\nPopen\n)}\x92."s},
      {"STACK_GLOBAL", "\x80\x04" + Text("os") + Text("system") + "\x93" +
                           Text("id") + "\x85R."},
      {"STACK_GLOBAL through the memo", "\x80\x04" + Text("system") + "\x94" +
                                            Text("os") + "\x94" +
                                            "00h\x01h\0\x93."s},
      {"STACK_GLOBAL through DUP and POP", "\x80\x04" + Text("os") + "2" +
                                               Text("x") + "00" +
                                               Text("system") + "\x93."},
      {"escaped text", "\x80\x04S'\\x6fs'\nV\\u0073ystem\n\x93."s},
      {"memo slots with blanks", "\x80\x04" + Text("os") + "p 5\n0" +
                                     Text("a") + "0g 5\n" + Text("system") +
                                     "\x93."},
      {"a name of Python 2", "c__builtin__\neval\n(S'1'\ntR."},
      {"an attribute of a harmless class",
       "\x80\x04" + Text("collections") +
           Text("OrderedDict.__init__.__globals__") + "\x93."},
      {"a module behind another one",
       "\x80\x04" + Text("torch") + Text("os.system") + "\x93."},
      {"a module of a library", "cmylib\nos\n."},
      {"a loader", "ctorch\nload\n(S'x'\ntR."},
      {"torch's own exec", "ctorch.jit.unsupported_tensor_ops\nexecWrapper\n."},
      {"a protocol 5 pickle", "\x80\x05\x95\x10\0\0\0\0\0\0\0"s + Text("nt") +
                                  Text("system") + "\x93" + Text("id") +
                                  "\x85R."},
  };
  for (const auto& [what, pickle] : kPickles) {
    const Scanned scanned = ScanText(pickle);
    EXPECT_TRUE(scanned.HasDanger(Rule::kXPickle01))
        << what << "\n"
        << scanned.found.ToString();
  }
}

TEST(ScanPickles, SaysWhatIsCalledAndWhereOnce) {
  const Scanned scanned =
      ScanText("\x80\x02(cos\nsystem\n)Rcos\nsystem\n)Rcos\ngetcwd\nt."s);
  ASSERT_EQ(scanned.found.num_errors(), 2u) << scanned.found.ToString();
  const auto& all = scanned.found.all();
  EXPECT_EQ(all[0].message, "unpickling calls 'os.system'");
  EXPECT_EQ(all[0].place.offset, 3u);
  EXPECT_EQ(all[1].message, "unpickling imports 'os.getcwd'");
}

TEST(ScanPickles, X_PICKLE_02_NamesOtherClassesWithCaution) {
  const Scanned scanned = ScanText(
      "\x80\x02"
      "ctorchao.quantization\nInt8Tensor\n)\x81}b"
      "cdatetime\ndate\n)R0."s);
  EXPECT_EQ(scanned.found.num_errors(), 0u) << scanned.found.ToString();
  EXPECT_TRUE(scanned.HasCaution(Rule::kXPickle02,
                                 "'torchao.quantization.Int8Tensor'"));
  EXPECT_TRUE(scanned.HasCaution(Rule::kXPickle02, "'datetime.date'"));
  EXPECT_TRUE(ScanText("\x80\x02\x82\x01."s).HasCaution(Rule::kXPickle02));
}

TEST(ScanPickles, X_PICKLE_03_FindsWhatNoWriterOfDataDoes) {
  // str(b'os', 'ascii') as the module's name.
  const std::string computed = "\x80\x04" + Text("builtins") + Text("str") +
                               "\x93" + ShortBytes("os") + Text("ascii") +
                               "\x86R" + Text("system") + "\x93.";
  EXPECT_TRUE(
      ScanText(computed).HasDanger(Rule::kXPickle03, "computes the name"));
  const Scanned result = ScanText(
      "\x80\x02"
      "ccollections\ndefaultdict\n)R)R."s);
  EXPECT_TRUE(result.HasDanger(Rule::kXPickle03, "what a call returned"));
  const Scanned changed = ScanText(
      "\x80\x02"
      "ccollections\nOrderedDict\n}" +
      Wide("x") + "Nsb.");
  EXPECT_TRUE(
      changed.HasDanger(Rule::kXPickle03, "'collections.OrderedDict' itself"));
}

TEST(ScanPickles, X_PICKLE_04_TellsWhatRunsBeforeItBreaks) {
  const Scanned scanned = ScanText(
      "\x80\x02"
      "cos\nsystem\n)RR."s);
  EXPECT_TRUE(scanned.HasDanger(Rule::kXPickle01, "os.system"));
  EXPECT_TRUE(scanned.HasDanger(Rule::kXPickle04, "underflow"));
  EXPECT_TRUE(ScanText("\x80\x02}"s).HasDanger(Rule::kXPickle04));
}

TEST(ScanPickles, LooksIntoBytesTextsAndWhatFollows) {
  const std::string evil =
      "\x80\x02"
      "cos\nsystem\n)R.";
  EXPECT_TRUE(ScanText("\x80\x03" + ShortBytes(evil) + ".")
                  .HasDanger(Rule::kXPickle01, "os.system"));
  EXPECT_TRUE(ScanText("\x80\x03" + ShortBytes("cos\nsystem\n(tR.") + ".")
                  .HasDanger(Rule::kXPickle01));
  EXPECT_TRUE(
      ScanText("\x80\x02}.\x80\x02]." + evil).HasDanger(Rule::kXPickle01));
  // Bytes as protocol 2 keeps them: latin-1, as UTF-8 text.
  const std::string utf8 =
      "\xC2\x80\x02"
      "cos\nsystem\n)R.";
  EXPECT_TRUE(ScanText("\x80\x02"
                       "c_codecs\nencode\n" +
                       Wide(utf8) + Wide("latin1") + "\x86R.")
                  .HasDanger(Rule::kXPickle01));
  // A pickle in a pickle in a pickle.
  const std::string twice = "\x80\x03" + ShortBytes(evil) + ".";
  EXPECT_TRUE(ScanText("\x80\x03" + ShortBytes(twice) + ".")
                  .HasDanger(Rule::kXPickle01));
}

TEST(ScanPickles, PassesTorchSavesStream) {
  const std::string magic =
      "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."s;
  const std::string numbers = "\x80\x02M\xe9\x03.\x80\x02}q\0."s;
  const std::string tensor =
      "\x80\x02}X\x01\0\0\0wctorch._utils\n_rebuild_tensor_v2\n"
      "((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0"
      "0X\x03\0\0\0cpuK\x02NtQK\0K\x02\x85K\x01\x85\x89"
      "ccollections\nOrderedDict\n)RtRs."s;
  const std::string keys =
      "\x80\x02]X\x01\0\0\0"
      "0a."s;
  const std::string raw = "\x02\0\0\0\0\0\0\0cab\ncd\x80?"s;
  const Scanned clean = ScanText(magic + numbers + tensor + keys + raw);
  EXPECT_EQ(clean.report.kind, FileKind::kLegacySave);
  EXPECT_TRUE(clean.IsClean()) << clean.found.ToString();
  // Whole or not, what it imports runs.
  const Scanned evil = ScanText(magic + numbers + "cos\nsystem\n(tRR" + raw);
  EXPECT_TRUE(evil.HasDanger(Rule::kXPickle01)) << evil.found.ToString();
}

TEST(ScanPickles, FindsThoseThatLookLikeOtherFiles) {
  // Text; a pickle with a tail; one that breaks after the call.
  for (const char* text :
       {"cos\nsystem\n(S'id'\ntR. and so on\n", "cos\nsystem\n(S'id'\ntR\n"}) {
    EXPECT_TRUE(ScanText(text).HasDanger(Rule::kXPickle01)) << text;
  }
  EXPECT_TRUE(ScanText("category\nname\nof a thing\n").IsClean());
  EXPECT_TRUE(ScanText("c\x3f.\x02\n\x1f.a\n\xff").report.pickles.empty());
}

TEST(ScanPickles, PassesHarmlessOnes) {
  const std::string kPickles[] = {
      "(dp0\nS'a'\np1\nI1\ns."s,
      "\x80\x02}q\0X\x01\0\0\0aK\x01s."s,
      "\x80\x04\x95\x05\0\0\0\0\0\0\0]\x94(K\x01K\x02"
      "e."s,
      "\x80\x02"
      "ccollections\nOrderedDict\n)R."s,
      "\x80\x02"
      "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85"
      "C\x01"
      "b\x87R."s,
      "\x80\x02"
      "ctorch.nn.parameter\nParameter\n0ctorch.cuda\nHalfStorage\n."s,
  };
  for (const std::string& pickle : kPickles) {
    const Scanned scanned = ScanText(pickle);
    EXPECT_TRUE(scanned.IsClean()) << scanned.found.ToString();
    EXPECT_EQ(scanned.report.pickles.size(), 1u);
  }
}

TEST(ScanPickles, X_LIMIT_01_BoundsWork) {
  ScanOptions options;
  options.max_pickle_opcodes = 1000;
  const Scanned many =
      ScanText("\x80\x02(" + std::string(2000, 'N') + "t.", options);
  EXPECT_TRUE(many.HasDanger(Rule::kXLimit01)) << many.found.ToString();
  std::string nested = "\x80\x02}.";
  for (int i = 0; i < 12; ++i) {
    nested =
        "\x80\x03"
        "B" +
        std::string(1, static_cast<char>(nested.size())) + "\0\0\0"s + nested +
        ".";
  }
  EXPECT_TRUE(ScanText(nested).HasDanger(Rule::kXLimit01));
}

TEST(ScanPickles, SurvivesAnyTwoBytes) {
  const std::string start = "\x80\x02}(X\x01\0\0\0aNNcos\nsystem\n"s;
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const Scanned scanned =
          ScanText(start + static_cast<char>(a) + static_cast<char>(b) + ".");
      ASSERT_TRUE(scanned.HasDanger(Rule::kXPickle01)) << a << " " << b;
    }
  }
}

TEST(JudgeImport, GoesByModuleAndName) {
  const std::tuple<const char*, const char*, ImportKind> kCases[] = {
      {"torch", "FloatStorage", ImportKind::kPlain},
      {"torch", "bfloat16", ImportKind::kPlain},
      {"torch", "load", ImportKind::kActing},
      {"torch.storage", "_load_from_bytes", ImportKind::kUnpickles},
      {"torch.nn.modules.linear", "Linear", ImportKind::kData},
      {"torch.nn.modules.module", "inspect", ImportKind::kActing},
      {"torch.fx.graph_module", "reduce_graph_module", ImportKind::kActing},
      {"numpy", "ndarray", ImportKind::kPlain},
      {"numpy.testing._private.utils", "runstring", ImportKind::kActing},
      {"builtins", "getattr", ImportKind::kActing},
      {"builtins", "bytearray", ImportKind::kPlain},
      {"webbrowser", "open", ImportKind::kActing},
      {"__main__", "Net", ImportKind::kUnknown},
      {"mylib", "Outer.Inner", ImportKind::kUnknown},
      {"mylib", "Outer.__init__", ImportKind::kActing},
      {"mylib", "helpers.run", ImportKind::kActing},
  };
  for (const auto& [module, name, kind] : kCases) {
    EXPECT_EQ(JudgeImport(module, name), kind) << module << "." << name;
  }
}

}  // namespace
}  // namespace tenon
