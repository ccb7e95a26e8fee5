// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DIAG_WALK_H_
#define TUTTI_DIAG_WALK_H_

// From a rank that waits to what it waits for in the end: along the ranks that it waits for, over edges and through processes into
// other communicators.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "diag/docket.h"
#include "diag/edges.h"

namespace tutti::diag {

inline constexpr int kNoCause = -1;  // what it waits for moves on

class Walk {
 public:
  // `closed`: by communicator, the verdict that explains all waits in it, or kNoCause. All outlive the walk.
  Walk(const Look& now, const Standings& standings, const Rules& rules, Docket& docket, const std::vector<int>& closed)
      : now_(now), standings_(standings), rules_(rules), docket_(docket), closed_(closed) {}

  struct Cause {
    int verdict = kNoCause;
    bool direct = false;  // nobody stands between the rank and the culprit
  };
  // REQUIRES: the rank waits.
  Cause CauseOf(const Node& node);

 private:
  // Where a wait leads: to another rank that waits, or to a verdict.
  struct Step {
    std::optional<Node> next;
    int verdict = kNoCause;
  };
  Step From(const Node& node);
  std::optional<Step> ForSomebody(const Node& node);
  Step ToIdle(const Node& peer, const Node& node);
  // That which a rank waits on, for a peer that is such.
  Edge EdgeOf(const Node& node, const Node& peer, EndIs peer_is) const;
  Step OverEdge(const Node& peer, const Node& node, EndIs peer_is);
  Step Decide(EdgeFinding finding, const Edge& edge, const Node& peer, const Node& node);
  Step Stuck(const Node& node, const Node& waits);
  // An end that waits and has not come to look at its wait for long: its counters are old, so they prove nothing. Null: there is none.
  const RankLook* Asleep(const Edge& edge, int ranks) const;
  Step BadLink(const Edge& edge, const Node& node, EdgeFinding finding);
  Step BadNvLink(const Node& from, const Node& to, std::vector<std::string> faults);
  int Unknown(int communicator, const std::string& evidence);
  int OfCycle(const std::vector<Node>& cycle);
  std::optional<int> OfRoom(const std::vector<Node>& cycle);
  std::optional<int> OverStalledWay(const std::vector<Node>& cycle);
  int Deadlock(const std::vector<Node>& cycle);
  int LeastProgress(const std::vector<Node>& cycle);

  // Where the thread that would go on with this rank's part waits inside a call of another communicator.
  std::optional<Node> Elsewhere(const Node& node) const;
  // The same where nothing can be seen of that communicator: nobody is called late who waits for others.
  std::optional<Step> OutOfSight(const Node& node);
  // Of calls in streams (on_gpu.cc): what the GPU of a rank that has called does, and where else it waits.
  Step OnGpu(const Node& peer, const Node& node);
  std::uint64_t StreamOf(const Node& node) const;
  std::optional<Node> ElsewhereOnGpu(const Node& node) const;
  int GpuLate(const Node& node, const CallOf& call);
  std::optional<int> OfOneThatHasNotBegun(const std::vector<Node>& cycle);
  bool HasNotBegun(const Node& node, const Node& waits) const;
  int ThroughElsewhere(const std::vector<Node>& cycle, const Node& elsewhere);
  int OfTwoCycles(const std::vector<Node>& cycle, const std::vector<Node>& other);
  // Whether a rank has called, and ended, what `waits` waits for.
  bool HasDone(const Node& peer, const Node& waits) const;
  const Seen& At(const Node& node) const { return standings_.Of(node.communicator, node.rank); }
  const CommunicatorLook& CommunicatorOf(const Node& node) const {
    return now_.communicators[static_cast<std::size_t>(node.communicator)];
  }

  const Look& now_;
  const Standings& standings_;
  const Rules& rules_;
  Docket& docket_;
  const std::vector<int>& closed_;
  std::map<Node, Cause> known_;
};

}  // namespace tutti::diag

#endif  // TUTTI_DIAG_WALK_H_
