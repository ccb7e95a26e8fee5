// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_ALGO_ALGORITHM_H_
#define TUTTI_ALGO_ALGORITHM_H_

// The registry of algorithms. An algorithm is one file in this folder that turns a request into one rank's plan;
// it knows nothing of who runs the plan. To add one: write the file, add a line to registry.cc.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "tutti/status.h"
#include "tutti/types.h"

namespace tutti::algo {

enum class Algorithm : std::uint8_t {
  kOneShot,            // everybody sends everything directly; one hop
  kTwoShot,            // direct reduce-scatter, then direct all-gather; two hops
  kRing,               // neighbours only; bandwidth-optimal, linear latency
  kTree,               // one binary tree
  kDoubleTree,         // two complementary binary trees, half of the data each
  kHalvingDoubling,    // recursive halving and doubling
  kRecursiveDoubling,  // whole vectors across a hypercube
  kPat,                // logarithmic all-gather and reduce-scatter for any rank count
  kPairwise,           // p2p rounds: in round k every rank meets rank +k and rank -k
  // Of several hosts (hierarchy.h), by what goes between them; the others take no notice of hosts.
  kHierLeader,             // one rank of each host talks to other hosts, directly
  kHierOneShot,            // every rank of a host for its part of the data: one_shot between hosts
  kHierTwoShot,            // two_shot
  kHierRing,               // ring
  kHierTree,               // tree
  kHierHalvingDoubling,    // halving_doubling
  kHierRecursiveDoubling,  // recursive_doubling
  // Whose values switches copy and fold (plan.h, "Switches"). They are planned, proven and simulated, and never run.
  kNvls,           // an NVSwitch folds every rank's part and hands it out
  kNvlsTree,       // of several hosts: NVSwitches inside, two trees between hosts
  kNvlsSharp,      // NVSwitches inside, the network's switches between hosts
  kSharp,          // the network's switches fold whole vectors; it takes no notice of hosts
  kCollnetDirect,  // of several hosts: an exchange inside, the network's switches between hosts
  kCollnetChain,   // chains inside
};
inline constexpr int kAlgorithms = 16;       // that executors can run: the first ones
inline constexpr int kSwitchAlgorithms = 6;  // the rest

// Which host each rank of a communicator is on. A value: copies share what they hold, and never change.
class Hosts {
 public:
  // All ranks on one host. Not explicit: where there is one host, the number of ranks says it all.
  Hosts(int ranks = 0) : ranks_(ranks) {}
  // `host_of`, by rank: any numbers that tell hosts apart. Ranks of a host need not follow each other. REQUIRES: not empty.
  static Hosts ByRank(std::span<const int> host_of);
  // Hosts of so many ranks each, one host after the other. REQUIRES: every size is positive.
  static Hosts OfSizes(std::span<const int> sizes);

  int ranks() const { return ranks_; }
  int count() const { return table_ ? static_cast<int>(table_->ranks_of.size()) : 1; }
  // Most ranks of any host.
  int most() const { return table_ ? table_->most : ranks_; }
  // Fewest ranks of any host.
  int fewest() const { return table_ ? table_->fewest : ranks_; }
  // Whether hosts make no difference to an order of ranks: there is one, or each has one rank.
  bool flat() const { return count() == 1 || most() == 1; }

  // Of several hosts; they are numbered from 0 in the order of their first ranks. REQUIRES: count() > 1.
  int HostOf(int rank) const { return table_->host_of[static_cast<std::size_t>(rank)]; }
  // A rank's position among the ranks of its host.
  int IndexOf(int rank) const { return table_->index_of[static_cast<std::size_t>(rank)]; }
  // In rank order.
  std::span<const std::int32_t> RanksOf(int host) const { return table_->ranks_of[static_cast<std::size_t>(host)]; }
  int SizeOf(int host) const { return static_cast<int>(RanksOf(host).size()); }
  // HostOf of all ranks; empty where there is one host. Lives as long as any copy of this.
  std::span<const std::int32_t> host_of() const {
    return table_ ? std::span<const std::int32_t>(table_->host_of) : std::span<const std::int32_t>();
  }

 private:
  struct Table {
    std::vector<std::int32_t> host_of, index_of;
    std::vector<std::vector<std::int32_t>> ranks_of;
    int most = 0, fewest = 0;
  };

  int ranks_;
  std::shared_ptr<const Table> table_;  // none: one host
};

struct Request {
  Collective collective;
  int rank;
  int ranks;
  int root = 0;     // where HasRoot(collective)
  int channel = 0;  // an algorithm may give each channel another ring or tree
  // The ranks that a rank meets are to be the same whatever the collective and its root, and few: see Entry::few_links.
  bool fixed_links = false;
  // Which rank is on which host. Hosts() is one host; algorithms that know of none take no notice.
  Hosts hosts = {};
};

// The kinds of fixed links (Entry::few_links), by whom a rank meets there: its neighbours in a circle, in a tree, in two trees.
enum class FixedLinks : std::uint8_t { kCircle, kTree, kTwoTrees };

// One entry of the registry.
struct Entry {
  Algorithm algorithm;
  std::string_view name;       // "one_shot"; what NCCL_ALGO, the tools and the docs call it
  std::string_view nccl_name;  // NCCL's name for the nearest of its algorithms ("RING", "TREE", "PAT", "NVLS"), or ""
  // True where this algorithm can do `collective` among these ranks. Where there is one host, a number of ranks will do
  // for `hosts`, here and below.
  bool (*supports)(Collective collective, const Hosts& hosts);
  // True where results carry the same bits as those of any other algorithm for which this holds. One host: every reduced
  // value is the fold, in rank order 0, 1, 2, ..., of the ranks' inputs in one step (or steps that only move values).
  // Several: so are the ranks of each host folded, and then, in another step, the hosts' values in the order of the hosts.
  bool (*rank_ordered)(Collective collective, const Hosts& hosts);
  // True where a step's input or output block may be read by its receiver straight from the sender's user buffer
  // even when the operation is in place: every rank's read of a block happens before (through the plan's own
  // messages) any store by the owner to the same place. Checked by plan::Check.
  bool (*in_place_by_reference)(Collective collective, const Hosts& hosts);
  // True where that holds as long as the operation is not in place: plans send nothing but inputs. A rank whose own input and output
  // overlap copies what it sends then; what others do does not matter to it. Null: nowhere.
  bool (*apart_by_reference)(Collective collective, const Hosts& hosts) = nullptr;
  // True where there is a plan over fixed links: those of this algorithm's all_reduce, whatever the root, which join a rank
  // with at most kMostFixedPeers others. Executors that know few peers go by such plans (docs/decisions/0014-many-ranks.md).
  bool (*few_links)(Collective collective);
  // Of what kind those are. Meaningless where there are none.
  FixedLinks fixed_links = FixedLinks::kTwoTrees;
  // True where long operations go by this one, in an order of its own, since the one of rank_ordered would send the root's host as much
  // as all other hosts have. No other entry says so for the same. Null: nowhere.
  bool (*orders_long)(Collective collective, const Hosts& hosts) = nullptr;
  // REQUIRES: supports(request.collective, its ranks or hosts); rank, root within range; few_links(request.collective) where
  // request.fixed_links.
  plan::RankPlan (*build)(const Request& request);
};

// Whether a step's block may be read straight from the sender's user buffer: what in_place_by_reference and apart_by_reference say, and
// always in an all_to_all, which has no in-place form and sends nothing that is stored in an output. That is for receivers on the same
// host. A block for another host is read when it leaves, which is before its receiver's step, so the same holds.
bool MayRefer(const Entry& entry, Collective collective, const Hosts& hosts);

// Of Entry::few_links: two trees, in one of which the rank is a leaf.
inline constexpr int kMostFixedPeers = 4;

// The algorithms that can be run, in the order of the enum: those that choosers choose from.
std::span<const Entry> Registry();
// These and those in switches, which nobody runs: for the checker, the simulator and the tools.
std::span<const Entry> WholeRegistry();
constexpr bool NeedsSwitches(Algorithm algorithm) { return static_cast<int>(algorithm) >= kAlgorithms; }
const Entry& Get(Algorithm algorithm);
// By name ("two_shot") or by NCCL's name, any case, in the whole registry; nullopt when unknown.
std::optional<Algorithm> ParseAlgorithm(std::string_view name);

// The plan of every rank, for the checker and the tools. REQUIRES: as Entry::build.
std::vector<plan::RankPlan> BuildAll(Algorithm algorithm, Collective collective, const Hosts& hosts, int root = 0,
                                     int channel = 0);
// The same over fixed links. REQUIRES: Entry::few_links.
std::vector<plan::RankPlan> BuildAllOverFixedLinks(Algorithm algorithm, Collective collective, int ranks, int root = 0);

// A point-to-point transfer inside a group. `block` is the position of its buffer in the caller's list of sends or
// receives.
struct Transfer {
  int peer;           // may be the rank itself: a send to self meets the receive from self, in order
  std::size_t count;  // bytes
};

// The plan of a group of sends and receives of any sizes, with the round schedule of kPairwise: all transfers are
// in flight together, in an order in which no two ranks wait for each other. Send i reads in-block i, receive j
// writes out-block j; in_sizes and out_sizes are filled. Transfers between the same two ranks match in list order.
// Self transfers become plain copies. REQUIRES: as many sends to self as receives from self, of equal counts.
plan::RankPlan BuildSendRecv(int rank, int ranks, std::span<const Transfer> sends, std::span<const Transfer> receives);

}  // namespace tutti::algo

#endif  // TUTTI_ALGO_ALGORITHM_H_
