// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_RECORD_ROWS_H_
#define TUTTI_TOOLS_RECORD_ROWS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tutti::tools {

// Rows of a chart, on which spans lie beside each other. Programs that show spans refuse those of a row that overlap in part, and
// of two that begin together an arrow leads to one of them only.
class Rows {
 public:
  explicit Rows(std::string title) : title_(std::move(title)) {}

  // The first row, from 0, that has room for a span. REQUIRES: it begins no earlier than that before it.
  int Place(std::int64_t from_ns, std::int64_t to_ns);
  // How many there are.
  int count() const { return static_cast<int>(ends_.size()); }
  // The title, with a number from the second row on.
  std::string NameOf(int row) const;

 private:
  const std::string title_;
  std::vector<std::int64_t> ends_;  // by row, of its last span
};

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_RECORD_ROWS_H_
