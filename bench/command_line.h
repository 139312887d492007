#pragma once
/// The command line of an experiment that is a program of its own. It does without CLI11, which nvcc takes
/// far longer to read than the experiment itself.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace warpmer::bench {

class CommandLine {
 public:
  explicit CommandLine(const std::string& description);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // The initial value is the default, which --help shows.
  void add_flag(const std::string& name, bool& value, const std::string& help);
  void add_option(const std::string& name, double& value, const std::string& help);
  void add_option(const std::string& name, std::string& value, const std::string& help);
  void add_option(const std::string& name, std::uint32_t& value, const std::string& help,
                  std::uint32_t least = 0, std::uint32_t most = UINT32_MAX);
  void add_list(const std::string& name, std::vector<std::string>& values, char delimiter,
                const std::string& help);
  void add_list(const std::string& name, std::vector<double>& values, char delimiter,
                const std::string& help);
  void add_required(const std::string& name, std::string& value, const std::string& help);
  void add_required(const std::string& name, std::vector<std::string>& values, const std::string& help);

  /// Returns the exit status if the program must end here, because help was asked for or the arguments are
  /// wrong. Prints the help or the error.
  [[nodiscard]] std::optional<int> parse(int argc, char** argv);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace warpmer::bench
