// Sets of inputs: lists, pipes, standard input, many threads, what cannot be opened.

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "io/text/input_list.h"
#include "random_text.h"
#include "unit/io/io_fixture.h"

using namespace io_test;

namespace {

/// A pipe whose writing end is fed by a thread.
class Feeder {
 public:
  explicit Feeder(std::string data) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    reading_end_ = ends[0];
    thread_ = std::thread([data = std::move(data), end = ends[1]] {
      for (std::size_t pos = 0; pos < data.size();) {
        const ssize_t count = ::write(end, data.data() + pos, std::min<std::size_t>(data.size() - pos, 1000));
        if (count <= 0) break;
        pos += static_cast<std::size_t>(count);
      }
      ::close(end);
    });
  }
  ~Feeder() {
    ::close(reading_end_);
    thread_.join();
  }
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  [[nodiscard]] std::string path() const { return "/dev/fd/" + std::to_string(reading_end_); }
  [[nodiscard]] int descriptor() const { return reading_end_; }

 private:
  int reading_end_ = -1;
  std::thread thread_;
};

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("io set: several files, and lists of them") {
  const ScratchFolder folder;
  const std::string a = folder.write("a", ">a1\nAC\n>a2\nGT\n");
  const std::string b = folder.write("b.txt.gz", "@b1\nA\n+\nI\n");  // names mean nothing
  const std::string c = folder.write("c.fq", deflate(">c1\nTT\n"));
  const std::string list = folder.write("list", "# files\n\n" + b + "\r\n  \n" + c);
  const Records expected = {{"a1", "AC"}, {"a2", "GT"}, {"b1", "A"}, {"c1", "TT"}};
  CHECK(read_all({a, b, c}) == expected);
  CHECK(io::expand_lists({a, "@" + list}) == std::vector<std::string>{a, b, c});
  CHECK(io::InputSet({a, b, c}, {}).files() == std::vector<std::string>{a, b, c});
}

TEST_CASE("io set: names in a list have no blanks around them, and any line ends") {
  const ScratchFolder folder;
  const std::string a = folder.write("a a", ">a\nAC\n"), b = folder.write("b", ">b\nAC\n");
  const std::vector<std::string> both = {a, b};
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    std::string text = "\xef\xbb\xbf  ";
    text += a;
    text += "\t ";
    text += end;
    text.append(" # ").append(b).append(end).append(end).append("\t").append(b);
    CHECK(io::expand_lists({"@" + folder.write("list", text)}) == both);
    CHECK(io::expand_lists({"@" + folder.write("list", text + end)}) == both);
    CHECK(io::expand_lists({"@" + folder.write("list", deflate(text))}) == both);
  }
}

TEST_CASE("io set: a list has no more names than there is memory for") {
  const ScratchFolder folder;
  const std::string name = folder.write("a", ">a\nAC\n");
  std::string text;
  for (int i = 0; i < 1000; ++i) text += name + "\n";
  const std::string list = "@" + folder.write("list", text);
  CHECK(io::expand_lists({list}, std::uint64_t{1} << 20).size() == 1000);
  CHECK_THROWS_WITH_AS(static_cast<void>(io::expand_lists({list}, std::uint64_t{1} << 19)),
                       doctest::Contains("files are all that fit into memory"), warpmer::ResourceError);
}

TEST_CASE("io set: what cannot be opened is said at once") {
  const ScratchFolder folder;
  const std::string good = folder.write("good", ">a\nAC\n");
  const auto error_of = [](const std::vector<std::string>& paths) -> std::string {
    try {
      const io::InputSet inputs(io::expand_lists(paths), {});
    } catch (const warpmer::Error& error) {
      return (error.kind() == warpmer::ErrorKind::usage ? "usage: " : "input: ") + std::string(error.what());
    }
    return "";
  };
  CHECK(error_of({good}).empty());
  CHECK(contains(error_of({good, folder / "none"}), "input: " + folder / "none"));
  CHECK(contains(error_of({folder / "none"}), "No such file"));
  CHECK(contains(error_of({folder / ""}), "is a folder"));
  CHECK(contains(error_of({"@" + folder / "none"}), "input: " + folder / "none"));
  CHECK(contains(error_of({"@" + folder.write("list", "\n" + folder / "none")}), "line 2 of"));
  CHECK(contains(error_of({"@" + folder.write("list", std::string("\n\x1f\x8b\0\x1b[2J", 8))}),
                 R"(list, line 2: '\x1f\x8b\x00\x1b[2J' is no name of a file)"));
  // Nothing is read behind the first wrong line, and no line without end.
  CHECK(
      contains(error_of({"@/dev/zero"}), "/dev/zero, line 1: this line is too long for the name of a file"));
  CHECK(contains(error_of({"@" + folder.write("list", good + "\n\xff\xfe")}), "(line 2 of "));
  CHECK(contains(error_of({"@" + folder.write("list", std::string("\xff\xfe") + "a\n")}),
                 "line 1: this is text in UTF-16"));
  CHECK(error_of({}).starts_with("usage: "));
  CHECK(error_of({"@" + folder.write("empty", "#\n")}).starts_with("usage: "));
  CHECK(error_of({"@"}).starts_with("usage: "));
  CHECK(error_of({"-", "-"}).starts_with("usage: standard input is named twice"));
  CHECK(error_of({"/dev/fd/999"}).starts_with("input: "));
  if (::geteuid() != 0) {
    std::filesystem::permissions(good, std::filesystem::perms::none);
    CHECK(contains(error_of({good}), "Permission denied"));
  }
}

TEST_CASE("io set: formats that are not read are named, with the way round") {
  const ScratchFolder folder;
  const std::vector<std::pair<std::string, std::string>> foreign = {
      {"LZIP", "lzip -dc "},
      {"\x04\x22\x4d\x18", "lz4 -dc "},
      {"PK\x03\x04", "unzip -p "},
      {"NCBI.sra", "fastq-dump"},
  };
  for (const auto& [magic, advice] : foreign) {
    const std::string path = folder.write("x", magic + "................");
    const std::string message = input_error({path});
    std::string wanted = advice;
    if (advice.ends_with(' ')) wanted.append(path).append(" | warpmer count -o out.wmi -`");
    CHECK(contains(message, wanted));
  }
  const std::string odd = folder.write("it's x", "LZIP................");
  CHECK(contains(input_error({odd}), "`lzip -dc '" + folder / "it" + "'\\''s x' | warpmer count"));
}

namespace {

/// Reads a file that is cut off when the first batch has been read; the error that comes of it.
std::string error_of_shrinking(const std::string& path, const io::InputOptions& options,
                               bool as_text = false) {
  return refusal<warpmer::InputError>([&] {
    io::InputSet inputs({path}, options);
    if (as_text) inputs.enable_raw_text(io::heap_for_text());
    io::Batch batch;
    inputs.next(batch);
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    while (inputs.next(batch)) {
    }
  });
}

}  // namespace

TEST_CASE("io set: a file that is cut off while it is read is an error, whatever reads it") {
  std::mt19937 random(31);
  const ScratchFolder folder;
  const Records records = random_records(random, 20'000, 300);
  const std::string fastq_text = fastq(records);
  std::string fasta_text;
  for (const Record& record : records) fasta_text += ">" + record.name + "\n" + record.bases + "\n";
  std::string sam = "@HD\tVN:1.6\n";
  for (const Record& record : records)
    sam += record.name + "\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\t" + std::string("IIII\n");
  const std::vector<std::string> contents = {fastq_text, fasta_text, sam, deflate(fastq_text, 0),
                                             bgzf(fasta_text + fasta_text + fasta_text + fasta_text)};
  for (std::size_t i = 0; i < contents.size(); ++i) {
    for (const unsigned threads : {1U, 4U}) {
      CAPTURE(i);
      CAPTURE(threads);
      io::InputOptions options;
      options.threads = threads;
      options.batch_bytes = 20'000;
      const std::string path = folder.write("in", contents[i]);
      CHECK(error_of_shrinking(path, options).starts_with(path + " has become shorter while it was read"));
      if (i > 1) continue;
      CHECK(folder.write("in", contents[i]) == path);
      CHECK(error_of_shrinking(path, options, true)
                .starts_with(path + " has become shorter while it was read"));
    }
  }
}

TEST_CASE("io set: a file that is shorter when it is opened than when it was listed is an error") {
  const ScratchFolder folder;
  const std::string path = folder.write("in", ">a\nACGT\n>b\nACGT\n");
  io::InputSet inputs({path}, {});
  std::filesystem::resize_file(path, 8);
  io::Batch batch;
  CHECK(refusal<warpmer::InputError>([&] { inputs.next(batch); }).starts_with(path + " has become shorter"));
}

TEST_CASE("io set: Phred+64 is noticed, where there is evidence, and nothing else") {
  std::mt19937 random(32);
  const ScratchFolder folder;
  const auto is_noticed = [&](const std::string& scores, std::size_t reads, bool as_text = false) {
    std::string text;
    for (std::size_t i = 0; i < reads; ++i) {
      text += "@r\n" + std::string(100, 'A') + "\n+\n";
      text += warpmer::tests::random_text(random, 100, scores) + "\n";
    }
    io::InputOptions options;
    options.batch_bytes = 20'000;
    options.reading.qualities = std::make_shared<io::QualityWatch>();
    const std::string path = folder.write("q", text);
    io::InputSet inputs({path}, options);
    if (as_text) inputs.enable_raw_text(io::heap_for_text());
    io::Batch batch;
    while (inputs.next(batch)) {
    }
    const std::vector<std::string> noticed = options.reading.qualities->like_phred64();
    CHECK((noticed.empty() || noticed == std::vector<std::string>{path}));
    return !noticed.empty();
  };
  for (const std::size_t reads : {1U, 5000U}) {
    CAPTURE(reads);
    CHECK(is_noticed("Bhhhhhgfedcb", reads));
    CHECK(is_noticed("@ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghi", reads));
    CHECK(is_noticed("h", reads));
    CHECK(is_noticed(";<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefgh", reads));  // Solexa: -5 to 40
    CHECK(is_noticed(";hhhhhhhhh", reads));
    CHECK_FALSE(is_noticed(":hhhhhhhhh", reads));
    CHECK_FALSE(is_noticed(";<=>?@ABCDEFGHIJ", reads));  // Phred+33: 26 to 41
    CHECK_FALSE(is_noticed("!#&,:FFFFFII", reads));
    CHECK_FALSE(is_noticed("I", reads));
    CHECK_FALSE(is_noticed("~", reads));  // HiFi: 93
    CHECK_FALSE(is_noticed("HIJK~~~~", reads));
    CHECK_FALSE(is_noticed("IIIIIIIIIK", reads));
  }
  CHECK(is_noticed("Bhhhhhgfedcb", 5000, true));
  CHECK_FALSE(is_noticed("#5?FFFFF", 5000, true));
}

TEST_CASE("io set: pipes are read in one pass, whatever is in them") {
  std::mt19937 random(30);
  const Records records = random_records(random, 2000, 200);
  const std::string text = fastq(records);
  for (const std::string& data : {text, deflate(text), bgzf(text), bgzf(text, 100)}) {
    const Feeder feeder(data);
    CHECK(read_all({feeder.path()}) == records);
  }
  {
    const Feeder feeder("");
    CHECK(read_all({feeder.path()}).empty());
  }
  {
    const Feeder feeder(text);
    io::InputSet inputs({feeder.path()}, {});
    CHECK(inputs.progress().bytes_total == 0);
    io::Batch batch;
    while (inputs.next(batch)) {
    }
    CHECK(inputs.progress().bytes_done == text.size());
  }
}

TEST_CASE("io set: a pipe whose writer is gone before reading starts") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const std::string text = ">a\nACGT\n";
  REQUIRE(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  ::close(ends[1]);
  CHECK(read_all({"/dev/fd/" + std::to_string(ends[0])}) == Records{{"a", "ACGT"}});
  ::close(ends[0]);
}

TEST_CASE("io set: named pipes, whose writer comes late") {
  const ScratchFolder folder;
  const std::string path = folder / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    std::ofstream out(path);
    out << ">a\nAC" << std::flush;
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    out << "GT\n";
  });
  CHECK(read_all({path}) == Records{{"a", "ACGT"}});
  writer.join();
}

TEST_CASE("io set: standard input") {
  const int saved = ::dup(0);
  {
    const Feeder feeder(deflate(">a\nACGT\n>b\nAC\x01GT\n"));
    ::dup2(feeder.descriptor(), 0);
    io::InputSet inputs({"-"}, {});
    CHECK(inputs.files() == std::vector<std::string>{"-"});
    io::Batch batch;
    REQUIRE(inputs.next(batch));
    CHECK(batch.file == "standard input");
    REQUIRE(batch.pieces.size() == 2);
    CHECK_THROWS_WITH_AS(io::throw_bad_base(batch, batch.pieces[1], 2),
                         doctest::Contains("standard input, record 2 ('b')"), warpmer::InputError);
    CHECK_FALSE(inputs.next(batch));
  }
  if (saved >= 0) {
    ::dup2(saved, 0);
    ::close(saved);
  }
}

TEST_CASE("io set: cancel ends a wait for a silent pipe") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  for (const std::string& start :
       {std::string(), std::string(">a\nAC"), deflate(">a\nACGT\n").substr(0, 20)}) {
    REQUIRE(::write(ends[1], start.data(), start.size()) == static_cast<ssize_t>(start.size()));
    io::InputSet inputs({"/dev/fd/" + std::to_string(ends[0])}, {});
    std::thread canceller([&] {
      // Else it might be read by the next set, before what that is to begin with.
      for (int left = 1; ::ioctl(ends[0], FIONREAD, &left) == 0 && left > 0;)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      inputs.cancel();
    });
    io::Batch batch;
    const auto begin = std::chrono::steady_clock::now();
    CHECK_FALSE(inputs.next(batch));
    CHECK(seconds_since(begin) < 2);
    CHECK_FALSE(inputs.next(batch));
    canceller.join();
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("io set: a set may be dropped half read") {
  std::mt19937 random(31);
  const ScratchFolder folder;
  const std::string text = fastq(random_records(random, 20'000, 300));
  const std::size_t descriptors = open_descriptors();
  for (const std::string& data : {text, deflate(text, 1), bgzf(text)}) {
    const std::string path = folder.write("in", data);
    io::InputOptions options;
    options.threads = 3;
    options.batch_bytes = 1000;
    io::InputSet inputs({path, path, path}, options);
    io::Batch batch;
    CHECK(inputs.next(batch));
    CHECK(inputs.next(batch));
  }
  CHECK(open_descriptors() == descriptors);
}

TEST_CASE("io set: many threads read many files, each record once") {
  std::mt19937 random(32);
  const ScratchFolder folder;
  std::vector<std::string> paths;
  std::map<std::string, Records> expected;
  std::uint64_t size = 0;
  for (int i = 0; i < 40; ++i) {
    const Records records = random_records(random, 1 + random() % 300, 200);
    const std::string text = fastq(records);
    const std::string path = folder.write(std::to_string(i), i % 3 == 0   ? text
                                                             : i % 3 == 1 ? deflate(text)
                                                                          : bgzf(text, 5000));
    paths.push_back(path);
    expected[path] = records;
    size += std::filesystem::file_size(path);
  }
  io::InputOptions options;
  options.threads = 4;
  options.batch_bytes = 4000;
  options.overlap_bases = 20;
  io::InputSet inputs(paths, options);
  CHECK(inputs.progress().bytes_total == size);
  CHECK(inputs.memory_bytes(4) > 0);

  std::mutex mutex;
  std::map<std::string, Records> read;
  std::set<std::uint64_t> ordinals;
  std::uint64_t input_bytes = 0;
  std::atomic<std::size_t> most_descriptors = 0;
  const std::size_t descriptors = open_descriptors();
  const auto work = [&] {
    io::Batch batch;
    while (inputs.next(batch)) {
      const std::lock_guard<std::mutex> guard(mutex);
      Records& records = read[batch.file];
      ordinals.insert(batch.ordinal);
      input_bytes += batch.input_bytes;
      for (const io::Piece& piece : batch.pieces) {
        if (records.size() < piece.record) records.resize(piece.record);
        records[piece.record - 1] = {std::string(batch.name(piece)), std::string(batch.bases(piece))};
      }
      most_descriptors = std::max(most_descriptors.load(), open_descriptors());
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(6);
  for (int i = 0; i < 6; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();

  CHECK(read == expected);
  CHECK(*ordinals.rbegin() + 1 == ordinals.size());
  CHECK(input_bytes == size);
  CHECK(inputs.progress().bytes_done == size);
  CHECK(most_descriptors <= descriptors + 4 + 2);
}

TEST_CASE("io set: in order, batches are numbered as the files come") {
  std::mt19937 random(33);
  const ScratchFolder folder;
  std::vector<std::string> paths;
  Records expected;
  for (int i = 0; i < 9; ++i) {
    Records records = random_records(random, 100, 100);
    const std::string text = fastq(records);
    paths.push_back(folder.write(std::to_string(i), i % 2 == 0 ? text : bgzf(text)));
    expected.insert(expected.end(), records.begin(), records.end());
  }
  io::InputOptions options;
  options.threads = 4;
  options.batch_bytes = 2000;
  options.in_order = true;
  io::InputSet inputs(paths, options);
  std::mutex mutex;
  std::map<std::uint64_t, Records> batches;
  const auto work = [&] {
    io::Batch batch;
    while (inputs.next(batch)) {
      const std::lock_guard<std::mutex> guard(mutex);
      CHECK(!batches.contains(batch.ordinal));
      for (const io::Piece& piece : batch.pieces) {
        batches[batch.ordinal].push_back({std::string(batch.name(piece)), std::string(batch.bases(piece))});
      }
    }
  };
  std::thread other(work), third(work);
  work();
  other.join();
  third.join();
  Records read;
  std::uint64_t next = 0;
  for (const auto& [ordinal, records] : batches) {
    CHECK(ordinal == next++);
    read.insert(read.end(), records.begin(), records.end());
  }
  CHECK(read == expected);
}

TEST_CASE("io set: a share of the bytes is one of the reads where files are of one form") {
  const ScratchFolder folder;
  const std::string read = "@r\nACGT\n+\nIIII\n";
  const auto alike_bytes = [&](const std::vector<std::string>& names) {
    std::vector<std::string> paths;
    paths.reserve(names.size());
    for (const std::string& name : names) paths.push_back(folder.write(name, read));
    return io::InputSet(paths, {}).alike_bytes();
  };
  CHECK(alike_bytes({"a"}) == read.size());
  CHECK(alike_bytes({"a.fq", "b.c.fq"}) == 2 * read.size());
  CHECK(alike_bytes({"a.fq.gz", "b.x.fq.gz"}) == 2 * read.size());
  CHECK(alike_bytes({"a.fq", "b.fq.gz"}) == 0);
  CHECK(alike_bytes({"a.fa.gz", "b.fq.gz"}) == 0);
  CHECK(alike_bytes({"a.fq", "b"}) == 0);
  CHECK(alike_bytes({"a.cram"}) == 0);
  CHECK(alike_bytes({"a.sam"}) > 0);
}

TEST_CASE("io set: after an error, nobody reads on") {
  std::mt19937 random(34);
  const ScratchFolder folder;
  std::vector<std::string> paths;
  paths.reserve(6);
  for (int i = 0; i < 6; ++i) {
    paths.push_back(folder.write(std::to_string(i), deflate(fastq(random_records(random, 2000, 300)))));
  }
  paths[3] = folder.write("bad", "@a\nACGT\n+\nIII\n");
  io::InputOptions options;
  options.threads = 3;
  options.batch_bytes = 5000;
  io::InputSet inputs(paths, options);
  std::atomic<int> errors = 0;
  const auto work = [&] {
    io::Batch batch;
    try {
      while (inputs.next(batch)) {
      }
    } catch (const warpmer::InputError&) {
      ++errors;
    }
    CHECK_FALSE(inputs.next(batch));
  };
  std::thread other(work), third(work);
  work();
  other.join();
  third.join();
  CHECK(errors == 1);
}
