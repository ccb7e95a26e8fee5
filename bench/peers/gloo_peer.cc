// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0

// One rank of the comparison on Gloo: its TCP transport; the ranks meet through files.
//
//   PEER_RANK, PEER_RANKS   who this is and how many there are
//   PEER_STORE              a folder that is empty at the start and shared by all ranks
//   PEER_INTERFACE          the network card that is used; loopback where it is not set
//
// Options are made once per operation and size and used again for every call, which spares Gloo the set-up
// that callers like PyTorch pay per call. Gloo has no reduce_scatter among its free functions; its older
// class ReduceScatterHalvingDoubling works only in place and destroys its input, so that row stays empty.

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/config.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>

#include "peer.h"

namespace {

using peer::kRoot;
using peer::Op;

const char* Need(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    std::fprintf(stderr, "gloo_peer: %s is not set; bench/peers/run.py starts this program as it should be\n", name);
    std::exit(2);
  }
  return value;
}

// The functions that take an options object by non-const reference share this shape.
template <typename Options, typename Function>
std::function<void()> Repeat(std::shared_ptr<Options> options, Function function) {
  return [options, function] { function(*options); };
}

class Gloo {
 public:
  Gloo(int*, char***)
      : rank_(std::atoi(Need("PEER_RANK"))),
        ranks_(std::atoi(Need("PEER_RANKS"))),
        interface_(std::getenv("PEER_INTERFACE") == nullptr ? "lo" : std::getenv("PEER_INTERFACE")) {
    auto context = std::make_shared<gloo::rendezvous::Context>(rank_, ranks_);
    gloo::transport::tcp::attr address;
    address.iface = interface_;
    auto device = gloo::transport::tcp::CreateDevice(address);
    gloo::rendezvous::FileStore store(Need("PEER_STORE"));
    context->connectFullMesh(store, device);
    context_ = context;
    max_ = std::make_unique<gloo::AllreduceOptions>(context_);
    max_->setInput(&max_in_, 1);
    max_->setOutput(&max_out_, 1);
    max_->setReduceFunction(static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::max<double>));
  }

  std::string Version() const {
    return "Gloo " + std::to_string(GLOO_VERSION_MAJOR) + "." + std::to_string(GLOO_VERSION_MINOR) + "." +
           std::to_string(GLOO_VERSION_PATCH) + " (TCP on " + interface_ + ")";
  }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  bool Supports(Op op) const { return op != Op::kReduceScatter; }
  void Barrier() {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
  }
  double Max(double value) {
    max_in_ = value;
    gloo::allreduce(*max_);
    return max_out_;
  }

  std::function<void()> Prepare(Op op, const float* const_in, float* out, std::size_t count) {
    float* in = const_cast<float*>(const_in);  // Gloo's setters take pointers to non-const, and only read
    const std::size_t all = count * ranks_;
    const auto sum = static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>);
    switch (op) {
      case Op::kAllReduce: {
        auto o = std::make_shared<gloo::AllreduceOptions>(context_);
        o->setInput(in, count);
        o->setOutput(out, count);
        o->setReduceFunction(sum);
        return Repeat(o, [](gloo::AllreduceOptions& x) { gloo::allreduce(x); });
      }
      case Op::kAllGather: {
        auto o = std::make_shared<gloo::AllgatherOptions>(context_);
        o->setInput(in, count);
        o->setOutput(out, all);
        return Repeat(o, gloo::allgather);
      }
      case Op::kBroadcast: {
        auto o = std::make_shared<gloo::BroadcastOptions>(context_);
        o->setOutput(out, count);
        o->setRoot(kRoot);
        return Repeat(o, gloo::broadcast);
      }
      case Op::kReduce: {
        auto o = std::make_shared<gloo::ReduceOptions>(context_);
        o->setInput(in, count);
        o->setOutput(out, count);
        o->setReduceFunction(sum);
        o->setRoot(kRoot);
        return Repeat(o, gloo::reduce);
      }
      case Op::kGather: {
        auto o = std::make_shared<gloo::GatherOptions>(context_);
        o->setInput(in, count);
        if (rank_ == kRoot) o->setOutput(out, all);
        o->setRoot(kRoot);
        return Repeat(o, gloo::gather);
      }
      case Op::kScatter: {
        auto o = std::make_shared<gloo::ScatterOptions>(context_);
        std::vector<float*> parts;
        for (int r = 0; r < ranks_; ++r) parts.push_back(in + r * count);
        if (rank_ == kRoot) o->setInputs(parts, count);
        o->setOutput(out, count);
        o->setRoot(kRoot);
        return Repeat(o, gloo::scatter);
      }
      case Op::kAllToAll: {
        auto o = std::make_shared<gloo::AlltoallOptions>(context_);
        o->setInput(in, all);
        o->setOutput(out, all);
        return Repeat(o, gloo::alltoall);
      }
      case Op::kSendRecv:
        return PrepareSendRecv(in, out, count * sizeof(float));
      case Op::kReduceScatter:
        break;
    }
    std::abort();
  }

 private:
  std::function<void()> PrepareSendRecv(float* in, float* out, std::size_t bytes) {
    std::shared_ptr<gloo::transport::UnboundBuffer> source = context_->createUnboundBuffer(in, bytes);
    std::shared_ptr<gloo::transport::UnboundBuffer> target = context_->createUnboundBuffer(out, bytes);
    return [=, next = (rank_ + 1) % ranks_, previous = (rank_ + ranks_ - 1) % ranks_] {
      constexpr std::uint64_t kSlot = 0x100;
      target->recv(previous, kSlot);
      source->send(next, kSlot);
      source->waitSend();
      target->waitRecv();
    };
  }

  int rank_;
  int ranks_;
  std::string interface_;
  std::shared_ptr<gloo::Context> context_;
  double max_in_ = 0;
  double max_out_ = 0;
  std::unique_ptr<gloo::AllreduceOptions> max_;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    return peer::Main<Gloo>(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gloo_peer: %s\n", error.what());
    return 1;
  }
}
