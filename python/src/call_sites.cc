// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "python/src/call_sites.h"

#include <nanobind/stl/string.h>

#include <cstring>
#include <map>
#include <utility>

#include "comm/host/impl.h"
#include "comm/host/ledger.h"
#include "sys/os/process.h"

namespace tutti::python {
namespace {

namespace nb = nanobind;

constexpr std::uint32_t kTexts = 512;
constexpr std::size_t kTextBytes = 120;

// All lines of this process that have called a collective; beyond kTexts they are not told apart from "unknown". Text 0 is empty.
struct Texts {
  char text[kTexts][kTextBytes] = {};
  std::uint32_t count = 1;
};

Texts& ProcessTexts() {
  static Texts* const texts = new Texts;
  return *texts;
}

using Line = std::pair<PyObject*, long>;  // code object, which is kept, and instruction
std::map<Line, std::uint32_t>& KnownLines() {
  static auto* const lines = new std::map<Line, std::uint32_t>;
  return *lines;
}

long InstructionOf(PyObject* frame) {
  static PyObject* const name = PyUnicode_InternFromString("f_lasti");
  PyObject* value = PyObject_GetAttr(frame, name);
  if (value == nullptr) {
    PyErr_Clear();
    return -1;
  }
  const long instruction = PyLong_AsLong(value);
  Py_DECREF(value);
  return instruction;
}

// The end of the path is what tells lines apart, so that is kept where it is too long.
std::uint32_t AddText(PyObject* frame, PyObject* code) {
  Texts& texts = ProcessTexts();
  if (texts.count >= kTexts) return 0;
  std::string path = nb::cast<std::string>(nb::handle(code).attr("co_filename"));
  const std::string line = ":" + std::to_string(PyFrame_GetLineNumber(reinterpret_cast<PyFrameObject*>(frame)));
  const std::size_t room = kTextBytes - 1 - line.size();
  if (path.size() > room) path = "..." + path.substr(path.size() - room + 3);
  path += line;
  std::memcpy(texts.text[texts.count], path.c_str(), path.size() + 1);
  return texts.count++;
}

}  // namespace

CallSites::CallSites() : ring_(std::make_unique<Ring>()) {
  ring_->texts = reinterpret_cast<std::uint64_t>(&ProcessTexts());
}

Status CallSites::Exchange(Communicator& communicator) {
  own_ = {.host = sys::HostHash(),
          .name_space = sys::ProcessNamespace(),
          .pid = sys::Self().pid,
          .address = reinterpret_cast<std::uint64_t>(ring_.get())};
  places_.resize(communicator.ranks());
  TUTTI_RETURN_IF_ERROR(communicator.Run({.kind = Collective::kAllGather,
                                          .in = &own_,
                                          .out = places_.data(),
                                          .count = sizeof(Place),
                                          .type = DataType::kUint8}));
  communicator.impl()->ledger.EndOwn();
  return Status::Ok();
}

std::uint32_t CallSites::SiteOf(PyObject* frame) {
  PyObject* code = reinterpret_cast<PyObject*>(PyFrame_GetCode(reinterpret_cast<PyFrameObject*>(frame)));
  const long instruction = InstructionOf(frame);
  if (code == last_code_ && instruction == last_instruction_) {
    Py_DECREF(code);
    return last_site_;
  }
  const auto [place, fresh] = KnownLines().try_emplace({code, instruction}, 0);
  if (fresh) {
    place->second = AddText(frame, code);  // `code` stays referenced
  } else {
    Py_DECREF(code);
  }
  last_code_ = code;
  last_instruction_ = instruction;
  last_site_ = place->second;
  return last_site_;
}

void CallSites::Note(PyObject* frame) {
  const std::uint64_t call = ++ring_->calls;
  ring_->site[call % kRemembered] = frame == nullptr ? 0 : SiteOf(frame);
}

std::string CallSites::Find(int rank, std::uint64_t number) const {
  if (rank < 0 || static_cast<std::size_t>(rank) >= places_.size() || number == 0) return "";
  const Place& place = places_[rank];
  if (place.host != own_.host || place.name_space != own_.name_space) return "";
  const auto read = [&](std::uint64_t from, void* to, std::size_t bytes) {
    return sys::ReadProcessMemory(static_cast<std::int32_t>(place.pid), reinterpret_cast<const void*>(from), to, bytes)
        .ok();
  };
  Ring ring;
  if (!read(place.address, &ring, sizeof(ring))) return "";
  if (number > ring.calls || ring.calls - number >= kRemembered) return "";
  const std::uint32_t site = ring.site[number % kRemembered];
  char text[kTextBytes] = {};
  if (site == 0 || site >= kTexts || !read(ring.texts + site * kTextBytes, text, sizeof(text) - 1)) return "";
  return text;
}

}  // namespace tutti::python
