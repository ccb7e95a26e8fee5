// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_DESK_H_
#define TUTTI_WATCH_DESK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tutti::sys {
class FramedConnection;
struct Watched;
}  // namespace tutti::sys

namespace tutti::watch {

class HostEvidence;
struct Subject;

// Answers what monitors of other hosts ask (far_report.h), by looks at this host. It never waits: who does not read its answers has its connection
// closed. Threads: one at a time.
class Desk {
 public:
  using Subjects = std::vector<std::shared_ptr<Subject>>;
  static constexpr std::size_t kMostCallers = 4096;  // of more the oldest goes

  // `evidence` outlives it; null: answers have none.
  explicit Desk(HostEvidence* evidence = nullptr);
  ~Desk();
  void Add(sys::FramedConnection&& caller);
  void Turn(const Subjects& subjects, std::int64_t now_ns);
  bool empty() const;
  void AddWatched(std::vector<sys::Watched>& watched) const;

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_DESK_H_
