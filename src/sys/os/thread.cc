// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/thread.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <memory>
#include <span>
#include <system_error>
#include <utility>

#include "sys/os/thread_stack.h"

namespace tutti::sys {
namespace {

struct Task {
  std::function<void()> run;
  ThreadStack* stack;  // null: the C library's
  bool is_detached;
};

void* RunTask(void* given) noexcept {
  const std::unique_ptr<Task> task(static_cast<Task*>(given));
  if (task->is_detached && task->stack != nullptr) task->stack->GiveBackAfter(ThreadId());
  task->run();
  return nullptr;
}

class Attributes {
 public:
  Attributes() { pthread_attr_init(&attributes_); }
  ~Attributes() { pthread_attr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  pthread_attr_t* get() { return &attributes_; }

 private:
  pthread_attr_t attributes_;
};

struct Started {
  pthread_t handle{};
  ThreadStack* stack = nullptr;
};

Result<Started> Start(const char* what, std::function<void()> run, bool is_detached) {
  Attributes attributes;
  std::size_t bytes = 0;
  pthread_attr_getstacksize(attributes.get(), &bytes);
  Started started{.stack = ThreadStack::Take(bytes)};
  if (started.stack != nullptr) {
    const std::span<std::byte> usable = started.stack->usable();
    pthread_attr_setstack(attributes.get(), usable.data(), usable.size());
  }
  if (is_detached) pthread_attr_setdetachstate(attributes.get(), PTHREAD_CREATE_DETACHED);
  std::unique_ptr<Task> task(new Task{.run = std::move(run), .stack = started.stack, .is_detached = is_detached});

  // A thread begins with the mask of its maker, so there is no moment in which it takes a signal.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&started.handle, attributes.get(), RunTask, task.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error == 0) {
    (void)task.release();
    return started;
  }
  if (started.stack != nullptr) started.stack->GiveBack();
  return Status(Code::kSystem, fmt::format("starting a thread for {}: {}. Raise the limit of processes (ulimit -u)",
                                           what, std::generic_category().message(error)));
}

}  // namespace

Thread::~Thread() {
  pthread_join(handle_, nullptr);
  if (stack_ != nullptr) stack_->GiveBack();
}

Result<std::unique_ptr<Thread>> StartThread(const char* what, std::function<void()> run) {
  Result<Started> started = Start(what, std::move(run), /*is_detached=*/false);
  if (!started.ok()) return started.status();
  return std::unique_ptr<Thread>(new Thread(started->handle, started->stack));
}

Status StartDetachedThread(const char* what, std::function<void()> run) {
  return Start(what, std::move(run), /*is_detached=*/true).status();
}

std::int64_t ThreadCpuNs() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * std::int64_t{1'000'000'000} + used.tv_nsec;
}

std::int32_t ThreadId() { return static_cast<std::int32_t>(syscall(SYS_gettid)); }

}  // namespace tutti::sys
