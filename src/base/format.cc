// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// fmt's functions, compiled once for the whole library. The library is linked into programs of all kinds and may need
// libc alone, so the system's shared fmt is not used; and with its header-only form every source would compile these.
#include <fmt/format-inl.h>

// What fmt's headers declare as `extern template`, or leave to its own library.
FMT_BEGIN_NAMESPACE
namespace detail {

template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template locale_ref::locale_ref(const std::locale&);
template std::locale locale_ref::get<std::locale>() const;
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);

}  // namespace detail
FMT_END_NAMESPACE
