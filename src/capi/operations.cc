// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Data movement, and reductions with a factor.
#include <fmt/format.h>

#include <cstring>

#include "capi/error.h"
#include "capi/group.h"
#include "capi/nvtx.h"
#include "comm/host/read_factor.h"

namespace tutti::capi {

Status CheckType(ncclDataType_t type) {
  if (static_cast<unsigned>(type) < static_cast<unsigned>(ncclNumTypes)) [[likely]]
    return Status::Ok();
  return InvalidArgument(fmt::format("data type {} does not exist", static_cast<int>(type)));
}

namespace {

// A handle of a factor: its place in the communicator's table, and bits of the communicator's serial number, so that
// one that belongs to another communicator is noticed.
constexpr int kPlaceBits = 12;
constexpr std::size_t kMostFactors = (std::size_t{1} << kPlaceBits) - ncclNumOps;

int FactorHandle(const ncclComm& comm, std::size_t place) {
  const std::uint32_t mixed = (comm.serial * 2654435761u) >> (kPlaceBits + 1);  // 19 bits
  return static_cast<int>(mixed << kPlaceBits | static_cast<std::uint32_t>(place + ncclNumOps));
}

Result<PreMulSum*> FindFactor(ncclComm& comm, int handle) {
  const auto place = static_cast<std::size_t>(handle & ((1 << kPlaceBits) - 1)) - ncclNumOps;
  if (handle < ncclNumOps || place >= comm.factors.size() || FactorHandle(comm, place) != handle) {
    return InvalidArgument(
        fmt::format("reduction operator {} does not exist on rank {}: it is none of NCCL's, and not one of those that "
                    "ncclRedOpCreatePreMulSum made for this communicator",
                    handle, comm.rank.load()));
  }
  if (!comm.factors[place].used) {
    return InvalidArgument(fmt::format("reduction operator {} was destroyed before", handle));
  }
  return &comm.factors[place];
}

// Puts a reduction operator into an operation: one of NCCL's, or a factor of the communicator.
Status ReadOp(ncclComm* comm, ncclRedOp_t op, ncclDataType_t type, Operation& o) {
  if (static_cast<unsigned>(op) < static_cast<unsigned>(ncclNumOps)) [[likely]] {
    o.op = static_cast<ReduceOp>(op);
    return Status::Ok();
  }
  TUTTI_RETURN_IF_ERROR(CheckHandle(comm));
  const Result<PreMulSum*> factor = FindFactor(*comm, op);
  if (!factor.ok()) return factor.status();
  if ((*factor)->type != type) {
    return InvalidArgument(
        fmt::format("the operator's factor has data type {}, the operation {}: they must be the same",
                    static_cast<int>((*factor)->type), static_cast<int>(type)));
  }
  o.op = ReduceOp::kPreMulSum;
  if ((*factor)->address != nullptr && comm->gpu != nullptr && comm->gpu->OnDevice((*factor)->address)) {
    o.device_scalar = (*factor)->address;
    return Status::Ok();
  }
  comm::ReadFactor((*factor)->address != nullptr ? (*factor)->address : (*factor)->bytes, o);
  return Status::Ok();
}

struct Data {
  const void* in;
  void* out;
  std::size_t count;
  ncclDataType_t type;
};

// `root`: or peer.
Status BeginUnmarked(ncclComm* comm, cudaStream_t stream, Collective kind, const Data& data, int root,
                     const ncclRedOp_t* op) {
  TUTTI_RETURN_IF_ERROR(CheckType(data.type));
  Operation o{.kind = kind,
              .in = data.in,
              .out = data.out,
              .count = data.count,
              .type = static_cast<DataType>(data.type),
              .root = root};
  if (op != nullptr) TUTTI_RETURN_IF_ERROR(ReadOp(comm, *op, data.type, o));
  return PostOrDefer(comm, o, stream);
}

nvtx::Call MarkOf(Collective kind) {
  using nvtx::Call;
  constexpr Call kCalls[] = {Call::kAllReduce, Call::kAllGather, Call::kReduceScatter, Call::kBroadcast,
                             Call::kReduce,    Call::kGather,    Call::kScatter,       Call::kAlltoAll};
  if (IsTransfer(kind)) return kind == Collective::kSend ? Call::kSend : Call::kRecv;
  return kCalls[static_cast<int>(kind)];
}

// The same with a mark for tools around it.
[[gnu::noinline]] Status BeginMarked(ncclComm* comm, cudaStream_t stream, Collective kind, const Data& data, int root,
                                     const ncclRedOp_t* op) {
  const nvtx::Call call = MarkOf(kind);
  const std::uint64_t id = comm != nullptr && comm->alive() ? comm->id_hash : 0;
  const std::size_t bytes = CheckType(data.type).ok() ? data.count * SizeOf(static_cast<DataType>(data.type)) : 0;
  const auto begin = [&] { return BeginUnmarked(comm, stream, kind, data, root, op); };
  if (kind == Collective::kReduce) {
    const nvtx::Range range(call, nvtx::OfReduce{id, bytes, root, *op});
    return begin();
  }
  if (kind == Collective::kAllGather || kind == Collective::kAllToAll) {
    const nvtx::Range range(call, nvtx::OfMove{id, bytes});
    return begin();
  }
  const nvtx::Range range(call, nvtx::OfMoveWith{id, bytes, op != nullptr ? *op : root});
  return begin();
}

// Every operation comes this way.
Status Begin(ncclComm* comm, cudaStream_t stream, Collective kind, const Data& data, int root = 0,
             const ncclRedOp_t* op = nullptr) {
  if (nvtx::On()) [[unlikely]]
    return BeginMarked(comm, stream, kind, data, root, op);
  return BeginUnmarked(comm, stream, kind, data, root, op);
}

Status CreateFactor(ncclRedOp_t* op, const void* scalar, ncclDataType_t type, ncclScalarResidence_t residence,
                    ncclComm* comm) {
  TUTTI_RETURN_IF_ERROR(WhyNotReady(comm));
  TUTTI_RETURN_IF_ERROR(CheckType(type));
  if (op == nullptr) return InvalidArgument("the pointer for the operator is NULL");
  if (scalar == nullptr) return InvalidArgument("the pointer to the factor is NULL");
  if (residence != ncclScalarDevice && residence != ncclScalarHostImmediate) {
    return InvalidArgument(fmt::format("residence {} does not exist: use ncclScalarDevice or ncclScalarHostImmediate",
                                       static_cast<int>(residence)));
  }
  std::size_t place = 0;
  while (place < comm->factors.size() && comm->factors[place].used) ++place;
  if (place == kMostFactors) {
    return InvalidUsage(
        fmt::format("the communicator has {} operators: destroy those that are not needed any more "
                    "with ncclRedOpDestroy",
                    place));
  }
  if (place == comm->factors.size()) comm->factors.emplace_back();
  PreMulSum& factor = comm->factors[place];
  factor = {.used = true, .type = type};
  if (residence == ncclScalarDevice) {
    factor.address = scalar;
  } else {
    std::memcpy(factor.bytes, scalar, SizeOf(static_cast<DataType>(type)));
  }
  *op = static_cast<ncclRedOp_t>(FactorHandle(*comm, place));
  return Status::Ok();
}

Status DestroyFactor(ncclRedOp_t op, ncclComm* comm) {
  TUTTI_RETURN_IF_ERROR(CheckHandle(comm));
  if (static_cast<unsigned>(op) < static_cast<unsigned>(ncclNumOps)) {
    return InvalidArgument(fmt::format("operator {} is NCCL's own and cannot be destroyed", static_cast<int>(op)));
  }
  const Result<PreMulSum*> factor = FindFactor(*comm, op);
  if (!factor.ok()) return factor.status();
  (*factor)->used = false;
  return Status::Ok();
}

}  // namespace
}  // namespace tutti::capi

using namespace tutti::capi;  // NOLINT: the functions below are C's
using tutti::Collective;
using tutti::Status;

TUTTI_NCCL_API(ncclResult_t, ncclAllReduce,
               (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
                ncclComm_t comm, cudaStream_t stream)) {
  return Call("ncclAllReduce", [&] {
    return Begin(comm, stream, Collective::kAllReduce, {sendbuff, recvbuff, count, datatype}, 0, &op);
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclReduce,
               (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op, int root,
                ncclComm_t comm, cudaStream_t stream)) {
  return Call("ncclReduce", [&] {
    return Begin(comm, stream, Collective::kReduce, {sendbuff, recvbuff, count, datatype}, root, &op);
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclBroadcast,
               (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                cudaStream_t stream)) {
  return Call("ncclBroadcast", [&] {
    return Begin(comm, stream, Collective::kBroadcast, {sendbuff, recvbuff, count, datatype}, root);
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclBcast,
               (void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream)) {
  return Call("ncclBcast", [&] {
    return Begin(comm, stream, Collective::kBroadcast, {buff, buff, count, datatype}, root);
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclReduceScatter,
               (const void* sendbuff, void* recvbuff, size_t recvcount, ncclDataType_t datatype, ncclRedOp_t op,
                ncclComm_t comm, cudaStream_t stream)) {
  return Call("ncclReduceScatter", [&] {
    return Begin(comm, stream, Collective::kReduceScatter, {sendbuff, recvbuff, recvcount, datatype}, 0, &op);
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclAllGather,
               (const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype, ncclComm_t comm,
                cudaStream_t stream)) {
  return Call("ncclAllGather", [&] {
    return Begin(comm, stream, Collective::kAllGather, {sendbuff, recvbuff, sendcount, datatype});
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclAlltoAll,
               (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclComm_t comm,
                cudaStream_t stream)) {
  return Call("ncclAlltoAll", [&] {
    return Begin(comm, stream, Collective::kAllToAll, {sendbuff, recvbuff, count, datatype});
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclGather,
               (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                cudaStream_t stream)) {
  return Call("ncclGather", [&] {
    return Begin(comm, stream, Collective::kGather, {sendbuff, recvbuff, count, datatype}, root);
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclScatter,
               (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                cudaStream_t stream)) {
  return Call("ncclScatter", [&] {
    return Begin(comm, stream, Collective::kScatter, {sendbuff, recvbuff, count, datatype}, root);
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclSend,
               (const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                cudaStream_t stream)) {
  return Call("ncclSend", [&] {
    return Begin(comm, stream, Collective::kSend, {sendbuff, nullptr, count, datatype}, peer);
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclRecv,
               (void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                cudaStream_t stream)) {
  return Call("ncclRecv", [&] {
    return Begin(comm, stream, Collective::kRecv, {nullptr, recvbuff, count, datatype}, peer);
  });
}

TUTTI_NCCL_API(ncclResult_t, ncclRedOpCreatePreMulSum,
               (ncclRedOp_t * op, void* scalar, ncclDataType_t datatype, ncclScalarResidence_t residence,
                ncclComm_t comm)) {
  return Call("ncclRedOpCreatePreMulSum", [&] { return CreateFactor(op, scalar, datatype, residence, comm); });
}

TUTTI_NCCL_API(ncclResult_t, ncclRedOpDestroy, (ncclRedOp_t op, ncclComm_t comm)) {
  return Call("ncclRedOpDestroy", [&] { return DestroyFactor(op, comm); });
}
