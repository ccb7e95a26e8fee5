// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DIAG_DOCKET_H_
#define TUTTI_DIAG_DOCKET_H_

// Verdicts while they are found: each cause once, however many ways lead to it.

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "diag/standing.h"
#include "diag/verdict.h"

namespace tutti::diag {

// A rank of a communicator, by that communicator's place in the later look.
struct Node {
  int communicator = 0;
  int rank = 0;
  auto operator<=>(const Node&) const = default;
};

// The looks and standings outlive it.
class Docket {
 public:
  Docket(const Look& before, const Look& now, const Standings& standings)
      : before_(before), now_(now), standings_(standings) {}

  // The place of the verdict with this key, which is new where there was none: of this kind, and about nobody.
  int Open(const std::string& key, Kind kind);
  Verdict& operator[](int verdict) { return verdicts_[static_cast<std::size_t>(verdict)]; }
  std::vector<Verdict> Take() { return std::move(verdicts_); }

  // Makes a rank a culprit, with its process, unless that process is one already by a rank of another communicator.
  void Accuse(int verdict, const Node& node);
  // Adds a sentence that is not there yet.
  void Show(int verdict, const std::string& evidence);
  Place PlaceOf(const Node& node) const;
  CallOf RunningCall(const Node& node) const;
  // What a rank has to call, or to do, for `waits` to go on.
  CallOf CallOwed(const Node& node, const Node& waits) const;

  // A process that holds a rank up because of what the system does with it. kUnseen standings and the like are none.
  int Held(const Node& node, Standing standing);
  // A rank that has not called what `waits` waits for (`called`: or has, and does not go on with it).
  enum class Owes : std::uint8_t { kTheCall, kToGoOn };
  int Late(const Node& node, const Node& waits, Owes owes);
  // A rank that has called it, and whose stream has not come to it.
  int LateInStream(const Node& node, const CallOf& call);
  // Whether its process gets no time on a core.
  bool IsStarved(const Node& node) const { return !Starves(standings_.Of(node.communicator, node.rank)).empty(); }

 private:
  const CommunicatorLook& At(int communicator) const {
    return now_.communicators[static_cast<std::size_t>(communicator)];
  }
  const CommunicatorLook& Whole(const Node& node) const;
  // Of a rank of a part: itself in the whole; null where it is none, or not seen there.
  const RankLook* InWhole(const Node& node) const;
  // The whole's call that a rank of a part waits in; null where it is none, or not known.
  const trace::WholeCall* WaitsInWhole(const Node& waits) const;
  std::optional<CallOf> CallOwedInWhole(const Node& node, const Node& waits) const;
  bool HasCalledInWhole(const Node& node, const Node& waits) const;
  // Why it gets no time on a core, as far as the looks show; empty: it does.
  std::string Starves(const Seen& seen) const;

  const Look& before_;
  const Look& now_;
  const Standings& standings_;
  std::vector<Verdict> verdicts_;
  std::map<std::string, int> by_key_;
};

// Names the network cards at both ends of a link, as far as they are known.
void NameCards(const CommunicatorLook& c, LinkPlace& link);

// What a process does that a program may well want others to wait for: "writes /ckpt/17.pt", "compiles (nvcc)"; empty: nothing. `before`: the
// same so long ago, or null.
std::string ExcuseOf(const ProcessLook& process, const ProcessLook* before, std::int64_t apart_ns);
// The call of a rank's peer that meets this send or receive of `rank`.
trace::Call Mirror(const trace::Call& call, int rank);

}  // namespace tutti::diag

#endif  // TUTTI_DIAG_DOCKET_H_
