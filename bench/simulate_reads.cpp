// Simulates a genome and reads of it, fast and reproducibly.
//
//   simulate_reads --genome-length 4.6M --repeats 0.05 --coverage 100 -o reads.fq
//   simulate_reads --genome genome.fa --coverage 30 > reads.fq
//   simulate_reads --genome-length 100M --mutants 30 --error-rate 0.001 -o genomes.fa
//
// Every random number is a function of (seed, stream, index), never of what was drawn before, so read i
// is the same whatever thread makes it. All records have the same size, so its place in the file is
// known too: blocks of reads are formatted side by side and written with pwrite. To a pipe they are
// written in order.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

struct Options {
  std::uint64_t genome_length = 4'600'000;
  double repeat_fraction = 0.05;
  std::uint64_t repeat_length = 2'000;
  std::string genome_file;
  std::string write_genome;
  double coverage = 30;
  std::uint64_t reads = 0;
  std::uint32_t read_length = 150;
  double error_rate = 0.005;
  std::uint64_t fragment_length = 0;
  std::uint64_t mutants = 0;
  std::uint64_t line_length = 70;
  std::string output = "-";
  std::string output2;
  std::uint64_t seed = 1;
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  bool fasta = false;
  bool binned_qualities = false;
};

/// SplitMix64 as a counter-based generator: the n-th number of the stream that (seed, stream, index) names.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream, std::uint64_t index)
      : state_(mix(mix(seed * 0x9E3779B97F4A7C15u + stream) ^ (index * 0xD1B54A32D192ED03u))) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15u;
    return mix(state_);
  }
  /// Uniform in [0, n).
  std::uint64_t below(std::uint64_t n) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((Wide{next()} * n) >> 64);
  }
  /// Uniform in (0, 1].
  double unit() { return (static_cast<double>(next() >> 11) + 1.0) * 0x1.0p-53; }

 private:
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }
  std::uint64_t state_;
};

enum Stream : std::uint64_t { kGenomeStream, kRepeatStream, kReadStream, kQualityStream, kMutantStream };

constexpr char complement(char base) {
  switch (base) {
    case 'A':
      return 'T';
    case 'C':
      return 'G';
    case 'G':
      return 'C';
    case 'T':
      return 'A';
    default:
      return 'N';
  }
}

/// Random bases, then copies of earlier stretches (half of them from the other strand) over a fraction of
/// them.
std::string make_genome(const Options& options) {
  std::string genome(options.genome_length, 'A');
  Random random(options.seed, kGenomeStream, 0);
  for (std::size_t i = 0; i < genome.size();) {
    std::uint64_t bits = random.next();
    for (int j = 0; j < 32 && i < genome.size(); ++j, bits >>= 2) genome[i++] = "ACGT"[bits & 3];
  }
  // One family per ten copies: a few stretches seen many times, as in real genomes.
  const std::uint64_t length = std::min(options.repeat_length, options.genome_length / 4);
  if (length == 0) return genome;
  const auto copies = static_cast<std::uint64_t>(
      options.repeat_fraction * static_cast<double>(options.genome_length) / static_cast<double>(length));
  Random place(options.seed, kRepeatStream, 0);
  std::vector<std::string> families;
  for (std::uint64_t i = 0; i < copies; ++i) {
    if (i % 10 == 0) families.push_back(genome.substr(place.below(genome.size() - length + 1), length));
    std::string copy = families[place.below(families.size())];
    if (place.next() & 1) {
      std::reverse(copy.begin(), copy.end());
      std::transform(copy.begin(), copy.end(), copy.begin(), complement);
    }
    genome.replace(place.below(genome.size() - length + 1), length, copy);
  }
  return genome;
}

/// All sequences of a FASTA file end to end, upper case, anything but A C G T left out.
std::string read_genome(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("cannot read {}", path));
  std::string genome;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] == '>') continue;
    for (char c : line) {
      c = static_cast<char>(c & ~0x20);
      if (c == 'A' || c == 'C' || c == 'G' || c == 'T') genome.push_back(c);
    }
  }
  return genome;
}

/// Substitutions at a rate. The gaps between them are geometric: one random number for each instead of one
/// per base.
class Substitutions {
 public:
  explicit Substitutions(double rate) : is_none_(rate <= 0), scale_(1.0 / std::log1p(-rate)) {}

  /// Calls `at` with each place in [0, length) that is hit.
  template <class At>
  void draw(std::uint64_t length, Random& random, const At& at) const {
    if (is_none_) return;
    const auto end = static_cast<double>(length);
    for (double place = gap(random); place < end; place += 1 + gap(random))
      at(static_cast<std::uint64_t>(place));
  }

  static char other_base(char base, Random& random) {
    const auto code = static_cast<std::uint64_t>(std::string_view("ACGT").find(base));
    return "ACGT"[(code + 1 + random.below(3)) & 3];
  }

 private:
  double gap(Random& random) const { return std::floor(std::log(random.unit()) * scale_); }

  bool is_none_;
  double scale_;
};

void write_all(int file, const char* data, std::size_t size, off_t offset, bool seekable) {
  while (size > 0) {
    const ssize_t written = seekable ? ::pwrite(file, data, size, offset) : ::write(file, data, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      throw std::runtime_error(fmt::format("cannot write: {}", std::strerror(errno)));
    }
    data += written;
    offset += written;
    size -= static_cast<std::size_t>(written);
  }
}

void write_genome(const std::string& genome, const std::string& path) {
  std::ofstream file(path);
  file << ">simulated length=" << genome.size() << '\n';
  for (std::size_t i = 0; i < genome.size(); i += 70) file << std::string_view(genome).substr(i, 70) << '\n';
  if (!file.flush()) throw std::runtime_error(fmt::format("cannot write {}", path));
}

/// Formats reads. Names are numbers of a fixed width, so that every record has the same size.
class Simulator {
 public:
  Simulator(const Options& options, const std::string& genome, std::uint64_t reads)
      : options_(options), genome_(genome), errors_(options.error_rate) {
    reverse_.resize(genome.size());
    std::transform(genome.rbegin(), genome.rend(), reverse_.begin(), complement);
    name_digits_ = fmt::formatted_size("{}", reads == 0 ? 0 : reads - 1);
    paired_ = options.fragment_length > 0;
    record_bytes_ = 1 + 1 + name_digits_ + (paired_ ? 2 : 0) + 1 + options.read_length + 1;
    if (!options.fasta) record_bytes_ += 2 + options.read_length + 1;
  }

  [[nodiscard]] std::size_t record_bytes() const { return record_bytes_; }

  /// Writes record `index` (of mate 0 or 1) at `out`.
  void format(std::uint64_t index, int mate, char* out) const {
    *out++ = options_.fasta ? '>' : '@';
    *out++ = 'r';
    char* digit = out + name_digits_;
    for (std::uint64_t rest = index; digit != out; rest /= 10) *--digit = static_cast<char>('0' + rest % 10);
    out += name_digits_;
    if (paired_) {
      *out++ = '/';
      *out++ = static_cast<char>('1' + mate);
    }
    *out++ = '\n';

    const std::uint32_t length = options_.read_length;
    Random random(options_.seed, kReadStream, index);
    const std::uint64_t span = paired_ ? options_.fragment_length : length;
    std::uint64_t start = random.below(genome_.size() - span + 1);
    const bool other_strand = random.next() & 1;
    const std::string* strand = other_strand ? &reverse_ : &genome_;
    if (mate == 1) {  // the other end of the fragment, read inwards
      start = genome_.size() - start - span;
      strand = other_strand ? &genome_ : &reverse_;
      random = Random(options_.seed ^ 0x6D61746532u, kReadStream, index);
    }
    char* bases = out;
    std::memcpy(bases, strand->data() + start, length);
    out += length;
    *out++ = '\n';
    char* qualities = nullptr;
    if (!options_.fasta) {
      *out++ = '+';
      *out++ = '\n';
      qualities = out;
      if (options_.binned_qualities) {
        binned(index, mate, qualities);
      } else {
        std::memset(qualities, 'I', length);
      }
      out += length;
      *out++ = '\n';
    }
    errors_.draw(length, random, [&](std::uint64_t at) {
      bases[at] = Substitutions::other_base(bases[at], random);
      if (qualities != nullptr) qualities[at] = '#';
    });
  }

 private:
  /// Four values in runs, as current instruments write them: about as compressible as real reads.
  void binned(std::uint64_t index, int mate, char* qualities) const {
    Random random(options_.seed, kQualityStream, 2 * index + static_cast<std::uint64_t>(mate));
    for (std::uint32_t i = 0; i < options_.read_length;) {
      const std::uint64_t draw = random.next();
      const char quality = "FFFFFFFFFFFFF::,"[draw & 15];
      const auto longest =
          static_cast<std::uint32_t>(quality == 'F' ? 1 + (draw >> 4 & 63) : 1 + (draw >> 4 & 1));
      const std::uint32_t run = std::min(longest, options_.read_length - i);
      std::memset(qualities + i, quality, run);
      i += run;
    }
  }

  const Options& options_;
  const std::string& genome_;
  std::string reverse_;
  Substitutions errors_;
  std::size_t name_digits_ = 1;
  std::size_t record_bytes_ = 0;
  bool paired_ = false;
};

/// Copies of a genome as FASTA records of several lines, each with substitutions of its own. A record is made
/// of blocks of whole lines, and the header is part of the first.
class MutantWriter {
 public:
  MutantWriter(const Options& options, const std::string& genome)
      : options_(options),
        genome_(genome),
        substitutions_(options.error_rate),
        block_lines_(std::max<std::uint64_t>(1, (std::uint64_t{1} << 20) / options.line_length)),
        block_bases_(block_lines_ * options.line_length),
        blocks_((genome.size() + block_bases_ - 1) / block_bases_),
        number_digits_(fmt::formatted_size("{}", options.mutants - 1)),
        header_bytes_(7 + number_digits_ + 1),
        record_bytes_(header_bytes_ + text_bytes(genome.size())) {}

  [[nodiscard]] std::uint64_t blocks() const { return blocks_ * options_.mutants; }
  [[nodiscard]] std::size_t largest_block() const { return header_bytes_ + text_bytes(block_bases_); }
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t block) const {
    const std::uint64_t in_record = block % blocks_;
    return block / blocks_ * record_bytes_ + (in_record == 0 ? 0 : header_bytes_) +
           text_bytes(in_record * block_bases_);
  }
  std::size_t format(std::uint64_t block, char* out) const {
    char* at = out;
    const std::uint64_t mutant = block / blocks_, first = block % blocks_ * block_bases_;
    if (first == 0) at = fmt::format_to(at, ">mutant{:0{}}\n", mutant, number_digits_);
    const std::uint64_t length = options_.line_length;
    const std::uint64_t bases = std::min<std::uint64_t>(block_bases_, genome_.size() - first);
    char* const text = at;
    for (std::uint64_t i = 0; i < bases; i += length) {
      const std::uint64_t n = std::min(length, bases - i);
      std::memcpy(at, genome_.data() + first + i, n);
      at += n;
      *at++ = '\n';
    }
    Random random(options_.seed, kMutantStream, block);
    substitutions_.draw(bases, random, [&](std::uint64_t i) {
      char& base = text[i + i / length];
      base = Substitutions::other_base(base, random);
    });
    return static_cast<std::size_t>(at - out);
  }

 private:
  /// With line ends.
  [[nodiscard]] std::uint64_t text_bytes(std::uint64_t bases) const {
    return bases + (bases + options_.line_length - 1) / options_.line_length;
  }

  const Options& options_;
  const std::string& genome_;
  Substitutions substitutions_;
  std::uint64_t block_lines_, block_bases_;
  std::uint64_t blocks_;  ///< blocks of a record
  std::size_t number_digits_, header_bytes_;
  std::uint64_t record_bytes_;
};

/// Blocks of reads of one mate.
class ReadWriter {
 public:
  ReadWriter(const Simulator& simulator, std::uint64_t reads, int mate)
      : simulator_(simulator),
        reads_(reads),
        mate_(mate),
        block_(std::max<std::uint64_t>(1, (std::uint64_t{1} << 20) / simulator.record_bytes())) {}

  [[nodiscard]] std::uint64_t blocks() const { return (reads_ + block_ - 1) / block_; }
  [[nodiscard]] std::size_t largest_block() const { return block_ * simulator_.record_bytes(); }
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t block) const { return block * largest_block(); }
  std::size_t format(std::uint64_t block, char* out) const {
    const std::uint64_t first = block * block_, count = std::min(block_, reads_ - first);
    for (std::uint64_t i = 0; i < count; ++i)
      simulator_.format(first + i, mate_, out + i * simulator_.record_bytes());
    return count * simulator_.record_bytes();
  }

 private:
  const Simulator& simulator_;
  std::uint64_t reads_;
  int mate_;
  std::uint64_t block_;  ///< reads
};

/// Formats all blocks and writes them to `path`, side by side.
template <class Writer>
void write_blocks(const Writer& writer, unsigned thread_count, const std::string& path) {
  const int file =
      path == "-" ? STDOUT_FILENO : ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) throw std::runtime_error(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  struct stat status {};
  const bool seekable = path != "-" && ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);

  const std::uint64_t blocks = writer.blocks();
  std::atomic<std::uint64_t> next_block{0};
  std::mutex mutex;
  std::condition_variable turn_changed;
  std::uint64_t turn = 0;  // the block to be written next when order matters
  std::exception_ptr failure;

  const auto work = [&] {
    std::vector<char> buffer(writer.largest_block());
    try {
      for (std::uint64_t b; (b = next_block.fetch_add(1)) < blocks;) {
        const std::size_t size = writer.format(b, buffer.data());
        if (seekable) {
          write_all(file, buffer.data(), size, static_cast<off_t>(writer.offset_of(b)), true);
          continue;
        }
        std::unique_lock lock(mutex);
        turn_changed.wait(lock, [&] { return turn == b || failure; });
        if (failure) return;
        write_all(file, buffer.data(), size, 0, false);
        turn = b + 1;
        turn_changed.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
      next_block = blocks;
      turn_changed.notify_all();
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 1; i < thread_count; ++i) threads.emplace_back(work);
  work();
  threads.clear();
  if (failure) std::rethrow_exception(failure);
  if (path != "-" && ::close(file) != 0) {
    throw std::runtime_error(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  }
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Simulates a genome and reads of it (the same whatever the number of threads).");
  double genome_length = static_cast<double>(options.genome_length);
  app.add_option("--genome-length", genome_length, "bases of the made-up genome")
      ->transform(CLI::AsNumberWithUnit(std::map<std::string, double>{{"k", 1e3}, {"M", 1e6}, {"G", 1e9}}))
      ->capture_default_str();
  app.add_option("--repeats", options.repeat_fraction, "fraction of it that is copies of other stretches")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--repeat-length", options.repeat_length, "bases of one copy")->capture_default_str();
  app.add_option("--genome", options.genome_file, "take the genome from this FASTA file instead");
  app.add_option("--write-genome", options.write_genome, "write the genome to this FASTA file");
  app.add_option("--coverage", options.coverage, "times each base is read, on average")
      ->capture_default_str();
  app.add_option("--reads", options.reads, "this many reads (pairs, if paired) instead");
  app.add_option("-l,--read-length", options.read_length, "bases of a read")
      ->check(CLI::Range(1u, 1u << 20))
      ->capture_default_str();
  app.add_option("-e,--error-rate", options.error_rate, "substitutions per base")
      ->check(CLI::Range(0.0, 0.99))
      ->capture_default_str();
  app.add_option("--fragment", options.fragment_length,
                 "paired reads: bases of a fragment (needs --output2)");
  app.add_option(
      "--mutants", options.mutants,
      "no reads, but this many copies of the genome, as FASTA, with substitutions at --error-rate");
  app.add_option("--line-length", options.line_length, "bases of a line of a copy")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("-o,--output", options.output, "file for the reads, - is standard output")
      ->capture_default_str();
  app.add_option("--output2", options.output2, "file for the second reads of pairs");
  app.add_flag("--fasta", options.fasta, "write FASTA instead of FASTQ");
  app.add_flag("--binned-qualities", options.binned_qualities,
               "qualities in four values, as instruments write them");
  app.add_option("-s,--seed", options.seed, "another seed, another genome and reads")->capture_default_str();
  app.add_option("-t,--threads", options.threads, "threads")->check(CLI::Range(1u, 1024u));
  CLI11_PARSE(app, argc, argv);
  options.genome_length = static_cast<std::uint64_t>(std::llround(genome_length));

  if ((options.fragment_length > 0) != !options.output2.empty()) {
    throw std::invalid_argument("--fragment and --output2 go together");
  }
  if (options.fragment_length > 0 && options.fragment_length < options.read_length) {
    throw std::invalid_argument("--fragment is shorter than --read-length");
  }
  const std::string genome =
      options.genome_file.empty() ? make_genome(options) : read_genome(options.genome_file);
  if (!options.write_genome.empty()) write_genome(genome, options.write_genome);
  if (options.mutants > 0) {
    if (genome.empty()) throw std::invalid_argument("the genome has no bases");
    options.line_length = std::min<std::uint64_t>(options.line_length, genome.size());
    write_blocks(MutantWriter(options, genome), options.threads, options.output);
    return 0;
  }
  const std::uint64_t span = std::max<std::uint64_t>(options.read_length, options.fragment_length);
  if (genome.size() < span) throw std::invalid_argument("the genome is shorter than one read");

  std::uint64_t reads = options.reads;
  if (app.count("--reads") == 0) {
    const double bases = options.coverage * static_cast<double>(genome.size());
    reads = static_cast<std::uint64_t>(bases / options.read_length / (options.output2.empty() ? 1 : 2));
  }
  const Simulator simulator(options, genome, reads);
  write_blocks(ReadWriter(simulator, reads, 0), options.threads, options.output);
  if (!options.output2.empty())
    write_blocks(ReadWriter(simulator, reads, 1), options.threads, options.output2);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "simulate_reads: {}\n", error.what());
    return 1;
  }
}
