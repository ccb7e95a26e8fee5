// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/shared_library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

namespace tutti::sys {
namespace {

struct Freed {
  void operator()(char* text) const { std::free(text); }
};

std::string WithoutLinks(const char* path) {
  const std::unique_ptr<char, Freed> real(realpath(path, nullptr));
  return real != nullptr ? real.get() : path;
}

std::string OwnName(const link_map& map) {
  const char* strings = nullptr;
  const ElfW(Dyn)* name = nullptr;
  for (const ElfW(Dyn)* entry = map.l_ld; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    // Some C libraries add the place where the library was loaded, some do not.
    if (entry->d_tag == DT_STRTAB) {
      const auto place = entry->d_un.d_ptr;
      strings = reinterpret_cast<const char*>(place < map.l_addr ? place + map.l_addr : place);
    }
    if (entry->d_tag == DT_SONAME) name = entry;
  }
  return strings != nullptr && name != nullptr ? strings + name->d_un.d_val : "";
}

}  // namespace

Result<SharedLibrary> SharedLibrary::Load(const char* name) {
  SharedLibrary library;
  library.handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library.handle_ == nullptr) {
    const char* said = dlerror();
    const std::string why = said != nullptr ? said : "the system does not say why";
    // "NAME: cannot open shared object file: No such file or directory"; of a library that NAME needs it names that one first.
    const bool missing =
        name != nullptr && why.starts_with(std::string(name) + ":") && why.find("No such file") != std::string::npos;
    return Status(missing ? Code::kUnsupported : Code::kSystem, why);
  }
  link_map* map = nullptr;
  if (name != nullptr && dlinfo(library.handle_, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr) {
    library.path_ = WithoutLinks(map->l_name);
    library.own_name_ = OwnName(*map);
  }
  return library;
}

Result<SharedLibrary> SharedLibrary::Open(const std::string& name) { return Load(name.c_str()); }

Result<SharedLibrary> SharedLibrary::OfProgram() { return Load(nullptr); }

void* SharedLibrary::Find(const char* symbol) const { return handle_ == nullptr ? nullptr : dlsym(handle_, symbol); }

}  // namespace tutti::sys
