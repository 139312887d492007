/// Entry point: turns whatever goes wrong into one line on stderr and a documented exit status.

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/framework/application.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/messages.h"
#include "cli/framework/process.h"
#include "cli/framework/text_output.h"
#include "cli/personalities/personality.h"
#include "file/mapped_inputs.h"
#include "file/suggestion.h"
#include "mpi/job_failure.h"
#include "mpi/process_group.h"

namespace warpmer::cli {
namespace {

int exit_status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return kUsageError;
    case ErrorKind::input:
      return kInputError;
    case ErrorKind::resource:
      return kResourceError;
    case ErrorKind::internal:
      return kInternalError;
  }
  return kInternalError;
}

int fail(int status, const std::string& message) {
  print_error(message);
  return status;
}

/// All ranks end with the same status, and one of them says why.
int fail(mpi::ProcessGroup& ranks, const mpi::JobFailure& own) {
  if (!ranks.are_several()) return fail(exit_status_of(own.kind), own.message);
  const mpi::JobFailure job_failure = ranks.settle(own);
  const int status = exit_status_of(job_failure.kind);
  if (ranks.is_first()) {
    // Machines differ in what they have and lack.
    const bool is_of_machine = job_failure.kind == ErrorKind::resource;
    fail(status, (is_of_machine ? job_failure.place + ": " : "") + job_failure.message);
  }
  ranks.leave(status);
  return status;
}

/// `--help` and `--version` reach us as exceptions, too.
int finish_parsing(const Application& application, const CLI::ParseError& error) {
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::Success))
    return fail(application.ranks(), {ErrorKind::usage, application.render_parse_error(error)});
  const bool version = dynamic_cast<const CLI::CallForVersion*>(&error) != nullptr;
  application.check_told_alike(version ? "--version" : "--help");
  if (!application.ranks().is_first()) return kDone;
  TextOutput output("-");
  output.write(version ? std::string(error.what()) + "\n" : application.root().help());
  output.finish();
  return kDone;
}

int run_command(Application& application, const std::vector<std::string>& words) {
  try {
    return application.run({words.begin() + (words.empty() ? 0 : 1), words.end()});
  } catch (const CLI::ParseError& error) {
    return finish_parsing(application, error);
  }
}

int run(mpi::ProcessGroup& ranks, const std::vector<std::string>& words) {
  const std::optional<NamedCall> call = named_call(words);
  std::optional<Application> application;
  try {
    if (call) return run_named(*call, ranks);
    file::note_command_line(words, {"--only"});
    application.emplace(quote_command_line(words), ranks, words.size() > 1 ? words[1] : std::string());
    return run_command(*application, words);
  } catch (...) {
    mpi::JobFailure job_failure = mpi::job_failure_of(std::current_exception());
    if (call) job_failure.message += options_note(*call, job_failure.kind, job_failure.message);
    if (application) job_failure.message += application->default_memory_note(job_failure.message);
    // An input that is changed while it is read looks damaged, or makes later steps fail.
    const std::optional<std::string> change = file::MappedInputs::change();
    const int status = fail(ranks, change ? mpi::JobFailure{ErrorKind::input, *change} : job_failure);
    return call ? status_of_named(status) : status;
  }
}

/// The status, unless another rank has failed since.
int leave(mpi::ProcessGroup& ranks, int status) {
  const std::optional<mpi::JobFailure> job_failure = ranks.leave(status);
  return job_failure ? exit_status_of(job_failure->kind) : status;
}

/// Nothing if this process was to be one of several and could not join them.
std::unique_ptr<mpi::ProcessGroup> join() {
  try {
    return mpi::join_ranks();
  } catch (const Error& error) {
    if (mpi::launched_rank() == 0) fail(exit_status_of(error.kind()), error.what());
    return nullptr;
  }
}

}  // namespace
}  // namespace warpmer::cli

int main(int argc, char** argv) {
  using namespace warpmer::cli;
  reserve_standard_streams();
  install_signal_handlers();
  print_warnings();
  const std::vector<std::string> words(argv, argv + argc);
  const std::unique_ptr<warpmer::mpi::ProcessGroup> ranks = join();
  if (!ranks) return kResourceError;
  const int status = run(*ranks, words);
  print_left_behind();
  return leave(*ranks, status);
}
