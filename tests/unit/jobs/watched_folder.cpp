// The files of a folder that is watched: what of them can be read, and when.
// ctest: one thread

#include "jobs/watched_folder.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "unit/io/io_fixture.h"

using warpmer::InputError;
using warpmer::jobs::end_of_whole_records;
using warpmer::jobs::FilePart;
using warpmer::jobs::WatchedFolder;

namespace {

namespace fs = std::filesystem;

/// A folder, and a clock that tests move.
struct Watched {
  explicit Watched(const std::map<std::string, std::uint64_t>& read = {})
      : folder(files / ".", read, std::chrono::seconds(10)) {}

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(files / name).parent_path());
    std::ofstream(files / name, std::ios::binary) << text;
  }
  void append(const std::string& name, const std::string& text) const {
    std::ofstream(files / name, std::ios::binary | std::ios::app) << text;
  }
  std::vector<FilePart> look(int seconds) {
    now += std::chrono::seconds(seconds);
    return folder.look(now, [&](const std::string& what) { problems.push_back(what); });
  }

  io_test::ScratchFolder files;
  WatchedFolder folder;
  WatchedFolder::Clock::time_point now = WatchedFolder::Clock::now();
  std::vector<std::string> problems;
};

using Parts = std::vector<FilePart>;

TEST_CASE("compressed files are read when they are finished, and on from there when they grow") {
  Watched watched;
  watched.write("a/x.fastq.gz", std::string(100, 'x'));
  watched.write("b.bam", std::string(50, 'x'));
  CHECK(watched.look(0) == Parts());
  CHECK(watched.look(9) == Parts());
  CHECK(watched.look(1) == Parts{{"a/x.fastq.gz", 0, 100}, {"b.bam", 0, 50}});
  watched.folder.note_read({"a/x.fastq.gz", 0, 100});
  CHECK(watched.look(1) == Parts{{"b.bam", 0, 50}});
  watched.folder.note_read({"b.bam", 0, 50});
  CHECK(watched.look(1) == Parts());
  watched.append("a/x.fastq.gz", std::string(20, 'y'));
  CHECK(watched.look(1) == Parts());
  watched.append("a/x.fastq.gz", std::string(20, 'y'));
  CHECK(watched.look(9) == Parts());
  CHECK(watched.look(10) == Parts{{"a/x.fastq.gz", 100, 140}});
  CHECK(watched.problems.empty());
}

TEST_CASE("plain text is read record by record while it grows") {
  Watched watched;
  watched.write("x.fq", "@a\nACGT\n+\nIIII\n@b\nAC");
  CHECK(watched.look(0) == Parts{{"x.fq", 0, 15}});
  watched.folder.note_read({"x.fq", 0, 15});
  CHECK(watched.look(1) == Parts());
  watched.append("x.fq", "GT\n+\nII@I\n@c\n");
  CHECK(watched.look(1) == Parts{{"x.fq", 15, 30}});
  watched.folder.note_read({"x.fq", 15, 30});
  CHECK(watched.look(1) == Parts());
  CHECK(watched.look(10) == Parts{{"x.fq", 30, 33}});  // what a reader refuses
  watched.write("y.fa", ">a\nACGT\nAC\n>b\nGG\n>c");
  CHECK(watched.look(0) == Parts{{"x.fq", 30, 33}, {"y.fa", 0, 17}});
}

TEST_CASE("where whole records end") {
  Watched watched;
  const auto end = [&](const std::string& text, std::uint64_t begin = 0) {
    watched.write("t", text);
    return end_of_whole_records(watched.files / "t", begin, text.size());
  };
  const std::string record = "@r\nACGT\n+r\n@@@@\n";
  CHECK(end("") == 0);
  CHECK(end(record) == record.size());
  CHECK(end(record + record) == 2 * record.size());
  for (std::size_t more = 1; more < record.size(); ++more) {
    CAPTURE(more);
    CHECK(end(record + record.substr(0, more)) == record.size());
    CHECK(end(record.substr(0, more)) == 0);
  }
  CHECK(end(record + "ACGT\n") == record.size());
  CHECK(end("@r\nACGT\nACGT\n+\nIIIIIIII\n") == 0);  // not four lines
  CHECK(end("\x1f\x8b\n") == 0);
  CHECK(end(">a\nAC\n") == 0);
  CHECK(end(">a\nAC\n>") == 6);
  CHECK(end(">a\nAC\n>b\nAC\n", 6) == 6);
  CHECK(end(record + record, record.size()) == 2 * record.size());
  const std::string block(700'000, 'A');  // longer than what is read at a time, together
  CHECK(end(">a\n" + block + "\n" + block + "\n>b\nA\n") == 2 * block.size() + 5);
}

TEST_CASE("names that no sequence file has, and folders of what is not to be used") {
  Watched watched;
  for (const char* name : {"sequencing_summary.txt", "x.fast5", ".x.fq", "x.fq.tmp", "fastq_fail/x.fq",
                           "s_skip/x.fq", ".git/x.fq", "x.gz", "fq"})
    watched.write(name, "@a\nA\n+\nI\n");
  CHECK(watched.look(20) == Parts());
  for (const char* name : {"1.fq", "2.fna.xz", "3.sam", "4.fasta.bz2", "d/e/5.fastq.zst"})
    watched.write(name, "@a\nA\n+\nI\n");
  watched.look(0);
  CHECK(watched.look(10).size() == 5);
}

TEST_CASE("what has been read before is not read again; what has changed is told once") {
  Watched watched({{"x.fq.gz", 5}, {"y.bam", 5}, {"z.fq.gz", 9}});
  watched.write("x.fq.gz", "12345");
  watched.write("y.bam", "1234567");
  watched.write("z.fq.gz", "123");
  CHECK(watched.look(0) == Parts());
  CHECK(watched.look(10) == Parts());
  CHECK(watched.problems.size() == 2);
  CHECK(watched.folder.damaged() == 2);
}

TEST_CASE("a damaged file is left out until it changes") {
  Watched watched;
  watched.write("x.fq.gz", "123");
  watched.look(0);
  CHECK(watched.look(10) == Parts{{"x.fq.gz", 0, 3}});
  watched.folder.note_damaged({"x.fq.gz", 0, 3});
  CHECK(watched.look(10) == Parts());
  CHECK(watched.folder.damaged() == 1);
  watched.append("x.fq.gz", "45");
  watched.look(0);
  CHECK(watched.folder.damaged() == 0);
  CHECK(watched.look(10) == Parts{{"x.fq.gz", 0, 5}});
}

TEST_CASE("a file that another replaces is told once, and left out; a copy that has grown is read on") {
  Watched watched;
  const std::string record = "@a\nACGT\n+\nIIII\n", other = "@b\nGCGT\n+\nIIII\n";
  const auto replace = [&](const std::string& name, const std::string& text) {
    watched.write("new", text);
    fs::rename(watched.files / "new", watched.files / name);
  };
  for (const char* name : {"copied.fq", "other.fq", "away.fq", "written.fq"}) watched.write(name, record);
  for (const FilePart& part : watched.look(0)) watched.folder.note_read(part);
  fs::remove(watched.files / "away.fq");
  replace("copied.fq", record + record);
  replace("other.fq", other + other);
  watched.write("written.fq", other + other);  // has the inode of the one before
  CHECK(watched.look(1) == Parts{{"copied.fq", 15, 30}});
  CHECK(watched.problems.size() == 2);
  watched.append("other.fq", other);
  replace("away.fq", other);
  CHECK(watched.look(20) == Parts{{"copied.fq", 15, 30}});
  CHECK(watched.look(20) == Parts{{"copied.fq", 15, 30}});
  CHECK(watched.problems.size() == 3);
  for (const std::string& what : watched.problems) {
    CAPTURE(what);
    CHECK(what.find(".fq has been replaced by another file") != std::string::npos);
    CHECK(what.find("copied.fq") == std::string::npos);
  }
  CHECK(watched.folder.damaged() == 3);
}

TEST_CASE("what is there no more is not left out") {
  Watched watched;
  watched.write("x.fq.gz", "123");
  watched.look(10);
  watched.folder.note_damaged({"x.fq.gz", 0, 3});
  CHECK(watched.folder.damaged() == 1);
  CHECK_FALSE(watched.folder.has_lost({"x.fq.gz", 0, 3}));
  CHECK(watched.folder.has_lost({"x.fq.gz", 0, 4}));
  fs::remove(watched.files / "x.fq.gz");
  CHECK(watched.folder.has_lost({"x.fq.gz", 0, 3}));
  CHECK(watched.look(10) == Parts());
  CHECK(watched.folder.damaged() == 0);
  CHECK(watched.problems.empty());
}

TEST_CASE("folders deep within are listed, and links to folders are not followed") {
  Watched watched;
  std::string deep = "d";
  for (int i = 0; i < 60; ++i) deep += "/d";
  watched.write(deep + "/x.fq.gz", "123");
  watched.write("e/y.fq.gz", "123");
  fs::create_directory_symlink(watched.files / "e", watched.files / (deep + "/loop"));
  watched.look(0);
  CHECK(watched.look(10) == Parts{{deep + "/x.fq.gz", 0, 3}, {"e/y.fq.gz", 0, 3}});
  REQUIRE(watched.problems.size() == 1);  // of two looks
  CHECK(watched.problems[0].find(deep + "/loop is a link to a folder") != std::string::npos);
  CHECK(watched.folder.damaged() == 0);
}

TEST_CASE("a file of several names is told once") {
  Watched watched;
  watched.write("d/a.fq.gz", "123");
  watched.write("other.fq.gz", "123");
  fs::create_hard_link(watched.files / "d/a.fq.gz", watched.files / "b.fq.gz");
  fs::create_symlink("d/a.fq.gz", watched.files / "latest.fq.gz");
  watched.look(0);
  CHECK(watched.look(10).size() == 4);
  REQUIRE(watched.problems.size() == 1);
  CHECK(watched.problems[0].find("are the same file") != std::string::npos);
  CHECK(watched.problems[0].find("other") == std::string::npos);
}

TEST_CASE("a folder that cannot be listed is told once, and is left out") {
  if (::geteuid() == 0) return;  // who may list everything
  Watched watched;
  watched.write("a/x.fq.gz", "123");
  fs::permissions(watched.files / "a", fs::perms::none);
  CHECK(watched.look(10) == Parts());
  CHECK(watched.look(10) == Parts());
  CHECK(watched.problems.size() == 1);
  CHECK(watched.folder.damaged() == 1);
  fs::permissions(watched.files / "a", fs::perms::owner_all);
  watched.look(10);
  CHECK(watched.look(10) == Parts{{"a/x.fq.gz", 0, 3}});
  CHECK(watched.folder.damaged() == 0);
}

TEST_CASE("an old file is finished at once; a folder that is not there is an error") {
  Watched watched;
  watched.write("x.fq.gz", "123");
  fs::last_write_time(watched.files / "x.fq.gz", fs::file_time_type::clock::now() - std::chrono::hours(1));
  CHECK(watched.look(0) == Parts{{"x.fq.gz", 0, 3}});
  const auto input = watched.folder.input({"x.fq.gz", 1, 3});
  CHECK(input.begin == 1);
  CHECK(input.end == 3);
  WatchedFolder missing(watched.files / "missing", {}, std::chrono::seconds(0));
  CHECK_THROWS_AS(missing.look(watched.now, [](const std::string&) {}), InputError);
}

}  // namespace
