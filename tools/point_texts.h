// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_POINT_TEXTS_H_
#define TUTTI_TOOLS_POINT_TEXTS_H_

#include <string_view>

namespace tutti::tools {

// The text of a file of measured times that is compiled in: tests/planning/points/tutti_one_host.csv and tutti_hosts.csv,
// tests/tune/measured/epyc_2_cores.txt and xeon_16_cores.txt, by their names without folders. points.cmake writes this function's
// source. REQUIRES: one of these.
std::string_view PointText(std::string_view file);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_POINT_TEXTS_H_
