// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/explain_command.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tools/errors_page.h"

namespace tutti::tools {
namespace {

constexpr std::string_view kPage =
    "# Errors\n\n## src/a.cc\n\n| message | cause | remedy | provoked by |\n|---|---|---|---|\n"
    "| ``rank ... failed: ...`` | Another rank failed | Mend it | Provoke.A |\n"
    "| ``cannot open ... (errno ...): is the disk full?`` | No room | Make some | Provoke.B |\n\n## src/b.cc\n"
    "| ``the ranks did not meet within ... ms: ...`` | One is missing | Start it | Provoke.C |\n";

TEST(Explain, ReadsThePage) {
  const std::vector<ErrorRow> rows = ParseErrorsPage(kPage);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].message, "cannot open ... (errno ...): is the disk full?");
  EXPECT_EQ(rows[1].cause, "No room");
  EXPECT_EQ(rows[1].remedy, "Make some");
  EXPECT_EQ(rows[1].source, "src/a.cc");
  EXPECT_EQ(rows[2].source, "src/b.cc");
  EXPECT_EQ(rows[2].Anchor(), "the-ranks-did-not-meet-within-ms");
}

TEST(Explain, FindsASentenceInALineOfTheLogAndTheOneThatItHandsOn) {
  const std::vector<ErrorRow> rows = ParseErrorsPage(kPage);
  const auto found = FindErrors(
      rows, "[0] NCCL WARN rank 2 failed: cannot open\n  /tmp/x (errno 28): is the disk full? rank 3 failed: no");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0], &rows[1]);
  EXPECT_EQ(found[1], &rows[0]);
}

TEST(Explain, FindsByAPiece) {
  const std::vector<ErrorRow> rows = ParseErrorsPage(kPage);
  EXPECT_EQ(FindErrors(rows, "did not meet within"), std::vector<const ErrorRow*>{&rows[2]});
  EXPECT_TRUE(FindErrors(rows, "did").empty()) << "too few letters";
  EXPECT_TRUE(FindErrors(rows, "the ranks did not meet, although they were asked to").empty());
}

TEST(Explain, FindsASentenceThatWasCutOff) {
  const std::vector<ErrorRow> rows = ParseErrorsPage(kPage);
  EXPECT_EQ(FindErrors(rows, "TIMEOUT: the ranks did not meet within 1900"), std::vector<const ErrorRow*>{&rows[2]});
  EXPECT_TRUE(FindErrors(rows, "cannot open the door").empty()) << "too few letters";
}

// Each sentence of the real page is found by itself, and has an address of its own.
TEST(Explain, FindsEverySentenceOfThePage) {
  const std::vector<ErrorRow> rows = ParseErrorsPage(ErrorsPage());
  ASSERT_GT(rows.size(), 200U);
  std::map<std::string, std::string> sentences;
  for (const ErrorRow& row : rows) {
    EXPECT_EQ(sentences.try_emplace(row.Anchor(), row.message).first->second, row.message);
    EXPECT_FALSE(row.cause.empty() || row.remedy.empty()) << row.message;
    const auto found = FindErrors(rows, row.message);
    ASSERT_FALSE(found.empty()) << row.message;
    EXPECT_EQ(found[0]->message, row.message);
  }
}

TEST(Explain, WritesJson) {
  std::vector<std::string> words = {"explain", "--json", "-",
                                    "the ranks did not meet within 60000 ms: 3 of 4 ranks have come"};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  testing::internal::CaptureStdout();
  EXPECT_EQ(ExplainCommand(static_cast<int>(argv.size()), argv.data()), 0);
  const std::string out = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(out.starts_with("[")) << out;
  EXPECT_NE(out.find("\"remedy\": "), std::string::npos) << out;
  EXPECT_NE(out.find("\"address\": \"errors.html#the-ranks-did-not-meet-within-ms"), std::string::npos) << out;
}

}  // namespace
}  // namespace tutti::tools
