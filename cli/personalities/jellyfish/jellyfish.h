#pragma once
/// The commands of `jellyfish`, each a function of the words behind its name.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/personalities/option_table.h"
#include "cli/personalities/personality.h"
#include "formats/jellyfish/jellyfish_header.h"
#include "formats/stream/kmer_stream.h"
#include "jobs/count_job.h"

namespace warpmer::cli {

/// A command of jellyfish's.
struct JellyfishWords {
  const NamedCall& call;
  std::vector<std::string> words;  ///< behind the command
};

int run_jellyfish_count(const JellyfishWords& command);
int run_jellyfish_histo(const JellyfishWords& command);
int run_jellyfish_dump(const JellyfishWords& command);
int run_jellyfish_stats(const JellyfishWords& command);
int run_jellyfish_query(const JellyfishWords& command);
int run_jellyfish_info(const JellyfishWords& command);
int run_jellyfish_merge(const JellyfishWords& command);
int run_jellyfish_bc(const JellyfishWords& command);
int run_jellyfish_mem(const JellyfishWords& command);

/// Reads a command's options, or prints its help or version. Returns the other words; nothing after these.
/// UsageError unless there are at least `least` and at most `most` of them.
std::optional<std::vector<std::string>> jellyfish_arguments(const JellyfishWords& command, OptionTable table,
                                                            std::string_view arguments, std::size_t least,
                                                            std::size_t most);

/// Opens a database of records or of text, zeros included. InputError if it is none.
std::unique_ptr<formats::KmerSource> open_jellyfish(const std::string& path);

/// Returns what `jellyfish info` will tell of a file that this call makes.
formats::JellyfishCall jellyfish_call(const NamedCall& call);

/// Writes how long counting took (`--timing`); nothing if `path` is empty.
void write_jellyfish_timing(const std::string& path, const jobs::CountReport& report);

/// Stores a number that may end in k, M, G, T, P or E, powers of 1000.
TakeOption store_suffixed(std::uint64_t& to);

}  // namespace warpmer::cli
