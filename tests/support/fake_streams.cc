// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_streams.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

namespace tutti::tests {
namespace {

using sys::cuda::Address;
using sys::cuda::Event;
using sys::cuda::MemoryOperation;
using sys::cuda::Stream;

struct FakeEvent {
  FakeCapture* capture = nullptr;  // of the stream that recorded it
  std::shared_ptr<std::atomic<bool>> reached;
};

FakeStream& Of(Stream stream) { return *reinterpret_cast<FakeStream*>(stream); }
FakeEvent& Of(Event event) { return *reinterpret_cast<FakeEvent*>(event); }

std::atomic_ref<std::uint32_t> WordAt(Address address) {
  return std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(address));
}

void RunOperations(const std::vector<MemoryOperation>& operations) {
  for (const MemoryOperation& o : operations) {
    const auto value = static_cast<std::uint32_t>(o.value);
    if (o.operation == sys::cuda::kWriteWord) WordAt(o.address).store(value);
    if (o.operation == sys::cuda::kWriteLong) {
      std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(o.address)).store(o.value);
    }
    if (o.operation != sys::cuda::kWaitWord || FakeStreamsSkipWaits()) continue;
    Await([&] {
      const std::uint32_t word = WordAt(o.address).load();
      return o.flags == sys::cuda::kUntilEqual ? word == value : static_cast<std::int32_t>(word - value) >= 0;
    });
  }
}

}  // namespace

void Await(const std::function<bool()>& ready) {
  while (!ready()) std::this_thread::sleep_for(std::chrono::microseconds(5));
}

std::atomic<bool>& FakeStreamsSkipWaits() {
  static std::atomic<bool> skip{false};
  return skip;
}

void FakeCapture::Add(FakeStream& stream) {
  stream.capture = this;
  streams.push_back(&stream);
}

void FakeCapture::End() {
  for (FakeStream* stream : streams) stream->capture = nullptr;
}

FakeStream::~FakeStream() {
  Push([this] { ended_ = true; });
  thread_.join();
}

void FakeStream::Push(std::function<void()> work) {
  if (capture != nullptr) {
    capture->work.push_back(std::move(work));
    return;
  }
  std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
  ++pushed_;
  changed_.notify_all();
}

void FakeStream::Synchronize() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_ == pushed_; });
}

bool FakeStream::idle() {
  std::lock_guard lock(mutex_);
  return done_ == pushed_;
}

void FakeStream::Loop() {
  std::mt19937 random(std::hash<void*>()(this));
  while (!ended_) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !queue_.empty(); });
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 100));
    work();
    std::lock_guard lock(mutex_);
    ++done_;
    changed_.notify_all();
  }
}

const sys::cuda::Driver& FakeStreamDriver() {
  static const sys::cuda::Driver& driver = *[] {
    auto* d = new sys::cuda::Driver{};
    d->StreamCreate = [](Stream* stream, unsigned) {
      *stream = (new FakeStream)->handle();
      return 0;
    };
    d->StreamDestroy = [](Stream stream) {
      delete &Of(stream);
      return 0;
    };
    d->StreamGetCaptureInfo = [](Stream stream, int* status, unsigned long long* id, sys::cuda::Graph*, const void**,
                                 std::size_t*) {
      const FakeCapture* capture = Of(stream).capture;
      *status = capture != nullptr ? 1 : 0;
      if (capture != nullptr) *id = capture->id;
      return 0;
    };
    d->EventCreate = [](Event* event, unsigned) {
      *event = reinterpret_cast<Event>(new FakeEvent);
      return 0;
    };
    d->EventDestroy = [](Event event) {
      delete &Of(event);
      return 0;
    };
    d->EventRecord = [](Event event, Stream stream) {
      auto reached = std::make_shared<std::atomic<bool>>(false);
      Of(event) = {Of(stream).capture, reached};
      if (Of(stream).capture == nullptr) Of(stream).Push([reached] { *reached = true; });
      return 0;
    };
    d->StreamWaitEvent = [](Stream stream, Event event, unsigned) {
      if (Of(event).capture != nullptr) {
        EXPECT_TRUE(Of(stream).capture == nullptr || Of(stream).capture == Of(event).capture);
        Of(event).capture->Add(Of(stream));
      } else {
        Of(stream).Push([reached = Of(event).reached] { Await([&] { return reached->load(); }); });
      }
      return 0;
    };
    d->MemcpyAsync = [](Address to, Address from, std::size_t bytes, Stream stream) {
      Of(stream).Push([=] { std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes); });
      return 0;
    };
    d->StreamBatchMemOp = [](Stream stream, unsigned count, MemoryOperation* operations, unsigned) {
      Of(stream).Push([list = std::vector(operations, operations + count)] { RunOperations(list); });
      return 0;
    };
    d->LaunchKernel = [](const sys::cuda::LaunchConfig* config, sys::cuda::Kernel kernel, void** arguments, void**) {
      EXPECT_EQ(config->grid_x, 1u);
      EXPECT_EQ(config->attribute_count, 0u);
      const auto& fake = *reinterpret_cast<const FakeKernel*>(kernel);
      const auto* argument = static_cast<const std::byte*>(arguments[0]);
      Of(config->stream).Push([run = fake.run, copy = std::vector(argument, argument + fake.argument_bytes)] {
        run(copy.data());
      });
      return 0;
    };
    d->EventSynchronize = [](Event event) {
      if (Of(event).reached != nullptr) Await([&] { return Of(event).reached->load(); });
      return 0;
    };
    // One device, whose memory is the process's.
    d->DevicePrimaryCtxRetain = [](sys::cuda::Context*, sys::cuda::Device) { return 0; };
    d->DevicePrimaryCtxRelease = [](sys::cuda::Device) { return 0; };
    d->CtxPushCurrent = [](sys::cuda::Context) { return 0; };
    d->CtxPopCurrent = [](sys::cuda::Context*) { return 0; };
    d->ThreadExchangeStreamCaptureMode = [](int*) { return 0; };
    d->MemAlloc = [](Address* address, std::size_t bytes) {
      *address = reinterpret_cast<Address>(std::malloc(bytes));
      return 0;
    };
    d->MemFree = [](Address address) {
      std::free(reinterpret_cast<void*>(address));
      return 0;
    };
    d->MemHostRegister = [](void*, std::size_t, unsigned) { return 0; };
    d->MemHostUnregister = [](void*) { return 0; };
    d->MemHostGetDevicePointer = [](Address* address, void* host, unsigned) {
      *address = reinterpret_cast<Address>(host);
      return 0;
    };
    return d;
  }();
  return driver;
}

}  // namespace tutti::tests
