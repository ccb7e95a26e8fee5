// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_ORIGIN_H_
#define TUTTI_COMM_HOST_ORIGIN_H_

// Where the ranks of a communicator come from that is made from another one, its parent (comm/life/subset.h). The parent
// knows their processes, so that one that dies before the ranks have met again is found; and the user knows their ranks
// there, so that errors say those too.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sys/os/fd.h"
#include "sys/os/process.h"
#include "tutti/status.h"

namespace tutti::transport::shm {
class Fabric;
}

namespace tutti::comm {

// Threads: any; it does not change.
class Origin {
 public:
  // Whether ranks have other numbers than in the parent; where they keep them there is nothing to translate.
  enum class Numbers : std::uint8_t { kNew, kKept };

  // `parent`: its links; null where it has one rank. `ranks`: of the parent, in the order of the new communicator's ranks.
  // What has more ranks than these knows nothing of the rest. Copies what it needs, so the parent may end before it.
  static std::shared_ptr<const Origin> Of(const transport::shm::Fabric* parent, std::span<const int> ranks,
                                          Numbers numbers);

  // The same, of a communicator that the library makes for its own use: what it is a part of, 0 for others, and a rank's number there.
  static std::shared_ptr<const Origin> OfPart(const transport::shm::Fabric* parent, std::span<const int> ranks,
                                              Numbers numbers, std::uint64_t whole);
  std::uint64_t whole() const { return whole_; }
  int RankOfWhole(int rank) const { return places_[static_cast<std::size_t>(rank)].rank; }

  // An error that names a rank whose process has ended, as the new communicator counts. For use before the ranks have met:
  // such a rank never comes. Costs up to 10 us for each rank.
  Status FindDead() const;
  // The status of the new communicator with the blamed rank's number in the parent behind its sentence. As it is where it
  // blames nobody, where the number is not known or the same, and where the sentence says it already.
  Status Translate(const Status& status) const;

 private:
  struct Place {
    int rank = -1;  // in the parent
    sys::ProcessId process;
    std::shared_ptr<const sys::Fd> handle;  // where a pid of another name space says nothing here; null: there is none
    std::string pid;                        // for errors
  };
  std::vector<Place> places_;
  sys::ProcessId self_;
  Numbers numbers_ = Numbers::kNew;
  std::uint64_t whole_ = 0;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_ORIGIN_H_
