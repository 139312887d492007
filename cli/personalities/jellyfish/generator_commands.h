#pragma once
/// Commands that write reads (`jellyfish count -g`).

#include <sys/types.h>

#include <string>
#include <vector>

namespace warpmer::cli {

/// The commands of a file, one a line, each running in a shell and writing into a pipe. They all run at once;
/// those whose turn has not come wait for their pipe to be read. Ends those that still run when it goes.
class GeneratorCommands {
 public:
  /// Starts them; none if `path` is empty. `shell` may be empty: then it is $SHELL, or /bin/sh. InputError
  /// for a file that cannot be read; ResourceError when a command cannot be started.
  GeneratorCommands(const std::string& path, std::string shell);
  ~GeneratorCommands();
  GeneratorCommands(const GeneratorCommands&) = delete;
  GeneratorCommands& operator=(const GeneratorCommands&) = delete;

  /// Returns these files, and the pipes behind them.
  [[nodiscard]] std::vector<std::string> inputs(std::vector<std::string> files) const;
  /// Waits for the commands, when all has been read. InputError if one failed.
  void finish();

 private:
  struct Command {
    std::string text;
    pid_t process = 0;
    int pipe = -1;  ///< to read from
  };

  void start(Command& command, const std::string& shell) const;

  std::string path_;
  std::vector<Command> commands_;
};

}  // namespace warpmer::cli
