// Live tables under threads: what each call saw is put in an order in which the calls could have been made
// one after another.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "backend/live/live_table.h"
#include "live/live_suite.h"
#include "random_text.h"
#include "tier.h"

using namespace warpmer;
using namespace warpmer::tests;

namespace {

using Moment = std::uint64_t;

/// One call that changes the table. It adds or removes all k-mers 2^number times each.
struct Step {
  bool adds;
  unsigned number;
  Moment begun = 0, ended = 0;
};
/// One answer about one k-mer: the steps that it has seen, a bit for each.
struct Answer {
  std::uint64_t seen;
  Moment begun, ended;
};

/// Every step has a number of its own, so that a count tells which steps have been made. Those that remove
/// take what was there from the beginning.
class History {
 public:
  explicit History(unsigned steps) : steps_(steps) {
    for (unsigned i = 0; i < steps; ++i) steps_[i] = {i % 2 == 0, i};
  }
  [[nodiscard]] Step& step(unsigned number) { return steps_[number]; }
  /// Returns the count of each k-mer at first.
  [[nodiscard]] std::uint64_t first_count() const {
    std::uint64_t count = 0;
    for (const Step& step : steps_) count += step.adds ? 0 : std::uint64_t{1} << step.number;
    return count;
  }
  [[nodiscard]] std::uint64_t seen_in(std::uint64_t count) const { return count ^ first_count(); }

  /// True if the answers about one k-mer could have been given one after another.
  [[nodiscard]] bool explains(std::vector<Answer> answers) const {
    bool all_fit = true;
    for (const Answer& answer : answers) all_fit = all_fit && fits(answer);
    std::sort(answers.begin(), answers.end(),
              [](const Answer& a, const Answer& b) { return std::popcount(a.seen) < std::popcount(b.seen); });
    // Each has seen what the one before it has,
    for (std::size_t i = 1; i < answers.size(); ++i)
      all_fit = all_fit && (answers[i - 1].seen & ~answers[i].seen) == 0;
    // and none that has seen less began when one that has seen more had ended.
    Moment first_end = UINT64_MAX;
    for (std::size_t i = answers.size(), next = i; i > 0; i = next) {
      while (next > 0 && answers[next - 1].seen == answers[i - 1].seen) --next;
      for (std::size_t j = next; j < i; ++j) all_fit = all_fit && answers[j].begun <= first_end;
      for (std::size_t j = next; j < i; ++j) first_end = std::min(first_end, answers[j].ended);
    }
    return all_fit;
  }

 private:
  /// True if an answer has seen what had ended before it, and before what it has seen, and nothing that began
  /// later.
  [[nodiscard]] bool fits(const Answer& answer) const {
    const auto is_seen = [&](const Step& step) { return (answer.seen >> step.number & 1) != 0; };
    bool all_fit = answer.seen < std::uint64_t{1} << steps_.size();
    for (const Step& step : steps_) {
      all_fit = all_fit && (step.ended >= answer.begun || is_seen(step));
      all_fit = all_fit && (step.begun <= answer.ended || !is_seen(step));
      for (const Step& before : steps_)
        all_fit = all_fit && (!is_seen(step) || before.ended >= step.begun || is_seen(before));
    }
    return all_fit;
  }

  std::vector<Step> steps_;
};

io::Batch batch_with(const std::vector<std::string>& kmers, std::uint64_t times) {
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; i < times; ++i) texts.insert(texts.end(), kmers.begin(), kmers.end());
  return std::move(batches_of(texts, texts.size()).front());
}

/// Runs `threads`, and rethrows nothing: an exception is a failure of the test.
void run_all(const std::vector<std::function<void()>>& threads) {
  std::vector<std::thread> team;
  team.reserve(threads.size());
  for (const auto& work : threads) team.emplace_back(work);
  for (std::thread& thread : team) thread.join();
}

struct Round {
  backend::LiveTablePlan plan;
  unsigned seed;
};

/// Two threads change, two ask, one views the whole.
void run_round(const Round& round) {
  constexpr unsigned kSteps = 8;
  std::mt19937_64 random(round.seed);
  std::vector<std::string> kmers;
  while (kmers.size() < 24) {
    const std::string kmer = random_text(random, round.plan.kmers.k);
    if (std::find(kmers.begin(), kmers.end(), kmer) == kmers.end()) kmers.push_back(kmer);
  }
  const auto table = backend::make_cpu_live_table(round.plan);
  History history(kSteps);
  table->add(batch_with(kmers, history.first_count()), false);

  std::atomic<Moment> clock{1};
  std::atomic<unsigned> changing{2};
  std::atomic<bool> all_there{true};
  const auto change = [&](unsigned thread) {
    for (unsigned i = thread; i < kSteps; i += 2) {
      Step& step = history.step(i);
      const io::Batch batch = batch_with(kmers, std::uint64_t{1} << step.number);
      step.begun = clock++;
      if (step.adds) {
        table->add(batch, false);
      } else {
        all_there = table->remove(batch, false).shortfall.is_none() && all_there;
      }
      step.ended = clock++;
    }
    --changing;
  };
  std::vector<std::vector<Answer>> profiled(kmers.size()), found(kmers.size());
  const auto profile = [&] {
    const io::Batch asked = batch_with(kmers, 1);
    backend::Profile answer;
    for (bool goes_on = true; goes_on;) {
      goes_on = changing > 0;
      const Moment begun = clock++;
      table->lookup(false).profile(asked, answer);
      const Moment ended = clock++;
      for (std::size_t i = 0; i < kmers.size(); ++i)
        profiled[i].push_back({history.seen_in(answer.counts[i]), begun, ended});
    }
  };
  const auto find = [&] {
    for (bool goes_on = true; goes_on;) {
      goes_on = changing > 0;
      for (std::size_t i = 0; i < kmers.size(); ++i) {
        const Moment begun = clock++;
        const std::uint64_t count = table->lookup(true).find(kmers[i]);
        found[i].push_back({history.seen_in(count), begun, clock++});
      }
    }
  };
  // Steps change all k-mers alike, and whole: so they have one count, in all k-mers that are there.
  std::vector<Answer> viewed;
  bool is_whole = true;
  const auto view = [&] {
    for (bool goes_on = true; goes_on;) {
      goes_on = changing > 0;
      const Moment begun = clock++;
      const index::Histogram histogram =
          viewed.size() % 2 == 0 ? table->tally().histogram() : freeze(*table, 1).histogram;
      const Moment ended = clock++;
      is_whole = is_whole && histogram.size() <= 1 &&
                 (histogram.empty() || histogram.begin()->second == kmers.size());
      viewed.push_back({history.seen_in(histogram.empty() ? 0 : histogram.begin()->first), begun, ended});
    }
  };
  run_all({[&] { change(0); }, [&] { change(1); }, profile, find, view});
  CHECK(is_whole);
  CHECK(all_there);
  CHECK(history.explains(viewed));
  for (std::size_t i = 0; i < kmers.size(); ++i) {
    std::vector<Answer> all = profiled[i];
    all.insert(all.end(), found[i].begin(), found[i].end());
    all.insert(all.end(), viewed.begin(), viewed.end());
    CHECK(history.explains(std::move(all)));
  }
}

}  // namespace

TEST_CASE("calls side by side are as calls one after another") {
  unsigned seed = 0;
  for (const std::uint32_t k : {7u, 31u, 64u}) {
    for (const backend::LiveScheme scheme : {backend::LiveScheme::warpdrive, backend::LiveScheme::slab}) {
      for (const std::size_t fold_kmers : {std::size_t{1}, std::size_t{1000000}}) {
        CAPTURE(k);
        CAPTURE(static_cast<int>(scheme));
        CAPTURE(fold_kmers);
        for (unsigned i = 0; i < by_tier(15u, 2u); ++i) {
          backend::LiveTablePlan plan = live_plan(k, false);
          plan.scheme = scheme;
          plan.fold_kmers = fold_kmers;
          run_round({plan, ++seed});
        }
      }
    }
  }
}

TEST_CASE("while a snapshot is taken additions wait, and questions do not") {
  for (const std::uint32_t k : {7u, 31u}) {
    const auto table = backend::make_cpu_live_table(live_plan(k));
    const std::vector<std::string> kmers = {std::string(k, 'A')};
    table->add(batch_with(kmers, 3), false);
    std::atomic<bool> is_added{false};
    std::thread adding;
    {
      const auto snapshot = table->snapshot();
      adding = std::thread([&] {
        table->add(batch_with(kmers, 1), false);
        is_added = true;
      });
      for (int i = 0; i < 20; ++i) {
        CHECK(table->lookup(false).find(kmers.front()) == 3);
        CHECK(table->tally().totals().counted_kmers == 3);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      CHECK(!is_added);
      snapshot->finish(0, backend::ShardSink([](std::uint32_t, index::FrozenShard&&) {}), [] {});
      CHECK(snapshot->tally().totals().counted_kmers == 3);
      CHECK(snapshot->totals().records == 3);
    }
    adding.join();
    CHECK(table->lookup(false).find(kmers.front()) == 4);
  }
}

TEST_CASE("more threads than a live table was made for wait for their turn, and nothing is lost") {
  for (const std::uint32_t k : {7u, 31u}) {
    backend::LiveTablePlan plan = live_plan(k);
    plan.fold_kmers = 200;
    const auto table = backend::make_cpu_live_table(plan);
    const std::vector<std::string> reads = simulated_reads(300, 2000, k);
    const auto work = [&](unsigned thread) {
      for (std::size_t i = thread; i < reads.size(); i += 6) {
        table->add(batch_with({reads[i]}, 2), true);
        backend::Profile profile;
        table->lookup(true).profile(batch_with({reads[i]}, 1), profile);
        table->remove(batch_with({reads[i]}, 1), true);
      }
    };
    std::vector<std::function<void()>> threads;
    for (unsigned thread = 0; thread < 6; ++thread) threads.emplace_back([&, thread] { work(thread); });
    run_all(threads);
    OracleTable oracle(plan.kmers);
    oracle.add(batches_of(reads, reads.size()).front(), true);
    check_same(*table, oracle, 2);
  }
}

TEST_CASE("threads add to shards while others fold them") {
  constexpr unsigned kThreads = 4;
  const unsigned rounds = by_tier(60u, 20u);
  backend::LiveTablePlan plan = live_plan(31);
  plan.threads = kThreads;
  plan.fold_kmers = 1;
  const auto table = backend::make_cpu_live_table(plan);
  const std::vector<std::string> reads = simulated_reads(60, 400, 5);
  const io::Batch batch = batch_with(reads, 1);
  const auto add = [&] {
    for (unsigned round = 0; round < rounds; ++round) table->add(batch, true);
  };
  run_all({add, add, add, add});
  OracleTable oracle(plan.kmers);
  for (unsigned round = 0; round < kThreads * rounds; ++round) oracle.add(batch, true);
  check_same(*table, oracle, 2);
}

TEST_CASE("batches that have room one after another have it side by side") {
  constexpr unsigned kThreads = 3, kRounds = 4;
  backend::LiveTablePlan plan = live_plan(31);
  plan.threads = kThreads;
  plan.fold_kmers = 1000000;  // never but for want of memory
  plan.memory_bytes = std::uint64_t{40} << 20;
  const auto table = backend::make_cpu_live_table(plan);
  std::vector<std::function<void()>> threads;
  std::atomic<std::uint64_t> kmers = 0;
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937_64 random(thread);
      for (unsigned round = 0; round < kRounds; ++round)
        kmers += table->add(batches_of({random_text(random, 400000)}, 1).front(), false);
    });
  }
  run_all(threads);
  CHECK(table->tally().totals().counted_kmers == kmers);
}
