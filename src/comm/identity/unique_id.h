// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_IDENTITY_UNIQUE_ID_H_
#define TUTTI_COMM_IDENTITY_UNIQUE_ID_H_

// What the 128 bytes of a UniqueId say.
//
//    0        8         9      10         11      12     16             48            64          67                128
//   +--------+---------+------+----------+-------+------+--------------+-------------+-----------+-----------------+
//   | magic  | version | kind | listener | ports | zero | secret       | name        | how many, | addresses, zero |
//   |        |         |      |          | - 1   |      |              |             | port      |                 |
//   +--------+---------+------+----------+-------+------+--------------+-------------+-----------+-----------------+
//
// The addresses are those where a process awaits the leaders of hosts (comm/meet/rendezvous.h), all with one port: a byte 4 or
// 6, and so many bytes in network order, for each. The port is little endian.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sys/net/address.h"
#include "sys/net/auth.h"
#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::comm {

inline constexpr std::uint8_t kIdVersion = 3;

enum class IdKind : std::uint8_t {
  kRandom = 1,   // the secret came from the kernel: whoever knows it belongs to the job
  kDerived = 2,  // computed from a launcher's variables, which others may guess: only processes of one user may meet
};

// Which process awaits the leaders of hosts at the addresses of an id.
enum class IdListener : std::uint8_t {
  kMaker = 0,     // the one that made the id
  kRankZero = 1,  // that of rank 0, which begins to listen when it makes the communicator
};
inline constexpr int kMostIdPorts = 16;

struct IdParts {
  IdKind kind = IdKind::kRandom;
  sys::Key secret{};
  std::array<std::byte, 16> name{};      // not secret: names the job in logs
  std::vector<sys::Endpoint> addresses;  // of one port; none: the ranks can only meet on one host
  IdListener listener = IdListener::kMaker;
  // Rank 0 listens on one of so many ports, of which that of the addresses is the first: more than 1 where nobody could ask
  // which of them is free. 1 to kMostIdPorts.
  int ports = 1;

  std::string Name() const;                      // as 32 hexadecimal digits
  std::vector<sys::Endpoint> Endpoints() const;  // every address with every port
};

// Of the addresses as many as there is room for, from the first on: 12 of IPv4, 3 of IPv6.
UniqueId MakeId(const IdParts& parts);

// kInvalidArgument, with a sentence, for bytes that MakeId did not make.
Result<IdParts> ReadId(const UniqueId& id);

// The same id for the same facts, in every process. Facts: whatever tells this job from all others.
UniqueId DeriveId(std::initializer_list<std::span<const std::byte>> facts);

// A further id of the ranks that hold `id`: another one for each purpose and number, the same on all of them. Who does
// not know `id` can not compute it, and who knows it can not compute `id`. It has no addresses, whatever those of `id`.
Result<UniqueId> FurtherId(const UniqueId& id, std::string_view purpose, std::uint64_t number);

// The same id with these addresses of its maker instead of its own, as many as there is room for.
Result<UniqueId> WithAddresses(const UniqueId& id, std::vector<sys::Endpoint> addresses);
// The same id with the addresses, the listener and the ports of `other`.
Result<UniqueId> WithPlaceOf(const UniqueId& id, const UniqueId& other);
// The same id without addresses: the same bytes on all ranks, also where a name has other addresses on other hosts.
// REQUIRES: `id` is one.
UniqueId WithoutPlace(const UniqueId& id);

// A further id for regions of shared memory and the like: one for each generation. 0: `id` itself.
Result<UniqueId> NextId(const UniqueId& id, std::uint64_t generation);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_IDENTITY_UNIQUE_ID_H_
