// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_ALGO_HIERARCHY_H_
#define TUTTI_ALGO_HIERARCHY_H_

// Collectives of several hosts, composed of an exchange inside each host and an algorithm of this folder among the hosts.
//
//   all_reduce, 2 hosts of 3 ranks, 3 rails
//
//       host 0                 host 1              each rank owns a part of the data, its rail
//     0    1    2            3    4    5           1. inside: it folds that part of all its host's ranks
//     |    |    +--- rail 2 -|----|----+           2. between hosts: the owners of a rail do an all_reduce of it
//     |    +-------- rail 1 -|----+                3. inside: each hands its part to all its host's ranks
//     +------------- rail 0 -+
//
// A host with fewer ranks than there are rails has ranks that own several. Only data of a rail's part cross the network on
// that rail, so every rank's network interface carries its share.
//
// How it is composed. The plan among hosts (`outer`) has a host for each rank. Each of its steps is written once for every rail
// that a rank owns, with the ranks that own that rail in place of hosts, and its blocks in place of the piece's. Where the
// outer step reads the host's input for the first time, the ranks of the host exchange that block before it, and its owner
// folds it; where the outer step stores a result for the last time, the owner sends that to its host too. These exchanges
// are in the outer step's stage and wait for nobody but the host's ranks, who all come by there in the same order. So the
// stages are those of the outer plan, a link inside a host holds few messages, and while a block crosses the network the host
// deals with the next one.
//
// A host's own value is stored in the output where the outer plan needs it again or folds it with others. So an outer plan
// runs in place, and each of its folds takes whole hosts' values. Where a rank has no place for it (a reduce's, or a block of
// another rank's in a reduce_scatter), what came from other hosts and the host's ranks' inputs are one fold.
//
// With Inside::kSwitch, ranks of a host offer their blocks to the owner, itself too, who reads their fold from the switch, and owners
// multicast results. Each of these is a stage of its own there: a host has two more than the outer plan.

#include <cstdint>
#include <vector>

#include "algo/algorithm.h"
#include "plan/plan.h"

namespace tutti::algo {

// Which ranks of a host talk to other hosts.
enum class Lanes : std::uint8_t {
  kLeader,  // one: the root in its host, the first rank elsewhere
  kRails,   // all
};

// How ranks of a host exchange blocks.
enum class Inside : std::uint8_t {
  kLinks,   // by messages
  kSwitch,  // a switch folds what goes to an owner, and copies what comes from it
};

// Who owns which rail.
class Rails {
 public:
  Rails(const Request& request, Lanes lanes);
  // The most ranks of any host; one among leaders.
  int count() const { return count_; }
  int Owner(int host, int rail) const;
  // Those of a rank, ascending.
  std::vector<int> Of(int rank) const;
  // The rail that a rank's own piece takes.
  int Lane(int rank) const { return count_ == 1 ? 0 : hosts_.IndexOf(rank); }
  // The most rails that one rank owns in a host of several.
  int MostOfOne() const;
  // The most rails that each of two ranks of a host owns at least.
  int MostOfTwo() const;
  // Most rails that two ranks of different hosts both own.
  int MostShared() const;

 private:
  Hosts hosts_;
  int count_;
  int root_;  // that leads its host, or -1
};

// all_reduce, reduce_scatter, all_gather, broadcast, reduce or barrier, whatever `outer` can do. REQUIRES: several hosts;
// kRails for reduce_scatter and all_gather; kSwitch for no reduce and no barrier.
plan::RankPlan ComposeHierarchy(const Request& request, Lanes lanes, const Entry& outer,
                                Inside inside = Inside::kLinks);

// gather, scatter and all_to_all, whose pieces go one by one: over the network once, and inside a host from and to the ranks
// that own the rail. All of a host's pieces for one rank of another host follow each other in one link.
plan::RankPlan MovePieces(const Request& request, Lanes lanes);

// The ranks of a rank's host after it, and then those before it; without itself.
std::vector<std::int32_t> HostPeersAfter(const Hosts& hosts, int rank);

}  // namespace tutti::algo

#endif  // TUTTI_ALGO_HIERARCHY_H_
