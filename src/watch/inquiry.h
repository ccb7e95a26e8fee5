// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_INQUIRY_H_
#define TUTTI_WATCH_INQUIRY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace tutti::sys {
struct Watched;
}
namespace tutti::diag {
struct Look;
}

namespace tutti::watch {

struct Abroad;
class FarCaller;
struct FarRank;
struct Question;

// Asks other hosts for looks, round by round, and adds what they see to a look at this one. Of each other host of a communicator one process
// is asked, another one by each rank of this host: it sees all ranks of its host. Where it takes long the next one is asked too, and where it does
// not answer all are.
// It never waits. Threads: one at a time.
class Inquiry {
 public:
  // A communicator that is asked about.
  struct About {
    std::uint64_t communicator = 0;
    int number = 0;  // of the own rank, among those of its host
    std::shared_ptr<const Abroad> abroad;
  };

  // Why it asks: a rank has waited for long, or somebody wants to know how ranks are.
  enum class Why : std::uint8_t { kWaits, kCurious };
  explicit Inquiry(Why why = Why::kWaits);
  ~Inquiry();
  // Begins a round. What the round before was told is forgotten.
  void Begin(std::vector<About> about, std::int64_t now_ns);
  void Turn(std::int64_t now_ns);
  // Whether all that were asked have answered, or are known not to answer.
  bool IsSettled() const;
  // Adds to a look at this host what others have told in this round. Its ranks and processes come first, and stay as they are.
  void AddTo(diag::Look& look, std::int64_t now_ns) const;

  void AddWatched(std::vector<sys::Watched>& watched) const;
  std::int64_t next_ns() const;

 private:
  // A process, by host and id and, as that may not be known, by where it is called.
  using Key = std::tuple<std::string, std::int32_t, std::string>;
  static Key KeyOf(const FarRank& rank);
  struct Called {
    std::uint64_t communicator = 0;  // whose secret it is called by
    std::unique_ptr<FarCaller> caller;
  };
  // A communicator's ranks of one other host.
  using FarHost = std::vector<const FarRank*>;

  static std::map<std::string, FarHost> HostsOf(const About& about);
  FarCaller& CallerOf(const About& about, const FarRank& rank);
  const FarCaller& Known(const FarRank& rank) const;
  // For how long nothing has come from any of a host's processes; 0: something does, or not all have been tried.
  std::int64_t SilentFor(const FarHost& host, std::int64_t now_ns) const;
  // A host of a communicator in this round.
  struct HostAsked {
    const About* about = nullptr;
    FarHost host;
    std::size_t next = 0;             // of its processes, that is asked where those before take long
    std::vector<FarCaller*> callers;  // that were asked
    bool HasAnswered() const;
  };
  void Ask(HostAsked& asked, const FarRank& rank, std::int64_t now_ns);
  void AskSome(HostAsked& asked, std::int64_t now_ns);
  // Those that have not answered by then are slow, and the next ones are asked.
  void AskOthers(std::int64_t now_ns);

  const Why why_;
  std::vector<About> about_;
  std::map<Key, Called> callers_;
  std::vector<HostAsked> hosts_;              // of this round
  std::vector<FarCaller*> asked_;             // likewise
  const std::unique_ptr<Question> question_;  // likewise
  std::int64_t patient_until_ns_ = 0;
  bool waited_ = false;  // for long enough to ask others
};

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_INQUIRY_H_
