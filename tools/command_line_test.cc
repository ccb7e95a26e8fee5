// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/command_line.h"

#include <gtest/gtest.h>

#include <vector>

#include "tools/cli.h"

namespace tutti::tools {
namespace {

struct Values {
  int number = 7;
  double seconds = 0.5;
  std::string mode = "fast", word;
  std::vector<std::string> list;
  bool first = false, second = false, third = false;
};

struct Parsed {
  std::optional<int> code;
  Values values;
  std::string out, error;
};

Parsed Parse(std::vector<const char*> words) {
  Parsed parsed;
  Values& v = parsed.values;
  CommandLine line("Tries options.", "tutti try");
  line.Add("WORD", v.word, "a word").Required();
  line.Add("-n,--number", v.number, "a number").Between(1, 9);
  line.Add("--seconds", v.seconds, "how long").BetweenSeconds(0, 10);
  line.Group("Others");
  line.Add("--mode", v.mode, "how").OneOf({"fast", "exact"}).Shown("MODE");
  line.Add("--list", v.list, "which").SplitAtCommas();
  const CommandLine::Option first = line.AddFlag("--first", v.first, "the first");
  line.AddFlag("--second", v.second, "the second").Needs(first);
  line.AddFlag("--third", v.third, "the third").Excludes(first);
  line.Footer("About words.\n\nExamples:\n  tutti try all\n\nThe end.");
  words.insert(words.begin(), "try");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  parsed.code = line.Parse(static_cast<int>(words.size()), const_cast<char**>(words.data()));
  std::fflush(nullptr);
  parsed.out = testing::internal::GetCapturedStdout();
  parsed.error = testing::internal::GetCapturedStderr();
  return parsed;
}

TEST(CommandLine, WritesWhatIsGivenAndLeavesTheRest) {
  const Parsed p = Parse({"all", "-n", "3", "--list", "a,b", "--first", "--second"});
  EXPECT_EQ(p.code, std::nullopt) << p.error;
  EXPECT_EQ(p.values.word, "all");
  EXPECT_EQ(p.values.number, 3);
  EXPECT_EQ(p.values.seconds, 0.5);
  EXPECT_EQ(p.values.mode, "fast");
  EXPECT_EQ(p.values.list, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(p.values.first && p.values.second && !p.values.third);
}

TEST(CommandLine, SaysWhatAnOptionTakes) {
  const auto error = [](std::vector<const char*> words) {
    const Parsed p = Parse(std::move(words));
    EXPECT_EQ(p.code, kExitUsage);
    return p.error;
  };
  EXPECT_EQ(error({"all", "-n", "abc"}),
            "tutti try: --number: takes a whole number from 1 to 9, not 'abc'\nTry 'tutti try --help'.\n");
  EXPECT_NE(error({"all", "-n", "10"}).find("from 1 to 9, not '10'"), std::string::npos);
  EXPECT_NE(error({"all", "--seconds", "11"}).find("takes a number from 0 to 10, not '11'"), std::string::npos);
  EXPECT_NE(error({"all", "--mode", "slow"}).find("takes one of fast exact, not 'slow'"), std::string::npos);
  EXPECT_NE(error({}).find("WORD is required"), std::string::npos);
  EXPECT_NE(error({"all", "--second"}).find("--first"), std::string::npos);
  EXPECT_NE(error({"all", "--first", "--third"}).find("--first"), std::string::npos);
}

TEST(CommandLine, HelpHasGroupsAndWhatStandsForValues) {
  const Parsed p = Parse({"--help"});
  EXPECT_EQ(p.code, kExitOk);
  EXPECT_NE(p.out.find("-n,--number N"), std::string::npos) << p.out;
  EXPECT_NE(p.out.find("--seconds SECONDS"), std::string::npos) << p.out;
  EXPECT_LT(p.out.find("Others:"), p.out.find("--mode MODE")) << p.out;
  EXPECT_NE(p.out.find("--list LIST"), std::string::npos) << p.out;
  EXPECT_NE(p.out.find("About words.\n\nThe end."), std::string::npos) << p.out;
}

TEST(CommandLine, ExamplesStandBeforeOptions) {
  const Parsed p = Parse({"--help"});
  const std::size_t examples = p.out.find("Examples:\n  tutti try all\n");
  ASSERT_NE(examples, std::string::npos) << p.out;
  EXPECT_LT(examples, p.out.find("Positionals:")) << p.out;
  EXPECT_EQ(p.out.find("Examples:", examples + 1), std::string::npos) << p.out;
}

TEST(CommandLine, AsksWhetherAnotherOptionWasMeant) {
  EXPECT_NE(Parse({"all", "--nubmer", "3"}).error.find("; did you mean --number?"), std::string::npos);
  EXPECT_NE(Parse({"all", "--sceonds=3"}).error.find("; did you mean --seconds?"), std::string::npos);
  EXPECT_EQ(Parse({"all", "--entirely-different"}).error.find("did you mean"), std::string::npos);
}

}  // namespace
}  // namespace tutti::tools
