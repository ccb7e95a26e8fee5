// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_FABRIC_CONNECTION_H_
#define TUTTI_TRANSPORT_NET_FABRIC_CONNECTION_H_

// A connection over libfabric, which carries messages one way (fabric.h), and how it comes about. Nothing here waits: each call
// first takes what has come and posts what the provider had no room for, and so is the progress of providers without a thread.
// After an error every call answers it. What ends closes its endpoints first, so that nobody writes to memory that goes after.
//
// Threads: each object belongs to one thread at a time.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "transport/net/fabric/control.h"
#include "transport/net/fabric/endpoint.h"
#include "tutti/status.h"

namespace tutti::transport::net::fabric {

using Domains = std::vector<std::shared_ptr<Domain>>;  // a rail each

// Where a device can be called.
class Gate {
 public:
  static Result<std::unique_ptr<Gate>> Open(std::shared_ptr<Domain> domain, std::uint64_t token,
                                            plugin::Handle& handle);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  std::uint64_t token() const { return token_; }
  // Whether somebody has introduced himself.
  Result<bool> Next(Introduction& caller);

 private:
  struct Seat {
    Operation operation{.kind = Operation::Kind::kHeard};
    Introduction said;
    bool posted = false;
  };
  Gate() = default;
  Result<bool> Post(Seat& seat);

  std::uint64_t token_ = 0;
  std::array<Seat, 8> seats_{};
  std::unique_ptr<Endpoint> endpoint_;
  Memory memory_;
  std::deque<Introduction> heard_;
};

// What a caller has registered.
struct Registered {
  std::span<std::byte> bytes;
  std::vector<Memory> by_rail;
};

class Connection {
 public:
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  virtual ~Connection();

  Result<Registered*> Register(std::span<std::byte> memory);
  // Memory that a message may still be written to, or read from, goes with the connection.
  void Deregister(Registered* memory);

 protected:
  struct Write {
    Operation operation;
    std::size_t rail = 0;
    const std::byte* from = nullptr;
    std::size_t bytes = 0;
    void* descriptor = nullptr;
    std::uint64_t address = 0, key = 0, immediate = 0;
  };

  Connection() = default;
  Status Open(const Domains& rails);
  Result<Introduction> IntroduceSelf(std::uint64_t token) const;
  Status SendIntroduction(const Introduction& own, std::span<const std::byte> to);
  Status TakeInPeer(const Introduction& peer);
  std::size_t rails() const { return peers_.size(); }
  // Takes what has come, and posts what waits.
  Status Progress();
  Status Post(const Write& write);
  bool Virtual() const { return endpoints_[0]->domain().has(FI_MR_VIRT_ADDR); }
  virtual bool busy() const = 0;
  virtual Status Said(const Immediate& said) = 0;
  virtual void Written(const Operation& operation) = 0;

  struct Room {  // registered on every rail
    std::array<ControlEntry, kSlots> entries{};
    Introduction own, heard;
  };
  Room room_;
  std::vector<Memory> room_memory_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::vector<fi_addr_t> peers_;
  Operation introduction_{.kind = Operation::Kind::kIntroduction}, hearing_{.kind = Operation::Kind::kHeard};
  std::size_t heard_bytes_ = 0;
  bool met_ = false, introduced_ = false;

 private:
  Status Take(std::size_t rail);
  Status Handle(const fi_cq_data_entry& came);
  Status PostWaiting();
  long TryPost(Write& write);
  long TrySendIntroduction();

  fi_addr_t introduced_to_ = FI_ADDR_UNSPEC;
  bool introduction_waits_ = false;
  std::vector<std::unique_ptr<Write>> writes_;  // all that were ever needed
  std::vector<Write*> free_;
  std::deque<Write*> waiting_;
  std::vector<std::unique_ptr<Registered>> memory_;
  Status broken_;
};

// What Send and Receive hand out.
struct Request {
  Connection* of = nullptr;
  bool sends = false;
  bool used = false;
  std::uint32_t number = 0;
  std::uint32_t segments = 0, done = 0;  // 0: not known yet
};

class SendSide final : public Connection {
 public:
  static Result<std::unique_ptr<SendSide>> Call(const Domains& rails, const CallMe& place);
  // Whether the other side has answered.
  Result<bool> Meet();
  std::uint64_t token() const { return token_; }

  Result<Request*> Send(std::span<const std::byte> data, int tag, const Registered& memory, std::size_t segment_bytes);
  Result<bool> Test(Request& request);

 private:
  SendSide() = default;
  bool busy() const override;
  Status Said(const Immediate& said) override;
  void Written(const Operation& operation) override;

  std::uint64_t token_ = 0;
  std::uint32_t next_ = 0;                     // message
  std::array<ControlEntry, kSlots> places_{};  // copies of what the mailbox has told
  std::array<bool, kSlots> told_{};
  std::array<Request, kSlots> requests_{};
};

class ReceiveSide final : public Connection {
 public:
  static Result<std::unique_ptr<ReceiveSide>> Answer(const Domains& rails, const Introduction& caller);
  // Whether the answer has gone out.
  Result<bool> Meet();

  Result<Request*> Receive(std::span<std::byte> buffer, int tag, const Registered& memory);
  Result<bool> Test(Request& request);

 private:
  ReceiveSide() = default;
  bool busy() const override;
  Status Said(const Immediate& said) override;
  void Written(const Operation& operation) override;

  std::uint64_t mailbox_ = 0;
  std::array<std::uint64_t, kMostRails> keys_{};
  std::uint32_t next_ = 0;
  std::array<bool, kSlots> entry_is_out_{};
  std::array<Request, kSlots> requests_{};
};

}  // namespace tutti::transport::net::fabric

#endif  // TUTTI_TRANSPORT_NET_FABRIC_CONNECTION_H_
