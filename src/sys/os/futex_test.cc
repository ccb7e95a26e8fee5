// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/futex.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>
#include <thread>

#include "sys/os/clock.h"
#include "sys/os/memory.h"

namespace tutti::sys {
namespace {

using Word = std::atomic<std::uint32_t>;

struct TwoViews {
  Fd fd;
  SharedMapping writer, reader;
  Word* word;
  const Word* seen;
};

TwoViews MakeViews() {
  TwoViews views;
  views.fd = std::move(*CreateSharedMemory("tutti-test", 4096));
  views.writer = std::move(*Map(views.fd, 4096, Access::kReadWrite));
  views.reader = std::move(*Map(views.fd, 4096, Access::kRead));
  views.word = new (views.writer.data()) Word(0);
  views.seen = reinterpret_cast<const Word*>(views.reader.data());
  return views;
}

TEST(FutexTest, ReturnsAtOnceWhenTheWordDiffers) {
  const TwoViews views = MakeViews();
  const std::int64_t begin_ns = NowNs();
  EXPECT_TRUE(FutexWait(views.seen, 1, 10 * kNsPerSecond));
  EXPECT_LT(NowNs() - begin_ns, 5 * kNsPerSecond);
}

TEST(FutexTest, TimesOut) {
  const TwoViews views = MakeViews();
  const std::int64_t begin_ns = NowNs();
  bool woken = true;
  while (woken && NowNs() - begin_ns < 5 * kNsPerSecond) woken = FutexWait(views.seen, 0, 20 * kNsPerMs);
  EXPECT_FALSE(woken);
  EXPECT_GE(NowNs() - begin_ns, 20 * kNsPerMs);
}

TEST(FutexTest, WakesAThreadThatWaitsOnAReadOnlyMapping) {
  const TwoViews views = MakeViews();
  std::thread waiter([&] {
    while (views.seen->load(std::memory_order_acquire) == 0) {
      ASSERT_TRUE(FutexWait(views.seen, 0, 20 * kNsPerSecond));
    }
  });
  SleepNs(20 * kNsPerMs);
  views.word->store(1, std::memory_order_release);
  FutexWakeAll(views.word);
  waiter.join();
}

TEST(FutexTest, WakesAnotherProcess) {
  const TwoViews views = MakeViews();
  const pid_t child = fork();
  if (child == 0) {
    const Result<SharedMapping> own = Map(views.fd, 4096, Access::kRead);
    const Word* word = reinterpret_cast<const Word*>(own->data());
    while (word->load(std::memory_order_acquire) == 0) {
      if (!FutexWait(word, 0, 20 * kNsPerSecond)) _exit(1);
    }
    _exit(0);
  }
  int woken = 0;
  for (int i = 0; i < 5000 && woken == 0; ++i) {  // until the child sleeps
    SleepNs(kNsPerMs);
    woken = FutexWakeAll(views.word);
  }
  EXPECT_EQ(woken, 1);
  views.word->store(1, std::memory_order_release);
  FutexWakeAll(views.word);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tutti::sys
