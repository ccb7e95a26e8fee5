// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/nccl.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <nccl.h>  // include/nccl.h

#include <type_traits>

namespace tutti::bench {

// The functions under their own names without "nccl".
struct Nccl::Impl {
  std::string file;
  ncclComm_t communicator = nullptr;
  int version = 0;
  int ranks = 1;
  decltype(&ncclGetVersion) GetVersion;
  decltype(&ncclGetUniqueId) GetUniqueId;
  decltype(&ncclCommInitRank) CommInitRank;
  decltype(&ncclCommDestroy) CommDestroy;
  decltype(&ncclGetErrorString) GetErrorString;
  decltype(&ncclAllReduce) AllReduce;
  decltype(&ncclAllGather) AllGather;
  decltype(&ncclReduceScatter) ReduceScatter;
  decltype(&ncclBroadcast) Broadcast;
  decltype(&ncclReduce) Reduce;
  decltype(&ncclAlltoAll) AlltoAll;
  decltype(&ncclGather) Gather;
  decltype(&ncclScatter) Scatter;
  decltype(&ncclSend) Send;
  decltype(&ncclRecv) Recv;
  decltype(&ncclGroupStart) GroupStart;
  decltype(&ncclGroupEnd) GroupEnd;
};

namespace {

// Where an address of the library lies, as the dynamic linker knows it.
std::string FileOf(void* address, const std::string& otherwise) {
  Dl_info info;
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : otherwise;
}

}  // namespace

Nccl::Nccl() : impl_(std::make_unique<Impl>()) {}
Nccl::Nccl(Nccl&&) noexcept = default;
Nccl& Nccl::operator=(Nccl&&) noexcept = default;
Nccl::~Nccl() {
  if (impl_ != nullptr && impl_->communicator != nullptr) impl_->CommDestroy(impl_->communicator);
}

int Nccl::version() const { return impl_->version; }

const std::string& Nccl::file() const { return impl_->file; }

Result<Nccl> Nccl::Create(Communicator& communicator, const std::string& file) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
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
    return Status(Code::kUnsupported, file + " lacks basic functions of NCCL");
  }
  n.file = FileOf(reinterpret_cast<void*>(n.GetVersion), file);
  n.GetVersion(&n.version);
  n.ranks = communicator.ranks();
  ncclUniqueId id{};
  if (communicator.rank() == 0 && n.GetUniqueId(&id) != ncclSuccess)
    return Status(Code::kSystem, "ncclGetUniqueId failed");
  TUTTI_RETURN_IF_ERROR(communicator.Run(
      {.kind = Collective::kBroadcast, .in = &id, .out = &id, .count = sizeof(id), .type = DataType::kUint8}));
  const ncclResult_t result = n.CommInitRank(&n.communicator, n.ranks, id, communicator.rank());
  if (result != ncclSuccess)
    return Status(Code::kSystem, fmt::format("ncclCommInitRank: {}", n.GetErrorString(result)));
  return nccl;
}

Status Nccl::Run(const Operation& o, sys::cuda::Stream stream) {
  Impl& n = *impl_;
  const auto type = static_cast<ncclDataType_t>(o.type);
  const auto op = static_cast<ncclRedOp_t>(o.op);
  constexpr auto kMissing = static_cast<ncclResult_t>(-1);
  ncclResult_t result = kMissing;
  switch (o.kind) {
    case Collective::kAllReduce:
      result = n.AllReduce(o.in, o.out, o.count, type, op, n.communicator, stream);
      break;
    case Collective::kAllGather:
      result = n.AllGather(o.in, o.out, o.count, type, n.communicator, stream);
      break;
    case Collective::kReduceScatter:
      result = n.ReduceScatter(o.in, o.out, o.count, type, op, n.communicator, stream);
      break;
    case Collective::kBroadcast:
      result = n.Broadcast(o.in, o.out, o.count, type, o.root, n.communicator, stream);
      break;
    case Collective::kReduce:
      result = n.Reduce(o.in, o.out, o.count, type, op, o.root, n.communicator, stream);
      break;
    case Collective::kAllToAll:
      if (n.AlltoAll != nullptr) result = n.AlltoAll(o.in, o.out, o.count, type, n.communicator, stream);
      break;
    case Collective::kGather:
      if (n.Gather != nullptr) result = n.Gather(o.in, o.out, o.count, type, o.root, n.communicator, stream);
      break;
    case Collective::kScatter:
      if (n.Scatter != nullptr) result = n.Scatter(o.in, o.out, o.count, type, o.root, n.communicator, stream);
      break;
    case Collective::kSend:
      result = n.Send(o.in, o.count, type, o.root, n.communicator, stream);
      break;
    case Collective::kRecv:
      result = n.Recv(o.out, o.count, type, o.root, n.communicator, stream);
      break;
    default:
      break;
  }
  if (result == ncclSuccess) return Status::Ok();
  if (result == kMissing) return Status(Code::kUnsupported, "this NCCL does not have this operation");
  return Status(Code::kSystem, fmt::format("NCCL: {}", n.GetErrorString(result)));
}

Status Nccl::RunGroup(std::span<const Operation> operations, sys::cuda::Stream stream) {
  if (operations.size() == 1) return Run(operations[0], stream);
  impl_->GroupStart();
  Status status = Status::Ok();
  for (const Operation& o : operations) {
    if (status.ok()) status = Run(o, stream);
  }
  if (const ncclResult_t result = impl_->GroupEnd(); result != ncclSuccess && status.ok()) {
    return Status(Code::kSystem, fmt::format("NCCL: {}", impl_->GetErrorString(result)));
  }
  return status;
}

}  // namespace tutti::bench
