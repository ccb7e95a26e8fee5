// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_FAR_CALLER_H_
#define TUTTI_WATCH_FAR_CALLER_H_

#include <cstddef>
#include <cstdint>
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
// The connection is made with the first question and kept while there are more. Threads: one at a time.
class FarCaller {
 public:
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
  // Sends this as soon as there is a connection; an answer to an earlier question does not count any more.
  void Ask(Question question, std::int64_t now_ns);
  void Turn(std::int64_t now_ns);
  // Whether the last question is settled: answered, or it is found that nobody answers. Who did not, and has a connection again, may.
  bool IsSettled() const { return answer_.has_value() || (finding_ >= Finding::kMute && stage_ != Stage::kOpen); }
  // The answer to the last question, with times of this host's clock; none: there is none.
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
  std::unique_ptr<sys::Handshake> hello_;
  Question question_;
  bool sent_ = false;         // the question is on its way
  std::int64_t sent_ns_ = 0;  // since then
  std::optional<diag::Look> answer_;
  Finding finding_ = Finding::kNothing;
  std::int64_t heard_ns_ = 0, first_asked_ns_ = 0;
  std::optional<std::int64_t> offset_ns_;  // from its host's clock to this one's
};

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_FAR_CALLER_H_
