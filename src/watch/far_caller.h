// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_FAR_CALLER_H_
#define TUTTI_WATCH_FAR_CALLER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "diag/evidence.h"
#include "sys/net/frames.h"
#include "sys/net/hello.h"
#include "sys/net/unix_socket.h"
#include "sys/os/fd.h"
#include "watch/abroad.h"
#include "watch/far_report.h"

namespace tutti::sys {
class Handshake;
}

namespace tutti::watch {

// One process of another host, that is asked for looks over a connection of its own. It never waits: Turn does what can be done.
// The connection is made with the first question and kept while there are more. Who has hardly any time on a core answers late: that counts for
// the question that is asked by then. Threads: one at a time.
class FarCaller {
 public:
  static constexpr std::int64_t kSlowNs = 250 * diag::kMs;  // who takes so long to answer is slow

  // What became of the questions.
  enum class Finding : std::uint8_t {
    kNothing,     // nothing is known yet
    kAnswers,     // it does
    kMute,        // it ends the connection: it has no monitor, or is about to end
    kSilent,      // its host takes what is sent to it, and it does not answer
    kRefused,     // its host is there, and nobody listens: it has ended
    kOutOfReach,  // nothing comes from any of its addresses
  };

  FarCaller(FarRank who, sys::HelloTerms terms);
  ~FarCaller();

  const FarRank& who() const { return who_; }
  // Asks as soon as there is a connection, unless the same has been asked a moment ago and not been answered.
  void Ask(Question question, std::int64_t now_ns);
  void Turn(std::int64_t now_ns);
  // Whether the last question is settled: answered, or it is found that nobody answers. Who did not, and has a connection, may, until `waited`.
  bool IsSettled(bool waited) const {
    return answer_.has_value() || (finding_ >= Finding::kMute && (waited || stage_ < Stage::kShaking));
  }
  // Whether it takes long to answer, as far as is known.
  bool is_slow() const { return slow_; }
  void NoteSlow() { slow_ = true; }
  // The answer since the last question, with times of this host's clock; none: there is none.
  const std::optional<diag::Look>& answer() const { return answer_; }
  Finding finding() const { return finding_; }
  // When something last came from its host; 0: nothing has.
  std::int64_t heard_ns() const { return heard_ns_; }
  std::int64_t first_asked_ns() const { return first_asked_ns_; }

  void AddWatched(std::vector<sys::Watched>& watched) const;
  // When Turn has something to do also where no socket has news.
  std::int64_t next_ns() const { return next_ns_; }

 private:
  enum class Stage : std::uint8_t { kResting, kConnecting, kShaking, kOpen };

  void Start(std::int64_t now_ns);
  void Connect(std::int64_t now_ns);
  void Shake(std::int64_t now_ns);
  void Listen(std::int64_t now_ns);
  void Send(std::int64_t now_ns);
  void Take(Report report, std::int64_t now_ns);
  // Tells each process how it was in the answer before, and keeps how it is.
  void KeepTimes(diag::Look& look);
  // Ends the try at an endpoint, and begins the next. After the last: what all of them say.
  enum class Outcome : std::uint8_t { kRefused, kSilent, kNoReply, kEnded };
  void EndTry(Outcome outcome, std::int64_t now_ns);
  void Conclude(Finding finding, std::int64_t now_ns);
  void Close();
  void Heard(std::int64_t now_ns) { heard_ns_ = now_ns; }

  const FarRank who_;
  const sys::HelloTerms terms_;
  Stage stage_ = Stage::kResting;
  std::size_t endpoint_ = 0;  // that is tried
  std::size_t refused_ = 0;   // of them, in this round
  bool accepted_ = false;     // one has taken the connection, in this round
  std::int64_t next_ns_ = 0;
  sys::Fd socket_;  // while it connects
  sys::FramedConnection connection_;
  std::int64_t shakes_since_ns_ = 0;
  std::unique_ptr<sys::Handshake> hello_;
  Question question_;
  std::int64_t asked_ns_ = 0;
  struct Posted {
    std::uint32_t number = 0;  // of the question
    std::int64_t at_ns = 0;
  };
  std::vector<Posted> posted_;  // questions that are not answered, the oldest first
  bool slow_ = false;
  std::optional<diag::Look> answer_;
  Finding finding_ = Finding::kNothing;
  std::int64_t heard_ns_ = 0, first_asked_ns_ = 0;
  std::optional<std::int64_t> offset_ns_;  // from its host's clock to this one's
  // What processes were like in the answer before, by id, and when that was.
  std::map<std::int32_t, diag::CoreTimes> times_;
  std::int64_t times_at_ns_ = 0;
};

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_FAR_CALLER_H_
