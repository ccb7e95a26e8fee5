// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/filter.h"

#include <gtest/gtest.h>

namespace tutti::tune {
namespace {

// Values a = 0, b = 1, c = 2; "bc" stands for two of them.
std::optional<std::uint32_t> Bits(std::string_view name) {
  if (name == "a") return 1;
  if (name == "b") return 2;
  if (name == "c") return 4;
  if (name == "bc") return 6;
  return std::nullopt;
}

Result<Filter> Parse(std::string_view text) { return Filter::Parse(text, "NCCL_ALGO", Bits, "a, b, c"); }

std::string Allowed(const Filter& f, Collective c) {
  std::string names;
  for (int v = 0; v < 3; ++v) {
    if (f.Allows(c, v)) names += static_cast<char>('a' + v);
  }
  return names;
}

TEST(Filter, EmptyAllowsEverythingAndSaysNothing) {
  const Result<Filter> f = Parse("");
  ASSERT_TRUE(f.ok());
  EXPECT_EQ(Allowed(*f, Collective::kAllReduce), "abc");
  EXPECT_FALSE(f->Says(Collective::kAllReduce));
}

TEST(Filter, ListsNegationAndCollectives) {
  const struct {
    const char* text;
    const char* all_reduce;
    const char* broadcast;
  } cases[] = {{"a,c", "ac", "ac"},          {"^b", "ac", "ac"},           {" ^ a , b ", "c", "c"},
               {"bc", "bc", "bc"},           {"allreduce:a", "a", "abc"},  {"AllReduce:^a;broadcast:b", "bc", "b"},
               {"c;all_reduce:a", "a", "c"}, {"all_reduce:a;", "a", "abc"}};
  for (const auto& c : cases) {
    const Result<Filter> f = Parse(c.text);
    ASSERT_TRUE(f.ok()) << c.text << ": " << f.status().message();
    EXPECT_EQ(Allowed(*f, Collective::kAllReduce), c.all_reduce) << c.text;
    EXPECT_EQ(Allowed(*f, Collective::kBroadcast), c.broadcast) << c.text;
  }
}

TEST(Filter, OnlyANamedCollectiveBinds) {
  const Result<Filter> f = Parse("b;broadcast:a");
  ASSERT_TRUE(f.ok());
  EXPECT_TRUE(f->Says(Collective::kAllReduce));
  EXPECT_FALSE(f->Binds(Collective::kAllReduce));
  EXPECT_TRUE(f->Binds(Collective::kBroadcast));
}

TEST(Filter, ErrorsQuoteTheWordAndTheRemedy) {
  for (const auto& [text, words] : {std::pair{"x", "\"x\" is not known; use a, b, c"},
                                    {"foo:a", "\"foo\" is not a collective"},
                                    {"all_reduce:", "\"\" is not known"},
                                    {"a,,b", "\"\" is not known"}}) {
    const Result<Filter> f = Parse(text);
    ASSERT_FALSE(f.ok()) << text;
    EXPECT_EQ(f.status().code(), Code::kInvalidUsage);
    EXPECT_NE(f.status().message().find(words), std::string::npos) << f.status().message();
    EXPECT_NE(f.status().message().find("NCCL_ALGO"), std::string::npos);
  }
}

}  // namespace
}  // namespace tutti::tune
