// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/preload_command.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "tools/cli.h"
#include "tools/command_line.h"
#include "tools/launch.h"
#include "tools/rank_program.h"

namespace tutti::tools {
namespace {

constexpr const char* kPreloadSelf = "tutti preload";
constexpr const char* kLibrary = "libnccl.so.2";
constexpr const char* kAudit = "libtutti_audit.so";
constexpr int kAskTimeoutMs = 20'000;  // opening NVIDIA's library reads 200 MB
constexpr std::size_t kMostNamed = 64;

enum class How {
  kRedirect,  // LD_AUDIT leads every look-up to the library
  kPreload,   // LD_PRELOAD; LD_AUDIT only watches
  kLook,      // LD_AUDIT only watches
};

struct Plan {
  How how = How::kRedirect;
  bool watch = true;  // LD_AUDIT at all
  std::string library, audit, report;
};

// Where a file that belongs to this tool lies: beside it, in the build tree around it, under an install prefix, or in a bundle's lib/. The
// prefix may be /usr, whose library folder may have NVIDIA's file of the same name: ours is looked for first.
Result<std::string> FindBeside(const std::string& name) {
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::vector<std::string> tried;
  for (const char* place :
       {".", "..", TUTTI_LIBRARY_FOLDER "/tutti/nccl/lib", TUTTI_LIBRARY_FOLDER "/tutti", "../lib"}) {
    const std::filesystem::path candidate = (folder / place / name).lexically_normal();
    std::error_code error;
    const std::filesystem::path found = std::filesystem::canonical(candidate, error);
    if (!error) return found.string();
    tried.push_back(candidate.string());
  }
  return Status(Code::kInvalidArgument,
                fmt::format("there is no {} beside this tool (looked for {})", name, fmt::join(tried, ", ")));
}

Result<std::string> Canonical(const std::string& file) {
  std::error_code error;
  const std::filesystem::path found = std::filesystem::canonical(file, error);
  if (error) return Status(Code::kInvalidArgument, fmt::format("cannot use '{}': {}", file, error.message()));
  return found.string();
}

// In a child: what the library says of itself, to `fd`. "+" or "-", then the text.
void AnswerVersion(const std::string& file, int fd) {
  std::string answer;
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto get = library == nullptr ? nullptr : reinterpret_cast<int (*)(int*)>(dlsym(library, "ncclGetVersion"));
  int version = 0;
  if (library == nullptr) {
    answer = fmt::format("-{}", dlerror());
  } else if (get == nullptr || get(&version) != 0) {
    answer = "-it has no ncclGetVersion that works";
  } else {
    const bool ours = dlsym(library, "ncclTuttiSynchronize") != nullptr;
    const int major = version < 10000 ? version / 1000 : version / 10000;  // the code's form changed with 2.9
    const int minor = version < 10000 ? version / 100 % 10 : version / 100 % 100;
    answer = fmt::format("+{}NCCL {}.{}.{}", ours ? "Tutti, answers as " : "", major, minor, version % 100);
  }
  [[maybe_unused]] const ssize_t written = write(fd, answer.data(), answer.size());
}

// All that a child writes, up to the deadline of a wait for each part.
std::string ReadAnswer(int fd) {
  std::string answer;
  char part[4096];
  for (pollfd wait{fd, POLLIN, 0}; poll(&wait, 1, kAskTimeoutMs) > 0;) {
    const ssize_t bytes = read(fd, part, sizeof(part));
    if (bytes <= 0) break;
    answer.append(part, static_cast<std::size_t>(bytes));
  }
  return answer;
}

void Put(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }
// Ahead of what is there already.
void PutFirst(const char* name, const std::string& value) {
  const char* old = std::getenv(name);
  Put(name, old != nullptr && *old != '\0' ? value + ":" + old : value);
}

// In the child that becomes the program.
void SetEnvironment(const Plan& plan) {
  if (plan.watch) {
    PutFirst("LD_AUDIT", plan.audit);
    Put("TUTTI_PRELOAD_REPORT", plan.report);
  }
  unsetenv("TUTTI_PRELOAD_LIBRARY");  // of a `tutti preload` around this one
  if (plan.how == How::kLook) return;
  Put("VLLM_NCCL_SO_PATH", plan.library);
  if (plan.how == How::kRedirect) Put("TUTTI_PRELOAD_LIBRARY", plan.library);
  if (plan.how == How::kPreload) PutFirst("LD_PRELOAD", plan.library);
}

volatile std::sig_atomic_t g_child = 0;
void ForwardSignal(int signal) {
  if (g_child > 0) kill(static_cast<pid_t>(g_child), signal);
}

// Runs the program to its end. A terminal's signals reach it anyway; those to this process alone are passed on.
int RunPreloaded(const Plan& plan, std::vector<std::string> words) {
  const pid_t parent = getpid();
  std::fflush(nullptr);
  // One that comes before the handlers are there waits.
  sigset_t forwarded, before;
  sigemptyset(&forwarded);
  for (const int signal : {SIGTERM, SIGHUP, SIGINT, SIGQUIT}) sigaddset(&forwarded, signal);
  sigprocmask(SIG_BLOCK, &forwarded, &before);
  const pid_t pid = fork();
  if (pid < 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    fmt::print(stderr, "{}: cannot start '{}': fork: {}\n", kPreloadSelf, words[0], std::strerror(errno));
    return kExitFailed;
  }
  if (pid == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(kExitFailed);
    SetEnvironment(plan);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    fmt::print(stderr, "{}: cannot run '{}': {}\n", kPreloadSelf, words[0], std::strerror(errno));
    _exit(kExitCannotRun);
  }
  g_child = pid;
  for (const int signal : {SIGTERM, SIGHUP}) std::signal(signal, ForwardSignal);
  for (const int signal : {SIGINT, SIGQUIT}) std::signal(signal, SIG_IGN);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  int wait_status = 0;
  while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
  }
  g_child = 0;
  for (const int signal : {SIGTERM, SIGHUP, SIGINT, SIGQUIT}) std::signal(signal, SIG_DFL);
  return ExitCodeOf(wait_status);
}

std::string ReadAll(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// A fresh file that the processes below append to; removed when it goes out of scope.
class ReportFile {
 public:
  ReportFile() {
    std::string name = (std::filesystem::temp_directory_path() / "tutti_preload_XXXXXX").string();
    const int fd = mkstemp(name.data());
    if (fd < 0) return;
    close(fd);
    name_ = name;
  }
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;
  ~ReportFile() {
    if (!name_.empty()) unlink(name_.c_str());
  }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

Status FindFiles(Plan& plan) {
  if (plan.how != How::kLook) {
    Result<std::string> library = plan.library.empty() ? FindBeside(kLibrary) : Canonical(plan.library);
    if (!library.ok()) {
      return Status(library.status().code(),
                    library.status().message() + (plan.library.empty() ? "; name it with --library" : ""));
    }
    plan.library = *library;
    const Result<std::string> version = AskVersion(plan.library);
    if (!version.ok()) return version.status();
  }
  if (!plan.watch) return Status::Ok();
  Result<std::string> audit = FindBeside(kAudit);
  if (!audit.ok()) {
    return Status(audit.status().code(), audit.status().message() + "; --ld-preload --no-audit does without it");
  }
  plan.audit = *audit;
  return Status::Ok();
}

// Whether at least one process mapped a libnccl and none mapped another than the one asked for.
bool AllMapped(const std::vector<LoadedNccl>& loaded, const std::string& wanted) {
  return !loaded.empty() &&
         (wanted.empty() || std::ranges::all_of(loaded, [&](const LoadedNccl& l) { return l.file == wanted; }));
}

}  // namespace

std::vector<LoadedNccl> ParseLoaded(std::string_view text) {
  std::vector<LoadedNccl> loaded;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line) && !lines.eof();) {
    std::vector<std::string> words;
    std::istringstream fields(line);
    for (std::string word; std::getline(fields, word, '\t');) words.push_back(word);
    if (words.size() != 4 || std::atoi(words[0].c_str()) <= 0) continue;
    loaded.push_back({std::atoi(words[0].c_str()), words[1], words[2], words[3]});
  }
  return loaded;
}

Result<std::string> AskVersion(const std::string& file) {
  int ends[2];
  if (pipe(ends) != 0) return Status(Code::kSystem, fmt::format("pipe: {}", std::strerror(errno)));
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    AnswerVersion(file, ends[1]);
    _exit(0);
  }
  close(ends[1]);
  const std::string answer = pid > 0 ? ReadAnswer(ends[0]) : "";
  close(ends[0]);
  if (pid > 0) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  if (answer.starts_with('+')) return answer.substr(1);
  return Status(Code::kInvalidArgument, fmt::format("'{}' is no libnccl that can be used here: {}", file,
                                                    answer.empty() ? "opening it failed" : answer.substr(1)));
}

std::string FormatLoaded(const std::vector<LoadedNccl>& loaded, const std::string& wanted) {
  if (loaded.empty()) {
    return "no process mapped a libnccl: the program does not use it, or is linked with it statically, or something in "
           "between clears the environment (sudo, env -i)\n";
  }
  std::map<std::string, std::vector<const LoadedNccl*>> by_file;
  for (const LoadedNccl& l : loaded) by_file[l.file].push_back(&l);
  std::string text =
      fmt::format("{} {} mapped a libnccl\n", loaded.size(), loaded.size() == 1 ? "process" : "processes");
  for (const auto& [file, users] : by_file) {
    const Result<std::string> version = AskVersion(file);
    text += fmt::format("  {} ({}){}\n", file, version.ok() ? *version : version.status().message(),
                        wanted.empty() || file == wanted ? "" : ": NOT the one asked for");
    for (std::size_t i = 0; i < std::min(users.size(), kMostNamed); ++i) {
      const LoadedNccl& l = *users[i];
      text += fmt::format("    {}{} (pid {})\n", l.rank == "-" ? "" : fmt::format("rank {}: ", l.rank),
                          std::filesystem::path(l.program).filename().string(), l.pid);
    }
    if (users.size() > kMostNamed) text += fmt::format("    and {} more\n", users.size() - kMostNamed);
  }
  return text;
}

int PreloadCommand(int argc, char** argv) {
  CommandLine line("Starts a program on Tutti's libnccl.so.2, and says which libnccl each of its processes mapped.",
                   kPreloadSelf);
  Plan plan;
  bool ld_preload = false, look = false, no_audit = false, require = false;
  line.Add("--library", plan.library, "the libnccl.so.2 to use (default: the one that came with this tool)")
      .Shown("FILE");
  const CommandLine::Option preload = line.AddFlag(
      "--ld-preload", ld_preload, "by LD_PRELOAD: whoever opens another libnccl by its path gets that other one");
  line.AddFlag("--look", look, "change nothing: only say which libnccl each process maps").Excludes(preload);
  line.AddFlag("--no-audit", no_audit, "no report, for systems where LD_AUDIT is in the way").Needs(preload);
  line.AddFlag("--require", require, "exit code 1 where no process mapped the library, or one mapped another");
  std::vector<std::string> words;
  line.Add("PROG", words, "the program, followed by its own arguments").Shown("ARGS...");
  line.Footer(
      "Without --ld-preload the dynamic linker is told (LD_AUDIT) that every libnccl.so, libnccl.so.2 and the like, "
      "by\n"
      "name or by path, is this one: also for Python packages that bring their own. Processes started below inherit "
      "it.\n"
      "A process that forks without exec is not listed again. The exit code is the program's.\n\n"
      "Examples:\n  tutti preload torchrun --nproc-per-node 4 train.py\n"
      "  tutti preload --look python3 -c 'import torch'");
  const int own = OwnWords(argc, argv, {"--library"});
  if (const std::optional<int> code = line.Parse(own, argv)) return *code;
  words.assign(argv + own, argv + argc);
  if (!words.empty() && words[0] == "--") words.erase(words.begin());
  if (words.empty()) return UsageError(kPreloadSelf, "which program? Name it after the options");
  if (require && no_audit) return UsageError(kPreloadSelf, "--require needs the report that --no-audit leaves out");
  plan.how = look ? How::kLook : ld_preload ? How::kPreload : How::kRedirect;
  plan.watch = !no_audit;

  const Result<std::string> program = FindProgram(words[0]);
  if (!program.ok()) {
    fmt::print(stderr, "{}: {}\n", kPreloadSelf, program.status().message());
    return ExitCodeOf(program.status());
  }
  const ReportFile report;
  plan.report = report.name();
  Status found = FindFiles(plan);
  if (found.ok() && plan.report.empty())
    found = Status(Code::kSystem, "cannot make a temporary file; is TMPDIR right?");
  if (!found.ok()) {
    fmt::print(stderr, "{}: {}\n", kPreloadSelf, found.message());
    return kExitFailed;
  }
  const int code = RunPreloaded(plan, words);
  if (!plan.watch) return code;
  const std::vector<LoadedNccl> loaded = ParseLoaded(ReadAll(plan.report));
  fmt::print(stderr, "{}: {}", kPreloadSelf, FormatLoaded(loaded, plan.library));
  return code == 0 && require && !AllMapped(loaded, plan.library) ? kExitFailed : code;
}

}  // namespace tutti::tools
