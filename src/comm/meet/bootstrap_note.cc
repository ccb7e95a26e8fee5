// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/bootstrap_note.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "comm/meet/bootstrap_message.h"
#include "sys/net/auth.h"
#include "sys/os/clock.h"
#include "sys/os/private_file.h"
#include "sys/os/process.h"

namespace tutti::comm {
namespace {

constexpr const char* kFolder = "/dev/shm";
constexpr std::string_view kPrefix = "tutti-note-";
constexpr std::size_t kNameBytes = 16;
constexpr std::size_t kMostNoteBytes = sizeof(sys::Mac) + 64 + kMostRanks + 2 * kMostSentenceBytes;

// What the file begins with, after its code. One byte for each rank follows, 1 where it has not heard, then the fault as
// a Failure message.
struct Header {
  std::uint32_t version = 1;
  std::int32_t ranks = 0;
  std::int64_t deadline_ns = 0;
  std::uint64_t written_ticks = 0;
};

struct Note {
  Header header;
  std::vector<std::uint8_t> unheard;
  Status fault;
};

sys::Mac CodeOf(const IdParts& id, std::span<const std::byte> text) {
  return sys::ComputeMac(id.secret, {sys::Bytes("tutti bootstrap note"), id.name, text});
}

void Write(const IdParts& id, const Note& note) {
  if (std::ranges::count(note.unheard, 1) == 0) return sys::RemoveFile(internal::NotePath(id));
  std::vector<std::byte> content(sizeof(sys::Mac));
  const auto append = [&](std::span<const std::byte> bytes) {
    content.resize(content.size() + bytes.size());
    std::ranges::copy(bytes, content.end() - static_cast<std::ptrdiff_t>(bytes.size()));
  };
  append(std::as_bytes(std::span(&note.header, 1)));
  append(std::as_bytes(std::span(note.unheard)));
  append(Encode(note.fault));
  std::ranges::copy(CodeOf(id, std::span(content).subspan(sizeof(sys::Mac))), content.begin());
  const std::int64_t left_s = (note.header.deadline_ns - sys::NowNs()) / sys::kNsPerSecond + 1;
  (void)sys::ReplacePrivateFile(internal::NotePath(id), content, std::max<std::int64_t>(left_s, 1));
}

std::optional<Note> Read(const IdParts& id) {
  const Result<std::vector<std::byte>> content = sys::ReadPrivateFile(internal::NotePath(id), kMostNoteBytes);
  if (!content.ok() || content->size() < sizeof(sys::Mac) + sizeof(Header)) return std::nullopt;
  std::span<const std::byte> rest(*content);
  sys::Mac code;
  std::ranges::copy(rest.first(code.size()), code.begin());
  rest = rest.subspan(code.size());
  if (!sys::SameMac(code, CodeOf(id, rest))) return std::nullopt;
  Note note;
  std::memcpy(&note.header, rest.data(), sizeof(Header));
  rest = rest.subspan(sizeof(Header));
  const auto ranks = static_cast<std::size_t>(std::max(note.header.ranks, 0));
  if (note.header.version != Header().version || rest.size() < ranks) return std::nullopt;
  note.unheard.resize(ranks);
  std::memcpy(note.unheard.data(), rest.data(), ranks);
  if (!ParseFailure(rest.subspan(ranks), note.fault).ok()) return std::nullopt;
  return note;
}

bool IsFor(const Note& note, const Attendance& attendance) {
  const MeetOptions& options = *attendance.options;
  if (note.header.ranks != options.ranks || note.unheard[options.rank] == 0) return false;
  if (sys::NowNs() >= note.header.deadline_ns) return false;
  return attendance.id.kind != IdKind::kDerived || attendance.process.start_ticks <= note.header.written_ticks;
}

}  // namespace

std::string internal::NotePath(const IdParts& id) {
  const sys::Mac mac = sys::ComputeMac(id.secret, {sys::Bytes("tutti bootstrap note's name"), id.name});
  std::string path = fmt::format("{}/{}", kFolder, kPrefix);
  for (std::size_t i = 0; i < kNameBytes; ++i) path += fmt::format("{:02x}", std::to_integer<unsigned>(mac[i]));
  return path;
}

void LeaveNote(const Attendance& attendance, const Status& fault, const std::vector<bool>& heard) {
  Note note{.header = {.ranks = attendance.options->ranks,
                       .deadline_ns = attendance.note_until_ns,
                       .written_ticks = sys::TicksSinceBoot()},
            .unheard = {},
            .fault = fault};
  for (const bool has_heard : heard) note.unheard.push_back(has_heard ? 0 : 1);
  if (fault.peer() >= 0 && fault.peer() < attendance.options->ranks) note.unheard[fault.peer()] = 0;
  Write(attendance.id, note);
  sys::RemoveUselessFiles(kFolder, kPrefix);  // notes that were not read to the end
}

Status TakeNote(const Attendance& attendance) {
  std::optional<Note> note = Read(attendance.id);
  if (!note) return Status::Ok();
  if (!IsFor(*note, attendance)) {
    sys::RemoveFile(internal::NotePath(attendance.id));
    return Status::Ok();
  }
  note->unheard[attendance.options->rank] = 0;
  Write(attendance.id, *note);
  return std::move(note->fault);
}

}  // namespace tutti::comm
