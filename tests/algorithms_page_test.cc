// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// docs/algorithms.md and docs/hierarchy.md say what the plans say.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tools/algorithms_page.h"

namespace tutti::tools {
namespace {

// What a page of docs holds between two lines.
std::string Between(const std::string& page, const std::string& begin_line, const std::string& end) {
  std::ifstream file(TUTTI_SOURCE_DIR "/docs/" + page);
  EXPECT_TRUE(file) << TUTTI_SOURCE_DIR "/docs/" << page << " cannot be read";
  std::stringstream content;
  content << file.rdbuf();
  const std::string document = content.str();
  const std::string begin = begin_line + "\n";
  const std::size_t first = document.find(begin);
  const std::size_t last = document.find(end, first);
  EXPECT_NE(first, std::string::npos) << page << " lacks the line " << begin_line;
  EXPECT_NE(last, std::string::npos) << page << " lacks the line " << end;
  if (first == std::string::npos || last == std::string::npos) return "";
  return document.substr(first + begin.size(), last - first - begin.size());
}

TEST(AlgorithmsPageTest, DocumentHoldsTheGeneratedTable) {
  EXPECT_EQ(Between("algorithms.md", kAlgorithmsPageBegin, kAlgorithmsPageEnd), AlgorithmsPage())
      << "put the output of 'tutti plan --page' between the two markers of docs/algorithms.md";
}

TEST(AlgorithmsPageTest, DocumentOfSeveralHostsHoldsTheGeneratedTable) {
  EXPECT_EQ(Between("hierarchy.md", kHierarchyPageBegin, kHierarchyPageEnd), HierarchyPage())
      << "put the output of 'tutti plan --page-hosts' between the two markers of docs/hierarchy.md";
}

}  // namespace
}  // namespace tutti::tools
