// What the library warns of, who hears of it, and when.

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/warning.h"
#include "file/output/temp_file_registry.h"
#include "unit/library/library_fixture.h"
#include "warpmer/warpmer.h"

namespace fs = std::filesystem;
using warpmer::SetOperation;
using warpmer::tests::library_bases;
using warpmer::tests::LibraryFolder;

namespace {

using Sentences = std::vector<std::string>;

/// Options of a job whose warnings are put there.
template <class Options>
Options heard_by(Sentences& heard, Options options = {}) {
  options.warning_listener = [&heard, caller = std::this_thread::get_id()](const std::string& message) {
    heard.push_back(std::this_thread::get_id() == caller ? message : "on another thread: " + message);
  };
  return options;
}

warpmer::CountOptions counting_heard_by(Sentences& heard, std::uint64_t min_count = 1) {
  warpmer::CountOptions options;
  options.k = 21;
  options.min_count = min_count;
  options.threads = 2;
  return heard_by(heard, options);
}

/// The one sentence, or that there are others.
doctest::String only(const Sentences& heard) {
  return (heard.size() == 1 ? heard.front() : std::to_string(heard.size()) + " sentences").c_str();
}

doctest::Contains part(const std::string& text) { return doctest::Contains(text.c_str()); }

}  // namespace

TEST_CASE("counting warns of what the program warns of") {
  const LibraryFolder folder;
  const std::string none = folder.write("none.fa", ""), output = folder / "out.wmi";
  const std::string once = folder.fasta("once.fa", library_bases(100, 1));
  const auto heard_of = [&](const std::vector<std::string>& inputs, std::uint64_t min_count = 1) {
    Sentences heard;
    warpmer::count(inputs, counting_heard_by(heard, min_count), output);
    CHECK(fs::exists(output));
    return heard;
  };
  CHECK(heard_of({once}).empty());
  CHECK(only(heard_of({none})) == part("there is no sequence in the input; "));
  CHECK(only(heard_of({folder.fasta("short.fa", "ACGT")})) ==
        part("there is no k-mer in the input: its sequence is shorter than k = 21"));
  CHECK(only(heard_of({once}, 2)) == part("none of the 80 distinct k-mers occurs at least 2 times"));
  CHECK(only(heard_of({once, none, once})) == part("'" + once + "' is named more than once; "));
  fs::create_symlink(once, folder / "link.fa");
  CHECK(only(heard_of({once, folder / "link.fa"})) ==
        part("'" + once + "' and '" + (folder / "link.fa") + "' are the same file; "));
}

TEST_CASE("counting warns of qualities, if they count") {
  const LibraryFolder folder;
  std::string text;
  for (int i = 0; i < 20; ++i)
    text += "@r\n" + library_bases(60, 1) + "\n+\n" + std::string(50, 'h') + std::string(10, 'B') + "\n";
  const std::string reads = folder.write("q64.fq", text);
  Sentences heard;
  warpmer::CountOptions options = counting_heard_by(heard);
  warpmer::count({reads}, options, folder / "out.wmi");
  CHECK(heard.empty());
  options.min_base_quality = 20;
  warpmer::count({reads}, options, folder / "out.wmi");
  CHECK(only(heard) == part(reads + ": qualities look like Phred+64"));
}

TEST_CASE("set operations warn of indexes that lack k-mers, and of those that are named twice") {
  const LibraryFolder folder;
  const std::string bases = library_bases(100, 1), few = folder / "few.wmi", all = folder / "all.wmi";
  Sentences heard;
  const std::string twice = folder.write("twice.fa", ">1\n" + bases + "\n>2\n" + bases + "\n");
  warpmer::count({twice}, counting_heard_by(heard, 2), few);
  warpmer::count({twice}, counting_heard_by(heard), all);
  const auto options = heard_by<warpmer::SetOptions>(heard);
  warpmer::combine(SetOperation::intersect, {few, all}, options, folder / "out.wmi");
  CHECK(heard.empty());
  warpmer::combine(SetOperation::unite, {few, all}, options, folder / "out.wmi");
  CHECK(only(heard) == part("'" + few + "' lacks k-mers that --min-count or --max-count left out"));
  heard.clear();
  warpmer::combine(SetOperation::subtract, {all, all}, options, folder / "out.wmi");
  CHECK(only(heard) == part("'" + all + "' is named more than once"));
}

TEST_CASE("a job that is also watched warns on the caller's thread, too") {
  const LibraryFolder folder;
  Sentences heard;
  warpmer::CountOptions options = counting_heard_by(heard);
  warpmer::JobStage last = warpmer::JobStage::starting;
  options.listener = [&](const warpmer::JobStatus& status) { last = status.stage; };
  warpmer::count({folder.write("none.fa", "")}, options, folder / "out.wmi");
  CHECK(only(heard) == part("there is no sequence in the input; "));
  CHECK(last == warpmer::JobStage::done);
}

TEST_CASE("what a listener of warnings throws ends the job, and leaves no output") {
  const LibraryFolder folder;
  const std::string none = folder.write("none.fa", ""), old = folder.write("old.wmi", "old");
  const std::string index = folder / "index.wmi";
  Sentences heard;
  warpmer::count({folder.fasta("in.fa", library_bases(100, 1))}, counting_heard_by(heard), index);
  const auto files = folder.files();
  const auto refuse = [](const std::string& message) { throw std::out_of_range(message); };
  warpmer::CountOptions options;
  options.warning_listener = refuse;
  CHECK_THROWS_AS(warpmer::count({none}, options, folder / "new.wmi"), std::out_of_range);
  CHECK_THROWS_AS(warpmer::count({none}, options, old), std::out_of_range);
  CHECK_THROWS_AS(warpmer::count({none, none}, options, folder / "new.wmi"), std::out_of_range);
  CHECK_THROWS_AS(warpmer::combine(SetOperation::unite, {index, index}, {.warning_listener = refuse}, old),
                  std::out_of_range);
  CHECK(folder.files() == files);
  CHECK(warpmer::tests::read_bytes(old) == "old");
}

TEST_CASE("an error comes after what was warned of before it") {
  const LibraryFolder folder;
  Sentences heard;
  const std::string missing = folder / "missing.fa";
  CHECK_THROWS_AS(warpmer::count({missing, missing}, counting_heard_by(heard), folder / "out.wmi"),
                  warpmer::InputError);
  CHECK(only(heard) == part("'" + missing + "' is named more than once"));
  CHECK(folder.files() == 0);
}

TEST_CASE("several jobs at once have each its own listener") {
  const LibraryFolder folder;
  constexpr std::size_t kJobs = 4;
  std::array<Sentences, kJobs> heard;
  std::array<std::string, kJobs> indexes;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kJobs; ++i) {
    indexes[i] = folder / (std::to_string(i) + ".wmi");
    const std::string input = folder.fasta(std::to_string(i) + ".fa", library_bases(2000, 1));
    threads.emplace_back([&, i, input] {
      warpmer::count({input}, counting_heard_by(heard[i]), indexes[i]);
      const auto options = heard_by<warpmer::SetOptions>(heard[i]);
      for (int j = 0; j < 10; ++j)
        warpmer::combine(SetOperation::unite, {indexes[i], indexes[i]}, options, indexes[i] + ".out");
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < kJobs; ++i) {
    CHECK(heard[i].size() == 10);
    for (const std::string& sentence : heard[i])
      CHECK(sentence.starts_with("'" + indexes[i] + "' is named more than once"));
  }
}

TEST_CASE("warnings of a job without a listener are the process's, and others' are not") {
  const LibraryFolder folder;
  const std::string none = folder.write("none.fa", "");
  Sentences of_process, of_job;
  const auto before =
      warpmer::listen_for_warnings([&](const std::string& message) { of_process.push_back(message); });
  warpmer::count({none}, counting_heard_by(of_job), folder / "out.wmi");
  CHECK(of_process.empty());
  CHECK(of_job.size() == 1);
  warpmer::count({none}, {}, folder / "out.wmi");
  warpmer::listen_for_warnings(before);
  CHECK(of_process == of_job);
}

TEST_CASE("a temporary file that could not be removed is told last") {
  const LibraryFolder folder;
  const std::string output = folder / "out.wmi", left = folder / "left.tmp";
  fs::create_directories(left);
  (void)warpmer::file::take_left_behind();
  const std::string input = folder.fasta("in.fa", library_bases(100, 1));
  Sentences heard;
  warpmer::CountOptions options = counting_heard_by(heard);
  bool was_there = false;
  options.warning_listener = [&](const std::string& message) {
    heard.push_back(message);
    was_there = fs::exists(output);
  };
  warpmer::file::remove_temporary(left);  // a folder, which is no file to unlink
  warpmer::count({input}, options, output);
  CHECK(only(heard) == part("the temporary file '" + left + "' ("));
  CHECK(was_there);
  warpmer::count({input}, options, output);
  CHECK(heard.size() == 1);
}
