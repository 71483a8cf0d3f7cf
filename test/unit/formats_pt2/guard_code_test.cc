#include "formats/pt2/guard_code.h"

#include <gtest/gtest.h>

#include "worked_example.h"

namespace tenon {
namespace {

TEST(GuardCode, TakesComparisonsOfInputs) {
  for (const char* guard :
       {"L['x'].size()[0] == ((1 + L['y'].size()[0]) // 2)",
        "3*L['x'].size()[0] <= 20 and L['n'] != -1",
        "L['args'][0].stride()[1] % 8 == 0", "L['mode'] == 'it\\'s f()'",
        "L[\"flag\"] is not None", "L['x'].shape == (2, 3)", "0x10 < 1_000"}) {
    EXPECT_TRUE(IsHarmlessGuard(guard)) << guard;
  }
}

TEST(GuardCode, RefusesWhateverCouldDoMore) {
  for (const char* guard :
       {"__import__('os').system('id')", "exec('x')", "L['x'].__class__",
        "(lambda: 1)()", "f'{L}'", "9**9**9 > 1", "'a'*999999999 == 'b'",
        "[0]*999999999 == 1", "(0,)*999999999 == 1", "x := 1", "L['x'].data",
        "'unfinished", "a", "{}", "`", "L;L", "L\nL"}) {
    EXPECT_FALSE(IsHarmlessGuard(guard)) << guard;
  }
}

TEST(GuardCode, StaysBehindWithANote) {
  Program p = WorkedExample();
  p.file.guards_code = {"L['a'].size()[0] >= 2", "exec('x')"};
  Pt2WriteReport report;
  const std::string bytes = WriteToBytes(p, "tiny.pt2", &report);
  EXPECT_NE(MemberText(bytes, "tiny/models/model.json")
                .find("\"guards_code\": [\"L['a'].size()[0] >= 2\"]"),
            std::string::npos);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_NE(report.notes[0].find("the guard 'exec('x')' was left out"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon
