// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/net/poll_set.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>

#include "sys/os/clock.h"
#include "sys/os/error.h"

namespace tutti::sys {

Result<PollSet> PollSet::Make() {
  PollSet made;
  made.fd_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  if (!made.fd_.valid()) return SystemError(errno, "cannot make a poll set (epoll_create1)");
  return made;
}

Status PollSet::Control(int operation, const Fd& socket, std::uint64_t token, For what) {
  epoll_event event{};
  if (what == For::kReading || what == For::kReadingAndWriting) event.events |= EPOLLIN | EPOLLRDHUP;
  if (what == For::kWriting || what == For::kReadingAndWriting) event.events |= EPOLLOUT;
  event.data.u64 = token;
  if (epoll_ctl(fd_.get(), operation, socket.get(), &event) == 0) return Status::Ok();
  return SystemError(errno, "cannot watch a socket (epoll_ctl)",
                     errno == ENOSPC ? "This user watches too many: raise sysctl fs.epoll.max_user_watches" : "");
}

Status PollSet::Add(const Fd& socket, std::uint64_t token, For what) {
  return Control(EPOLL_CTL_ADD, socket, token, what);
}

Status PollSet::Change(const Fd& socket, std::uint64_t token, For what) {
  return Control(EPOLL_CTL_MOD, socket, token, what);
}

void PollSet::Remove(const Fd& socket) {
  epoll_event event{};
  epoll_ctl(fd_.get(), EPOLL_CTL_DEL, socket.get(), &event);
}

Result<std::vector<PollEvent>> PollSet::Wait(std::int64_t deadline_ns) {
  std::array<epoll_event, 64> events;
  const std::int64_t left_ns = deadline_ns - NowNs();
  const auto left_ms = std::clamp<std::int64_t>((left_ns + kNsPerMs - 1) / kNsPerMs, 0, 1'000'000);
  const int ready = epoll_wait(fd_.get(), events.data(), static_cast<int>(events.size()), static_cast<int>(left_ms));
  if (ready < 0 && errno != EINTR) return SystemError(errno, "cannot wait on a poll set (epoll_wait)");
  std::vector<PollEvent> news;
  for (int i = 0; i < ready; ++i) {
    news.push_back({.token = events[i].data.u64,
                    .readable = (events[i].events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0,
                    .writable = (events[i].events & EPOLLOUT) != 0});
  }
  return news;
}

}  // namespace tutti::sys
