// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// docs/algorithms.md says what the plans say.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tools/algorithms_page.h"

namespace tutti::tools {
namespace {

TEST(AlgorithmsPageTest, DocumentHoldsTheGeneratedTable) {
  std::ifstream file(TUTTI_SOURCE_DIR "/docs/algorithms.md");
  ASSERT_TRUE(file) << TUTTI_SOURCE_DIR "/docs/algorithms.md cannot be read";
  std::stringstream content;
  content << file.rdbuf();
  const std::string document = content.str();

  const std::string begin = std::string(kAlgorithmsPageBegin) + "\n";
  const std::size_t first = document.find(begin);
  const std::size_t last = document.find(kAlgorithmsPageEnd);
  ASSERT_NE(first, std::string::npos) << "the document lacks the line " << begin;
  ASSERT_NE(last, std::string::npos) << "the document lacks the line " << kAlgorithmsPageEnd;
  EXPECT_EQ(document.substr(first + begin.size(), last - first - begin.size()), AlgorithmsPage())
      << "put the output of 'tutti plan --page' between the two markers of docs/algorithms.md";
}

}  // namespace
}  // namespace tutti::tools
