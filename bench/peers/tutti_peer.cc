// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0

// One rank of the comparison on Tutti. Start it with `tutti run -n N tutti_peer ...`.

#include "peer.h"
#include "tutti/communicator.h"

namespace {

using peer::kRoot;
using peer::Op;

void Demand(const tutti::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "tutti_peer: %s\n", status.ToString().c_str());
  std::exit(1);
}

tutti::Communicator Join() {
  tutti::Result<tutti::Communicator> communicator = tutti::Communicator::FromEnvironment();
  Demand(communicator.status());
  return std::move(*communicator);
}

tutti::Collective KindOf(Op op) {
  switch (op) {
    case Op::kAllReduce:
      return tutti::Collective::kAllReduce;
    case Op::kAllGather:
      return tutti::Collective::kAllGather;
    case Op::kReduceScatter:
      return tutti::Collective::kReduceScatter;
    case Op::kBroadcast:
      return tutti::Collective::kBroadcast;
    case Op::kReduce:
      return tutti::Collective::kReduce;
    case Op::kGather:
      return tutti::Collective::kGather;
    case Op::kScatter:
      return tutti::Collective::kScatter;
    case Op::kAllToAll:
      return tutti::Collective::kAllToAll;
    case Op::kSendRecv:
      return tutti::Collective::kSend;
  }
  std::abort();
}

class Tutti {
 public:
  Tutti(int*, char***) : communicator_(Join()) {}

  std::string Version() const { return "Tutti"; }
  int rank() const { return communicator_.rank(); }
  int ranks() const { return communicator_.ranks(); }
  bool Supports(Op) const { return true; }
  void* Allocate(std::size_t bytes) {
    const tutti::Result<void*> memory = communicator_.AllocateShared(bytes);
    Demand(memory.status());
    return *memory;
  }
  void Barrier() { Demand(communicator_.Run(tutti::Barrier())); }
  double Max(double value) {
    const std::array<double, 1> in = {value};
    std::array<double, 1> out = {0};
    Demand(communicator_.Run(tutti::AllReduce(in, out, tutti::ReduceOp::kMax)));
    return out[0];
  }

  std::function<void()> Prepare(Op op, const float* in, float* out, std::size_t count) {
    tutti::Operation operation{
        .kind = KindOf(op), .in = in, .out = out, .count = count, .type = tutti::DataType::kFloat32, .root = kRoot};
    if (op != Op::kSendRecv) return [this, operation] { Demand(communicator_.Run(operation)); };

    std::array<tutti::Operation, 2> both = {operation, operation};
    both[0].root = (rank() + 1) % ranks();
    both[1].kind = tutti::Collective::kRecv;
    both[1].root = (rank() + ranks() - 1) % ranks();
    return [this, both] { Demand(communicator_.RunGroup(both)); };
  }

 private:
  tutti::Communicator communicator_;
};

}  // namespace

int main(int argc, char** argv) { return peer::Main<Tutti>(argc, argv); }
