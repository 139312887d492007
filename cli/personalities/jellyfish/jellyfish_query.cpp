/// `jellyfish query`

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/framework/command_files.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/messages.h"
#include "cli/framework/text_output.h"
#include "cli/personalities/jellyfish/jellyfish.h"
#include "cli/personalities/named_jobs.h"
#include "formats/jellyfish/jellyfish_bloom.h"
#include "formats/jellyfish/jellyfish_file.h"
#include "formats/jellyfish/jellyfish_lookup.h"
#include "io/input_set.h"

namespace warpmer::cli {
namespace {

/// A database, or a Bloom counter, that is asked for k-mers.
struct QueriedCounts {
  std::uint32_t k = 0;
  bool canonical = false;
  std::function<std::uint64_t(Key128)> find;
};

QueriedCounts open_queried(const std::string& path) {
  auto file = formats::map_jellyfish(path);
  const formats::JellyfishHeader header = formats::read_jellyfish_header(*file, {});
  if (header.format == formats::kJellyfishBloom) {
    const auto bloom = std::make_shared<const formats::JellyfishBloom>(std::move(file));
    return {header.facts.k, header.facts.canonical,
            [bloom](Key128 kmer) { return bloom->occurrences(kmer); }};
  }
  const auto database = std::make_shared<const formats::JellyfishLookup>(std::move(file));
  return {header.facts.k, header.facts.canonical, [database](Key128 kmer) { return database->find(kmer); }};
}

/// Takes the k-mers that words begin with, as Jellyfish does: anything may stand behind them, and from a
/// character that is no base on there are A. But Jellyfish reads into words of 32 bases, the last of which is
/// left as it was where an earlier one has such a character.
class KmersOfWords {
 public:
  explicit KmersOfWords(const QueriedCounts& counts) : k_(counts.k), is_canonical_(counts.canonical) {}

  /// Takes the k-mer; false for a word that is shorter.
  bool take(std::string_view word, Key128& kmer) {
    if (word.size() < k_) return false;
    kmer = 0;
    std::uint32_t bases = 0;
    bool are_bases = true;
    for (const char c : word.substr(0, k_)) {
      are_bases = are_bases && char_class(c) == CharClass::base;
      bases += are_bases ? 1 : 0;
      kmer = static_cast<Key128>(kmer << 2 | (are_bases ? base_code(c) : 0));
    }
    if (bases + kBasesOfWord < k_) kmer |= static_cast<std::uint64_t>(last_);
    if (is_canonical_) kmer = canonical(kmer, k_);
    last_ = kmer;
    return true;
  }

 private:
  static constexpr std::uint32_t kBasesOfWord = 32;

  std::uint32_t k_;
  bool is_canonical_;
  Key128 last_ = 0;
};

/// Lines of standard input, whatever is in them, as they come.
class LinesAsTheyCome {
 public:
  /// `before_waiting` is called when there is no whole line: who writes them may wait for answers.
  explicit LinesAsTheyCome(std::function<void()> before_waiting)
      : before_waiting_(std::move(before_waiting)) {}

  /// Takes the next line, without its end; valid until the next call. False at the end.
  bool next(std::string_view& line) {
    std::size_t end = text_.find('\n', at_);
    while (end == std::string::npos) {
      const std::size_t searched = text_.size() - at_;
      if (!read_more()) break;
      end = text_.find('\n', searched);
    }
    if (at_ == text_.size()) return false;
    line = std::string_view(text_).substr(at_, end == std::string::npos ? end : end - at_);
    at_ = end == std::string::npos ? text_.size() : end + 1;
    return true;
  }

 private:
  bool read_more() {
    constexpr std::size_t kReadAtOnce = std::size_t{1} << 16;
    if (is_read_) return false;
    before_waiting_();
    text_.erase(0, std::exchange(at_, 0));
    std::array<char, kReadAtOnce> bytes;
    const std::size_t n = read_some(bytes);
    text_.append(bytes.data(), n);
    is_read_ = n == 0;
    return !is_read_;
  }

  /// Waits for bytes, also where reading does not. Returns how many have come, 0 at the end.
  static std::size_t read_some(std::span<char> bytes) {
    for (;;) {
      const ssize_t n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno == EAGAIN) {
        pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
        ::poll(&input, 1, -1);
      } else if (errno != EINTR) {
        throw InputError(fmt::format("standard input cannot be read: {}", std::strerror(errno)));
      }
    }
  }

  std::function<void()> before_waiting_;
  std::string text_;
  std::size_t at_ = 0;  ///< in `text_`, where the next line begins
  bool is_read_ = false;
};

/// Prints the counts of k-mers in a database.
class JellyfishQueries {
 public:
  JellyfishQueries(const QueriedCounts& counts, TextOutput& output) : counts_(counts), output_(output) {}

  /// Prints a k-mer and its count.
  void print(Key128 kmer) {
    constexpr std::size_t kDigits = 20;
    kmer = in_database(kmer);
    char* const begin = output_.reserve(k() + kKmerRoom + kDigits);
    write_kmer(kmer, k(), begin);
    begin[k()] = ' ';
    char* end = std::to_chars(begin + k() + 1, begin + k() + 1 + kDigits, counts_.find(kmer)).ptr;
    *end++ = '\n';
    output_.commit(static_cast<std::size_t>(end - begin));
  }

  /// Prints the k-mers that words begin with, and their counts.
  void print_words(std::span<const std::string> words) {
    KmersOfWords kmers(counts_);
    for (const std::string& word : words) {
      if (Key128 kmer = 0; kmers.take(word, kmer)) {
        print(kmer);
      } else {
        refuse(word);
      }
    }
  }

  /// Prints the counts of the k-mers that the lines of standard input begin with, each before it waits for
  /// the next line.
  void print_answers() {
    KmersOfWords kmers(counts_);
    LinesAsTheyCome lines([this] { output_.flush(); });
    for (std::string_view line; lines.next(line);) {
      if (Key128 kmer = 0; kmers.take(line, kmer)) {
        output_.print("{}\n", counts_.find(kmer));
      } else {
        refuse(line);
      }
    }
  }

  /// Prints all k-mers of a sequence file, in its order.
  void print_sequences(const std::string& path) {
    io::InputOptions options;
    options.reading = named_reading();
    options.overlap_bases = k() - 1;
    options.in_order = true;
    options.one_caller = true;
    io::InputSet input({path}, options);
    io::Batch batch;
    while (input.next(batch)) {
      for (const io::Piece& piece : batch.pieces)
        print_piece({batch.text.data() + piece.offset, piece.length});
    }
  }

 private:
  static void refuse(std::string_view word) { print_error(fmt::format("Invalid mer '{}'", word)); }
  [[nodiscard]] std::uint32_t k() const { return counts_.k; }
  [[nodiscard]] Key128 in_database(Key128 kmer) const {
    return counts_.canonical ? canonical(kmer, k()) : kmer;
  }

  void print_piece(std::string_view bases) {
    Key128 kmer = 0;
    std::uint32_t length = 0;
    for (const char base : bases) {
      const bool is_base = char_class(base) == CharClass::base;
      kmer = is_base ? (kmer << 2 | base_code(base)) & key_mask<Key128>(k()) : 0;
      length = is_base ? length + 1 : 0;
      if (is_base && length >= k()) print(kmer);
    }
  }

  const QueriedCounts& counts_;
  TextOutput& output_;
};

}  // namespace

int run_jellyfish_query(const JellyfishWords& command) {
  using enum ValuePlace;
  std::vector<std::string> sequences;
  std::string path = "-";
  bool is_interactive = false;
  OptionTable table{"jellyfish query",
                    {taken("-s,--sequence", free, "print the counts of all k-mers of this file",
                           [&](const GivenOption& given) { sequences.emplace_back(given.value); }),
                     taken("-o,--output", free, "output; standard output unless given", store_text(path)),
                     taken("-i,--interactive", none, "print the counts of k-mers on standard input",
                           set_flag(is_interactive)),
                     ignored("-l,--load", none, "read the database into memory"),
                     ignored("-L,--no-load", none, "do not read the database into memory")}};
  const auto arguments = jellyfish_arguments(command, std::move(table), "file mers...", 1, SIZE_MAX);
  if (!arguments) return kDone;
  std::vector<std::string> inputs = sequences;
  inputs.push_back(arguments->front());
  check_files({path}, inputs);
  const QueriedCounts counts = open_queried(arguments->front());
  TextOutput output(path);
  JellyfishQueries queries(counts, output);
  for (const std::string& file : sequences) queries.print_sequences(file);
  queries.print_words(std::span(*arguments).subspan(1));
  if (is_interactive) queries.print_answers();
  output.finish();
  return kDone;
}

}  // namespace warpmer::cli
