// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_LIFE_CREATION_H_
#define TUTTI_COMM_LIFE_CREATION_H_

// How a communicator is made: what its steps share, and the steps, each in a file of its own.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/host/impl.h"
#include "tutti/status.h"

namespace tutti::transport::net {
struct Card;
class Port;
struct RemotePeer;
namespace plugin {
class Network;
}
}  // namespace tutti::transport::net

namespace tutti::comm {

struct MeetOptions;
struct NetworkOffer;
class Profiles;

// Lives while Communicator::Create runs. Threads: one. An error of a step is the error of Create.
struct Creation {
  // `cancel`: CommunicatorOptions::cancel.
  Creation(Communicator::Impl& made, const std::atomic<bool>* cancel);
  ~Creation();

  // All steps of a communicator of several ranks, in the order in which they stand here. Every rank takes the same ones.
  Status Run();  // creation.cc
  // What this rank brings: its profile, its shared pages, and its black box in them.
  Status Offer();  // offer.cc
  // Finds the other ranks, maps the pages of each, and compares the settings of all.
  Status Meet();  // meet.cc
  // The host as a graph, as far as somebody asks for it: NCCL's files of it, and the log. Others hear of an error while they connect,
  // or, if they are on several hosts, in JoinHosts.
  Status LookAtMachine();  // look_at_machine.cc
  // Tells the others that this rank has mapped them all, and waits until all have.
  Status Connect();  // connect.cc
  // The machine's constants and the settings that hold for all.
  Status Agree();  // agree.cc
  // Where ranks are on several hosts: learns where the others can be called. Agrees on what those of one host have in common.
  Status JoinHosts();  // join_hosts.cc
  // The engine, how its waits spin, the view of all black boxes, and the planner.
  Status Start();  // start.cc
  // What the only rank of a communicator does instead of Run.
  Status RunAlone();  // alone.cc

  // Parts of the steps.
  MeetOptions Meeting() const;                   // meeting.cc
  std::span<const std::int32_t> HostOf() const;  // meet.cc; by rank; empty where all are on one host
  void CreateBlackBox();                         // black_boxes.cc
  Status OpenBlackBoxes();
  Status CreateBlankBox(std::size_t bytes);
  void SetSpins();           // start.cc
  void LogChannels() const;  // log_channels.cc
  // Waits until `ready`, before the deadline and while no peer fails. `what` completes "rank 3 of 4 ..." for errors.
  Status Await(const std::function<bool()>& ready, const char* what) const;  // await.cc
  enum class Probe : std::uint8_t { kNo, kYes };
  Status LookAtPeers(const std::function<bool()>& ready, Probe probe) const;
  Status Cancelled() const;
  // What carries data between hosts; null: TCP.
  Result<std::shared_ptr<transport::net::plugin::Network>> ChooseNetwork() const;  // choose_network.cc
  // What the others must have too.
  static NetworkOffer OfferOf(const transport::net::plugin::Network* network);
  // `offers`: of all ranks. TCP takes the place of what nobody has asked for and not all have.
  Status AgreeOnNetwork(std::span<const NetworkOffer> offers, std::shared_ptr<transport::net::plugin::Network>& chosen);
  Status OpenCourier(std::vector<transport::net::RemotePeer> remotes, std::shared_ptr<transport::net::Port> port,
                     std::shared_ptr<transport::net::plugin::Network> network);  // open_courier.cc
  // A tuner plugin, if there is one that begins. `network`: the plugin that carries data between hosts; null: none.
  void StartTuner(const transport::net::plugin::Network* network = nullptr);  // start_tuner.cc
  // "Example (v6)"; empty: there is none.
  std::string TunerTitle() const;
  // `titles`: of all ranks' tuners. Where they differ nobody uses one.
  void AgreeOnTuner(std::span<const std::string> titles);
  // Planner::Start's `open`.
  std::function<void(int peer)> LinkOpener() const;
  // This rank's cards in the order of their closeness to its data, and its device of a network (null: TCP).
  void ChooseCards(const transport::net::Port& port,
                   const transport::net::plugin::Network* network);  // choose_cards.cc

  Communicator::Impl& made;
  const std::atomic<bool>* const cancel;
  const std::int64_t deadline_ns;
  std::unique_ptr<Profiles> profiles;       // since Offer
  std::string network = "Socket";           // what carries data between hosts; since JoinHosts
  std::vector<transport::net::Card> cards;  // of this host, the closest to this rank's data first; likewise
  int device = 0, rail = 0;                 // of the network, that this rank uses; likewise
  std::vector<int> rails;                   // of the network's devices; likewise
  int flows_per_card = 1, movers = 0;       // with ranks of other hosts (share_of_cores.h); likewise
  Status looked = Status::Ok();             // LookAtMachine's
  bool with_rank_zero = true;               // it is on the same host; since Meet
  int common_cpus = 1;                      // processors that all ranks choose by, since Agree
  bool can_refer = false;  // ranks of one host may read each other's memory, and all can; since Connect
};

// A rank's number among those of its host.
int IndexOnHost(const Communicator::Impl& communicator);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_LIFE_CREATION_H_
