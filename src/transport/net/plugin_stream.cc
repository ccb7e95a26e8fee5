// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/plugin_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <list>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sys/net/tcp.h"
#include "sys/os/clock.h"
#include "transport/net/plugin/catalog.h"
#include "transport/net/plugin/comm.h"
#include "transport/net/stream.h"

namespace tutti::transport::net {
namespace {

constexpr std::uint32_t kForm = 0x31505454;           // of what follows
constexpr std::size_t kMostMessageBytes = 256 << 10;  // long enough to be split among rails (fabric/control.h)
constexpr std::size_t kSlots = 8;  // messages of each direction at a time: as many as every version allows
constexpr std::size_t kMostCallers = 8;
constexpr std::int64_t kSetUpNs = 20 * sys::kNsPerSecond;  // from when the peer has said where it listens
constexpr std::int64_t kGraceNs = 200 * sys::kNsPerMs;     // that messages may come after the control connection's end
constexpr std::int64_t kSilentNs = 3 * sys::kNsPerSecond;  // that a caller may say nothing before others are heard
constexpr std::int64_t kWaitedNs = 20 * sys::kNsPerMs;     // an accept that takes longer has waited for a caller
constexpr std::int64_t kLookNs = sys::kNsPerMs;            // from one look at the control connection to the next
constexpr std::byte kCalled{1};
constexpr int kTag = 0;

// Where a side's plugin listens.
struct Place {
  std::uint32_t form = kForm;
  std::uint32_t message_bytes = 0;
  plugin::Handle handle;
  sys::Mac code{};
};
static_assert(sizeof(Place) == 168 && std::is_trivially_copyable_v<Place>);

struct Message {
  std::uint32_t bytes = 0;
  std::uint32_t number = 0;
};

sys::Mac CodeOf(const sys::Key& session, std::string_view purpose, const Place& place) {
  const auto bytes = std::as_bytes(std::span(&place, 1)).first(offsetof(Place, code));
  return sys::ComputeMac(session, {sys::Bytes(purpose), bytes});
}

// A caller of the own listener, until it has said who it is.
struct Stranger {
  std::unique_ptr<sys::Mac> said = std::make_unique<sys::Mac>();  // goes after the comm that writes to it
  std::unique_ptr<plugin::ReceiveComm> comm;
  void* memory = nullptr;
  bool listening = false;
  std::int64_t came_ns = 0;
};

class PluginStream final : public Stream {
 public:
  PluginStream(PluginStreamOptions options, sys::TcpConnection control, std::unique_ptr<plugin::Listener> listener)
      : options_(std::move(options)), control_(std::move(control)) {
    meeting_.listener = std::move(listener);
    const std::size_t most = options_.network->devices()[static_cast<std::size_t>(options_.device)].max_bytes;
    meeting_.own.message_bytes = static_cast<std::uint32_t>(std::min(most, kMostMessageBytes));
    meeting_.own.handle = meeting_.listener->handle();
    meeting_.own.code = CodeOf(options_.session, "tutti plugin place", meeting_.own);
  }

  std::string Name() const override {
    const plugin::Network& network = *options_.network;
    return fmt::format("NET/{}/{} beside {}", network.plugin().name(), options_.device, control_.Name());
  }
  bool busy() const override { return !ready() || has_unsent_ || sender_->in_flight() > 0; }
  std::optional<bool> WaitsForRoom() const override { return std::nullopt; }  // plugins do not say
  std::size_t Unacknowledged() const override {
    if (!ready()) return 1;
    return (sender_->in_flight() + (has_unsent_ ? 1 : 0)) * message_bytes_;
  }
  int fd() const override { return -1; }

  Result<std::size_t> TrySend(std::span<const std::span<const std::byte>> pieces) override;
  Result<std::size_t> TryReceive(std::span<const std::span<std::byte>> buffers) override;

 private:
  bool ready() const { return sender_ != nullptr && meeting_.told_call && meeting_.said_who && receiver_ != nullptr; }

  Status SetUp();
  Status TellPlace();
  Status HearPlace();
  Status Call();
  Status TellCall();
  Status HearCall();
  Status SayWho();
  Status Answer();
  Result<bool> Hear(Stranger& stranger);
  Status Welcome(Stranger& stranger);

  Status SendSlot();
  Status Reap();
  // Sends on what was taken.
  void MoveOn();
  // What the peer has said before is still read, for a moment.
  void End(const Status& why);
  Status PostReceives();
  Status LookForEnd();
  Result<bool> NextMessage();

  std::byte* OutSlot(std::uint32_t i) { return out_.data() + i % kSlots * message_bytes_; }
  std::byte* InSlot(std::uint32_t i) { return in_.data() + i % kSlots * meeting_.own.message_bytes; }

  const PluginStreamOptions options_;
  sys::TcpConnection control_;

  struct Meeting {  // until both directions are there
    std::unique_ptr<plugin::Listener> listener;
    Place own, theirs;
    std::size_t told = 0, heard = 0;  // bytes of these
    std::int64_t deadline_ns = 0;
    std::unique_ptr<plugin::Connector> connector;
    std::list<Stranger> strangers;
    bool accept_waits = false;
    bool has_called = false, told_call = false, peer_has_called = false, said_who = false;
  };
  Meeting meeting_;

  // The memory goes after the comms that it is registered with.
  std::vector<std::byte> out_, in_;
  std::unique_ptr<plugin::SendComm> sender_;
  void* out_memory_ = nullptr;
  std::size_t message_bytes_ = 0;  // of what is sent
  std::uint32_t filled_ = 0;       // messages
  bool has_unsent_ = false;        // the last of them was not taken yet
  std::size_t unsent_bytes_ = 0;

  std::unique_ptr<sys::Mac> said_;  // the first message
  std::unique_ptr<plugin::ReceiveComm> receiver_;
  void* in_memory_ = nullptr;
  std::uint32_t posted_ = 0, came_ = 0;  // messages
  std::size_t read_ = 0, readable_ = 0;  // bytes of the one that came last
  Status broken_;                        // no more messages can come; those that have come still count
  // Nothing can be sent any more, or the control connection has ended.
  Status why_ended_;
  std::int64_t ended_ns_ = 0, looked_ns_ = 0;
};

Status Strange(const std::string& peer, const char* what) {
  return Status(Code::kRemote, fmt::format("{}: {} over the network plugin, which cannot be", peer, what));
}

Status PluginStream::TellPlace() {
  const std::span<const std::byte> rest = std::as_bytes(std::span(&meeting_.own, 1)).subspan(meeting_.told);
  // What was said right behind the hello's last message, which the caller reads, may be read with it and be lost.
  if (rest.empty() || (options_.called && meeting_.heard < sizeof(Place))) return Status::Ok();
  const Result<std::size_t> sent = control_.TrySend(std::span(&rest, 1));
  if (!sent.ok()) return sent.status();
  meeting_.told += *sent;
  return Status::Ok();
}

Status PluginStream::HearPlace() {
  const std::span<std::byte> rest = std::as_writable_bytes(std::span(&meeting_.theirs, 1)).subspan(meeting_.heard);
  if (rest.empty()) return Status::Ok();
  const Result<std::size_t> came = control_.TryReceive(std::span(&rest, 1));
  if (!came.ok()) return came.status();
  meeting_.heard += *came;
  if (meeting_.heard < sizeof(Place)) return Status::Ok();
  if (meeting_.theirs.form != kForm ||
      !sys::SameMac(meeting_.theirs.code, CodeOf(options_.session, "tutti plugin place", meeting_.theirs)) ||
      meeting_.theirs.message_bytes <= sizeof(Message) || meeting_.theirs.message_bytes > kMostMessageBytes) {
    return Strange(options_.peer, "a place has come that is none");
  }
  message_bytes_ = std::min(meeting_.theirs.message_bytes, meeting_.own.message_bytes);
  meeting_.deadline_ns = sys::NowNs() + kSetUpNs;
  meeting_.connector = std::make_unique<plugin::Connector>(options_.network, options_.device, meeting_.theirs.handle,
                                                           options_.peer, meeting_.deadline_ns);
  return Status::Ok();
}

Status PluginStream::TellCall() {
  if (meeting_.told_call) return Status::Ok();
  const std::span<const std::byte> word(&kCalled, 1);
  const Result<std::size_t> sent = control_.TrySend(std::span(&word, 1));
  if (!sent.ok()) return sent.status();
  meeting_.told_call = *sent == 1;
  return Status::Ok();
}

Status PluginStream::HearCall() {
  std::byte said;
  const std::span<std::byte> word(&said, 1);
  const Result<std::size_t> came = control_.TryReceive(std::span(&word, 1));
  if (!came.ok()) return came.status();
  if (*came == 0) return Status::Ok();
  if (said != kCalled) return Strange(options_.peer, "an unknown word has come");
  meeting_.peer_has_called = true;
  return Status::Ok();
}

Status PluginStream::Call() {
  meeting_.has_called = true;
  Result<std::unique_ptr<plugin::SendComm>> sender = meeting_.connector->TryConnect();
  if (!sender.ok()) return sender.status();
  if (*sender == nullptr) return Status::Ok();
  out_.resize(kSlots * message_bytes_);
  const Result<void*> memory = (*sender)->Register(out_);
  if (!memory.ok()) return memory.status();
  out_memory_ = *memory;
  sender_ = std::move(*sender);
  meeting_.connector.reset();
  const sys::Mac code = CodeOf(options_.session, "tutti plugin comm", meeting_.theirs);
  std::memcpy(OutSlot(0), code.data(), code.size());
  return Status::Ok();
}

Status PluginStream::SayWho() {
  const Result<bool> took = sender_->Send({OutSlot(0), sizeof(sys::Mac)}, kTag, out_memory_);
  if (!took.ok()) return took.status();
  if (!*took) return Status::Ok();
  meeting_.said_who = true;
  ++filled_;
  return Status::Ok();
}

// Whether the stranger has said who it is, and is the peer.
Result<bool> PluginStream::Hear(Stranger& stranger) {
  const std::span<std::byte> said(*stranger.said);
  if (!stranger.listening) {
    if (stranger.memory == nullptr) {
      const Result<void*> memory = stranger.comm->Register(said);
      if (!memory.ok()) return memory.status();
      stranger.memory = *memory;
    }
    const Result<bool> took = stranger.comm->Receive(said, kTag, stranger.memory);
    if (!took.ok()) return took.status();
    stranger.listening = *took;
  }
  const Result<bool> came = stranger.comm->TestOldest();
  if (!came.ok() || !*came) return came;
  if (sys::SameMac(*stranger.said, CodeOf(options_.session, "tutti plugin comm", meeting_.own))) return true;
  return Strange(options_.peer, "somebody else has called");
}

Status PluginStream::Welcome(Stranger& stranger) {
  in_.resize(kSlots * meeting_.own.message_bytes);
  const Result<void*> memory = stranger.comm->Register(in_);
  if (!memory.ok()) return memory.status();
  in_memory_ = *memory;
  receiver_ = std::move(stranger.comm);
  said_ = std::move(stranger.said);
  meeting_.strangers.clear();
  meeting_.listener.reset();
  return PostReceives();
}

// Takes callers until one has proven that it is the peer. Who cannot is dropped, and who says nothing makes room for others.
Status PluginStream::Answer() {
  // An accept that waits for a caller would wait for ever once the peer has come.
  const std::int64_t now_ns = sys::NowNs();
  if (meeting_.strangers.empty() ||
      (!meeting_.accept_waits && now_ns - meeting_.strangers.back().came_ns > kSilentNs)) {
    Result<std::unique_ptr<plugin::ReceiveComm>> caller = meeting_.listener->TryAccept();
    if (!caller.ok()) return caller.status();
    meeting_.accept_waits = meeting_.accept_waits || sys::NowNs() - now_ns > kWaitedNs;
    if (*caller != nullptr) {
      if (meeting_.strangers.size() == kMostCallers) meeting_.strangers.pop_front();
      meeting_.strangers.emplace_back().comm = std::move(*caller);
      meeting_.strangers.back().came_ns = now_ns;
    }
  }
  for (auto stranger = meeting_.strangers.begin(); stranger != meeting_.strangers.end();) {
    const Result<bool> known = Hear(*stranger);
    if (known.ok() && *known) return Welcome(*stranger);
    stranger = known.ok() ? std::next(stranger) : meeting_.strangers.erase(stranger);
  }
  return Status::Ok();
}

Status PluginStream::SetUp() {
  TUTTI_RETURN_IF_ERROR(HearPlace());
  TUTTI_RETURN_IF_ERROR(TellPlace());
  // Both directions in turn: a plugin may do nothing for one while the other is not asked.
  if (meeting_.connector != nullptr) TUTTI_RETURN_IF_ERROR(Call());
  if (sender_ != nullptr && !meeting_.said_who) TUTTI_RETURN_IF_ERROR(SayWho());
  // The accept of some plugins waits for a caller, and of others neither side gets anywhere while the other does not ask.
  if (meeting_.has_called) TUTTI_RETURN_IF_ERROR(TellCall());
  if (meeting_.heard == sizeof(Place) && !meeting_.peer_has_called) TUTTI_RETURN_IF_ERROR(HearCall());
  if (meeting_.listener != nullptr && meeting_.peer_has_called) TUTTI_RETURN_IF_ERROR(Answer());
  if (sender_ != nullptr) TUTTI_RETURN_IF_ERROR(Reap());
  if (meeting_.peer_has_called) TUTTI_RETURN_IF_ERROR(LookForEnd());
  if (ready() || meeting_.heard < sizeof(Place) || sys::NowNs() < meeting_.deadline_ns) return Status::Ok();
  return Status(Code::kTimeout,
                fmt::format("{}: the network plugin {} has connected one way only within {} s; look whether both "
                            "hosts can call each other over its network",
                            options_.peer, options_.network->plugin().Title(), kSetUpNs / sys::kNsPerSecond));
}

Status PluginStream::Reap() {
  while (true) {
    const Result<bool> ended = sender_->TestOldest();
    if (!ended.ok()) return ended.status();
    if (!*ended) return Status::Ok();
  }
}

Status PluginStream::SendSlot() {
  const Result<bool> took = sender_->Send({OutSlot(filled_), unsent_bytes_}, kTag, out_memory_);
  if (!took.ok()) return took.status();
  has_unsent_ = !*took;
  if (*took) ++filled_;
  return Status::Ok();
}

void PluginStream::End(const Status& why) {
  if (ended_ns_ != 0) return;
  why_ended_ = why;
  ended_ns_ = sys::NowNs();
}

void PluginStream::MoveOn() {
  if (ended_ns_ != 0) return;
  Status status = Reap();
  if (status.ok() && has_unsent_) status = SendSlot();
  if (!status.ok()) End(status);
}

Result<std::size_t> PluginStream::TrySend(std::span<const std::span<const std::byte>> pieces) {
  if (!ready()) {
    TUTTI_RETURN_IF_ERROR(SetUp());
    if (!ready()) return std::size_t{0};
  }
  MoveOn();
  if (ended_ns_ != 0) return why_ended_;
  std::size_t taken = 0, piece = 0, at = 0;
  while (!has_unsent_ && sender_->in_flight() < kSlots) {
    std::byte* const slot = OutSlot(filled_);
    std::size_t bytes = 0;
    const std::size_t room = message_bytes_ - sizeof(Message);
    while (piece < pieces.size() && bytes < room) {
      const std::size_t part = std::min(room - bytes, pieces[piece].size() - at);
      std::memcpy(slot + sizeof(Message) + bytes, pieces[piece].data() + at, part);
      bytes += part;
      at += part;
      if (at == pieces[piece].size()) ++piece, at = 0;
    }
    if (bytes == 0) break;
    const Message message{.bytes = static_cast<std::uint32_t>(bytes), .number = filled_};
    std::memcpy(slot, &message, sizeof(message));
    unsent_bytes_ = sizeof(message) + bytes;
    taken += bytes;
    if (const Status sent = SendSlot(); !sent.ok()) {
      End(sent);
      return sent;
    }
  }
  return taken;
}

// One slot stays out while its message is read.
Status PluginStream::PostReceives() {
  const std::uint32_t held = read_ < readable_ ? 1 : 0;
  while (posted_ - came_ + held < kSlots && receiver_->HasRoom()) {
    const Result<bool> took = receiver_->Receive({InSlot(posted_), meeting_.own.message_bytes}, kTag, in_memory_);
    if (!took.ok()) return took.status();
    if (!*took) return Status::Ok();
    ++posted_;
  }
  return Status::Ok();
}

// The control connection says nothing any more; it may end. Messages that are under way still count, for a moment.
Status PluginStream::LookForEnd() {
  const std::int64_t now_ns = sys::NowNs();
  if (ended_ns_ == 0 && now_ns - looked_ns_ >= kLookNs) {
    looked_ns_ = now_ns;
    std::byte unexpected;
    const std::span<std::byte> buffer(&unexpected, 1);
    const Result<std::size_t> came = control_.TryReceive(std::span(&buffer, 1));
    if (came.ok() && *came > 0) return Strange(options_.peer, "something was said on the control connection");
    if (!came.ok()) End(came.status());
  }
  return ended_ns_ == 0 || now_ns - ended_ns_ < kGraceNs ? Status::Ok() : why_ended_;
}

// Whether another message has come; then its bytes can be read.
Result<bool> PluginStream::NextMessage() {
  std::int64_t said_bytes = -1;
  const Result<bool> came = receiver_->TestOldest(&said_bytes);
  if (!came.ok() || !*came) return came;
  Message message;
  std::memcpy(&message, InSlot(came_), sizeof(message));
  const std::size_t room = meeting_.own.message_bytes - sizeof(message);
  const bool fits = said_bytes < 0 || said_bytes == static_cast<std::int64_t>(message.bytes + sizeof(message));
  if (message.number != came_ + 1 || message.bytes == 0 || message.bytes > room || !fits) {
    return Strange(options_.peer, "a message has come out of its order or length");
  }
  ++came_;
  read_ = 0;
  readable_ = message.bytes;
  return true;
}

Result<std::size_t> PluginStream::TryReceive(std::span<const std::span<std::byte>> buffers) {
  if (!ready()) {
    TUTTI_RETURN_IF_ERROR(SetUp());
    if (!ready()) return std::size_t{0};
  }
  MoveOn();
  if (broken_.ok()) broken_ = PostReceives();
  std::size_t got = 0, buffer = 0, at = 0;
  while (buffer < buffers.size()) {
    if (read_ == readable_) {
      const Result<bool> came = NextMessage();
      // What came before is whole and good; the error comes again.
      if (!came.ok() && got > 0) return got;
      if (!came.ok()) return came.status();
      if (!*came) break;
    }
    const std::size_t part = std::min(buffers[buffer].size() - at, readable_ - read_);
    std::memcpy(buffers[buffer].data() + at, InSlot(came_ - 1) + sizeof(Message) + read_, part);
    read_ += part;
    at += part;
    got += part;
    if (at == buffers[buffer].size()) ++buffer, at = 0;
    if (read_ == readable_ && broken_.ok()) broken_ = PostReceives();
  }
  if (got > 0) return got;
  TUTTI_RETURN_IF_ERROR(broken_);
  TUTTI_RETURN_IF_ERROR(LookForEnd());
  return got;
}

}  // namespace

Result<std::unique_ptr<Stream>> OverPlugin(PluginStreamOptions options, sys::TcpConnection control) {
  Result<std::unique_ptr<plugin::Listener>> listener = plugin::Listener::Open(options.network, options.device);
  if (!listener.ok()) return listener.status();
  return std::unique_ptr<Stream>(
      std::make_unique<PluginStream>(std::move(options), std::move(control), std::move(*listener)));
}

}  // namespace tutti::transport::net
