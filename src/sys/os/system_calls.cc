// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Names of the system calls in which programs spend time.
#include <fmt/format.h>
#include <sys/syscall.h>

#include <algorithm>
#include <iterator>

#include "sys/os/process_activity.h"

namespace tutti::sys {
namespace {

struct SystemCall {
  long number;
  const char* name;
  bool descriptor;  // is its first argument
};

constexpr SystemCall kCalls[] = {
    {SYS_read, "read", true},
    {SYS_write, "write", true},
    {SYS_readv, "readv", true},
    {SYS_writev, "writev", true},
    {SYS_pread64, "pread64", true},
    {SYS_pwrite64, "pwrite64", true},
    {SYS_preadv, "preadv", true},
    {SYS_pwritev, "pwritev", true},
    {SYS_sendfile, "sendfile", true},
    {SYS_splice, "splice", true},
    {SYS_copy_file_range, "copy_file_range", true},
    {SYS_fsync, "fsync", true},
    {SYS_fdatasync, "fdatasync", true},
    {SYS_sync_file_range, "sync_file_range", true},
    {SYS_fallocate, "fallocate", true},
    {SYS_ftruncate, "ftruncate", true},
    {SYS_flock, "flock", true},
    {SYS_fcntl, "fcntl", true},
    {SYS_ioctl, "ioctl", true},
    {SYS_close, "close", true},
    {SYS_getdents64, "getdents64", true},
    {SYS_accept, "accept", true},
    {SYS_accept4, "accept4", true},
    {SYS_connect, "connect", true},
    {SYS_recvfrom, "recvfrom", true},
    {SYS_recvmsg, "recvmsg", true},
    {SYS_sendto, "sendto", true},
    {SYS_sendmsg, "sendmsg", true},
    {SYS_epoll_pwait, "epoll_pwait", true},
    {SYS_sync, "sync", false},
    {SYS_openat, "openat", false},
    {SYS_unlinkat, "unlinkat", false},
    {SYS_mkdirat, "mkdirat", false},
    {SYS_futex, "futex", false},
    {SYS_nanosleep, "nanosleep", false},
    {SYS_clock_nanosleep, "clock_nanosleep", false},
    {SYS_ppoll, "ppoll", false},
    {SYS_pselect6, "pselect6", false},
    {SYS_wait4, "wait4", false},
    {SYS_waitid, "waitid", false},
    {SYS_rt_sigsuspend, "rt_sigsuspend", false},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait", false},
    {SYS_msync, "msync", false},
    {SYS_mmap, "mmap", false},
    {SYS_munmap, "munmap", false},
    {SYS_madvise, "madvise", false},
    {SYS_mprotect, "mprotect", false},
    {SYS_sched_yield, "sched_yield", false},
    {SYS_semtimedop, "semtimedop", false},
    {SYS_execve, "execve", false},
    {SYS_clone, "clone", false},
    {SYS_restart_syscall, "restart_syscall", false},
    {SYS_process_vm_readv, "process_vm_readv", false},
    {SYS_process_vm_writev, "process_vm_writev", false},
#ifdef SYS_open  // calls that newer machines lack
    {SYS_open, "open", false},
    {SYS_unlink, "unlink", false},
    {SYS_rename, "rename", false},
    {SYS_stat, "stat", false},
    {SYS_poll, "poll", false},
    {SYS_select, "select", false},
    {SYS_pause, "pause", false},
    {SYS_epoll_wait, "epoll_wait", true},
#endif
};

}  // namespace

std::string NameOfSystemCall(long number) {
  const auto* found = std::ranges::find(kCalls, number, &SystemCall::number);
  return found == std::end(kCalls) ? fmt::format("system call {}", number) : found->name;
}

bool TakesDescriptor(std::string_view system_call) {
  return std::ranges::any_of(kCalls,
                             [&](const SystemCall& call) { return call.descriptor && call.name == system_call; });
}

}  // namespace tutti::sys
