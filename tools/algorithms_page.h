// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_ALGORITHMS_PAGE_H_
#define TUTTI_TOOLS_ALGORITHMS_PAGE_H_

#include <string>

namespace tutti::tools {

// The lines between which docs/algorithms.md holds what AlgorithmsPage returns.
inline constexpr const char* kAlgorithmsPageBegin = "<!-- generated: tutti plan --page -->";
inline constexpr const char* kAlgorithmsPageEnd = "<!-- end -->";

// The table of all algorithms and collectives in Markdown, counted from the plans: hops, steps and bytes sent
// per rank at 4, 8 and 64 ranks, link slots, and what the registry claims. Ends with a newline.
std::string AlgorithmsPage();

// The same of docs/hierarchy.md and HierarchyPage.
inline constexpr const char* kHierarchyPageBegin = "<!-- generated: tutti plan --page-hosts -->";
inline constexpr const char* kHierarchyPageEnd = kAlgorithmsPageEnd;

// The table of the algorithms of several hosts: what crosses the network among 2 and 4 hosts of 4 ranks, and among hosts of 8, 8
// and 5.
std::string HierarchyPage();

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_ALGORITHMS_PAGE_H_
