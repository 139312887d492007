#include "cli/personalities/jellyfish/generator_commands.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "file/input_error.h"
#include "io/text/line_reader.h"
#include "system/descriptors.h"
#include "system/program.h"

namespace warpmer::cli {
namespace {

[[noreturn]] void throw_not_started(const std::string& command, int error) {
  throw ResourceError(
      fmt::format("the command {} cannot be started: {}", file::quoted(command), std::strerror(error)));
}

/// The changes of a command's descriptors before it begins.
class SpawnedFiles {
 public:
  explicit SpawnedFiles(int output) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
  }
  ~SpawnedFiles() { ::posix_spawn_file_actions_destroy(&actions_); }
  SpawnedFiles(const SpawnedFiles&) = delete;
  SpawnedFiles& operator=(const SpawnedFiles&) = delete;

  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

std::string shell_or_default(std::string shell) {
  if (!shell.empty()) return shell;
  const char* const from_environment = std::getenv("SHELL");
  return from_environment != nullptr && *from_environment != '\0' ? from_environment : "/bin/sh";
}

}  // namespace

GeneratorCommands::GeneratorCommands(const std::string& path, std::string shell) : path_(path) {
  if (path.empty()) return;
  shell = shell_or_default(std::move(shell));
  constexpr io::LineLimit kLongestCommand{std::size_t{1} << 20, "this line is too long for a command"};
  io::LineReader lines(path, 1, kLongestCommand);
  for (std::string_view command; lines.next_entry(command);)
    commands_.push_back({.text = std::string(command)});
  if (commands_.empty()) throw InputError(fmt::format("{}: there is no command in it", file::quoted(path)));
  for (Command& each : commands_) start(each, shell);
}

void GeneratorCommands::start(Command& command, const std::string& shell) const {
  int ends[2];
  if (const int error = system::make_pipe(ends); error != 0) throw_not_started(command.text, error);
  command.pipe = ends[0];
  const SpawnedFiles files(ends[1]);
  std::string program = shell, option = "-c", text = command.text;
  std::array<char*, 4> words = {program.data(), option.data(), text.data(), nullptr};
  const int error = ::posix_spawn(&command.process, shell.c_str(), files.get(), nullptr, words.data(),
                                  system::environment_variables());
  ::close(ends[1]);
  if (error == 0) return;
  command.process = 0;
  throw_not_started(command.text, error);
}

GeneratorCommands::~GeneratorCommands() {
  for (const Command& each : commands_) {
    if (each.pipe >= 0) ::close(each.pipe);
    if (each.process == 0) continue;
    ::kill(each.process, SIGTERM);
    ::waitpid(each.process, nullptr, 0);
  }
}

std::vector<std::string> GeneratorCommands::inputs(std::vector<std::string> files) const {
  for (const Command& each : commands_) files.push_back(fmt::format("/dev/fd/{}", each.pipe));
  return files;
}

void GeneratorCommands::finish() {
  for (Command& each : commands_) {
    int status = 0;
    ::waitpid(each.process, &status, 0);
    each.process = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    throw InputError(fmt::format("{}: the command {} {} {}", file::quoted(path_), file::quoted(each.text),
                                 WIFEXITED(status) ? "ended with exit status" : "was ended by signal",
                                 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status)));
  }
}

}  // namespace warpmer::cli
