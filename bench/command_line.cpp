#include "command_line.h"

#include <CLI/CLI.hpp>

namespace warpmer::bench {
namespace {

template <class T>
void add_values(CLI::App& app, const std::string& name, std::vector<T>& values, char delimiter,
                const std::string& help) {
  CLI::Option* const option = app.add_option(name, values, help)->delimiter(delimiter);
  if (!values.empty()) option->capture_default_str();
}

}  // namespace

struct CommandLine::Impl {
  CLI::App app;
};

CommandLine::CommandLine(const std::string& description) : impl_(new Impl{CLI::App(description)}) {}
CommandLine::~CommandLine() = default;

void CommandLine::add_flag(const std::string& name, bool& value, const std::string& help) {
  impl_->app.add_flag(name, value, help);
}
void CommandLine::add_option(const std::string& name, double& value, const std::string& help) {
  impl_->app.add_option(name, value, help)->capture_default_str();
}
void CommandLine::add_option(const std::string& name, std::string& value, const std::string& help) {
  impl_->app.add_option(name, value, help)->capture_default_str();
}
void CommandLine::add_option(const std::string& name, std::uint32_t& value, const std::string& help,
                             std::uint32_t least, std::uint32_t most) {
  CLI::Option* const option = impl_->app.add_option(name, value, help)->capture_default_str();
  if (least > 0 || most < UINT32_MAX) option->check(CLI::Range(least, most));
}
void CommandLine::add_list(const std::string& name, std::vector<std::string>& values, char delimiter,
                           const std::string& help) {
  add_values(impl_->app, name, values, delimiter, help);
}
void CommandLine::add_list(const std::string& name, std::vector<double>& values, char delimiter,
                           const std::string& help) {
  add_values(impl_->app, name, values, delimiter, help);
}
void CommandLine::add_required(const std::string& name, std::string& value, const std::string& help) {
  impl_->app.add_option(name, value, help)->required();
}
void CommandLine::add_required(const std::string& name, std::vector<std::string>& values,
                               const std::string& help) {
  impl_->app.add_option(name, values, help)->required();
}

std::optional<int> CommandLine::parse(int argc, char** argv) {
  try {
    impl_->app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return impl_->app.exit(error);
  }
  return std::nullopt;
}

}  // namespace warpmer::bench
