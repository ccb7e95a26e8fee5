// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/record_rows.h"

#include <fmt/format.h>

#include <cstddef>

namespace tutti::tools {

int Rows::Place(std::int64_t from_ns, std::int64_t to_ns) {
  std::size_t row = 0;
  while (row < ends_.size() && ends_[row] > from_ns) ++row;
  if (row == ends_.size()) ends_.emplace_back();
  ends_[row] = to_ns;
  return static_cast<int>(row);
}

std::string Rows::NameOf(int row) const { return row == 0 ? title_ : fmt::format("{} ({})", title_, row + 1); }

}  // namespace tutti::tools
