// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PLAN_CAUSALITY_H_
#define TUTTI_PLAN_CAUSALITY_H_

// What happened before what, by messages alone (vector clocks), for plan::Check: who can know that whom has
// begun, and whether a block that was sent by reference has been read before its owner stores to it.

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace tutti::plan {

class Causality {
 public:
  // A disabled one does nothing and costs nothing.
  Causality(int ranks, bool enabled);

  static constexpr std::int32_t kNone = -1;

  // A step of `rank` begins.
  void Tick(int rank);
  // What `rank` knows now, to travel with `copies` messages.
  std::int32_t Attach(int rank, int copies);
  // `rank` receives one of those messages.
  void Receive(int rank, std::int32_t attached);
  // Whether `rank` knows that `other` has begun.
  bool KnowsOf(int rank, int other) const;

  // `owner` sends `reader` a reference to a place in its memory. Returned: the reference, for Read.
  std::int32_t Refer(int owner, std::int64_t place, int reader, int step);
  // The reader reads it.
  void Read(std::int32_t reference);
  // A reference to `place` that `owner` cannot know to have been read, if there is one.
  struct Unread {
    int reader, step;  // the step of the owner that sent the reference
  };
  std::optional<Unread> FindUnread(int owner, std::int64_t place) const;
  // The same of who sent a message that `owner` has not received yet.
  std::optional<Unread> FindUnread(int owner, std::int64_t place, std::int32_t attached) const;

 private:
  using Clock = std::vector<std::uint32_t>;
  std::optional<Unread> FindUnread(int owner, std::int64_t place, const Clock& known) const;
  struct Reference {
    std::int32_t reader, step;
    std::uint32_t read_at;  // the reader's own time, 0: not yet
    std::int32_t next;      // of the same place
  };
  struct Attached {
    Clock clock;
    int copies;
  };

  bool enabled_;
  std::vector<Clock> clocks_;  // by rank
  std::vector<Attached> attached_;
  std::vector<std::int32_t> free_;  // indices of attached_
  std::vector<Reference> references_;
  std::vector<std::unordered_map<std::int64_t, std::int32_t>> last_;  // by owner: place to its last reference
};

}  // namespace tutti::plan

#endif  // TUTTI_PLAN_CAUSALITY_H_
