// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Feeds arbitrary bytes to the parsers of what monitors of other hosts say. What they accept must encode to what they accept again, as the same;
// and the analyser must live with any look that comes so, whatever it makes of it.
//
// Canary: with TUTTI_FUZZ_CANARY set, a planted fault (a look with a rank that waits for rank 2 "crashes") must be found within seconds.

#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "diag/sentence.h"
#include "diag/verdict.h"
#include "watch/far_report.h"
#include "watch/joint_look.h"

namespace tutti::watch {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckQuestion(std::span<const std::byte> message) {
  const Result<Question> question = ParseQuestion(message);
  if (!question.ok()) return;
  const std::vector<std::byte> encoded = Encode(*question);
  const Result<Question> again = ParseQuestion(encoded);
  Require(again.ok() && Encode(*again) == encoded);
}

void CheckReport(std::span<const std::byte> message) {
  Result<Report> report = ParseReport(message);
  if (!report.ok()) return;
  const std::vector<std::byte> encoded = Encode(*report);
  const Result<Report> again = ParseReport(encoded);
  Require(again.ok() && Encode(*again) == encoded);
#ifdef TUTTI_FUZZ_CANARY
  for (const diag::CommunicatorLook& c : report->look.communicators) {
    for (const diag::RankLook& rank : c.seen) Require(rank.wait.peer != 2);
  }
#endif
  const diag::Look& before = again->look;
  report->look.taken_ns = before.taken_ns + 2 * diag::kLeastApartNs;
  for (const diag::Verdict& v : diag::Judge(before, report->look)) Require(!diag::Sentence(v).empty());
}

void CheckJointLook(std::span<const std::byte> message) {
  const Result<JointLook> joint = ParseJointLook(message);
  if (!joint.ok()) return;
  const std::vector<std::byte> encoded = Encode(*joint);
  const Result<JointLook> again = ParseJointLook(encoded);
  Require(again.ok() && Encode(*again) == encoded);
  diag::Look own = again->look;
  AddJointLook(own, *joint);
  diag::Look empty;
  AddJointLook(empty, *joint);
  for (const diag::CommunicatorLook& c : empty.communicators) {
    for (const diag::RankLook& rank : c.seen) Require(rank.process < static_cast<int>(empty.processes.size()));
  }
}

}  // namespace
}  // namespace tutti::watch

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti::watch;
  // A copy of exactly this size, so that a sanitizer sees the first byte beyond it.
  const std::span<const std::byte> input = std::as_bytes(std::span(data, size));
  const std::vector<std::byte> message(input.begin(), input.end());
  CheckQuestion(message);
  CheckReport(message);
  CheckJointLook(message);
  return 0;
}
