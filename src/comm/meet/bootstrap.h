// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_MEET_BOOTSTRAP_H_
#define TUTTI_COMM_MEET_BOOTSTRAP_H_

// How the ranks of a job on one host find each other, and exchange a payload and a file descriptor each.
//
// No rank is special and no address is agreed on beforehand. The id's secret gives the name of an abstract
// unix socket. The first rank to come takes that name and gathers the others; the rest find the name taken
// and visit. Both sides prove that they know the secret before anything else is said (bootstrap_message.h
// draws the exchange). When all have come the gatherer gives each a place in a binary tree of which it is the root, and
// everybody's data go down the tree, each rank passing on to two others what it takes; when all have everything the
// gatherer says so.
//
// Cost: a rank exchanges 5 small messages with the gatherer, takes n payloads and descriptors from its parent in the
// tree and passes them on to at most 2 children, so the work of every rank grows as the number of ranks; the gatherer
// answers n callers besides. Measured on two cores, from the start of all to the end of the last, a payload of 1000 bytes
// and a descriptor for each (src/comm/life/init_bench.cc): 8 processes 3 ms, 64 processes 18 ms, 256 processes 80 ms, 64
// threads 8 ms, 256 threads 65 ms.
//
// Descriptors: a rank holds a socket to the gatherer, at most 3 of the tree, and one message's descriptors (at most 250,
// fewer where many ranks share a process); the gatherer one socket and one descriptor per rank.
//
// On several hosts the ranks of each host meet like this, and the gatherers of the hosts, their leaders, meet where the id says
// (rendezvous_server.h). A leader looks for others where not all ranks have come to it within 5 ms.
//
// Only the gatherer listens. Strangers who find the socket's name and connect are given 1 second to prove that they know
// the secret, are never waited for, and are dropped without a word; where hundreds of them wait the oldest goes first.

#include <string>
#include <string_view>
#include <vector>

#include "comm/meet/meeting.h"
#include "tutti/status.h"

namespace tutti::comm {

struct IdParts;

// Meets all ranks; returns when all of them have taken all members, or with the same sentence on all that are
// there: who did not come (kTimeout), died, left or gave up (kRemote), came twice, was given another number of
// ranks, is out of range or runs another version (kInvalidUsage); or what MeetOptions::look of one of them says. Never
// takes longer than timeout_ms. After a meeting the id may be used for the next one of the same ranks.
//
// Where a rank is gone, the others tell so to whoever comes within a second, also where it was the one that gathered, and
// leave a note for those that come later (bootstrap_note.h). A rank that comes after the others have given up for another
// reason, or whom the note does not reach, waits for its own timeout and then names those who left as missing.
//
// Threads: ranks may be threads of one process. No state but that note outlives the call. Safe to call many at once, for
// one id or for many.
Status Meet(const MeetOptions& options, const OnMember& on_member);

// The same; returns the members in rank order. Holds as many descriptors as there are ranks with one: with
// hundreds of ranks in one process use the form above, and close them as they come.
Result<std::vector<Member>> Meet(const MeetOptions& options);

namespace internal {
// The abstract unix socket that the ranks of a job meet on. For tests, which play strangers.
std::string SocketName(const IdParts& id, std::string_view host = {});
}  // namespace internal

}  // namespace tutti::comm

#endif  // TUTTI_COMM_MEET_BOOTSTRAP_H_
