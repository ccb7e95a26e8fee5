// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_WIRE_H_
#define TUTTI_TRANSPORT_NET_WIRE_H_

// What carries frames (frame.h) between two ranks in order, both ways, without waiting: one connection, over whatever network.
// A pair of ranks may have several (flow.h).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/net/frame.h"
#include "transport/remote.h"
#include "tutti/status.h"

namespace tutti::transport::net {

// Takes what comes over a wire. An error ends the wire.
class FrameSink {
 public:
  // A frame has begun. Where its payload shall go; null: it is handed to End as a whole.
  virtual Result<std::byte*> Begin(const FrameHeader& header) = 0;
  // All of it has come.
  virtual Status End(const FrameHeader& header, std::span<const std::byte> payload) = 0;

 protected:
  ~FrameSink() = default;
};

// Threads: one at a time.
class Wire {
 public:
  virtual ~Wire() = default;

  // Which one it is, for sentences: "10.0.0.2:41000 to 10.0.0.1:500".
  virtual std::string Name() const = 0;

  // Whether another frame can be added; and whether something of those added has not been handed to the system.
  virtual bool HasRoom() const = 0;
  virtual bool busy() const = 0;
  // Whether Send or Receive must be called before all of it leaves this host.
  virtual bool unfinished() const = 0;
  // REQUIRES: HasRoom(), and the payload stays where it is and as it is until it is sent.
  virtual void Add(FrameHeader header, std::span<const std::byte> payload) = 0;
  // The same for a payload that the wire keeps.
  virtual void AddOwned(FrameHeader header, std::vector<std::byte> payload) = 0;
  // Sends as much as can be sent now. Whether that was anything.
  virtual Result<bool> Send() = 0;
  // Bytes that were added so far, headers included; and those of them that are not known to have reached the other host.
  virtual std::uint64_t Added() const = 0;
  virtual std::size_t Backlog() const = 0;
  // Whether these wait for the other process, and not for the network. None: it is not known.
  virtual std::optional<bool> WaitsForRoom() const = 0;
  // What has gone over it, as the system counts it. None: it does not.
  virtual std::optional<transport::Traffic> Traffic() const { return std::nullopt; }

  // Takes what has come, up to the end of a piece of data. Whether that was anything.
  virtual Result<bool> Receive(FrameSink& sink) = 0;
  // A payload has begun that a sink had a place for: what of it has not come goes into this memory, as large as the payload, instead.
  virtual void Divert(std::byte* instead) = 0;

  // What becomes readable when something has come; -1: nothing that can be waited for.
  virtual int fd() const = 0;
};

}  // namespace tutti::transport::net

#endif  // TUTTI_TRANSPORT_NET_WIRE_H_
