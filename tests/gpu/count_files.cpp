// Whole counting jobs on the GPU, from files: large FASTQ and FASTA, whose sequences it finds itself. The CPU
// says what is right.

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "gpu/device.h"
#include "jobs/count_job.h"
#include "random_fasta.h"
#include "random_fastq.h"

namespace {

using namespace warpmer;

class Folder {
 public:
  Folder() : path_(::mkdtemp(pattern_.data())) {}
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(*this / name, std::ios::binary) << text;
    return *this / name;
  }

 private:
  std::string pattern_ = (std::filesystem::temp_directory_path() / "warpmer_gpu_XXXXXX").string();
  std::string path_;
};

/// The report of a job, and the checksum of all that the index holds.
struct Outcome {
  std::uint64_t checksum = 0;
  index::Totals totals;
  std::string error;
  bool found_on_device = false;
};

Outcome count(jobs::CountOptions options, bool on_gpu, const std::string& output) {
  if (on_gpu) options.device.gpus = {tests::gpu_under_test().ordinal};
  options.output = output;
  Outcome outcome;
  backend::JobProgress progress;
  try {
    const jobs::CountReport report = jobs::count(options, progress);
    outcome.totals = report.totals;
    outcome.checksum = index::IndexFile(output).content_checksum();
    for (const backend::StageReport& stage : report.stages)
      outcome.found_on_device |= stage.name == "find records" && stage.busy_seconds > 0;
  } catch (const InputError& error) {
    outcome.error = error.what();
  }
  return outcome;
}

/// Checks that CPU and GPU give the same. Returns true when the GPU has found the records itself.
bool check_same(const Folder& folder, const jobs::CountOptions& options) {
  const Outcome cpu = count(options, false, folder / "cpu.wmi");
  const Outcome gpu = count(options, true, folder / "gpu.wmi");
  CHECK(gpu.error == cpu.error);
  CHECK(gpu.checksum == cpu.checksum);
  CHECK(gpu.totals.records == cpu.totals.records);
  CHECK(gpu.totals.bases == cpu.totals.bases);
  CHECK(gpu.totals.counted_kmers == cpu.totals.counted_kmers);
  return gpu.found_on_device;
}

/// Beyond what is read at a time, several times.
constexpr std::size_t kLarge = 30'000'000;

jobs::CountOptions options_for(const std::string& input, std::uint32_t k = 31, unsigned threads = 3) {
  jobs::CountOptions options;
  options.kmers.k = k;
  options.resources.threads = threads;
  options.inputs = {input};
  return options;
}

}  // namespace

TEST_CASE("files: large FASTQ, plain") {
  const Folder folder;
  const std::string text = tests::fastq(kLarge, 1);
  const std::string path = folder.write("a.fq", text);
  for (const std::uint32_t k : {5u, 12u, 13u, 31u, 40u, 64u}) {
    if (tests::can_count(k)) CHECK(check_same(folder, options_for(path, k)));
  }
  for (const unsigned threads : {1u, 2u, 8u}) CHECK(check_same(folder, options_for(path, 21, threads)));
  jobs::CountOptions options = options_for(path);
  options.reading.min_base_quality = 20;
  CHECK(check_same(folder, options));
  CHECK(check_same(folder, options_for(folder.write("b.fq", text.substr(0, text.size() - 1)))));
  // Beside others.
  options.inputs = {path, folder.write("c.fq", tests::fastq(100'000, 2)), path};
  CHECK(check_same(folder, options));
}

TEST_CASE("files: large FASTQ that is not plain everywhere") {
  const Folder folder;
  const std::string text = tests::fastq(kLarge, 3);
  const std::size_t middle = text.find("\n@read", kLarge / 2) + 1;
  const auto check_with = [&](const std::string& record) {
    CAPTURE(record.substr(0, 40));
    CHECK_FALSE(check_same(
        folder, options_for(folder.write("a.fq", text.substr(0, middle) + record + text.substr(middle)))));
  };
  check_with("@lines\nACGTACGTACGTACGTACGTACGTACGTACGT\nACGT\n+\nIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIII\n");
  check_with("\n");
  check_with("@long\n" + std::string(3'000'000, 'A') + "\n+\n" + std::string(3'000'000, '@') + "\n");
  check_with("@tiny\nA\n+\nI\n@crlf\r\nACGT\r\n+\r\nIIII\r\n");
  check_with("@blank\nACGTACGTACGTACGTACGTACGTACGTACGT \n+\nIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIII\n");
  // Errors.
  check_with("@bad\nACGT\n+\nIII\n");
  check_with("@bad\nACGT!ACGT\n+\nIIIIIIIII\n");
  check_with("@old x\rACGT\r+\rIIII\n");
  check_with("@joined\nACGT\n+\nIIII");
  const std::string cut = folder.write("cut.fq", text.substr(0, text.size() - 20));
  CHECK_FALSE(check_same(folder, options_for(cut)));
  jobs::CountOptions lenient = options_for(folder.write(
      "odd.fq", text.substr(0, middle) + "@bad\nACGT!ACGT\n+\nIIIIIIIII\n" + text.substr(middle)));
  lenient.reading.lenient = true;
  CHECK(check_same(folder, lenient));
}

TEST_CASE("files: large FASTA, plain") {
  const Folder folder;
  tests::FastaShape shape;
  shape.longest_sequence = 100'000;
  const std::string text = tests::fasta(kLarge, 1, shape).text;
  const std::string path = folder.write("a.fa", text);
  for (const std::uint32_t k : {1u, 5u, 13u, 31u, 32u, 64u}) {
    CAPTURE(k);
    if (tests::can_count(k)) CHECK(check_same(folder, options_for(path, k)));
  }
  for (const unsigned threads : {1u, 2u, 8u}) CHECK(check_same(folder, options_for(path, 21, threads)));
  jobs::CountOptions options = options_for(folder.write("b.fa", text.substr(0, text.size() - 1)));
  options.reading.min_base_quality = 20;  // which FASTA does not have
  CHECK(check_same(folder, options));
  // Beside others.
  options.inputs = {path, folder.write("c.fq", tests::fastq(kLarge / 2, 2)),
                    folder.write("d.fa", tests::fasta(100'000, 3).text)};
  CHECK(check_same(folder, options));
}

TEST_CASE("files: large FASTA of other shapes") {
  const Folder folder;
  const auto check_shape = [&](const tests::FastaShape& shape) {
    CHECK(check_same(folder, options_for(folder.write("a.fa", tests::fasta(kLarge, 4, shape).text))));
  };
  check_shape({.longest_sequence = 200, .longest_line = 200});              // reads
  check_shape({.longest_sequence = 9'000'000, .longest_line = 9'000'000});  // lines longer than chunks
  check_shape({.longest_sequence = 20'000, .longest_line = 2});             // next to no lines
  check_shape({.longest_sequence = 20'000, .line_end = "\r\n", .blank_lines = 5});
}

TEST_CASE("files: large FASTA that is not plain everywhere") {
  const Folder folder;
  tests::FastaShape shape;
  shape.longest_sequence = 20'000;
  const std::string text = tests::fasta(kLarge, 5, shape).text;
  const std::size_t middle = text.find("\n>", kLarge / 2) + 1;
  const auto with = [&](const std::string& record) {
    return folder.write("a.fa", text.substr(0, middle) + record + text.substr(middle));
  };
  const auto check_with = [&](const std::string& record) {
    CAPTURE(record.substr(0, 40));
    CHECK_FALSE(check_same(folder, options_for(with(record))));
  };
  check_with("@read\nACGTACGTACGTACGTACGTACGTACGTACGT\n+\nIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIII\n");
  check_with('>' + std::string(9'000'000, 'x') + "\nACGT\n");
  check_with(">blanks\n  1 ACGTACGT ACGTACGT ACGTACGT ACGT \n 29 ACGTACGT\n");
  // Errors.
  check_with(">joined\nACGTACGT");
  check_with(">bad\nACGT!ACGT\n");
  check_with(";comment\n");
  check_with(">old\rACGT\r");
  check_with("ACGT\rACGT\n");
  jobs::CountOptions lenient = options_for(with(">bad\nACGT!ACGT\n;comment\n"));
  lenient.reading.lenient = true;
  CHECK(check_same(folder, lenient));
}
