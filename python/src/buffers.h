// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PYTHON_SRC_BUFFERS_H_
#define TUTTI_PYTHON_SRC_BUFFERS_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>

#include "tutti/types.h"

namespace tutti::python {

// The memory of an object that has Python's buffer protocol, held while this lives. Threads: with the GIL held.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (held_) PyBuffer_Release(&view_);
  }

  // False, without a Python error, where the object has no such memory, or it is not contiguous, not writable though it has to be, not
  // aligned to its elements, or of elements that are no DataType: those are made ready in Python (tutti/_buffers.py).
  enum class For : bool { kReading, kWriting };
  bool Open(PyObject* object, For use);

  void* data() const { return view_.buf; }
  std::size_t count() const { return count_; }  // elements
  DataType type() const { return type_; }

 private:
  Py_buffer view_ = {};
  bool held_ = false;
  std::size_t count_ = 0;
  DataType type_ = DataType::kUint8;
};

// (address, bytes, format, item size, shape, whether read-only) of an object with the buffer protocol; None where it has none or is not
// contiguous. The memory is the caller's to keep: by a memoryview of the object.
nanobind::object DescribeBuffer(nanobind::handle object);

// (address, shape, DLPack's type code, bits, what keeps the memory) of a contiguous array in host memory that offers DLPack.
using HostArray = nanobind::ndarray<nanobind::ro, nanobind::c_contig, nanobind::device::cpu>;
nanobind::object DescribeDlpack(HostArray array);

}  // namespace tutti::python

#endif  // TUTTI_PYTHON_SRC_BUFFERS_H_
