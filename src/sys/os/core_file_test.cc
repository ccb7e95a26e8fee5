// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/core_file.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace tutti::sys {
namespace {

// A file in memory, written as the kernel writes one.
class Written {
 public:
  Written() {
    note(NT_PRSTATUS, Status(6, 4101));
    note(NT_PRPSINFO, Info(4100, "train"));
    note(NT_FILE, Files({{0x10000, 0x12000, "/memfd:tutti (deleted)"}, {0x20000, 0x21000, "/lib/x.so"}}));
    note(NT_PRSTATUS, Status(0, 4102));
  }
  struct Load {
    std::uint64_t address, memory;
    std::string content;
    bool writable;
  };
  std::vector<Load> loads = {{.address = 0x10000, .memory = 4, .content = "abcd", .writable = true},
                             {.address = 0x10004, .memory = 4, .content = "ef", .writable = false},
                             {.address = 0x20000, .memory = 0x1000, .content = "", .writable = false}};

  std::string Bytes() const {
    Elf64_Ehdr head{};
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_type = ET_CORE;
    head.e_phoff = sizeof(head);
    head.e_phentsize = sizeof(Elf64_Phdr);
    head.e_phnum = static_cast<Elf64_Half>(1 + loads.size());
    std::uint64_t at = sizeof(head) + head.e_phnum * sizeof(Elf64_Phdr);
    std::string table, content = notes_;
    Elf64_Phdr entry{.p_type = PT_NOTE, .p_offset = at, .p_filesz = notes_.size()};
    table += Raw(entry);
    at += notes_.size();
    for (const Load& load : loads) {
      entry = {.p_type = PT_LOAD,
               .p_flags = static_cast<Elf64_Word>(load.writable ? PF_R | PF_W : PF_R),
               .p_offset = at,
               .p_vaddr = load.address,
               .p_filesz = load.content.size(),
               .p_memsz = load.memory};
      table += Raw(entry);
      content += load.content;
      at += load.content.size();
    }
    return Raw(head) + table + content;
  }

 private:
  template <typename T>
  static std::string Raw(const T& value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  static std::string Status(std::int16_t signal, std::int32_t thread) {
    std::string content(336, '\0');
    std::memcpy(content.data() + 12, &signal, sizeof(signal));
    std::memcpy(content.data() + 32, &thread, sizeof(thread));
    return content;
  }
  static std::string Info(std::int32_t pid, const std::string& name) {
    std::string content(136, '\0');
    std::memcpy(content.data() + 24, &pid, sizeof(pid));
    std::memcpy(content.data() + 40, name.data(), name.size());
    return content;
  }
  struct File {
    std::uint64_t begin, end;
    std::string path;
  };
  static std::string Files(const std::vector<File>& files) {
    std::string content = Raw(std::uint64_t{files.size()}) + Raw(std::uint64_t{4096}), names;
    for (const File& file : files) {
      content += Raw(file.begin) + Raw(file.end) + Raw(std::uint64_t{0});
      names += file.path + '\0';
    }
    return content + names;
  }
  void note(std::uint32_t type, const std::string& content) {
    notes_ += Raw(std::uint32_t{5}) + Raw(static_cast<std::uint32_t>(content.size())) + Raw(type);
    notes_ += std::string("CORE\0\0\0\0", 8) + content + std::string((4 - content.size() % 4) % 4, '\0');
  }

  std::string notes_;
};

Result<CoreFile> Parse(const std::string& bytes) {
  const auto read = [bytes](std::uint64_t offset, std::span<std::byte> to) {
    EXPECT_LE(offset + to.size(), bytes.size());
    std::memcpy(to.data(), bytes.data() + offset, to.size());
    return tutti::Status();
  };
  return CoreFile::Parse({.bytes = bytes.size(), .read = read});
}

std::string Read(const CoreFile& core, std::uint64_t address, std::size_t bytes) {
  std::string text(bytes, '?');
  const tutti::Status read = core.ReadMemory(address, std::as_writable_bytes(std::span(text)));
  return read.ok() ? text : read.message();
}

TEST(CoreFile, TellsOfTheProcess) {
  const Result<CoreFile> core = Parse(Written().Bytes());
  ASSERT_TRUE(core.ok()) << core.status().message();
  EXPECT_EQ(core->pid(), 4100);
  EXPECT_EQ(core->program(), "train");
  EXPECT_EQ(core->signal(), 6);
  EXPECT_EQ(core->threads(), 2);
  ASSERT_EQ(core->mapped_files().size(), 2u);
  EXPECT_EQ(core->mapped_files()[0].path, "/memfd:tutti (deleted)");
  EXPECT_EQ(core->mapped_files()[1].begin, 0x20000u);
  EXPECT_FALSE(core->is_cut());
}

TEST(CoreFile, ReadsMemory) {
  const Result<CoreFile> core = Parse(Written().Bytes());
  ASSERT_TRUE(core.ok());
  ASSERT_EQ(core->regions().size(), 3u);
  EXPECT_TRUE(core->regions()[0].writable);
  EXPECT_FALSE(core->regions()[1].writable);
  EXPECT_EQ(Read(*core, 0x10002, 4), "cdef");
  EXPECT_EQ(core->BytesFrom(0x10001), 5u);
  EXPECT_EQ(core->BytesFrom(0x20000), 0u);
  const std::string missing = "the core file does not have this memory";
  for (const std::uint64_t address :
       {std::uint64_t{0}, std::uint64_t{0x10005}, std::uint64_t{0x20000}, ~std::uint64_t{0}})
    EXPECT_EQ(Read(*core, address, 2), missing) << address;
}

TEST(CoreFile, SaysWhereItIsCut) {
  const std::string whole = Written().Bytes();
  const Result<CoreFile> cut = Parse(whole.substr(0, whole.size() - 1));
  ASSERT_TRUE(cut.ok());
  EXPECT_TRUE(cut->is_cut());
  EXPECT_EQ(Read(*cut, 0x10000, 5), "abcde");
  EXPECT_EQ(cut->BytesFrom(0x10004), 1u);
  // Less is no core file, or has no memory.
  for (std::size_t bytes = 0; bytes + 6 < whole.size(); ++bytes) {
    const Result<CoreFile> core = Parse(whole.substr(0, bytes));
    EXPECT_TRUE(!core.ok() || (core->is_cut() && core->BytesFrom(0x10000) == 0)) << bytes;
  }
}

TEST(CoreFile, RefusesOtherFiles) {
  const auto why = [](const std::string& bytes) { return Parse(bytes).status().message(); };
  EXPECT_EQ(why("#!/bin/sh\n"), "it is no core file: it ends within its headers");
  EXPECT_EQ(why(std::string(1000, 'x')), "it is no core file: it is no ELF file");
  std::string program = Written().Bytes();
  program[offsetof(Elf64_Ehdr, e_type)] = ET_DYN;
  EXPECT_EQ(why(program), "it is no core file: it is an ELF file of another kind");
  std::string small = Written().Bytes();
  small[EI_CLASS] = ELFCLASS32;
  EXPECT_NE(why(small).find("64 bits"), std::string::npos);
  Written overlapping;
  overlapping.loads[1].address = 0x10003;
  EXPECT_NE(why(overlapping.Bytes()).find("overlap"), std::string::npos);
  Written beyond;
  beyond.loads[2].address = ~std::uint64_t{0};
  EXPECT_NE(why(beyond.Bytes()).find("beyond all addresses"), std::string::npos);
  std::string many = Written().Bytes();
  const std::uint16_t count = 50'000;
  std::memcpy(many.data() + offsetof(Elf64_Ehdr, e_phnum), &count, sizeof(count));
  EXPECT_NE(why(many).find("does not fit"), std::string::npos);
}

// A note without a byte may be said to be anywhere.
TEST(CoreFile, AsksForNothingBeyondItsEnd) {
  std::string bytes = Written().Bytes();
  Elf64_Phdr notes;
  std::memcpy(&notes, bytes.data() + sizeof(Elf64_Ehdr), sizeof(notes));
  notes.p_offset = bytes.size() + 100;
  notes.p_filesz = 0;
  std::memcpy(bytes.data() + sizeof(Elf64_Ehdr), &notes, sizeof(notes));
  const Result<CoreFile> core = Parse(bytes);
  ASSERT_TRUE(core.ok());
  EXPECT_EQ(core->pid(), 0);
  EXPECT_EQ(Read(*core, 0x10000, 4), "abcd");
}

TEST(CoreFile, OpensRegularFilesOnly) {
  EXPECT_EQ(CoreFile::Open("/dev/zero").status().message(), "it is no core file: it is no regular file");
  EXPECT_EQ(CoreFile::Open("/proc/self/exe").status().message(),
            "it is no core file: it is an ELF file of another kind");
  EXPECT_EQ(CoreFile::Open("/nowhere/core").status().code(), Code::kSystem);
}

}  // namespace
}  // namespace tutti::sys
