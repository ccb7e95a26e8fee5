// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_FAKE_STREAMS_H_
#define TUTTI_TESTS_SUPPORT_FAKE_STREAMS_H_

// A stand-in for the driver's streams. Each is a thread that is late at random, and device memory is the process's own.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "sys/cuda/cuda.h"

namespace tutti::tests {

class FakeStream;

// What a graph holds, in an order in which it may run, and the streams that take part while it is captured.
struct FakeCapture {
  unsigned long long id = 0;
  std::vector<std::function<void()>> work;
  std::vector<FakeStream*> streams;

  void Add(FakeStream& stream);
  void End();
};

class FakeStream {
 public:
  FakeStream() : thread_([this] { Loop(); }) {}
  // Waits until the stream is idle.
  ~FakeStream();
  void Push(std::function<void()> work);
  void Synchronize();
  bool idle();
  sys::cuda::Stream handle() { return reinterpret_cast<sys::cuda::Stream>(this); }

  FakeCapture* capture = nullptr;

 private:
  void Loop();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  int pushed_ = 0, done_ = 0;
  bool ended_ = false;
  std::thread thread_;
};

// What such a driver calls a kernel: a function that a stream's thread calls with a copy of the argument.
struct FakeKernel {
  std::size_t argument_bytes;
  void (*run)(const void* argument);

  sys::cuda::Kernel handle() const { return reinterpret_cast<sys::cuda::Kernel>(const_cast<FakeKernel*>(this)); }
};

// A driver of such streams: streams, events, captures, copies, stream memory operations, kernels of one block without attributes, and
// host memory that it takes as it is; nothing else.
const sys::cuda::Driver& FakeStreamDriver();
// While it is set, streams wait for no word in memory.
std::atomic<bool>& FakeStreamsSkipWaits();

// Asks `ready` until it says yes.
void Await(const std::function<bool()>& ready);

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_FAKE_STREAMS_H_
