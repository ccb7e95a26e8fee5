// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_NOTES_H_
#define TUTTI_SYS_OS_NOTES_H_

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/one_line.h"

namespace tutti::sys {

// What was found amiss while something was read that goes on all the same: one line for each kind of thing, however
// often it happens.
class Notes {
 public:
  // Of notes of one kind the first one's text is shown, and the others are counted.
  void Add(std::string_view kind, std::string text) {
    const auto known = std::ranges::find(entries_, kind, &Entry::kind);
    if (known != entries_.end()) {
      ++known->more;
      return;
    }
    ReplaceControls(text, '?');
    entries_.push_back({.kind = std::string(kind), .text = std::move(text)});
  }

  // In the order of the first of each kind: "TEXT (and 17 more like it)".
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    for (const Entry& entry : entries_) {
      lines.push_back(entry.more == 0 ? entry.text : fmt::format("{} (and {} more like it)", entry.text, entry.more));
    }
    return lines;
  }

 private:
  struct Entry {
    std::string kind, text;
    int more = 0;
  };
  std::vector<Entry> entries_;
};

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_NOTES_H_
