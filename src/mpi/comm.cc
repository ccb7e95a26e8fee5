// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/comm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>

#include "comm/life/subset.h"

namespace tutti::mpi {

struct Batch {
  std::vector<std::shared_ptr<Request>> requests;
  std::vector<Operation> operations;
  std::mutex mutex;  // of those that wait
  comm::Stay stay;
  bool over = false;
  Status outcome;
};

namespace {

// Of whoever has looked for it: a message with a tag is two.
void AddOperations(Request& request, std::vector<Operation>& operations) {
  const auto add = [&](void* data, std::size_t bytes) {
    Operation o{.kind = request.is_send ? Collective::kSend : Collective::kRecv, .count = bytes, .root = request.peer};
    if (request.is_send) {
      o.in = data;
    } else {
      o.out = data;
    }
    operations.push_back(o);
  };
  if (request.tag != 0) {
    if (request.is_send) request.carried_tag = request.tag;
    add(&request.carried_tag, sizeof(request.carried_tag));
  }
  add(request.buffer, request.bytes);
}

}  // namespace

Comm::Comm(std::shared_ptr<comm::Queue> queue) : queue_(std::move(queue)) {}
Comm::Comm(Status why) : why_(std::move(why)) {}

Status Comm::Usable() const {
  if (queue_ == nullptr) return why_;
  if (queue_->foreign()) {
    return Status(Code::kInvalidUsage,
                  "this process was forked from one that has called MPI_Init_thread, and may not use its "
                  "communicators; start processes that compute anew (multiprocessing's method spawn)");
  }
  return Status::Ok();
}

Status Comm::Run(const Operation& operation) {
  TUTTI_RETURN_IF_ERROR(Usable());
  {
    const std::lock_guard lock(mutex_);
    BeginNoted();
  }
  comm::Stay stay;
  return queue_->Run({&operation, 1}, stay);
}

Status Comm::Note(const std::shared_ptr<Request>& request) {
  TUTTI_RETURN_IF_ERROR(Usable());
  const std::lock_guard lock(mutex_);
  noted_.push_back(request);
  return Status::Ok();
}

void Comm::BeginNoted() {
  if (noted_.empty()) return;
  const auto batch = std::make_shared<Batch>();
  batch->requests = std::exchange(noted_, {});
  for (const std::shared_ptr<Request>& request : batch->requests) {
    request->batch = batch;
    AddOperations(*request, batch->operations);
  }
  batch->outcome = queue_->Begin(batch->operations, batch->stay);
  batch->over = !batch->outcome.ok();
}

Status Comm::Finish(const Request& request) {
  TUTTI_RETURN_IF_ERROR(Usable());
  std::shared_ptr<Batch> batch;
  {
    const std::lock_guard lock(mutex_);
    if (request.batch == nullptr) BeginNoted();
    batch = request.batch;
  }
  const std::lock_guard lock(batch->mutex);
  if (!batch->over) {
    batch->outcome = queue_->WaitFor(batch->stay);
    batch->over = true;
  }
  TUTTI_RETURN_IF_ERROR(batch->outcome);
  if (request.carried_tag == request.tag) return Status::Ok();
  return Status(Code::kInvalidUsage,
                fmt::format("rank {} awaited a message with tag {} from rank {}, whose next message has tag {}: Tutti "
                            "delivers messages of "
                            "two ranks in the order in which they are sent, so receive them in that order",
                            rank(), request.tag, request.peer, request.carried_tag),
                request.peer);
}

Status Comm::CheckKeys(std::optional<int> color, int key) {
  struct Choice {
    std::int64_t color;  // -1: none
    std::int64_t key;
  };
  const Choice mine{.color = color.value_or(-1), .key = key};
  std::vector<Choice> all(queue_->ranks());
  TUTTI_RETURN_IF_ERROR(Run({.kind = Collective::kAllGather,
                             .in = &mine,
                             .out = all.data(),
                             .count = sizeof(Choice),
                             .type = DataType::kUint8}));
  if (!color) return Status::Ok();
  std::vector<std::int64_t> keys;
  for (const Choice& choice : all) {
    if (choice.color == *color) keys.push_back(choice.key);
  }
  std::ranges::sort(keys);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == static_cast<std::int64_t>(i)) continue;
    return Status(
        Code::kInvalidArgument,
        fmt::format(
            "the {} ranks of color {} have the keys {}, which should be 0 to {}. XLA passes the numbers of devices "
            "that "
            "compute together, so a process may have several devices, which XLA's MPI cannot serve: give each process "
            "one (without jax_num_cpu_devices and --xla_force_host_platform_device_count)",
            keys.size(), *color, fmt::join(keys, ", "), keys.size() - 1));
  }
  return Status::Ok();
}

Result<std::shared_ptr<Comm>> Comm::Split(std::optional<int> color, int key) {
  TUTTI_RETURN_IF_ERROR(Usable());
  TUTTI_RETURN_IF_ERROR(CheckKeys(color, key));
  Result<std::optional<CommunicatorOptions>> options = comm::Split(*queue_, color, key);
  if (!options.ok()) return options.status();
  if (!color) return std::shared_ptr<Comm>();
  (*options)->name = fmt::format("MPI color {}", *color);
  Result<Communicator> made = Communicator::Create(**options);
  if (!made.ok()) return made.status();
  return std::make_shared<Comm>(std::make_shared<comm::Queue>(std::move(*made)));
}

void Comm::Close() {
  if (queue_ == nullptr) return;
  if (queue_->foreign()) {
    queue_->Abandon();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    BeginNoted();
  }
  queue_->Close();
}

}  // namespace tutti::mpi
