// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/unfinished.h"

#include <algorithm>
#include <vector>

namespace tutti::comm {
namespace {

struct Entry {
  const Unfinished* address;  // for comparing only
  std::weak_ptr<Unfinished> unfinished;
};
thread_local std::vector<Entry> t_unfinished;

}  // namespace

void RememberOnThread(const std::shared_ptr<Unfinished>& unfinished) {
  const auto is_it = [&](const Entry& e) { return e.address == unfinished.get() && !e.unfinished.expired(); };
  if (t_unfinished.size() == 1 && is_it(t_unfinished[0])) return;
  if (std::ranges::any_of(t_unfinished, is_it)) return;
  std::erase_if(t_unfinished, [](const Entry& e) {
    const std::shared_ptr<Unfinished> u = e.unfinished.lock();
    return u == nullptr || u->idle();
  });
  t_unfinished.push_back({unfinished.get(), unfinished});
}

void ForgetOnThread(const Unfinished& unfinished) {
  std::erase_if(t_unfinished, [&](const Entry& e) { return e.address == &unfinished; });
}

bool OthersOpenOnThread(const Core& self) {
  return std::ranges::any_of(t_unfinished, [&](const Entry& e) {
    const std::shared_ptr<Unfinished> u = e.unfinished.lock();
    return u != nullptr && !u->IsOf(self) && !u->idle();
  });
}

void MoveOthersOnThread(const Core& self) {
  for (const Entry& e : t_unfinished) {
    const std::shared_ptr<Unfinished> u = e.unfinished.lock();
    if (u != nullptr && !u->IsOf(self) && !u->idle()) u->MoveOn();
  }
}

}  // namespace tutti::comm
