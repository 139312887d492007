/// `warpmer dump`: every k-mer with its count.

#include <charconv>
#include <cstring>
#include <memory>
#include <string>

#include "cli/application.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/flags.h"
#include "cli/text_output.h"
#include "core/error.h"
#include "engine/entries.h"
#include "index/index_file.h"

namespace warpmer::cli {
namespace {

struct DumpOptions {
  std::string index;
  std::string output;
  std::string format = "tsv";
  bool sort = false;
  CountRange range;
  unsigned threads = 0;
  std::uint64_t memory_bytes = 0;
};

constexpr std::size_t kMaxDigits = 20;
constexpr std::size_t kMaxSeparators = 3;

/// `KMER<TAB>COUNT`
char* format_tsv(char* out, const char* kmer, std::size_t k, std::uint64_t count) {
  std::memcpy(out, kmer, k);
  out += k;
  *out++ = '\t';
  out = std::to_chars(out, out + kMaxDigits, count).ptr;
  *out++ = '\n';
  return out;
}

/// `>COUNT`, then the k-mer on a line of its own.
char* format_fasta(char* out, const char* kmer, std::size_t k, std::uint64_t count) {
  *out++ = '>';
  out = std::to_chars(out, out + kMaxDigits, count).ptr;
  *out++ = '\n';
  std::memcpy(out, kmer, k);
  out += k;
  *out++ = '\n';
  return out;
}

/// Entries that are formatted between two looks at the output's buffer.
constexpr std::size_t kStep = 1024;

template <auto kFormat>
void write_block(const engine::EntryBlock& block, std::size_t k, const CountRange& range,
                 TextOutput& output) {
  for (std::size_t first = 0; first < block.size; first += kStep) {
    const std::size_t end = std::min(block.size, first + kStep);
    char* const begin = output.reserve((end - first) * (k + kMaxDigits + kMaxSeparators));
    char* out = begin;
    for (std::size_t i = first; i < end; ++i) {
      if (range.contains(block.counts[i])) {
        out = kFormat(out, block.kmers + i * k, k, block.counts[i]);
      }
    }
    output.commit(static_cast<std::size_t>(out - begin));
  }
}

int run_dump(const DumpOptions& options) {
  options.range.check();
  if (options.format != "tsv" && options.format != "fasta") {
    throw UsageError("--format must be tsv or fasta, not '" + options.format + "'");
  }
  check_output(options.output, {options.index});
  const index::IndexFile index(options.index);
  TextOutput output(options.output);
  const std::size_t k = index.params().k;
  const auto visit = [&](const engine::EntryBlock& block) {
    if (options.format == "tsv") {
      write_block<format_tsv>(block, k, options.range, output);
    } else {
      write_block<format_fasta>(block, k, options.range, output);
    }
  };
  if (options.sort) {
    engine::for_each_block_sorted(index, memory_or_default(options.memory_bytes),
                                  threads_or_default(options.threads), visit);
  } else {
    engine::for_each_block(index, visit);
  }
  output.finish();
  return kDone;
}

}  // namespace

void add_dump_command(Application& application) {
  auto options = std::make_shared<DumpOptions>();
  CLI::App& command = application.add_command(
      "dump",
      "Print every k-mer with its count.\n"
      "One line per k-mer: the k-mer, a tab, its count; in the order of the file unless --sort is given.",
      R"(Examples:
  warpmer dump sample.wmi | head
  warpmer dump --sort --min-count 2 -o sample.tsv sample.wmi
  warpmer dump --format fasta sample.wmi > sample.fa
)");
  command.add_flag("--sort", options->sort, "In lexicographic order of the k-mers.");
  command
      .add_option("--format", options->format,
                  "tsv: KMER<TAB>COUNT; fasta: a record >COUNT for each k-mer. Default: tsv.")
      ->type_name("tsv|fasta");
  add_count_range_flags(command, options->range);
  add_text_output_flag(command, options->output);
  add_threads_flag(command, options->threads);
  add_memory_flag(command, options->memory_bytes);
  add_index_argument(command, options->index);
  application.on_run(command, [options] { return run_dump(*options); });
}

}  // namespace warpmer::cli
