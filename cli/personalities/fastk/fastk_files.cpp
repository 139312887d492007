/// `Fastrm`, `Fastmv`, `Fastcp`: files of FastK with their hidden parts.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/framework/command_files.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/messages.h"
#include "cli/personalities/fastk/fastk_arguments.h"
#include "cli/personalities/option_table.h"
#include "cli/personalities/personality.h"
#include "cli/personalities/programs.h"
#include "file/mapped_input.h"
#include "file/output/buffered_output.h"
#include "jobs/output_check.h"

namespace warpmer::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKinds[] = {".hist", ".ktab", ".prof"};

struct FileFlags {
  bool asks = false, forces = false, keeps = false;
};

/// The files that an argument names: one kind, or all, with one root.
struct NamedFiles {
  fs::path folder;
  std::string root;
  std::vector<std::string_view> kinds;

  [[nodiscard]] fs::path stub(std::string_view kind) const { return folder / (root + std::string(kind)); }
};

NamedFiles named_files(const std::string& argument) {
  const fs::path path(argument);
  NamedFiles files{path.parent_path(), path.filename().string(), {std::begin(kKinds), std::end(kKinds)}};
  for (const std::string_view kind : kKinds) {
    if (files.root.size() > kind.size() && files.root.ends_with(kind)) {
      files.root.resize(files.root.size() - kind.size());
      files.kinds = {kind};
      break;
    }
  }
  return files;
}

void check(const std::error_code& failed, const NamedCall& call, const fs::path& path) {
  if (failed) throw ResourceError(fmt::format("{}: {}: {}", call.program, path.string(), failed.message()));
}

/// Returns the hidden parts that there are: what begins with `.ROOT.ktab.`, or with one of those of profiles,
/// and ends in a number.
std::vector<std::string> hidden_parts(const NamedCall& call, const NamedFiles& files, std::string_view kind) {
  std::vector<std::string> beginnings;
  if (kind == ".ktab") beginnings = {".ktab."};
  if (kind == ".prof") beginnings = {".pidx.", ".prof."};
  std::vector<std::string> parts;
  if (beginnings.empty()) return parts;
  std::error_code failed;
  const fs::path folder = files.folder.empty() ? "." : files.folder;
  const fs::directory_iterator entries(folder, failed);
  check(failed, call, folder);
  for (const auto& entry : entries) {
    const std::string name = entry.path().filename().string();
    for (const std::string& beginning : beginnings) {
      const std::string whole = fmt::format(".{}{}", files.root, beginning);
      const bool is_part = name.starts_with(whole) && name.size() > whole.size() &&
                           name.find_first_not_of("0123456789", whole.size()) == std::string::npos;
      if (is_part) parts.push_back(name);
    }
  }
  return parts;
}

bool answers_yes(const std::string& question) {
  std::cout << question << std::flush;
  std::string line;
  bool is_yes = false;
  std::getline(std::cin, line);
  for (const char letter : line) {
    if (letter == 'y' || letter == 'Y') is_yes = true;
    if (letter == 'n' || letter == 'N') is_yes = false;
  }
  return is_yes;
}

OptionTable file_options(const std::string& program, FileFlags& flags) {
  using enum ValuePlace;
  OptionTable table{program,
                    {taken("-i", none, "ask first", set_flag(flags.asks)),
                     taken("-f", none, "ask and say nothing", set_flag(flags.forces))},
                    true};
  if (program != "Fastrm")
    table.rows.push_back(taken("-n", none, "keep files that are there", set_flag(flags.keeps)));
  return table;
}

/// Returns the arguments; none after help.
std::vector<std::string> file_arguments(const NamedCall& call, FileFlags& flags, std::size_t least,
                                        std::string_view usage) {
  const OptionTable table = file_options(call.program, flags);
  auto arguments = fastk_arguments(call, table, usage, least);
  if (flags.forces) flags.asks = flags.keeps = false;
  return std::move(arguments).value_or(std::vector<std::string>());
}

std::string missing_text(const NamedCall& call, const NamedFiles& files, const std::string& argument) {
  return files.kinds.size() > 1
             ? fmt::format("{}: no FastK output files with root {}", call.program, files.root)
             : fmt::format("{}: {} does not exist", call.program, argument);
}

/// Copies a file, with its mode; the copy gets its name together with all others.
void copy(const std::string& from, const std::string& to) {
  jobs::check_is_no_input(to, {from});
  const file::MappedInput input(from);
  file::BufferedOutput output(to);
  std::error_code failed;
  const fs::perms mode = fs::status(from, failed).permissions();
  if (!failed) output.set_mode(static_cast<unsigned>(mode & fs::perms::all));
  output.write({reinterpret_cast<const char*>(input.bytes().data()), input.bytes().size()});
  output.finish();
}

/// Moves or copies a file over another. What has to be copied to be moved is added to `copied`.
void transfer(const NamedCall& call, const fs::path& from, const fs::path& to,
              std::vector<fs::path>& copied) {
  std::error_code failed;
  if (call.program == "Fastmv") fs::rename(from, to, failed);
  if (call.program == "Fastmv" && !failed) return;
  copy(from.string(), to.string());
  copied.push_back(from);
}

/// Files that are to be moved or copied, and where.
struct Transfer {
  NamedFiles from, to;
};

/// Returns the transfers of all sources. InputError for a source that is not there.
std::vector<Transfer> transfers_of(const NamedCall& call, const std::vector<std::string>& arguments,
                                   bool is_folder) {
  std::error_code failed;
  std::vector<Transfer> transfers;
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    const NamedFiles from = named_files(arguments[i]);
    const bool is_any = std::ranges::any_of(
        from.kinds, [&](std::string_view kind) { return fs::exists(from.stub(kind), failed); });
    if (!is_any) throw InputError(missing_text(call, from, arguments[i]));
    NamedFiles to{fs::path(arguments.back()), from.root, {}};
    if (!is_folder) to = named_files(arguments.back());
    transfers.push_back({from, std::move(to)});
  }
  return transfers;
}

/// UsageError where two sources would go to one place: the second would replace the first, unseen by -n and
/// -i, since copies get their names in the end.
void check_targets_differ(const NamedCall& call, const std::vector<Transfer>& transfers) {
  std::error_code failed;
  std::map<fs::path, fs::path> sources;
  for (const auto& [from, to] : transfers) {
    for (const std::string_view kind : from.kinds) {
      if (!fs::exists(from.stub(kind), failed)) continue;
      const auto [other, is_new] = sources.emplace(to.stub(kind), from.stub(kind));
      if (is_new) continue;
      throw UsageError(fmt::format("{}: {} and {} would both become {}; give them one after the other",
                                   call.program, other->second.string(), from.stub(kind).string(),
                                   other->first.string()));
    }
  }
}

void transfer_all(const NamedCall& call, const FileFlags& flags, const Transfer& files,
                  std::vector<fs::path>& copied) {
  std::error_code failed;
  const auto& [from, to] = files;
  for (const std::string_view kind : from.kinds) {
    if (!fs::exists(from.stub(kind), failed)) continue;
    if (fs::exists(to.stub(kind), failed)) {
      if (flags.keeps) continue;
      if (flags.asks && !answers_yes(fmt::format("overwrite {}? ", to.stub(kind).string()))) continue;
    }
    for (const std::string& part : hidden_parts(call, from, kind)) {
      const std::string number = part.substr(1 + from.root.size());
      transfer(call, from.folder / part, to.folder / ("." + to.root + number), copied);
    }
    transfer(call, from.stub(kind), to.stub(kind), copied);
  }
}

}  // namespace

int run_fastrm(const NamedCall& call) {
  FileFlags flags;
  for (const std::string& argument : file_arguments(call, flags, 1, "SOURCE...")) {
    const NamedFiles files = named_files(argument);
    std::error_code failed;
    bool is_any = false;
    for (const std::string_view kind : files.kinds) {
      if (!fs::exists(files.stub(kind), failed)) continue;
      is_any = true;
      const std::string_view parts = kind == ".hist" ? "" : " & hidden parts";
      if (flags.asks && !answers_yes(fmt::format("remove {}{}? ", files.stub(kind).string(), parts)))
        continue;
      for (const std::string& part : hidden_parts(call, files, kind)) {
        fs::remove(files.folder / part, failed);
        check(failed, call, files.folder / part);
      }
      fs::remove(files.stub(kind), failed);
      check(failed, call, files.stub(kind));
    }
    if (!is_any && !flags.forces) print_error(missing_text(call, files, argument));
  }
  return kDone;
}

int run_fastmv(const NamedCall& call) {
  FileFlags flags;
  const std::vector<std::string> arguments = file_arguments(call, flags, 2, "SOURCE... DESTINATION");
  if (arguments.empty()) return kDone;
  std::error_code failed;
  const bool is_folder = fs::is_directory(arguments.back(), failed);
  if (arguments.size() > 2 && !is_folder) {
    throw UsageError(fmt::format("{}: several sources go to a directory, and '{}' is none", call.program,
                                 arguments.back()));
  }
  std::vector<fs::path> copied;
  const std::vector<Transfer> transfers = transfers_of(call, arguments, is_folder);
  check_targets_differ(call, transfers);
  for (const Transfer& each : transfers) transfer_all(call, flags, each, copied);
  if (call.program == "Fastcp") return kDone;
  name_outputs();
  for (const fs::path& file : copied) {
    fs::remove(file, failed);
    check(failed, call, file);
  }
  return kDone;
}

}  // namespace warpmer::cli
