// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "python/src/buffers.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace tutti::python {
namespace {

namespace nb = nanobind;

std::optional<DataType> IntegerOf(bool is_signed, std::size_t bytes) {
  switch (bytes) {
    case 1:
      return is_signed ? DataType::kInt8 : DataType::kUint8;
    case 2:
      return is_signed ? DataType::kInt16 : DataType::kUint16;
    case 4:
      return is_signed ? DataType::kInt32 : DataType::kUint32;
    case 8:
      return is_signed ? DataType::kInt64 : DataType::kUint64;
    default:
      return std::nullopt;
  }
}

// A format of the struct module for one native element.
std::optional<DataType> TypeOf(const char* format, std::size_t bytes) {
  std::string_view text = format == nullptr ? "B" : format;
  if (!text.empty() && (text[0] == '@' || text[0] == '=' || text[0] == '<')) text.remove_prefix(1);
  if (text == "Zf") return DataType::kComplex64;
  if (text == "Zd") return DataType::kComplex128;
  if (text.size() != 1) return std::nullopt;
  switch (text[0]) {
    case 'f':
      return DataType::kFloat32;
    case 'd':
      return DataType::kFloat64;
    case 'e':
      return DataType::kFloat16;
    case '?':
      return DataType::kBool;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
      return IntegerOf(true, bytes);
    case 'B':
    case 'c':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
      return IntegerOf(false, bytes);
    default:
      return std::nullopt;
  }
}

}  // namespace

bool Buffer::Open(PyObject* object, For use) {
  const int flags = PyBUF_ND | PyBUF_FORMAT | (use == For::kWriting ? PyBUF_WRITABLE : 0);
  if (!PyObject_CheckBuffer(object)) return false;
  if (PyObject_GetBuffer(object, &view_, flags) != 0) {
    PyErr_Clear();
    return false;
  }
  held_ = true;
  const auto bytes = static_cast<std::size_t>(view_.itemsize);
  const std::optional<DataType> type = TypeOf(view_.format, bytes);
  if (!type || SizeOf(*type) != bytes) return false;
  const std::size_t alignment = IsComplex(*type) ? bytes / 2 : bytes;
  if (reinterpret_cast<std::uintptr_t>(view_.buf) % alignment != 0) return false;
  type_ = *type;
  count_ = static_cast<std::size_t>(view_.len) / bytes;
  return true;
}

nb::object DescribeBuffer(nb::handle object) {
  Py_buffer view;
  if (!PyObject_CheckBuffer(object.ptr())) return nb::none();
  if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_ND | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    return nb::none();
  }
  nb::list shape;
  for (int i = 0; i < view.ndim; ++i) shape.append(view.shape[i]);
  const std::string_view format = view.format == nullptr ? "B" : view.format;
  nb::object described =
      nb::make_tuple(reinterpret_cast<std::uintptr_t>(view.buf), view.len, nb::str(format.data(), format.size()),
                     view.itemsize, nb::tuple(shape), view.readonly != 0);
  PyBuffer_Release(&view);
  return described;
}

nb::object DescribeDlpack(HostArray array) {
  nb::list shape;
  for (std::size_t i = 0; i < array.ndim(); ++i) shape.append(array.shape(i));
  const auto type = array.dtype();
  auto* kept = new HostArray(array);
  const nb::capsule keep(kept, [](void* p) noexcept { delete static_cast<HostArray*>(p); });
  return nb::make_tuple(reinterpret_cast<std::uintptr_t>(array.data()), nb::tuple(shape), type.code, type.bits, keep);
}

}  // namespace tutti::python
