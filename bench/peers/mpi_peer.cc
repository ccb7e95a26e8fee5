// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0

// One rank of the comparison on MPI. The same source serves Open MPI and MPICH; start it with their own
// mpirun.

#define OMPI_SKIP_MPICXX 1  // only the C interface
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include "peer.h"

namespace {

using peer::kRoot;
using peer::Op;

class Mpi {
 public:
  Mpi(int* argc, char*** argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }
  ~Mpi() {
    for (void* memory : allocated_) MPI_Free_mem(memory);
    MPI_Finalize();
  }

  std::string Version() const {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string version = text;  // `length` may count the end
    return version.substr(0, version.find_first_of("\n"));
  }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  bool Supports(Op) const { return true; }
  void* Allocate(std::size_t bytes) {
    void* memory = nullptr;
    MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, &memory);
    allocated_.push_back(memory);
    return memory;
  }
  void Barrier() { MPI_Barrier(MPI_COMM_WORLD); }
  double Max(double value) {
    double largest = 0;
    MPI_Allreduce(&value, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return largest;
  }

  std::function<void()> Prepare(Op op, const float* in, float* out, std::size_t elements) const {
    const int count = static_cast<int>(elements);
    const int next = (rank_ + 1) % ranks_;
    const int previous = (rank_ + ranks_ - 1) % ranks_;
    const MPI_Comm world = MPI_COMM_WORLD;
    switch (op) {
      case Op::kAllReduce:
        return [=] { MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, world); };
      case Op::kAllGather:
        return [=] { MPI_Allgather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, world); };
      case Op::kReduceScatter:
        return [=] { MPI_Reduce_scatter_block(in, out, count, MPI_FLOAT, MPI_SUM, world); };
      case Op::kBroadcast:
        return [=] { MPI_Bcast(out, count, MPI_FLOAT, kRoot, world); };
      case Op::kReduce:
        return [=] { MPI_Reduce(in, out, count, MPI_FLOAT, MPI_SUM, kRoot, world); };
      case Op::kGather:
        return [=] { MPI_Gather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, kRoot, world); };
      case Op::kScatter:
        return [=] { MPI_Scatter(in, count, MPI_FLOAT, out, count, MPI_FLOAT, kRoot, world); };
      case Op::kAllToAll:
        return [=] { MPI_Alltoall(in, count, MPI_FLOAT, out, count, MPI_FLOAT, world); };
      case Op::kSendRecv:
        return [=] {
          MPI_Sendrecv(in, count, MPI_FLOAT, next, 0, out, count, MPI_FLOAT, previous, 0, world, MPI_STATUS_IGNORE);
        };
    }
    std::abort();
  }

 private:
  int rank_ = 0;
  int ranks_ = 1;
  std::vector<void*> allocated_;
};

}  // namespace

int main(int argc, char** argv) { return peer::Main<Mpi>(argc, argv); }
