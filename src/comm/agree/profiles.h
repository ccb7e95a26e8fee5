// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_AGREE_PROFILES_H_
#define TUTTI_COMM_AGREE_PROFILES_H_

// The profiles (rank_profile.h) of all ranks of a communicator: this rank's own, those that the others send while they
// meet, and what follows from them for all.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "tutti/settings.h"
#include "tutti/status.h"

namespace tutti::tune {
struct Machine;
}

namespace tutti::comm {

// Threads: one.
class Profiles {
 public:
  // Makes the profile of this rank, `rank`, of its settings, its number of processors and the tables stored for this
  // machine. Fails where the tables cannot be read, or the settings are too long to be passed on.
  static Result<Profiles> Create(int rank, const Settings& settings, int cpus);
  Profiles(Profiles&&) noexcept;
  Profiles& operator=(Profiles&&) noexcept;
  ~Profiles();

  // This rank's own, for the others to add.
  std::vector<std::byte> Encode() const;
  // Takes the profile of `rank`; in rank order, this rank's too. Whether all so far have alike what must be alike. An error,
  // which names the rank, where it runs another build of Tutti.
  Result<bool> Add(int rank, std::span<const std::byte> encoded);

  // REQUIRES of what follows: all are added.

  // An error, the same on all ranks, where settings differ that must be alike.
  Status Check() const;
  // Writes into the log what was read with `settings`, on rank 0 and where reading them gave other warnings than there; and
  // on rank 0 which other settings differ.
  void Report(const Settings& settings) const;
  // Takes over what rank 0 decides for all.
  void TakeFromRankZero(Settings& settings) const;
  // Rank 0's number of processors: all must choose alike.
  int cpus() const;
  // Rank 0's constants; null where none are stored and they must be measured.
  const tune::Machine* machine() const;

 private:
  struct State;
  explicit Profiles(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_AGREE_PROFILES_H_
