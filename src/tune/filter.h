// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_FILTER_H_
#define TUTTI_TUNE_FILTER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/status.h"
#include "tutti/types.h"

namespace tutti::tune {

// What NCCL_ALGO and NCCL_PROTO say, in NCCL's syntax, any case:
//
//   setting := part { ";" part }
//   part    := [ collective ":" ] [ "^" ] name { "," name }
//
// A part with a collective speaks of that one only ("allreduce:tree,ring"), one without of all. "^" turns the list
// into what is not allowed. A later part overrides an earlier one. A part that names its collective is binding; one for
// all is a wish, which does not count for a collective that none of the named algorithms can do.
class Filter {
 public:
  // Everything allowed, nothing said.
  Filter();
  // `bits_of` turns a name into a set of values as a bit mask, or nothing for an unknown name; `variable` and `known`
  // (the valid names) are for the error's sentence. A name without a bit is ignored, and a list of nothing else says
  // nothing.
  static Result<Filter> Parse(std::string_view text, std::string_view variable,
                              const std::function<std::optional<std::uint32_t>(std::string_view)>& bits_of,
                              std::string_view known);

  bool Allows(Collective collective, int value) const {
    return (allowed_[static_cast<int>(collective)] >> value & 1) != 0;
  }
  // Whether the setting spoke of this collective at all.
  bool Says(Collective collective) const { return says_[static_cast<int>(collective)]; }
  // Whether it spoke of this collective by name.
  bool Binds(Collective collective) const { return binds_[static_cast<int>(collective)]; }
  // The names that were ignored, each once.
  const std::vector<std::string>& ignored() const { return ignored_; }

 private:
  std::array<std::uint32_t, kCollectives> allowed_;
  std::array<bool, kCollectives> says_{};
  std::array<bool, kCollectives> binds_{};
  std::vector<std::string> ignored_;
};

// What NCCL_ALGO and NCCL_PROTO leave.
struct Filters {
  Filter algorithms, protocols;
};

}  // namespace tutti::tune

#endif  // TUTTI_TUNE_FILTER_H_
