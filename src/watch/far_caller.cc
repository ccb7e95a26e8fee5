// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/far_caller.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "sys/net/proven_connection.h"
#include "sys/net/tcp.h"
#include "sys/os/clock.h"

namespace tutti::watch {
namespace {

using diag::kMs;

constexpr std::int64_t kConnectNs = 500 * kMs;  // for one endpoint, which takes longer where a packet got lost
constexpr std::int64_t kAnswerNs = diag::kSecond;
constexpr std::int64_t kMostAnswerNs = 8 * diag::kSecond, kMostShakeNs = 3 * diag::kSecond;  // then it is called anew
constexpr std::int64_t kFreshNs = 5 * diag::kSecond / 2;  // an answer that took longer says too little of now
constexpr std::int64_t kPauseNs = diag::kSecond;          // before all endpoints are tried again
constexpr std::int64_t kIdleNs = 30 * diag::kSecond;  // a connection is closed that nothing is asked over for so long
// An answer that was under way for less time than those before shows the other clock better. Small changes would look like a rank
// that moves.
constexpr std::int64_t kEarlierNs = 20 * kMs, kLaterNs = 4 * diag::kSecond;

constexpr std::int64_t kNever = INT64_MAX;

void Shift(std::int64_t& ns, std::int64_t by_ns) {
  if (ns != 0) ns += by_ns;
}

void Shift(diag::Look& look, std::int64_t by_ns) {
  Shift(look.taken_ns, by_ns);
  for (diag::ProcessLook& process : look.processes) {
    for (diag::GpuLook& gpu : process.gpus) {
      for (diag::XidLook& xid : gpu.xids) Shift(xid.at_ns, by_ns);
    }
  }
  for (diag::CommunicatorLook& c : look.communicators) {
    for (diag::RankLook& rank : c.seen) {
      Shift(rank.created_ns, by_ns);
      Shift(rank.wait.since_ns, by_ns);
      Shift(rank.wait.looked_ns, by_ns);
    }
  }
}

}  // namespace

FarCaller::FarCaller(FarRank who, sys::HelloTerms terms) : who_(std::move(who)), terms_(std::move(terms)) {}

FarCaller::~FarCaller() = default;

void FarCaller::Ask(Question question, std::int64_t now_ns) {
  if (first_asked_ns_ == 0) first_asked_ns_ = now_ns;
  const bool same = question.communicators == question_.communicators && question.waits == question_.waits;
  question_ = std::move(question);
  answer_.reset();
  asked_ns_ = now_ns;
  // Who did not answer is called again after the pause.
  if (stage_ == Stage::kResting && (finding_ < Finding::kMute || next_ns_ == kNever)) next_ns_ = now_ns;
  const bool awaits = same && !posted_.empty() && now_ns - posted_.back().at_ns < kAnswerNs;
  if (stage_ == Stage::kOpen && !awaits) Send(now_ns);
}

void FarCaller::Turn(std::int64_t now_ns) {
  if (stage_ == Stage::kResting && now_ns >= next_ns_) Start(now_ns);
  if (stage_ == Stage::kConnecting) Connect(now_ns);
  if (stage_ == Stage::kShaking) Shake(now_ns);
  if (stage_ == Stage::kOpen) Listen(now_ns);
}

void FarCaller::AddWatched(std::vector<sys::Watched>& watched) const {
  using enum sys::Watched::For;
  if (stage_ == Stage::kConnecting) watched.push_back({.fd = socket_.get(), .what = kReadingAndWriting});
  if (stage_ == Stage::kShaking || stage_ == Stage::kOpen) {
    watched.push_back(
        {.fd = connection_.tcp().socket().get(), .what = connection_.wants_to_send() ? kReadingAndWriting : kReading});
  }
}

void FarCaller::Start(std::int64_t now_ns) {
  if (now_ns - asked_ns_ > kIdleNs) {
    next_ns_ = kNever;  // nobody asks any more
    return;
  }
  if (endpoint_ >= who_.endpoints.size()) return Conclude(Finding::kMute, now_ns);
  Result<sys::Fd> socket = sys::StartConnect(who_.endpoints[endpoint_]);
  // On this host the answer comes at once.
  if (!socket.ok()) {
    return EndTry(socket.status().code() == Code::kInvalidUsage ? Outcome::kNoReply : Outcome::kRefused, now_ns);
  }
  socket_ = std::move(*socket);
  stage_ = Stage::kConnecting;
  next_ns_ = now_ns + kConnectNs;
}

void FarCaller::Connect(std::int64_t now_ns) {
  const std::optional<int> error = sys::ConnectError(socket_);
  if (!error) {
    if (now_ns >= next_ns_) EndTry(Outcome::kNoReply, now_ns);
    return;
  }
  if (*error == ECONNREFUSED) {
    Heard(now_ns);
    return EndTry(Outcome::kRefused, now_ns);
  }
  if (*error != 0) return EndTry(Outcome::kNoReply, now_ns);
  Heard(now_ns);
  accepted_ = true;
  Result<sys::TcpConnection> made = sys::FinishConnect(socket_, who_.endpoints[endpoint_]);
  const Result<sys::Nonce> nonce = sys::FreshNonce();
  if (!made.ok() || !nonce.ok()) return EndTry(Outcome::kEnded, now_ns);
  connection_ = sys::FramedConnection(std::move(*made), sys::kMostHelloBytes);
  hello_ = sys::CallersHello(terms_, *nonce);
  stage_ = Stage::kShaking;
  shakes_since_ns_ = now_ns;
  next_ns_ = now_ns + kAnswerNs;
}

void FarCaller::Shake(std::int64_t now_ns) {
  Status status = connection_.Flush();
  if (status.ok() || status.code() == Code::kInProgress) status = hello_->Advance(connection_);
  if (status.code() == Code::kInProgress) {
    if (now_ns < next_ns_) return;
    if (now_ns - shakes_since_ns_ >= kMostShakeNs || endpoint_ + 1 < who_.endpoints.size())
      return EndTry(Outcome::kSilent, now_ns);
    finding_ = Finding::kSilent;
    next_ns_ = now_ns + kAnswerNs;
    return;
  }
  if (!status.ok()) return EndTry(Outcome::kEnded, now_ns);
  Heard(now_ns);
  connection_.set_most_bytes(kMostReportBytes);
  stage_ = Stage::kOpen;
  Send(now_ns);
}

void FarCaller::Send(std::int64_t now_ns) {
  const Status posted = connection_.Post(Encode(question_));
  posted_.push_back({.number = question_.number, .at_ns = now_ns});
  next_ns_ = now_ns + kAnswerNs;
  if (!posted.ok()) EndTry(Outcome::kEnded, now_ns);
}

void FarCaller::Listen(std::int64_t now_ns) {
  const Status flushed = connection_.Flush();
  if (!flushed.ok() && flushed.code() != Code::kInProgress) return EndTry(Outcome::kEnded, now_ns);
  while (true) {
    const Result<sys::NetMessage> message = connection_.TryReceive();
    if (message.status().code() == Code::kInProgress) break;
    if (!message.ok()) return EndTry(Outcome::kEnded, now_ns);
    Heard(now_ns);
    Result<Report> report = ParseReport(*message);
    if (!report.ok()) return EndTry(Outcome::kEnded, now_ns);
    const auto asked = std::ranges::find(posted_, report->number, &Posted::number);
    if (asked == posted_.end()) continue;
    const bool fresh = now_ns - asked->at_ns <= kFreshNs;
    posted_.erase(posted_.begin(), asked + 1);
    if (fresh) Take(std::move(*report), now_ns);
    if (!fresh && posted_.empty()) Send(now_ns);
  }
  if (now_ns < next_ns_) return;
  if (answer_.has_value()) {  // nothing was asked since
    Close();
    next_ns_ = kNever;
    return;
  }
  // A connection that stands tells which of the two it is.
  const bool taken = connection_.tcp().Unacknowledged() == 0 && !connection_.wants_to_send();
  if (taken) Heard(now_ns);
  if (taken && !posted_.empty() && now_ns - posted_.front().at_ns < kMostAnswerNs) {
    finding_ = Finding::kSilent;
    next_ns_ = now_ns + kAnswerNs;
    return;
  }
  Close();
  Conclude(taken ? Finding::kSilent : Finding::kOutOfReach, now_ns);
}

void FarCaller::Take(Report report, std::int64_t now_ns) {
  const std::int64_t offset_ns = now_ns - report.look.taken_ns;
  if (!offset_ns_ || offset_ns < *offset_ns_ - kEarlierNs || offset_ns > *offset_ns_ + kLaterNs) offset_ns_ = offset_ns;
  KeepTimes(report.look);
  Shift(report.look, *offset_ns_);
  for (diag::ProcessLook& process : report.look.processes) process.host = who_.host;
  answer_ = std::move(report.look);
  finding_ = Finding::kAnswers;
  slow_ = now_ns - asked_ns_ >= kSlowNs;
  next_ns_ = now_ns + kIdleNs;
}

void FarCaller::KeepTimes(diag::Look& look) {
  std::map<std::int32_t, diag::CoreTimes> times;
  for (diag::ProcessLook& process : look.processes) {
    times[process.pid] = {
        .queue_ns = process.queue_ns, .throttled_ns = process.throttled_ns, .group_run_ns = process.group_run_ns};
    const auto before = times_.find(process.pid);
    if (before == times_.end()) continue;
    process.earlier = before->second;
    process.earlier->before_ns = look.taken_ns - times_at_ns_;
  }
  times_ = std::move(times);
  times_at_ns_ = look.taken_ns;
}

void FarCaller::EndTry(Outcome outcome, std::int64_t now_ns) {
  const bool was_open = stage_ == Stage::kOpen;
  Close();
  if (was_open) {  // begin anew: how that ends says what has become of it
    endpoint_ = refused_ = 0;
    accepted_ = false;
    next_ns_ = now_ns;
    return;
  }
  if (outcome == Outcome::kEnded) return Conclude(Finding::kMute, now_ns);
  refused_ += outcome == Outcome::kRefused ? 1 : 0;
  if (++endpoint_ < who_.endpoints.size()) {
    next_ns_ = now_ns;
    return;
  }
  Conclude(accepted_                           ? Finding::kSilent
           : refused_ == who_.endpoints.size() ? Finding::kRefused
                                               : Finding::kOutOfReach,
           now_ns);
}

void FarCaller::Conclude(Finding finding, std::int64_t now_ns) {
  finding_ = finding;
  endpoint_ = refused_ = 0;
  accepted_ = false;
  next_ns_ = now_ns + kPauseNs;
}

void FarCaller::Close() {
  stage_ = Stage::kResting;
  socket_.Close();
  connection_ = sys::FramedConnection();
  hello_.reset();
  posted_.clear();
}

}  // namespace tutti::watch
