// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/diag/side_by_side.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

namespace tutti::tests {
namespace {

constexpr std::chrono::milliseconds kTurn{20};

}  // namespace

void SideBySide::Start(std::uint64_t seed, int most_seconds, const Case& run) {
  while (!HasRoom()) std::this_thread::sleep_for(kTurn);
  const std::string file = folder_.Path(std::to_string(seed));
  running_.push_back({seed, file, std::make_unique<ChildProcess>([=]() -> int {
                        alarm(static_cast<unsigned>(most_seconds));
                        const nlohmann::json result = run();
                        std::ofstream(file) << result;
                        return 0;
                      })});
}

void SideBySide::HearEnded() {
  std::erase_if(running_, [&](const Running& one) {
    siginfo_t info{};
    const auto pid = static_cast<id_t>(one.process->pid());
    if (waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return false;
    const int code = one.process->Wait();
    const auto json = nlohmann::json::parse(std::ifstream(one.file), nullptr, false);
    heard_(one.seed, json.is_discarded() ? nlohmann::json() : json,
           fmt::format("its process ended with {}\n{}", code, one.process->output()));
    return true;
  });
}

bool SideBySide::HasRoom() {
  HearEnded();
  return running_.size() < jobs_;
}

void SideBySide::Finish() {
  for (HearEnded(); !running_.empty(); HearEnded()) std::this_thread::sleep_for(kTurn);
}

void SideBySide::SignalAll(int signal) {
  for (const Running& one : running_) kill(one.process->pid(), signal);
}

}  // namespace tutti::tests
