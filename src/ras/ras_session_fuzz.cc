// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Feeds arbitrary bytes to a session of the RAS protocol, as any process of the host can. Answers must not depend on how the bytes
// come, must be whole lines, and must stay few whatever is asked.
//
// Canary: with TUTTI_FUZZ_CANARY set, a planted fault (a session that monitors traces "crashes") must be found within seconds.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "ras/look_lines.h"
#include "ras/session.h"

namespace tutti::ras {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

constexpr std::size_t kMostAnswers = 1 << 20;

struct Outcome {
  bool stays = true;
  bool ends = false;
  std::string said;

  bool operator==(const Outcome&) const = default;
};

Outcome Talk(std::string_view input, std::size_t piece) {
  const Report report;
  const std::vector<std::byte> look(kLineBytes + 1, std::byte{0xa5});
  Session session([&]() -> const Report& { return report; }, [&]() -> const std::vector<std::byte>& { return look; });
  Outcome outcome;
  while (outcome.stays && !input.empty()) {
    outcome.stays = session.Take(input.substr(0, piece));
    input.remove_prefix(std::min(piece, input.size()));
  }
  const Event event{.group = kTrace, .name = "PEER_RECOVERED"};
#ifdef TUTTI_FUZZ_CANARY
  const std::size_t before = session.outgoing().size();
  (void)session.Tell(event);
  Require(session.outgoing().size() == before);
#else
  (void)session.Tell(event);
#endif
  outcome.ends = session.ends();
  outcome.said = session.outgoing();
  Require(outcome.said.size() < kMostAnswers && (outcome.said.empty() || outcome.said.back() == '\n'));
  session.Sent(outcome.said.size() / 2);
  Require(session.outgoing() == std::string_view(outcome.said).substr(outcome.said.size() / 2));
  session.Sent(outcome.said.size());
  Require(session.outgoing().empty());
  return outcome;
}

}  // namespace
}  // namespace tutti::ras

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti::ras;
  // A copy of exactly this size, so that a sanitizer sees the first byte beyond it.
  const std::string input(reinterpret_cast<const char*>(data), size);
  const Outcome whole = Talk(input, std::max<std::size_t>(size, 1));
  Require(whole == Talk(input, 1) && whole == Talk(input, 7));
  const tutti::Result<std::vector<std::byte>> look = FromLines(input);
  Require(!look.ok() || *FromLines(ToLines(*look)) == *look);
  return 0;
}
