// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/fabric/connection.h"

#include <fmt/format.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tutti::transport::net::fabric {
namespace {

constexpr std::size_t kAtATime = 16;      // completions
constexpr std::size_t kMostUnheard = 64;  // introductions that nobody has asked for yet

Status Impossible(const char* what) {
  return Status(Code::kRemote, fmt::format("{} has come over the network Libfabric, which cannot be; look whether all "
                                           "hosts run the same build of Tutti",
                                           what));
}

}  // namespace

Result<std::unique_ptr<Gate>> Gate::Open(std::shared_ptr<Domain> domain, std::uint64_t token, plugin::Handle& handle) {
  std::unique_ptr<Gate> made(new Gate);
  made->token_ = token;
  Result<std::unique_ptr<Endpoint>> endpoint = Endpoint::Open(std::move(domain));
  if (!endpoint.ok()) return endpoint.status();
  made->endpoint_ = std::move(*endpoint);
  Result<Memory> memory = made->endpoint_->Register(std::as_writable_bytes(std::span(made->seats_)));
  if (!memory.ok()) return memory.status();
  made->memory_ = std::move(*memory);
  const Result<std::vector<std::byte>> name = made->endpoint_->Name();
  if (!name.ok()) return name.status();
  CallMe place{.form = kHandleForm, .token = token, .name_bytes = name->size()};
  if (name->size() > place.name.size()) {
    return Status(Code::kUnsupported,
                  fmt::format("an address of {} has {} bytes, for which a listener's handle has no room; "
                              "choose another provider by FI_PROVIDER",
                              made->endpoint_->domain().name(), name->size()));
  }
  std::ranges::copy(*name, place.name.begin());
  std::memcpy(handle.bytes.data(), &place, sizeof(place));
  for (Seat& seat : made->seats_) {
    if (const Result<bool> posted = made->Post(seat); !posted.ok()) return posted.status();
  }
  return made;
}

Gate::~Gate() {
  if (endpoint_ != nullptr && endpoint_->domain().has(FI_MR_ENDPOINT)) memory_ = {};
  endpoint_.reset();
}

Result<bool> Gate::Post(Seat& seat) {
  const long answer =
      fi_recv(endpoint_->get(), &seat.said, sizeof(seat.said), memory_.Descriptor(), FI_ADDR_UNSPEC, &seat.operation);
  if (answer != 0 && answer != -FI_EAGAIN) return endpoint_->domain().Answer("fi_recv", answer);
  seat.posted = answer == 0;
  return seat.posted;
}

Result<bool> Gate::Next(Introduction& caller) {
  fi_cq_data_entry came[kAtATime];
  Operation* failed = nullptr;
  const Result<std::size_t> count = endpoint_->Poll(came, &failed);
  // A caller that goes away harms nobody else.
  if (!count.ok() && failed == nullptr && count.status().code() != Code::kRemote) return count.status();
  for (std::size_t i = 0; count.ok() && i < *count; ++i) {
    const auto seat =
        std::ranges::find_if(seats_, [&](const Seat& one) { return &one.operation == came[i].op_context; });
    if (seat == seats_.end()) continue;
    seat->posted = false;
    Introduction said;
    const auto bytes = std::as_bytes(std::span(&seat->said, 1)).first(std::min(came[i].len, sizeof(said)));
    if (CheckIntroduction(bytes, token_, said).ok() && heard_.size() < kMostUnheard) heard_.push_back(said);
  }
  for (Seat& seat : seats_) {
    if (&seat.operation == failed) seat.posted = false;
    if (seat.posted) continue;
    if (const Result<bool> posted = Post(seat); !posted.ok()) return posted.status();
  }
  if (heard_.empty()) return false;
  caller = heard_.front();
  heard_.pop_front();
  return true;
}

Connection::~Connection() {
  if (!endpoints_.empty() && endpoints_[0]->domain().has(FI_MR_ENDPOINT)) {
    memory_.clear();
    room_memory_.clear();
  }
  endpoints_.clear();
}

Status Connection::Open(const Domains& rails) {
  const auto room = std::as_writable_bytes(std::span(&room_, 1));
  for (const std::shared_ptr<Domain>& rail : rails) {
    Result<std::unique_ptr<Endpoint>> endpoint = Endpoint::Open(rail);
    if (!endpoint.ok()) return endpoint.status();
    endpoints_.push_back(std::move(*endpoint));
    Result<Memory> memory = endpoints_.back()->Register(room);
    if (!memory.ok()) return memory.status();
    room_memory_.push_back(std::move(*memory));
  }
  return Status::Ok();
}

Result<Introduction> Connection::IntroduceSelf(std::uint64_t token) const {
  std::vector<std::vector<std::byte>> names;
  for (const auto& endpoint : endpoints_) {
    Result<std::vector<std::byte>> name = endpoint->Name();
    if (!name.ok()) return name.status();
    names.push_back(std::move(*name));
  }
  Introduction own = Introduce(token, names);
  for (std::size_t i = 0; i < room_memory_.size(); ++i) own.keys[i] = room_memory_[i].Key();
  const auto* mailbox = reinterpret_cast<const std::byte*>(room_.entries.data());
  const auto* base = reinterpret_cast<const std::byte*>(&room_);
  own.mailbox = Virtual() ? reinterpret_cast<std::uint64_t>(mailbox) : static_cast<std::uint64_t>(mailbox - base);
  return own;
}

Status Connection::SendIntroduction(const Introduction& own, std::span<const std::byte> to) {
  room_.own = own;
  const Result<fi_addr_t> address = endpoints_[0]->TakeIn(to);
  if (!address.ok()) return address.status();
  introduced_to_ = *address;
  introduction_waits_ = true;
  return Progress();
}

Status Connection::TakeInPeer(const Introduction& peer) {
  for (std::size_t i = 0; i < std::min<std::size_t>(peer.rails, endpoints_.size()); ++i) {
    const Result<fi_addr_t> address = endpoints_[i]->TakeIn(std::span(peer.names[i]).first(peer.name_bytes[i]));
    if (!address.ok()) return address.status();
    peers_.push_back(*address);
  }
  return Status::Ok();
}

Result<Registered*> Connection::Register(std::span<std::byte> memory) {
  auto made = std::make_unique<Registered>(Registered{.bytes = memory});
  for (const auto& endpoint : endpoints_) {
    Result<Memory> region = endpoint->Register(memory);
    if (!region.ok()) return region.status();
    made->by_rail.push_back(std::move(*region));
  }
  memory_.push_back(std::move(made));
  return memory_.back().get();
}

void Connection::Deregister(Registered* memory) {
  if (busy()) return;
  std::erase_if(memory_, [&](const auto& own) { return own.get() == memory; });
}

long Connection::TryPost(Write& write) {
  return fi_writedata(endpoints_[write.rail]->get(), write.from, write.bytes, write.descriptor, write.immediate,
                      peers_[write.rail], write.address, write.key, &write.operation);
}

long Connection::TrySendIntroduction() {
  return fi_send(endpoints_[0]->get(), &room_.own, sizeof(room_.own), room_memory_[0].Descriptor(), introduced_to_,
                 &introduction_);
}

Status Connection::PostWaiting() {
  if (introduction_waits_) {
    const long answer = TrySendIntroduction();
    if (answer != 0 && answer != -FI_EAGAIN) return endpoints_[0]->domain().Answer("fi_send", answer);
    introduction_waits_ = answer != 0;
  }
  while (!waiting_.empty()) {
    const long answer = TryPost(*waiting_.front());
    if (answer == -FI_EAGAIN) break;
    if (answer != 0) return endpoints_[waiting_.front()->rail]->domain().Answer("fi_writedata", answer);
    waiting_.pop_front();
  }
  return Status::Ok();
}

Status Connection::Post(const Write& write) {
  if (free_.empty()) {
    writes_.push_back(std::make_unique<Write>());
    free_.push_back(writes_.back().get());
  }
  Write* const own = free_.back();
  free_.pop_back();
  *own = write;
  waiting_.push_back(own);
  return waiting_.size() == 1 ? broken_ = PostWaiting() : Status::Ok();
}

Status Connection::Handle(const fi_cq_data_entry& came) {
  if ((came.flags & FI_REMOTE_CQ_DATA) != 0) return Said(DecodeImmediate(came.data));
  auto* const operation = static_cast<Operation*>(came.op_context);
  if (operation == nullptr) return Status::Ok();
  if (operation == &introduction_) {
    introduced_ = true;
    return Status::Ok();
  }
  if (operation == &hearing_) {
    heard_bytes_ = came.len;
    return Status::Ok();
  }
  Written(*operation);
  free_.push_back(reinterpret_cast<Write*>(operation));  // its first member
  return Status::Ok();
}

Status Connection::Take(std::size_t rail) {
  fi_cq_data_entry came[kAtATime];
  Operation* failed = nullptr;
  const Result<std::size_t> count = endpoints_[rail]->Poll(came, &failed);
  // Who has answered has heard the introduction, whatever has become of the message.
  if (!count.ok()) return failed == &introduction_ && met_ ? Status::Ok() : count.status();
  for (std::size_t i = 0; i < *count; ++i) TUTTI_RETURN_IF_ERROR(Handle(came[i]));
  return Status::Ok();
}

Status Connection::Progress() {
  for (std::size_t rail = 0; broken_.ok() && rail < endpoints_.size(); ++rail) broken_ = Take(rail);
  if (broken_.ok()) broken_ = PostWaiting();
  return broken_;
}

Result<std::unique_ptr<SendSide>> SendSide::Call(const Domains& rails, const CallMe& place) {
  std::unique_ptr<SendSide> made(new SendSide);
  made->token_ = place.token;
  TUTTI_RETURN_IF_ERROR(made->Open(rails));
  Endpoint& first = *made->endpoints_[0];
  const long answer = fi_recv(first.get(), &made->room_.heard, sizeof(Introduction), made->room_memory_[0].Descriptor(),
                              FI_ADDR_UNSPEC, &made->hearing_);
  if (answer != 0) return first.domain().Answer("fi_recv", answer);
  const Result<Introduction> own = made->IntroduceSelf(place.token);
  if (!own.ok()) return own.status();
  TUTTI_RETURN_IF_ERROR(made->SendIntroduction(*own, std::span(place.name).first(place.name_bytes)));
  return made;
}

Result<bool> SendSide::Meet() {
  TUTTI_RETURN_IF_ERROR(Progress());
  if (heard_bytes_ == 0) return false;
  Introduction peer;
  const auto said = std::as_bytes(std::span(&room_.heard, 1)).first(std::min(heard_bytes_, sizeof(Introduction)));
  TUTTI_RETURN_IF_ERROR(CheckIntroduction(said, token_, peer));
  TUTTI_RETURN_IF_ERROR(TakeInPeer(peer));
  met_ = true;
  return true;
}

bool SendSide::busy() const { return std::ranges::any_of(requests_, &Request::used); }

// The mailbox has an entry. It is copied before it is checked, since the other side can write there at any time.
Status SendSide::Said(const Immediate& said) {
  const std::uint32_t ahead = (said.number - next_) & kNumberMask;
  if (!said.control || said.segments != 0 || ahead >= kSlots) return Impossible("a word on a place for a message");
  const std::uint32_t number = next_ + ahead;
  const std::size_t slot = number % kSlots;
  if (told_[slot]) return Impossible("a second place for a message");
  places_[slot] = room_.entries[slot];
  told_[slot] = true;
  return CheckEntry(places_[slot], number);
}

void SendSide::Written(const Operation& operation) { ++requests_[operation.slot].done; }

Result<Request*> SendSide::Send(std::span<const std::byte> data, int tag, const Registered& memory,
                                std::size_t segment_bytes) {
  TUTTI_RETURN_IF_ERROR(Progress());
  const std::size_t slot = next_ % kSlots;
  Request& request = requests_[slot];
  if (request.used || !std::exchange(told_[slot], false)) return static_cast<Request*>(nullptr);
  const ControlEntry place = places_[slot];
  if (place.tag != tag || data.size() > place.bytes) return Impossible("a place that does not fit the message");
  const std::vector<Segment> segments = Cut(data.size(), rails(), segment_bytes, next_);
  if (segments.size() > kMostSegments) return Impossible("a message of too many segments");
  request = {.of = this,
             .sends = true,
             .used = true,
             .number = next_,
             .segments = static_cast<std::uint32_t>(segments.size())};
  const std::uint64_t immediate = Encode({.number = next_, .segments = request.segments});
  ++next_;
  for (const Segment& segment : segments) {
    Write write{.rail = segment.rail,
                .from = data.data() + segment.offset,
                .bytes = segment.bytes,
                .descriptor = memory.by_rail[segment.rail].Descriptor(),
                .address = place.address + segment.offset,
                .key = place.keys[segment.rail],
                .immediate = immediate};
    write.operation.slot = slot;
    TUTTI_RETURN_IF_ERROR(Post(write));
  }
  return &request;
}

Result<bool> SendSide::Test(Request& request) {
  TUTTI_RETURN_IF_ERROR(Progress());
  if (request.done < request.segments) return false;
  request.used = false;
  return true;
}

Result<std::unique_ptr<ReceiveSide>> ReceiveSide::Answer(const Domains& rails, const Introduction& caller) {
  std::unique_ptr<ReceiveSide> made(new ReceiveSide);
  const Domains used(rails.begin(), rails.begin() + std::min<std::ptrdiff_t>(caller.rails, std::ssize(rails)));
  TUTTI_RETURN_IF_ERROR(made->Open(used));
  TUTTI_RETURN_IF_ERROR(made->TakeInPeer(caller));
  made->mailbox_ = caller.mailbox;
  made->keys_ = caller.keys;
  const Result<Introduction> own = made->IntroduceSelf(caller.token);
  if (!own.ok()) return own.status();
  TUTTI_RETURN_IF_ERROR(made->SendIntroduction(*own, std::span(caller.names[0]).first(caller.name_bytes[0])));
  return made;
}

Result<bool> ReceiveSide::Meet() {
  TUTTI_RETURN_IF_ERROR(Progress());
  return introduced_;
}

bool ReceiveSide::busy() const { return std::ranges::any_of(requests_, &Request::used); }

// A segment of a message is there.
Status ReceiveSide::Said(const Immediate& said) {
  met_ = true;
  const auto request = std::ranges::find_if(
      requests_, [&](const Request& one) { return one.used && (one.number & kNumberMask) == said.number; });
  if (said.control || request == requests_.end()) return Impossible("a segment of a message that nobody awaits");
  if (said.segments == 0 || (request->done > 0 && request->segments != said.segments)) {
    return Impossible("a segment that does not say how many there are");
  }
  request->segments = said.segments;
  if (++request->done > said.segments) return Impossible("a segment more than the message has");
  return Status::Ok();
}

void ReceiveSide::Written(const Operation& operation) { entry_is_out_[operation.slot] = false; }

Result<Request*> ReceiveSide::Receive(std::span<std::byte> buffer, int tag, const Registered& memory) {
  TUTTI_RETURN_IF_ERROR(Progress());
  const std::size_t slot = next_ % kSlots;
  Request& request = requests_[slot];
  if (request.used || entry_is_out_[slot]) return static_cast<Request*>(nullptr);
  ControlEntry& entry = room_.entries[slot];
  entry = {.bytes = buffer.size(), .number = next_, .tag = tag, .form = kEntryForm};
  entry.address = Virtual() ? reinterpret_cast<std::uint64_t>(buffer.data())
                            : static_cast<std::uint64_t>(buffer.data() - memory.bytes.data());
  for (std::size_t i = 0; i < rails(); ++i) entry.keys[i] = memory.by_rail[i].Key();
  request = {.of = this, .used = true, .number = next_};
  const std::size_t rail = next_ % rails();
  Write write{.rail = rail,
              .from = reinterpret_cast<const std::byte*>(&entry),
              .bytes = sizeof(entry),
              .descriptor = room_memory_[rail].Descriptor(),
              .address = mailbox_ + slot * sizeof(entry),
              .key = keys_[rail],
              .immediate = Encode({.control = true, .number = next_})};
  write.operation = {.kind = Operation::Kind::kEntry, .slot = slot};
  entry_is_out_[slot] = true;
  ++next_;
  TUTTI_RETURN_IF_ERROR(Post(write));
  return &request;
}

Result<bool> ReceiveSide::Test(Request& request) {
  TUTTI_RETURN_IF_ERROR(Progress());
  if (request.segments == 0 || request.done < request.segments) return false;
  request.used = false;
  return true;
}

}  // namespace tutti::transport::net::fabric
