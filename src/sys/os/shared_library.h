// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_SHARED_LIBRARY_H_
#define TUTTI_SYS_OS_SHARED_LIBRARY_H_

#include <string>

#include "tutti/status.h"

namespace tutti::sys {

// A shared library that was opened at run time. It stays loaded until the process ends: its threads, and objects that it made,
// may live as long. A value; copies mean the same library.
class SharedLibrary {
 public:
  // A name without '/' is looked for where the system looks for libraries. All its symbols are resolved now, and none is given to
  // others. kUnsupported: there is no such file. kSystem: there is one that cannot be loaded, or that needs another that is not
  // there. Sentences are the system's own.
  static Result<SharedLibrary> Open(const std::string& name);
  // The program itself and what it was linked with.
  static Result<SharedLibrary> OfProgram();

  // What the library's symbol lies at; null: it has none.
  void* Find(const char* symbol) const;
  // The file that it came from, without symbolic links; empty of the program.
  const std::string& path() const { return path_; }
  // The name that the file gives itself (DT_SONAME); often empty.
  const std::string& own_name() const { return own_name_; }

 private:
  static Result<SharedLibrary> Load(const char* name);

  void* handle_ = nullptr;
  std::string path_, own_name_;
};

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_SHARED_LIBRARY_H_
