// A job that watches a folder, with a listener that does what a signal or a clock would do.
// ctest: one thread

#include "jobs/watch_job.h"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "unit/io/io_fixture.h"

namespace jobs = warpmer::jobs;

namespace {

/// Calls `meanwhile` whenever the job waits.
struct Listener final : jobs::WatchListener {
  void line(const jobs::WatchLine& /*line*/) override { ++lines; }
  void problem(const std::string& what) override { problems.push_back(what); }
  void saved(const jobs::IndexReport& /*report*/) override {}
  Wish wait(double /*seconds*/) override {
    meanwhile();
    return Wish::go_on;
  }
  bool must_end() override { return false; }
  bool must_save() override { return wants_to_save; }

  std::function<void()> meanwhile = [] {};
  bool wants_to_save = false;
  int lines = 0;
  std::vector<std::string> problems;
};

/// A folder with files of one read each, and a job that counts what is there.
struct WatchedRun {
  WatchedRun() {
    std::filesystem::create_directory(files / "run");
    options.folder = files / "run";
    options.output = files / "x.wmi";
    options.kmers.k = 21;
    options.resources.threads = 1;
    options.until.seconds = 0;
    options.settle_seconds = 0;
  }
  void append(const std::string& name) const {
    std::ofstream(files / ("run/" + name), std::ios::binary | std::ios::app)
        << "@r\n"
        << std::string(50, 'A') << "\n+\n"
        << std::string(50, 'I') << '\n';
  }

  io_test::ScratchFolder files;
  jobs::WatchOptions options;
  Listener listener;
};

TEST_CASE("what is there is counted, whatever falls due meanwhile") {
  for (const bool is_line : {false, true}) {
    CAPTURE(is_line);
    WatchedRun run;
    for (int i = 0; i < 5; ++i) run.append(std::to_string(i) + ".fq");
    run.listener.wants_to_save = !is_line;
    if (is_line) run.options.line_seconds = 0;
    CHECK(jobs::watch(run.options, run.listener).files == 5);
    CHECK(run.listener.lines >= 1);
    CHECK(run.listener.problems.empty());
  }
}

TEST_CASE("a file that does not settle while what is there is counted is waited for once, and told") {
  WatchedRun run;
  run.options.settle_seconds = 1;
  for (const char* name : {"still.fq.gz", "growing.fq.gz", "growing.fq"}) run.append(name);
  run.listener.meanwhile = [&] {
    run.append("growing.fq.gz");
    run.append("growing.fq");
    run.append("later.fq.gz");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  };
  const jobs::WatchReport report = jobs::watch(run.options, run.listener);
  CHECK(report.files == 2);
  CHECK(report.damaged == 0);
  REQUIRE(run.listener.problems.size() == 1);
  CHECK(run.listener.problems[0].find("growing.fq.gz is still being written to") != std::string::npos);
}

}  // namespace
