// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_SEATS_H_
#define TUTTI_COMM_HOST_SEATS_H_

// Which core a rank had better sit on, where ranks share cores. The system's own balancing sees no difference: all ranks look busy. Each
// rank decides for itself by what the others have said of theirs, now and then, and one step at a time comes to the same picture:
//
//   4 ranks on 2 cores     0 1 3 | 2   ->  0 1 | 2 3      as many on each
//                          0 3 | 1 2   ->  0 1 | 2 3      neighbours together
//
// Which ranks share a core decides how long an operation takes by one way or another. So a way that was found to be the best one only
// stays that while the same ranks share a core.
//
// `cpu_of(rank)` is the core that a rank was seen on, kElsewhere for one of another host. Nothing is allocated here.

#include <array>
#include <cstddef>
#include <cstdint>

namespace tutti::comm {

inline constexpr int kElsewhere = -2, kNotSeen = -1;
inline constexpr int kMostSeats = 1024;  // cores; beyond, nobody steps over
inline constexpr int kStays = -1;

// What a rank knows of the cores of its host.
struct Seats {
  std::array<std::uint16_t, kMostSeats> ranks_on{};
  int ranks = 0;      // on this host
  int cores = 0;      // that have some
  int place = 0;      // of the own rank among those of its host
  int last_here = 0;  // of the ranks on its core
  bool known = true;  // all have been seen, on cores that there is room for
};

template <typename CpuOf>
Seats FindSeats(int ranks, int own, const CpuOf& cpu_of) {
  Seats seats;
  const int here = cpu_of(own);
  for (int rank = 0; rank < ranks; ++rank) {
    const int cpu = cpu_of(rank);
    if (cpu == kElsewhere) continue;
    if (rank == own) seats.place = seats.ranks;
    ++seats.ranks;
    seats.known &= cpu >= 0 && cpu < kMostSeats;
    if (!seats.known) return seats;
    seats.cores += seats.ranks_on[static_cast<std::size_t>(cpu)]++ == 0 ? 1 : 0;
    if (cpu == here) seats.last_here = rank;
  }
  return seats;
}

// Where some core, of the first `cpus`, has two ranks less than the one that the own rank is on (`here`), the last rank there steps over
// to it.
inline int SeatWithRoom(const Seats& seats, int own, int here, int cpus) {
  if (seats.last_here != own) return kStays;
  const auto on = [&](int cpu) { return seats.ranks_on[static_cast<std::size_t>(cpu)]; };
  int least = here;
  for (int cpu = 0; cpu < cpus && cpu < kMostSeats; ++cpu) {
    if (on(cpu) < on(least)) least = cpu;
  }
  return on(here) >= on(least) + 2 ? least : kStays;
}

// The core of the own rank's neighbours, of which each of `cpus` cores has as many. Where the first of them is, unless it sits with the
// first ones of those before: then it is to find a core of its own. Only while all cores have ranks and no other has.
template <typename CpuOf>
int SeatBesideNeighbours(const Seats& seats, int ranks, int own, int cpus, const CpuOf& cpu_of) {
  if (seats.cores != cpus) return kStays;
  const auto group_of = [&](int place) { return place * cpus / seats.ranks; };
  std::array<bool, kMostSeats> taken{};
  int place = 0, group = -1, seat = kStays;
  bool seeks = false;
  for (int rank = 0; rank < ranks; ++rank) {
    const int cpu = cpu_of(rank);
    if (cpu == kElsewhere) continue;
    if (cpu < 0 || cpu >= kMostSeats) return kStays;  // it has moved meanwhile
    if (group_of(place) != group) {
      group = group_of(place);
      bool& is_taken = taken[static_cast<std::size_t>(cpu)];
      if (group == group_of(seats.place) && !is_taken) seat = cpu;
      seeks |= rank == own && is_taken;
      is_taken = true;
    }
    ++place;
  }
  for (int cpu = 0; seeks && cpu < kMostSeats; ++cpu) {
    if (seats.ranks_on[static_cast<std::size_t>(cpu)] > 0 && !taken[static_cast<std::size_t>(cpu)]) return cpu;
  }
  return seat == cpu_of(own) ? kStays : seat;
}

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_SEATS_H_
