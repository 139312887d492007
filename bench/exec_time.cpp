// How long a command takes from exec to exit, as a script that runs it again and again sees it:
//
//   exec_time RUNS PROGRAM [ARGUMENT]...
//
// Runs it one after another, its output thrown away, and prints the smallest, the median and the largest wall
// time, the median of its CPU time (milliseconds) and of its page faults. PROGRAM is a path. Beside it,
// `/bin/true` says what the machine takes for a process.

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

struct OneRun {
  double wall_ms = 0, cpu_ms = 0;
  long faults = 0;
};

double milliseconds(const timeval& time) {
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
}

/// Ends this program where the other one does not end well.
OneRun run_once(char* const* command) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int stream : {1, 2})
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0);
  const auto start = std::chrono::steady_clock::now();
  pid_t process = 0;
  int status = 0;
  rusage usage = {};
  if (posix_spawn(&process, command[0], &actions, nullptr, command, environ) != 0 ||
      wait4(process, &status, 0, &usage) != process || status != 0) {
    fmt::print(stderr, "exec_time: {} did not run, or not well\n", command[0]);
    std::exit(1);
  }
  const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - start;
  posix_spawn_file_actions_destroy(&actions);
  return {wall.count(), milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime), usage.ru_minflt};
}

template <class Member>
auto median(std::vector<OneRun> runs, Member member) {
  const auto middle = runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2);
  std::nth_element(runs.begin(), middle, runs.end(),
                   [&](const OneRun& a, const OneRun& b) { return a.*member < b.*member; });
  return *middle.*member;
}

}  // namespace

int main(int argc, char** argv) {
  const int number = argc > 2 ? std::atoi(argv[1]) : 0;
  if (number < 1) {
    fmt::print(stderr, "usage: exec_time RUNS PROGRAM [ARGUMENT]...\n");
    return 2;
  }
  std::vector<OneRun> runs;
  runs.reserve(static_cast<std::size_t>(number));
  for (int i = 0; i < number; ++i) runs.push_back(run_once(argv + 2));
  const auto [least, most] = std::minmax_element(
      runs.begin(), runs.end(), [](const OneRun& a, const OneRun& b) { return a.wall_ms < b.wall_ms; });
  fmt::print("wall {:.2f} (least {:.2f}, most {:.2f}) ms, CPU {:.2f} ms, {} page faults\n",
             median(runs, &OneRun::wall_ms), least->wall_ms, most->wall_ms, median(runs, &OneRun::cpu_ms),
             median(runs, &OneRun::faults));
  return 0;
}
