#pragma once
/// The command line of an experiment that is a program of its own. CLI11 takes nvcc far longer to read than
/// the experiment itself.

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

  // What a value is when the option is not given is its default, which --help shows.
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

  /// The exit status, if the program is to end here: help was asked for, or the arguments are wrong. Prints
  /// either.
  [[nodiscard]] std::optional<int> parse(int argc, char** argv);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace warpmer::bench
