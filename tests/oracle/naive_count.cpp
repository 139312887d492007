// A k-mer counter to compare warpmer with. It shares no code and no idea with warpmer: it reads plain
// FASTA or FASTQ text from standard input line by line, makes every k-mer afresh, sorts them all and
// counts runs of equal ones. It is slow and takes 8 bytes (k up to 32) or 16 for every k-mer it reads.
//
//   zcat reads.fq.gz | naive_count -k 31 [--forward] [--min-quality Q] [--totals]
//
// prints KMER<TAB>COUNT, sorted. Anything but A C G T U (any case; U counts as T) breaks k-mers, but white
// space in FASTA and at the end of lines in FASTQ, which is nothing, and a number that begins a line of
// FASTA, with white space behind it (GenBank's). A '>' or '@' inside a line of FASTA is malformed. What also
// breaks is a base of Phred quality (offset 33) below Q. --totals prints one line to standard error: records,
// characters of sequence, k-mers, distinct k-mers. Malformed input ends with status 1.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

__extension__ typedef unsigned __int128 Wide;

struct Options {
  std::size_t k = 0;
  bool canonical = true;
  int min_quality = 0;
  bool totals = false;
};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "naive_count: %s\n", what.c_str());
  std::exit(1);
}

// Standard input, line by line, without line ends (LF or CR LF).
class Lines {
 public:
  bool next(std::string& line) {
    line.clear();
    bool any = false;
    for (;;) {
      if (at_ == end_) {
        end_ = std::fread(buffer_.data(), 1, buffer_.size(), stdin);
        at_ = 0;
        if (end_ == 0) {
          break;
        }
      }
      any = true;
      const char* const from = buffer_.data() + at_;
      const void* const newline = std::memchr(from, '\n', end_ - at_);
      if (newline != nullptr) {
        const auto length = static_cast<std::size_t>(static_cast<const char*>(newline) - from);
        line.append(from, length);
        at_ += length + 1;
        break;
      }
      line.append(from, end_ - at_);
      at_ = end_;
    }
    if (!line.empty() && line.back() == '\r') {
      line.pop_back();
    }
    ++number_;
    return any;
  }

  // "line 12"
  [[nodiscard]] std::string place() const { return "line " + std::to_string(number_); }

 private:
  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 20);
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::uint64_t number_ = 0;
};

// The letter that a character of a sequence stands for, '-' if it breaks k-mers; and its complement.
struct Letters {
  std::array<char, 256> meaning{};
  std::array<char, 256> complement{};
  std::array<unsigned char, 256> rank{};

  Letters() {
    meaning.fill('-');
    const std::string written = "AaCcGgTtUu";
    const std::string meant = "AACCGGTTTT";
    for (std::size_t i = 0; i < written.size(); ++i) {
      meaning[static_cast<unsigned char>(written[i])] = meant[i];
    }
    complement['A'] = 'T';
    complement['C'] = 'G';
    complement['G'] = 'C';
    complement['T'] = 'A';
    rank['A'] = 0;
    rank['C'] = 1;
    rank['G'] = 2;
    rank['T'] = 3;
  }
};

const Letters kLetters;

char complement(char letter) { return kLetters.complement[static_cast<unsigned char>(letter)]; }
unsigned rank(char letter) { return kLetters.rank[static_cast<unsigned char>(letter)]; }

// Every k-mer that was read, as a number of 2k bits whose order is that of the text.
template <class Number>
class Counter {
 public:
  explicit Counter(const Options& options) : k_(options.k), canonical_(options.canonical) {}

  void add_sequence(std::string& sequence) {
    ++records_;
    characters_ += sequence.size();
    std::size_t run = 0;  // letters in a row up to here
    for (std::size_t i = 0; i < sequence.size(); ++i) {
      char& letter = sequence[i];
      letter = kLetters.meaning[static_cast<unsigned char>(letter)];
      run = letter == '-' ? 0 : run + 1;
      if (run >= k_) {
        add_kmer(sequence.data() + i + 1 - k_);
      }
    }
  }

  void print(bool totals) {
    std::sort(kmers_.begin(), kmers_.end());
    std::string out;
    std::uint64_t distinct = 0;
    for (std::size_t first = 0; first < kmers_.size();) {
      std::size_t end = first + 1;
      while (end < kmers_.size() && kmers_[end] == kmers_[first]) {
        ++end;
      }
      for (std::size_t i = 0; i < k_; ++i) {
        out += "ACGT"[static_cast<unsigned>(kmers_[first] >> (2 * (k_ - 1 - i))) & 3U];
      }
      out += '\t';
      out += std::to_string(end - first);
      out += '\n';
      if (out.size() > (std::size_t{1} << 16)) {
        write(out);
      }
      ++distinct;
      first = end;
    }
    write(out);
    if (std::fflush(stdout) != 0) {
      fail("cannot write");
    }
    if (totals) {
      std::fprintf(stderr, "%llu\t%llu\t%llu\t%llu\n", static_cast<unsigned long long>(records_),
                   static_cast<unsigned long long>(characters_),
                   static_cast<unsigned long long>(kmers_.size()), static_cast<unsigned long long>(distinct));
    }
  }

 private:
  void add_kmer(const char* letters) {
    bool reversed = false;
    if (canonical_) {
      // Walk both strands from their beginnings until they differ.
      for (std::size_t i = 0; i < k_; ++i) {
        const char ahead = letters[i];
        const char back = complement(letters[k_ - 1 - i]);
        if (ahead != back) {
          reversed = back < ahead;
          break;
        }
      }
    }
    Number number = 0;
    for (std::size_t i = 0; i < k_; ++i) {
      number =
          static_cast<Number>(number * 4 + rank(reversed ? complement(letters[k_ - 1 - i]) : letters[i]));
    }
    kmers_.push_back(number);
  }

  static void write(std::string& out) {
    if (std::fwrite(out.data(), 1, out.size(), stdout) != out.size()) {
      fail("cannot write");
    }
    out.clear();
  }

  std::size_t k_;
  bool canonical_;
  std::vector<Number> kmers_;
  std::uint64_t records_ = 0;
  std::uint64_t characters_ = 0;
};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r'; }

void trim_end(std::string& line) {
  while (!line.empty() && is_blank(line.back())) {
    line.pop_back();
  }
}

// A sequence line of FASTA without its number and its white space.
std::string bases_of(const std::string& line, const Lines& lines) {
  std::size_t at = 0;
  while (at < line.size() && is_blank(line[at])) {
    ++at;
  }
  std::size_t behind = at;
  while (behind < line.size() && line[behind] >= '0' && line[behind] <= '9') {
    ++behind;
  }
  if (behind < line.size() && is_blank(line[behind])) {
    at = behind;
  }
  std::string bases;
  for (; at < line.size(); ++at) {
    if (line[at] == '>' || line[at] == '@') {
      fail("a header inside a line, " + lines.place());
    }
    if (!is_blank(line[at])) {
      bases += line[at];
    }
  }
  return bases;
}

// Reads the rest of a FASTQ record whose '@' line has been read.
template <class Number>
void read_fastq_record(Lines& lines, const Options& options, Counter<Number>& counter) {
  std::string line;
  std::string sequence;
  std::string quality;
  for (;;) {
    if (!lines.next(line)) {
      fail("input ends in a record, " + lines.place());
    }
    if (!line.empty() && line[0] == '+') {
      break;
    }
    trim_end(line);
    sequence += line;
  }
  while (quality.size() < sequence.size()) {
    if (!lines.next(line)) {
      fail("input ends in qualities, " + lines.place());
    }
    trim_end(line);
    quality += line;
  }
  if (quality.size() != sequence.size()) {
    fail("more qualities than bases, " + lines.place());
  }
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    if (static_cast<unsigned char>(quality[i]) - 33 < options.min_quality) {
      sequence[i] = '-';
    }
  }
  counter.add_sequence(sequence);
}

template <class Number>
void count(const Options& options) {
  Counter<Number> counter(options);
  Lines lines;
  std::string line;
  std::string sequence;  // of the FASTA record that is being read
  bool in_fasta = false;
  while (lines.next(line)) {
    if (line.empty()) {
      continue;
    }
    if (line[0] == '>') {
      if (in_fasta) {
        counter.add_sequence(sequence);
      }
      sequence.clear();
      in_fasta = true;
    } else if (in_fasta) {
      sequence += bases_of(line, lines);
    } else if (line[0] == '@') {
      read_fastq_record(lines, options, counter);
    } else if (trim_end(line); line.empty()) {
      continue;
    } else {
      fail("neither '>' nor '@' where a record should begin, " + lines.place());
    }
  }
  if (in_fasta) {
    counter.add_sequence(sequence);
  }
  counter.print(options.totals);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--forward") {
      options.canonical = false;
    } else if (argument == "--totals") {
      options.totals = true;
    } else if (argument == "-k" && i + 1 < argc) {
      options.k = static_cast<std::size_t>(std::atoi(argv[++i]));
    } else if (argument == "--min-quality" && i + 1 < argc) {
      options.min_quality = std::atoi(argv[++i]);
    } else {
      fail("what is '" + argument +
           "'? Usage: naive_count -k K [--forward] [--min-quality Q] [--totals] < TEXT");
    }
  }
  if (options.k < 1 || options.k > 64) {
    fail("-k must be 1 to 64");
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  if (options.k <= 32) {
    count<std::uint64_t>(options);
  } else {
    count<Wide>(options);
  }
  return 0;
}
