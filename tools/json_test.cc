// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/json.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

namespace tutti::tools {
namespace {

TEST(Json, IsReadAsItWasMade) {
  Json json = {{"number", 1}, {"large", std::numeric_limits<std::uint64_t>::max()}, {"least", INT64_MIN}};
  json["real"] = 0.1;
  json["whole"] = 3.0;
  json["none"] = std::numeric_limits<double>::quiet_NaN();
  json["yes"] = true;
  json["null"] = nullptr;
  json["word"] = "a \"b\" \\ \n\t\x01 é";
  json["words"] = std::vector<std::string>{"x", "y"};
  json["empty"] = Json::Array();
  json["list"] = Json::Array();
  json["list"].Append({{"inner", {{"deep", -1}}}});
  json["list"].Append(2);
  json["number"] = 7;
  EXPECT_EQ(json["list"].size(), 2u);
  const nlohmann::json read = nlohmann::json::parse(json.Dump(2));
  EXPECT_EQ(read, (nlohmann::json{{"number", 7},
                                  {"large", std::numeric_limits<std::uint64_t>::max()},
                                  {"least", INT64_MIN},
                                  {"real", 0.1},
                                  {"whole", 3.0},
                                  {"none", nullptr},
                                  {"yes", true},
                                  {"null", nullptr},
                                  {"word", "a \"b\" \\ \n\t\x01 é"},
                                  {"words", {"x", "y"}},
                                  {"empty", nlohmann::json::array()},
                                  {"list", {{{"inner", {{"deep", -1}}}}, 2}}}));
  EXPECT_TRUE(read["whole"].is_number_float());
}

TEST(Json, KeepsTheOrderAndIndents) {
  Json json = {{"b", 1}, {"a", Json::Array()}};
  json["a"].Append(2);
  EXPECT_EQ(json.Dump(1), "{\n \"b\": 1,\n \"a\": [\n  2\n ]\n}");
}

TEST(Json, AnyBytesBecomeText) {
  const int seed = 1;
  std::mt19937 random(seed);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(random() % 8, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 3 == 0 ? random() % 128 : 0x80 + random() % 128);
    const nlohmann::json read = nlohmann::json::parse(Json(bytes).Dump(0), nullptr, false);
    ASSERT_TRUE(read.is_string()) << "seed " << seed << ", string " << i;
    // What is UTF-8 comes back as it was; nlohmann's writer throws on what is not.
    bool valid = true;
    try {
      (void)nlohmann::json(bytes).dump();
    } catch (const nlohmann::json::exception&) {
      valid = false;
    }
    EXPECT_EQ(read.get<std::string>() == bytes, valid) << "seed " << seed << ", string " << i;
  }
}

}  // namespace
}  // namespace tutti::tools
