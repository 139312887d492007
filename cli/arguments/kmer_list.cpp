#include "cli/arguments/kmer_list.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/error.h"

namespace warpmer::cli {
namespace {

/// Bytes of the file for which another thread is started: an eighth of a chunk, as it may be compressed.
constexpr std::uint64_t kThreadBytes = std::uint64_t{32} << 10;
constexpr io::LineLimit kLongestLine{std::size_t{1} << 20, "this line is too long for a k-mer"};

bool is_base(char c) { return std::string_view("ACGTUacgtu").find(c) != std::string_view::npos; }

}  // namespace

KmerList::KmerList(const std::string& path) : lines_(path, 1, kLongestLine) {}

bool KmerList::next(KmerChunk& chunk) {
  const std::scoped_lock lock(mutex_);
  if (is_done_) return false;
  is_done_ = true;  // for other threads, should this one throw: what is left would not begin with a line
  // A pipe's lines are answered as they come. Those of a file go together, as a server's answer to each chunk
  // is waited for.
  is_done_ = !lines_.next_text(chunk, bytes() == 0 ? 1 : kThreadBytes);
  chunk.ordinal = next_ordinal_++;
  return !is_done_;
}

void KmerList::cancel() noexcept {
  const std::scoped_lock lock(mutex_);
  is_done_ = true;
}

unsigned KmerList::useful_threads(unsigned threads) const noexcept {
  return bytes() == 0 ? threads
                      : static_cast<unsigned>(std::min<std::uint64_t>(threads, 1 + bytes() / kThreadBytes));
}

bool KmerList::is_short(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::is_regular_file(path, unknown) &&
         std::filesystem::file_size(path, unknown) < kThreadBytes;
}

std::string_view kmer_of_line(std::string_view line) {
  const std::string_view entry = io::entry_of_line(line);
  if (entry.starts_with('>') || entry.starts_with('@'))
    throw UsageError("this is FASTA or FASTQ, and no list of k-mers; give it to --reads");
  const std::string_view kmer = io::first_word(entry);
  if (kmer.size() < entry.size()) {
    const std::string_view second = io::first_word(io::entry_of_line(entry.substr(kmer.size())));
    if (second.size() == kmer.size() && std::ranges::all_of(second, is_base))
      throw UsageError("there are two k-mers in this line; write each on a line of its own");
  }
  return kmer;
}

}  // namespace warpmer::cli
