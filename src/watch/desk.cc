// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/desk.h"

#include <algorithm>
#include <list>
#include <utility>

#include "sys/net/frames.h"
#include "sys/net/unix_socket.h"
#include "watch/far_report.h"
#include "watch/host_evidence.h"
#include "watch/own_look.h"
#include "watch/registry.h"

namespace tutti::watch {
namespace {

constexpr std::int64_t kSameForNs = 50 * diag::kMs;  // two looks that are compared are twice as far apart
constexpr std::size_t kMostUnsentBytes = 2 * kMostReportBytes;

}  // namespace

struct Desk::Parts {
  std::vector<std::byte> AnswerTo(const Question& question, const Subjects& subjects, std::int64_t now_ns) {
    const bool same = asked_for == question.communicators && waits >= question.waits;
    if (!same || now_ns - last_ns > kSameForNs) {
      asked_for = question.communicators;
      waits = question.waits;
      last_ns = now_ns;
      last.look = LookAtOwn(subjects, [&](const Subject& subject) {
        return std::ranges::find(question.communicators, subject.terms.communicator) != question.communicators.end() ||
               IsWaitedInHere(subject);
      });
      using enum HostEvidence::Reason;
      if (evidence != nullptr) evidence->AddTo(last.look, waits ? kElsewhere : kOfTheLook);
    }
    last.number = question.number;
    return Encode(last);
  }

  // False: the connection has ended.
  bool Serve(sys::FramedConnection& caller, const Subjects& subjects, std::int64_t now_ns) {
    const Status flushed = caller.Flush();
    if (!flushed.ok() && flushed.code() != Code::kInProgress) return false;
    while (true) {
      const Result<sys::NetMessage> message = caller.TryReceive();
      if (message.status().code() == Code::kInProgress) return true;
      if (!message.ok()) return false;
      const Result<Question> question = ParseQuestion(*message);
      if (!question.ok() || caller.unsent_bytes() > kMostUnsentBytes) return false;
      if (!caller.Post(AnswerTo(*question, subjects, now_ns)).ok()) return false;
    }
  }

  HostEvidence* evidence = nullptr;
  std::list<sys::FramedConnection> callers;  // the oldest first
  // The last answer: many ask for the same at once.
  std::vector<std::uint64_t> asked_for;
  bool waits = false;  // as the question said
  std::int64_t last_ns = 0;
  Report last;
};

Desk::Desk(HostEvidence* evidence) : parts_(std::make_unique<Parts>()) { parts_->evidence = evidence; }
Desk::~Desk() = default;

void Desk::Add(sys::FramedConnection&& caller) {
  std::list<sys::FramedConnection>& callers = parts_->callers;
  if (callers.size() >= kMostCallers) callers.pop_front();
  callers.push_back(std::move(caller));
  callers.back().set_most_bytes(kMostReportBytes);
}

void Desk::Turn(const Subjects& subjects, std::int64_t now_ns) {
  std::erase_if(parts_->callers,
                [&](sys::FramedConnection& caller) { return !parts_->Serve(caller, subjects, now_ns); });
}

bool Desk::empty() const { return parts_->callers.empty(); }

void Desk::AddWatched(std::vector<sys::Watched>& watched) const {
  using enum sys::Watched::For;
  for (const sys::FramedConnection& caller : parts_->callers) {
    watched.push_back(
        {.fd = caller.tcp().socket().get(), .what = caller.wants_to_send() ? kReadingAndWriting : kReading});
  }
}

}  // namespace tutti::watch
