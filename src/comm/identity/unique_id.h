// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_IDENTITY_UNIQUE_ID_H_
#define TUTTI_COMM_IDENTITY_UNIQUE_ID_H_

// What the 128 bytes of a UniqueId say.
//
//    0        8         9      10     16             48            64          67                128
//   +--------+---------+------+------+--------------+-------------+-----------+-----------------+
//   | magic  | version | kind | zero | secret       | name        | how many, | addresses, zero |
//   |        |         |      |      |              |             | port      |                 |
//   +--------+---------+------+------+--------------+-------------+-----------+-----------------+
//
// The addresses are those where the process that made the id awaits the leaders of hosts (comm/meet/rendezvous.h), all with one
// port: a byte 4 or 6, and so many bytes in network order, for each. The port is little endian.

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

inline constexpr std::uint8_t kIdVersion = 2;

enum class IdKind : std::uint8_t {
  kRandom = 1,   // the secret came from the kernel: whoever knows it belongs to the job
  kDerived = 2,  // computed from a launcher's variables, which others may guess: only processes of one user may meet
};

struct IdParts {
  IdKind kind = IdKind::kRandom;
  sys::Key secret{};
  std::array<std::byte, 16> name{};      // not secret: names the job in logs
  std::vector<sys::Endpoint> addresses;  // of one port; none: the ranks can only meet on one host

  std::string Name() const;  // as 32 hexadecimal digits
};

// Of the addresses as many as there is room for, from the first on: 12 of IPv4, 3 of IPv6.
UniqueId MakeId(const IdParts& parts);

// kInvalidArgument, with a sentence, for bytes that MakeId did not make.
Result<IdParts> ReadId(const UniqueId& id);

// The same id for the same facts, in every process. Facts: whatever tells this job from all others.
UniqueId DeriveId(std::initializer_list<std::span<const std::byte>> facts);

// A further id of the ranks that hold `id`: another one for each purpose and number, the same on all of them. Who does
// not know `id` can not compute it, and who knows it can not compute `id`. It has no addresses.
Result<UniqueId> FurtherId(const UniqueId& id, std::string_view purpose, std::uint64_t number);

// The same id with these addresses instead of its own, as many as there is room for.
Result<UniqueId> WithAddresses(const UniqueId& id, std::vector<sys::Endpoint> addresses);

// A further id for regions of shared memory and the like: one for each generation. 0: `id` itself.
Result<UniqueId> NextId(const UniqueId& id, std::uint64_t generation);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_IDENTITY_UNIQUE_ID_H_
