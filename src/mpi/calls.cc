// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The functions of MPI that are here: those that XLA calls, and the few that say who is asked. Each has the type that MPItrampoline
// calls it by. Arguments in, error codes out (codes.h); nobody else's error handlers are asked. Threads: any, at any time
// (MPI_THREAD_MULTIPLE).
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "mpi/codes.h"
#include "mpi/job.h"
#include "mpi/types.h"
#include "sys/os/clock.h"
#include "tutti/operation.h"

namespace tutti::mpi {
namespace {

Status InvalidArgument(std::string sentence) { return Status(Code::kInvalidArgument, std::move(sentence)); }

// No exception gets out of a function of C.
template <typename Body>
Status Guarded(Body&& body) {
  try {
    return body();
  } catch (const std::exception& e) {
    return Status(Code::kSystem,
                  fmt::format("the system refused: {}; likely a limit of threads or memory (ulimit -u, -v)", e.what()));
  }
}

template <typename Body>
int Call(const char* function, Body&& body) noexcept {
  return Answer(function, Guarded(body));
}

// XLA does not look at what these return, so it is printed.
template <typename Body>
int CallAloud(const char* function, Body&& body) noexcept {
  return AnswerAloud(function, Guarded(body));
}

Result<std::shared_ptr<Comm>> FindComm(Handle handle) {
  if (std::shared_ptr<Comm> comm = Job::Get().FindComm(handle)) return comm;
  return InvalidArgument(
      fmt::format("{:#x} is no communicator: only MPI_COMM_WORLD and what MPI_Comm_split has made are", handle));
}

Status CheckCount(int count) {
  if (count >= 0) return Status::Ok();
  return InvalidArgument(fmt::format("the count is {}; it must be 0 or more", count));
}

struct Elements {
  std::size_t count = 0;
  DataType type = DataType::kUint8;
  std::size_t bytes() const { return count * SizeOf(type); }
};

Result<Elements> ElementsOf(int count, Handle type) {
  TUTTI_RETURN_IF_ERROR(CheckCount(count));
  const std::optional<DataType> known = DataTypeOfHandle(type);
  if (!known) return InvalidArgument(fmt::format("{} cannot be sent or reduced here", TypeName(type)));
  return Elements{.count = static_cast<std::size_t>(count), .type = *known};
}

Result<ReduceOp> OpOf(Handle op, DataType type) {
  const std::optional<ReduceOp> known = ReduceOpOfHandle(op);
  if (!known) return InvalidArgument(fmt::format("{} is no operator that is known here", OpName(op)));
  if (!Defined(*known, type))
    return InvalidArgument(fmt::format("{} is not defined for {} elements", OpName(op), Name(type)));
  return *known;
}

// A send or a receive of count elements. Null with MPI_PROC_NULL, with which nothing is exchanged.
Result<std::shared_ptr<Request>> MakeRequest(const Comm& comm, bool is_send, void* buffer, int count, Handle type,
                                             int peer, int tag) {
  TUTTI_RETURN_IF_ERROR(comm.why());
  const Result<Elements> elements = ElementsOf(count, type);
  if (!elements.ok()) return elements.status();
  if (peer == kProcNull) return std::shared_ptr<Request>();
  if (peer < 0 || peer >= comm.ranks()) {
    return InvalidArgument(
        fmt::format("rank {} does not exist among {} ranks; MPI_ANY_SOURCE is not possible here", peer, comm.ranks()));
  }
  if (tag < 0)
    return InvalidArgument(
        fmt::format("the tag is {}; it must be 0 or more, and MPI_ANY_TAG is not possible here", tag));
  auto request = std::make_shared<Request>();
  request->is_send = is_send;
  request->buffer = buffer;
  request->bytes = (*elements).bytes();
  request->peer = peer;
  request->tag = tag;
  return request;
}

// MPI_Isend and MPI_Irecv.
Status Begin(bool is_send, void* buffer, int count, Handle type, int peer, int tag, Handle comm_handle,
             Handle* handle) {
  *handle = kREQUEST_NULL;
  const Result<std::shared_ptr<Comm>> comm = FindComm(comm_handle);
  if (!comm.ok()) return comm.status();
  const Result<std::shared_ptr<Request>> request = MakeRequest(**comm, is_send, buffer, count, type, peer, tag);
  if (!request.ok() || *request == nullptr) return request.status();
  TUTTI_RETURN_IF_ERROR((*comm)->Note(*request));
  *handle = Job::Get().AddRequest({.comm = *comm, .request = *request});
  return Status::Ok();
}

void Fill(AbiStatus* status, const Request* request) {
  if (status == nullptr) return;
  *status = {.source = request == nullptr ? kProcNull : request->peer,
             .tag = request == nullptr ? kAnyTag : request->tag};
  if (request != nullptr && request->is_send) status->source = kProcNull;
}

Status Split(Handle comm_handle, int color, int key, Handle* made) {
  *made = kCOMM_NULL;
  const auto split = [&]() -> Result<std::shared_ptr<Comm>> {
    const Result<std::shared_ptr<Comm>> comm = FindComm(comm_handle);
    if (!comm.ok()) return comm.status();
    TUTTI_RETURN_IF_ERROR((*comm)->why());
    if (color < 0 && color != kUndefined) {
      return InvalidArgument(fmt::format("color {}: it must be 0 or more, or MPI_UNDEFINED", color));
    }
    if (!Job::Get().launched()) {
      return Status(Code::kInvalidUsage,
                    "no launcher has told this process of the others: start the program with one that sets a rank for "
                    "each process, such "
                    "as tutti run -n 4 python PROGRAM, torchrun, mpirun or srun, or call jax.distributed.initialize "
                    "after import tutti.jax");
    }
    return (*comm)->Split(color == kUndefined ? std::nullopt : std::optional<int>(color), key);
  };
  Result<std::shared_ptr<Comm>> comm = split();
  // Who does not look at what this returns is told by every call on the new communicator.
  if (!comm.ok()) {
    *made = Job::Get().AddComm(std::make_shared<Comm>(comm.status()));
    return comm.status();
  }
  if (*comm != nullptr) *made = Job::Get().AddComm(*comm);
  return Status::Ok();
}

Status AllReduce(const void* in, void* out, int count, Handle type, Handle op, Handle comm_handle) {
  const Result<std::shared_ptr<Comm>> comm = FindComm(comm_handle);
  if (!comm.ok()) return comm.status();
  const Result<Elements> elements = ElementsOf(count, type);
  if (!elements.ok()) return elements.status();
  const Result<ReduceOp> reduce = OpOf(op, (*elements).type);
  if (!reduce.ok()) return reduce.status();
  return (*comm)->Run({.kind = Collective::kAllReduce,
                       .in = in == InPlace() ? out : in,
                       .out = out,
                       .count = (*elements).count,
                       .type = (*elements).type,
                       .op = *reduce});
}

Status AllGather(const void* in, int count, Handle type, void* out, int out_count, Handle out_type,
                 Handle comm_handle) {
  const Result<std::shared_ptr<Comm>> comm = FindComm(comm_handle);
  if (!comm.ok()) return comm.status();
  TUTTI_RETURN_IF_ERROR((*comm)->why());
  const Result<Elements> received = ElementsOf(out_count, out_type);
  if (!received.ok()) return received.status();
  const std::size_t bytes = (*received).bytes();
  if (in == InPlace()) {
    in = static_cast<const char*>(out) + (*comm)->rank() * bytes;
  } else {
    const Result<Elements> sent = ElementsOf(count, type);
    if (!sent.ok()) return sent.status();
    if ((*sent).bytes() != bytes) {
      return InvalidArgument(fmt::format("a rank sends {} bytes and receives {} from each", (*sent).bytes(), bytes));
    }
  }
  return (*comm)->Run(
      {.kind = Collective::kAllGather, .in = in, .out = out, .count = (*received).count, .type = (*received).type});
}

Status ReduceScatter(const void* in, void* out, const int* counts, Handle type, Handle op, Handle comm_handle) {
  const Result<std::shared_ptr<Comm>> comm = FindComm(comm_handle);
  if (!comm.ok()) return comm.status();
  TUTTI_RETURN_IF_ERROR((*comm)->why());
  const Result<Elements> elements = ElementsOf(counts[0], type);
  if (!elements.ok()) return elements.status();
  const int* const other =
      std::find_if(counts, counts + (*comm)->ranks(), [&](int count) { return count != counts[0]; });
  if (other != counts + (*comm)->ranks()) {
    return InvalidArgument(fmt::format("rank 0 is to receive {} elements and rank {} {}: here all receive equally many",
                                       counts[0], other - counts, *other));
  }
  const Result<ReduceOp> reduce = OpOf(op, (*elements).type);
  if (!reduce.ok()) return reduce.status();
  Operation o{.kind = Collective::kReduceScatter,
              .in = in,
              .out = out,
              .count = (*elements).count,
              .type = (*elements).type,
              .op = *reduce};
  if (in != InPlace()) return (*comm)->Run(o);
  // MPI wants the result at the beginning of the only buffer, Tutti where this rank's part lies.
  o.in = out;
  o.out = static_cast<char*>(out) + (*comm)->rank() * (*elements).bytes();
  TUTTI_RETURN_IF_ERROR((*comm)->Run(o));
  std::memmove(out, o.out, (*elements).bytes());
  return Status::Ok();
}

Status Exchange(Comm& comm, const Result<std::shared_ptr<Request>>& send,
                const Result<std::shared_ptr<Request>>& receive) {
  for (const auto* request : {&send, &receive}) {
    if (!request->ok()) return request->status();
  }
  for (const auto* request : {&send, &receive}) {
    if (**request != nullptr) TUTTI_RETURN_IF_ERROR(comm.Note(**request));
  }
  for (const auto* request : {&send, &receive}) {
    if (**request != nullptr) TUTTI_RETURN_IF_ERROR(comm.Finish(***request));
  }
  return Status::Ok();
}

}  // namespace

extern "C" {

TUTTI_MPI_EXPORT int MPIABI_Init_thread(int*, char***, int, int* provided) {
  if (provided != nullptr) *provided = kThreadMultiple;
  return CallAloud("MPI_Init_thread", [] { return Job::Get().Start(); });
}

TUTTI_MPI_EXPORT int MPIABI_Init(int*, char***) {
  return CallAloud("MPI_Init", [] { return Job::Get().Start(); });
}

// Every thread may do what the main thread may.
TUTTI_MPI_EXPORT int MPIABI_Is_thread_main(int* flag) {
  *flag = 1;
  return 0;
}

TUTTI_MPI_EXPORT int MPIABI_Query_thread(int* provided) {
  *provided = kThreadMultiple;
  return 0;
}

TUTTI_MPI_EXPORT int MPIABI_Initialized(int* flag) {
  *flag = Job::Get().started() ? 1 : 0;
  return 0;
}

TUTTI_MPI_EXPORT int MPIABI_Finalized(int* flag) {
  *flag = Job::Get().ended() ? 1 : 0;
  return 0;
}

TUTTI_MPI_EXPORT int MPIABI_Finalize() {
  return Call("MPI_Finalize", [] {
    Job::Get().End();
    return Status::Ok();
  });
}

TUTTI_MPI_EXPORT int MPIABI_Abort(Handle, int code) {
  Say(fmt::format("MPI_Abort({}) was called: this process ends, and the other ranks hear of its death", code));
  std::_Exit(code == 0 ? 1 : code);
}

TUTTI_MPI_EXPORT int MPIABI_Error_string(int code, char* text, int* length) {
  const std::string sentence = SentenceOf(code).substr(0, kErrorStringBytes - 1);
  std::memcpy(text, sentence.c_str(), sentence.size() + 1);
  *length = static_cast<int>(sentence.size());
  return 0;
}

TUTTI_MPI_EXPORT int MPIABI_Get_version(int* version, int* subversion) {
  *version = 3;
  *subversion = 1;
  return 0;
}

TUTTI_MPI_EXPORT int MPIABI_Get_library_version(char* text, int* length) {
  const std::string version = fmt::format("Tutti {}.{}.{}, the part of MPI that JAX calls", TUTTI_VERSION_MAJOR,
                                          TUTTI_VERSION_MINOR, TUTTI_VERSION_PATCH);
  static_assert(kVersionStringBytes > 100);
  std::memcpy(text, version.c_str(), version.size() + 1);
  *length = static_cast<int>(version.size());
  return 0;
}

TUTTI_MPI_EXPORT double MPIABI_Wtime() { return static_cast<double>(sys::NowNs()) * 1e-9; }
TUTTI_MPI_EXPORT double MPIABI_Wtick() { return 1e-9; }

TUTTI_MPI_EXPORT int MPIABI_Comm_split(Handle comm, int color, int key, Handle* made) {
  return CallAloud("MPI_Comm_split", [&] { return Split(comm, color, key, made); });
}

TUTTI_MPI_EXPORT int MPIABI_Comm_rank(Handle handle, int* rank) {
  return Call("MPI_Comm_rank", [&] {
    const Result<std::shared_ptr<Comm>> comm = FindComm(handle);
    *rank = comm.ok() ? (*comm)->rank() : -1;
    return comm.ok() ? (*comm)->why() : comm.status();
  });
}

TUTTI_MPI_EXPORT int MPIABI_Comm_size(Handle handle, int* size) {
  return Call("MPI_Comm_size", [&] {
    const Result<std::shared_ptr<Comm>> comm = FindComm(handle);
    *size = comm.ok() ? (*comm)->ranks() : -1;
    return comm.ok() ? (*comm)->why() : comm.status();
  });
}

// Also of a handle that MPI_Finalize has closed: destructors run late.
TUTTI_MPI_EXPORT int MPIABI_Comm_free(Handle* handle) {
  return Call("MPI_Comm_free", [&] {
    if (*handle == kCOMM_WORLD) return InvalidArgument("MPI_COMM_WORLD cannot be freed");
    const std::shared_ptr<Comm> comm = Job::Get().TakeComm(*handle);
    *handle = kCOMM_NULL;
    if (comm != nullptr) comm->Close();
    return Status::Ok();
  });
}

TUTTI_MPI_EXPORT int MPIABI_Allreduce(const void* in, void* out, int count, Handle type, Handle op, Handle comm) {
  return Call("MPI_Allreduce", [&] { return AllReduce(in, out, count, type, op, comm); });
}

TUTTI_MPI_EXPORT int MPIABI_Allgather(const void* in, int count, Handle type, void* out, int out_count, Handle out_type,
                                      Handle comm) {
  return Call("MPI_Allgather", [&] { return AllGather(in, count, type, out, out_count, out_type, comm); });
}

TUTTI_MPI_EXPORT int MPIABI_Reduce_scatter(const void* in, void* out, const int* counts, Handle type, Handle op,
                                           Handle comm) {
  return Call("MPI_Reduce_scatter", [&] { return ReduceScatter(in, out, counts, type, op, comm); });
}

TUTTI_MPI_EXPORT int MPIABI_Isend(const void* buffer, int count, Handle type, int to, int tag, Handle comm,
                                  Handle* request) {
  return Call("MPI_Isend", [&] { return Begin(true, const_cast<void*>(buffer), count, type, to, tag, comm, request); });
}

TUTTI_MPI_EXPORT int MPIABI_Irecv(void* buffer, int count, Handle type, int from, int tag, Handle comm,
                                  Handle* request) {
  return Call("MPI_Irecv", [&] { return Begin(false, buffer, count, type, from, tag, comm, request); });
}

TUTTI_MPI_EXPORT int MPIABI_Wait(Handle* handle, AbiStatus* status) {
  return Call("MPI_Wait", [&] {
    Fill(status, nullptr);
    if (*handle == kREQUEST_NULL) return Status::Ok();
    const Job::Pending pending = Job::Get().TakeRequest(*handle);
    if (pending.comm == nullptr) return InvalidArgument(fmt::format("{:#x} is no request", *handle));
    *handle = kREQUEST_NULL;
    TUTTI_RETURN_IF_ERROR(pending.comm->Finish(*pending.request));
    Fill(status, pending.request.get());
    return Status::Ok();
  });
}

TUTTI_MPI_EXPORT int MPIABI_Sendrecv(const void* in, int in_count, Handle in_type, int to, int to_tag, void* out,
                                     int out_count, Handle out_type, int from, int from_tag, Handle handle,
                                     AbiStatus* status) {
  return Call("MPI_Sendrecv", [&] {
    const Result<std::shared_ptr<Comm>> comm = FindComm(handle);
    if (!comm.ok()) return comm.status();
    const auto send = MakeRequest(**comm, true, const_cast<void*>(in), in_count, in_type, to, to_tag);
    const auto receive = MakeRequest(**comm, false, out, out_count, out_type, from, from_tag);
    TUTTI_RETURN_IF_ERROR(Exchange(**comm, send, receive));
    Fill(status, (*receive).get());
    return Status::Ok();
  });
}

}  // extern "C"

}  // namespace tutti::mpi
