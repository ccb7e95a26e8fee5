// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/core_file.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/bytes.h"
#include "base/one_line.h"
#include "sys/os/error.h"
#include "sys/os/fd.h"

namespace tutti::sys {
namespace {

constexpr std::uint64_t kMostRegions = 1u << 20;
constexpr std::uint64_t kMostNoteBytes = 64u << 20;
// Places in the notes of 64-bit Linux, in bytes.
constexpr std::size_t kStatusSignal = 12;
constexpr std::size_t kStatusThread = 32;
constexpr std::size_t kInfoPid = 24;
constexpr std::size_t kInfoName = 40;
constexpr std::size_t kNameBytes = 16;

Status NoCore(std::string_view why) {
  return Status(Code::kInvalidArgument, fmt::format("it is no core file: {}", why));
}

template <typename T>
Status ReadStruct(const CoreFile::Source& source, std::uint64_t offset, T& to) {
  if (source.bytes < sizeof(T) || offset > source.bytes - sizeof(T)) return NoCore("it ends within its headers");
  return source.read(offset, std::as_writable_bytes(std::span(&to, 1)));
}

// What follows a string or a content in a note, up to a multiple of 4.
std::uint64_t Padding(std::uint32_t bytes) { return (4 - bytes % 4) % 4; }

std::string TextUpToZero(std::span<const std::byte> bytes) {
  const auto end = std::ranges::find(bytes, std::byte{0});
  std::string text(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(end - bytes.begin()));
  ReplaceControls(text, '?');
  return text;
}

}  // namespace

Result<CoreFile> CoreFile::Open(const std::string& path) {
  // A pipe would be waited for.
  auto fd = std::make_shared<Fd>(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd->valid()) return SystemError(errno, fmt::format("cannot open {}", path));
  struct stat about {};
  if (fstat(fd->get(), &about) != 0) return SystemError(errno, fmt::format("cannot look at {}", path));
  if (!S_ISREG(about.st_mode)) return NoCore("it is no regular file");
  const auto read = [fd, path](std::uint64_t offset, std::span<std::byte> to) -> Status {
    while (!to.empty()) {
      const ssize_t n = pread(fd->get(), to.data(), to.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return SystemError(errno, fmt::format("cannot read {}", path));
      if (n == 0) return Status(Code::kSystem, fmt::format("{} has become shorter while it was read", path));
      offset += static_cast<std::uint64_t>(n);
      to = to.subspan(static_cast<std::size_t>(n));
    }
    return {};
  };
  return Parse({.bytes = static_cast<std::uint64_t>(about.st_size), .read = read});
}

Result<CoreFile> CoreFile::Parse(Source source) {
  CoreFile core;
  core.source_ = std::move(source);
  if (const Status read = core.ReadHeaders(); !read.ok()) return read;
  return core;
}

Status CoreFile::ReadHeaders() {
  Elf64_Ehdr header{};
  if (const Status read = ReadStruct(source_, 0, header); !read.ok()) return read;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return NoCore("it is no ELF file");
  if (header.e_type != ET_CORE) return NoCore("it is an ELF file of another kind");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return NoCore("it is of a machine that is not of 64 bits, or is big-endian");
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return NoCore("its table of segments has entries of another size");
  std::uint64_t count = header.e_phnum;
  if (count == PN_XNUM) {  // so many that the number stands elsewhere
    Elf64_Shdr first{};
    if (const Status read = ReadStruct(source_, header.e_shoff, first); !read.ok()) return read;
    count = first.sh_info;
  }
  if (count > kMostRegions || header.e_phoff > source_.bytes ||
      count * sizeof(Elf64_Phdr) > source_.bytes - header.e_phoff)
    return NoCore("its table of segments does not fit into it");
  std::vector<Elf64_Phdr> table(count);
  if (count > 0) {
    if (const Status read = source_.read(header.e_phoff, std::as_writable_bytes(std::span(table))); !read.ok())
      return read;
  }
  std::uint64_t note_bytes = 0;
  for (const Elf64_Phdr& entry : table) {
    const std::uint64_t there = entry.p_offset > source_.bytes ? 0 : source_.bytes - entry.p_offset;
    if (entry.p_type == PT_NOTE && entry.p_filesz > 0) {
      if (entry.p_filesz > there || (note_bytes += entry.p_filesz) > kMostNoteBytes)
        return NoCore("its notes do not fit into it");
      if (const Status read = ReadNotes(entry.p_offset, entry.p_filesz); !read.ok()) return read;
    }
    if (entry.p_type != PT_LOAD || entry.p_memsz == 0) continue;
    if (entry.p_memsz > UINT64_MAX - entry.p_vaddr) return NoCore("a part of the memory goes beyond all addresses");
    is_cut_ |= entry.p_filesz > there;
    regions_.push_back({.begin = entry.p_vaddr,
                        .end = entry.p_vaddr + entry.p_memsz,
                        .in_file = std::min({entry.p_filesz, entry.p_memsz, there}),
                        .offset = entry.p_offset,
                        .writable = (entry.p_flags & PF_W) != 0});
  }
  std::ranges::sort(regions_, {}, &Region::begin);
  const auto overlap = [](const Region& one, const Region& next) { return one.end > next.begin; };
  if (std::ranges::adjacent_find(regions_, overlap) != regions_.end())
    return NoCore("parts of the memory overlap each other");
  return {};
}

Status CoreFile::ReadNotes(std::uint64_t offset, std::uint64_t bytes) {
  std::vector<std::byte> notes(bytes);
  if (const Status read = source_.read(offset, notes); !read.ok()) return read;
  ByteReader in(notes);
  while (true) {
    const auto name_bytes = in.Number<std::uint32_t>();
    const auto content_bytes = in.Number<std::uint32_t>();
    const auto type = in.Number<std::uint32_t>();
    const std::span<const std::byte> name = in.Bytes(name_bytes);
    (void)in.Bytes(Padding(name_bytes));
    const std::span<const std::byte> content = in.Bytes(content_bytes);
    // What is cut off at the end is left out, as padding behind the last note may be.
    if (!in.good()) return {};
    if (TextUpToZero(name) == "CORE") ReadNote(type, content);
    (void)in.Bytes(Padding(content_bytes));
  }
}

void CoreFile::ReadNote(std::uint32_t type, std::span<const std::byte> content) {
  if (type == NT_PRSTATUS && content.size() >= kStatusThread + sizeof(std::int32_t)) {
    // The thread that the signal ended comes first.
    if (threads_++ > 0) return;
    signal_ = ByteReader(content.subspan(kStatusSignal)).Number<std::int16_t>();
    if (pid_ == 0) pid_ = ByteReader(content.subspan(kStatusThread)).Number<std::int32_t>();
  } else if (type == NT_PRPSINFO && content.size() >= kInfoName + kNameBytes) {
    pid_ = ByteReader(content.subspan(kInfoPid)).Number<std::int32_t>();
    program_ = TextUpToZero(content.subspan(kInfoName, kNameBytes));
  } else if (type == NT_FILE) {
    ReadMappedFiles(content);
  }
}

void CoreFile::ReadMappedFiles(std::span<const std::byte> content) {
  ByteReader in(content);
  const auto count = in.Number<std::uint64_t>();
  (void)in.Number<std::uint64_t>();  // bytes of a page
  constexpr std::size_t kEntryBytes = 3 * sizeof(std::uint64_t);
  in.Require(count <= content.size() / kEntryBytes);
  std::vector<MappedFile> files;
  for (std::uint64_t i = 0; i < count && in.good(); ++i) {
    MappedFile& file = files.emplace_back();
    file.begin = in.Number<std::uint64_t>();
    file.end = in.Number<std::uint64_t>();
    (void)in.Number<std::uint64_t>();  // pages before it in the file
  }
  if (!in.good()) return;
  std::span<const std::byte> names = in.Rest();
  for (MappedFile& file : files) {
    const auto end = std::ranges::find(names, std::byte{0});
    if (end == names.end()) return;
    file.path = TextUpToZero(names);
    names = names.subspan(static_cast<std::size_t>(end - names.begin()) + 1);
  }
  mapped_files_ = std::move(files);
}

const CoreFile::Region* CoreFile::RegionOf(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(regions_, address, {}, &Region::begin);
  if (after == regions_.begin()) return nullptr;
  const Region& region = *std::prev(after);
  return address - region.begin < region.in_file ? &region : nullptr;
}

Status CoreFile::ReadMemory(std::uint64_t address, std::span<std::byte> to) const {
  while (!to.empty()) {
    const Region* const region = RegionOf(address);
    if (region == nullptr) return Status(Code::kInvalidArgument, "the core file does not have this memory");
    const std::uint64_t at = address - region->begin;
    const std::uint64_t bytes = std::min<std::uint64_t>(to.size(), region->in_file - at);
    if (const Status read = source_.read(region->offset + at, to.first(bytes)); !read.ok()) return read;
    address += bytes;
    to = to.subspan(bytes);
  }
  return {};
}

std::uint64_t CoreFile::BytesFrom(std::uint64_t address) const {
  const std::uint64_t first = address;
  while (const Region* const region = RegionOf(address)) address = region->begin + region->in_file;
  return address - first;
}

}  // namespace tutti::sys
