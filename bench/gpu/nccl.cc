// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/nccl.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

namespace tutti::bench {
namespace {

struct Id {
  char bytes[128];
};
using Handle = void*;
using Stream = sys::cuda::Stream;
using Size = std::size_t;

}  // namespace

struct Nccl::Impl {
  Handle communicator = nullptr;
  int version = 0;
  int ranks = 1;
  int (*GetVersion)(int*);
  int (*GetUniqueId)(Id*);
  int (*CommInitRank)(Handle*, int, Id, int);
  int (*CommDestroy)(Handle);
  const char* (*GetErrorString)(int);
  int (*AllReduce)(const void*, void*, Size, int, int, Handle, Stream);
  int (*AllGather)(const void*, void*, Size, int, Handle, Stream);
  int (*ReduceScatter)(const void*, void*, Size, int, int, Handle, Stream);
  int (*Broadcast)(const void*, void*, Size, int, int, Handle, Stream);
  int (*Reduce)(const void*, void*, Size, int, int, int, Handle, Stream);
  int (*AlltoAll)(const void*, void*, Size, int, Handle, Stream);
  int (*Gather)(const void*, void*, Size, int, int, Handle, Stream);
  int (*Send)(const void*, Size, int, int, Handle, Stream);
  int (*Recv)(void*, Size, int, int, Handle, Stream);
  int (*GroupStart)();
  int (*GroupEnd)();
  int (*Scatter)(const void*, void*, Size, int, int, Handle, Stream);
};

Nccl::Nccl() : impl_(std::make_unique<Impl>()) {}
Nccl::Nccl(Nccl&&) noexcept = default;
Nccl& Nccl::operator=(Nccl&&) noexcept = default;
Nccl::~Nccl() {
  if (impl_ != nullptr && impl_->communicator != nullptr) impl_->CommDestroy(impl_->communicator);
}

int Nccl::version() const { return impl_->version; }

Result<Nccl> Nccl::Create(Communicator& communicator) {
  const char* file = std::getenv("BENCH_NCCL");
  void* library = dlopen(file != nullptr ? file : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Status(Code::kUnsupported, dlerror());
  Nccl nccl;
  Impl& n = *nccl.impl_;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
  };
  find(n.GetVersion, "ncclGetVersion");
  find(n.GetUniqueId, "ncclGetUniqueId");
  find(n.CommInitRank, "ncclCommInitRank");
  find(n.CommDestroy, "ncclCommDestroy");
  find(n.GetErrorString, "ncclGetErrorString");
  find(n.AllReduce, "ncclAllReduce");
  find(n.AllGather, "ncclAllGather");
  find(n.ReduceScatter, "ncclReduceScatter");
  find(n.Broadcast, "ncclBroadcast");
  find(n.Reduce, "ncclReduce");
  find(n.AlltoAll, "ncclAlltoAll");
  find(n.Gather, "ncclGather");
  find(n.Scatter, "ncclScatter");
  find(n.Send, "ncclSend");
  find(n.Recv, "ncclRecv");
  find(n.GroupStart, "ncclGroupStart");
  find(n.GroupEnd, "ncclGroupEnd");
  if (n.GetVersion == nullptr || n.CommInitRank == nullptr || n.GetUniqueId == nullptr) {
    return Status(Code::kUnsupported, "libnccl.so.2 lacks basic functions");
  }
  n.GetVersion(&n.version);
  n.ranks = communicator.ranks();
  Id id{};
  if (communicator.rank() == 0 && n.GetUniqueId(&id) != 0) return Status(Code::kSystem, "ncclGetUniqueId failed");
  TUTTI_RETURN_IF_ERROR(communicator.Run(
      {.kind = Operation::Kind::kBroadcast, .in = &id, .out = &id, .count = sizeof(id), .type = DataType::kUint8}));
  const int result = n.CommInitRank(&n.communicator, n.ranks, id, communicator.rank());
  if (result != 0) return Status(Code::kSystem, fmt::format("ncclCommInitRank: {}", n.GetErrorString(result)));
  return nccl;
}

Status Nccl::Run(const Operation& o, Stream stream) {
  Impl& n = *impl_;
  const int type = static_cast<int>(o.type), op = static_cast<int>(o.op);
  int result = -1;
  switch (o.kind) {
    case Operation::Kind::kAllReduce:
      result = n.AllReduce(o.in, o.out, o.count, type, op, n.communicator, stream);
      break;
    case Operation::Kind::kAllGather:
      result = n.AllGather(o.in, o.out, o.count, type, n.communicator, stream);
      break;
    case Operation::Kind::kReduceScatter:
      result = n.ReduceScatter(o.in, o.out, o.count, type, op, n.communicator, stream);
      break;
    case Operation::Kind::kBroadcast:
      result = n.Broadcast(o.in, o.out, o.count, type, o.root, n.communicator, stream);
      break;
    case Operation::Kind::kReduce:
      result = n.Reduce(o.in, o.out, o.count, type, op, o.root, n.communicator, stream);
      break;
    case Operation::Kind::kAllToAll:
      if (n.AlltoAll != nullptr) result = n.AlltoAll(o.in, o.out, o.count, type, n.communicator, stream);
      break;
    case Operation::Kind::kGather:
      if (n.Gather != nullptr) result = n.Gather(o.in, o.out, o.count, type, o.root, n.communicator, stream);
      break;
    case Operation::Kind::kScatter:
      if (n.Scatter != nullptr) result = n.Scatter(o.in, o.out, o.count, type, o.root, n.communicator, stream);
      break;
    case Operation::Kind::kSend:
      result = n.Send(o.in, o.count, type, o.root, n.communicator, stream);
      break;
    case Operation::Kind::kRecv:
      result = n.Recv(o.out, o.count, type, o.root, n.communicator, stream);
      break;
    default:
      break;
  }
  if (result == 0) return Status::Ok();
  if (result < 0) return Status(Code::kUnsupported, "this NCCL does not have this operation");
  return Status(Code::kSystem, fmt::format("NCCL: {}", n.GetErrorString(result)));
}

Status Nccl::RunGroup(std::span<const Operation> operations, Stream stream) {
  if (operations.size() == 1) return Run(operations[0], stream);
  impl_->GroupStart();
  Status status = Status::Ok();
  for (const Operation& o : operations) {
    if (status.ok()) status = Run(o, stream);
  }
  if (const int result = impl_->GroupEnd(); result != 0 && status.ok()) {
    return Status(Code::kSystem, fmt::format("NCCL: {}", impl_->GetErrorString(result)));
  }
  return status;
}

}  // namespace tutti::bench
