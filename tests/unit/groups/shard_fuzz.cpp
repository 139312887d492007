// Good shards with something changed: the check refuses them, or everything that reads shards gets along with
// them. Sanitizers see what it must not do.
//
// WARPMER_FUZZ_SECONDS=N goes on for so long, WARPMER_FUZZ_SEED=N with other shards.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "groups/shard_check.h"
#include "groups/shard_reader.h"
#include "groups/string_lookup.h"
#include "refusal.h"
#include "tier.h"
#include "unit/groups/encoded_content.h"
#include "unit/groups/shard_changes.h"
#include "unit/groups/shard_fields.h"

using namespace warpmer;
using namespace warpmer::groups;
using namespace warpmer::tests;

namespace {

/// Parts of a few sequences around one minimizer, with errors: 1 to some hundreds of strings.
template <class Flanks>
void add_group(std::uint32_t rest, std::uint32_t n, std::size_t reads, Content<Flanks>& content,
               Random& random) {
  const Flanks whole_left = random_flank<Flanks>(n, random), whole_right = random_flank<Flanks>(n, random);
  const bool even = random() % 2 == 0;
  for (std::size_t i = 0; i < reads; ++i) {
    Flanks left = whole_left, right = whole_right;
    if (reads > 20) {
      left = random_flank<Flanks>(n, random);
    } else if (random() % 2 == 0) {
      left ^= static_cast<Flanks>(Flanks{1 + random() % 3} << (2 * (random() % n)));
    } else if (random() % 2 == 0) {
      right ^= static_cast<Flanks>(Flanks{1 + random() % 3} << (2 * (random() % n)));
    }
    const std::uint64_t times = even ? 1 : log_random(random) >> 8 | 1;
    const auto lowest = static_cast<std::uint32_t>(random() % (n + 1));
    const auto highest = lowest + static_cast<std::uint32_t>(random() % (n + 1 - lowest));
    for (std::uint32_t layer = lowest; layer <= highest; ++layer)
      content[{rest, layer, flanks_at(left, right, layer, n)}] += times;
  }
}

template <class Flanks>
Content<Flanks> random_content(const GroupShape& shape, Random& random) {
  Content<Flanks> content;
  const std::size_t groups = 1 + random() % 12;
  for (std::size_t i = 0; i < groups; ++i) {
    const auto rest = shape.rest_of(static_cast<std::uint32_t>(random()));
    const std::size_t reads = random() % 12 == 0 ? 20 + random() % 140 : 1 + random() % 6;
    add_group<Flanks>(rest, shape.flank_bases(), reads, content, random);
    // The next one is in the same bucket, mostly.
    if (rest % 2 == 0 && random() % 2 == 0)
      add_group<Flanks>(rest + 1, shape.flank_bases(), reads, content, random);
  }
  return content;
}

// What is done with shards that the check lets pass.

struct Outcome {
  std::uint64_t rounds = 0, passed = 0, changed_and_passed = 0, with_records = 0;
  std::map<std::string, std::uint64_t> faults;  ///< without numbers
};

template <class Flanks>
class Reading {
 public:
  Reading(const GroupShape& shape, const ShardSizes& sizes, const ShardBits& view)
      : shape_(shape), n_(shape.flank_bases()), sizes_(sizes), view_(view) {}

  void run(Random& random) {
    decode();
    for (int i = 0; i < 40; ++i) look_up(random_query(random), random);
    for (std::size_t i = 0; i < kmers_.size(); i += 1 + kmers_.size() / 50) {
      const auto& [rest, kmer, count] = kmers_[i];
      REQUIRE(find(rest, super_kmer_of(kmer, n_)) == std::vector<std::uint64_t>{count});
    }
    if (random() % 8 == 0) encode_again();
  }

 private:
  struct Kmer {
    std::uint32_t rest;
    FlankedKmer<Flanks> kmer;
    std::uint64_t count;
  };

  void decode() {
    GroupKmers<Flanks> group(n_);
    std::uint64_t groups = 0, least = 0;
    for_each_group(view_, group, [&](std::uint32_t rest, const GroupKmers<Flanks>& kmers) {
      REQUIRE(rest >= least);
      REQUIRE(rest < std::uint64_t{1} << shape_.rest_bits());
      least = rest + std::uint64_t{1};
      ++groups;
      for (std::uint32_t layer = 0; layer <= n_; ++layer) {
        for (std::uint32_t i = kmers.layer_begins()[layer]; i < kmers.layer_begins()[layer + 1]; ++i) {
          if (i > kmers.layer_begins()[layer]) REQUIRE(kmers.flanks()[i - 1] < kmers.flanks()[i]);
          REQUIRE(kmers.counts()[i] > 0);
          kmers_.push_back({rest, {0, layer, kmers.flanks()[i]}, kmers.counts()[i]});
        }
      }
    });
    REQUIRE(kmers_.size() == sizes_.kmers);
    REQUIRE(groups == sizes_.groups);
  }
  FlankedSuperKmer<Flanks> random_query(Random& random) {
    const auto left = static_cast<std::uint32_t>(random() % (n_ + 1));
    const auto right = n_ - left + static_cast<std::uint32_t>(random() % (left + 1));
    FlankedSuperKmer<Flanks> query{0, left, right, random_flank<Flanks>(left, random),
                                   random_flank<Flanks>(right, random)};
    if (kmers_.empty() || random() % 8 == 0) return query;
    // Much of it is as in a k-mer that is there.
    const FlankedSuperKmer<Flanks> kmer = super_kmer_of(any_of(kmers_, random).kmer, n_);
    const auto with = [](Flanks flank, Flanks lowest, std::uint32_t bases) {
      const Flanks mask = key_mask<Flanks>(bases);
      return static_cast<Flanks>((flank & ~mask) | (lowest & mask));
    };
    query.left = with(query.left, kmer.left, std::min(left, kmer.left_bases));
    query.right = with(query.right, kmer.right, std::min(right, kmer.right_bases));
    return query;
  }
  void look_up(const FlankedSuperKmer<Flanks>& query, Random& random) {
    const auto any = shape_.rest_of(static_cast<std::uint32_t>(random()));
    find(kmers_.empty() || random() % 8 == 0 ? any : any_of(kmers_, random).rest, query);
  }
  std::vector<std::uint64_t> find(std::uint32_t rest, const FlankedSuperKmer<Flanks>& query) {
    std::vector<std::uint64_t> answers(query.left_bases + query.right_bases - n_ + 1, 0);
    std::uint32_t there = 0;
    const std::uint32_t found = find_super_kmer(
        view_, rest, query,
        [&](std::uint32_t first, std::uint32_t number, const StringCounts& counts, std::uint32_t from) {
          REQUIRE(number > 0);
          REQUIRE(first + number <= answers.size());
          for (std::uint32_t i = 0; i < number; ++i) {
            REQUIRE(answers[first + i] == 0);
            answers[first + i] = counts[from + i];
            REQUIRE(answers[first + i] > 0);
          }
          there += number;
        });
    REQUIRE(found == there);
    return answers;
  }
  void encode_again() {
    Content<Flanks> content;
    for (const Kmer& kmer : kmers_) content[{kmer.rest, kmer.kmer.layer, kmer.kmer.flanks}] = kmer.count;
    const Shard<Flanks> again(shape_.k, content);
    REQUIRE(
        !find_shard_fault(shape_, again.encoded.sizes, again.encoded.payload.data(), again.lengths.data()));
  }

  GroupShape shape_;
  std::uint32_t n_;
  ShardSizes sizes_;
  ShardBits view_;
  std::vector<Kmer> kmers_;
};

/// Returns a shard of changed fields, with other words and sizes, too, or one or two of these.
EncodedShard changed_shard(ShardFields fields, const GroupShape& shape,
                           const std::vector<FlankLengths>& lengths, Random& random) {
  const std::uint64_t in_fields = random() % 4;
  for (std::uint64_t i = 0; i < in_fields; ++i) change_fields(fields, shape.flank_bases(), random);
  EncodedShard shard = write_fields(fields, shape, lengths, random() % 50 == 0 ? 1 : 0);
  if (in_fields == 0 || random() % 4 == 0) {
    for (std::uint64_t i = 0; i < 1 + random() % 3; ++i) change_words(shard.payload, random);
  }
  if (random() % 8 == 0) change_sizes(shard.sizes, random);
  return shard;
}

/// Checks a shard and, when nothing is wrong with it, uses it. Returns whether nothing is.
template <class Flanks>
bool try_shard(const EncodedShard& shard, const GroupShape& shape, const std::vector<FlankLengths>& lengths,
               Outcome& outcome, Random& random) {
  // Of its own exact size, so that reading behind it is seen.
  const std::size_t size = shard.payload.size();
  const auto words = std::make_unique<std::uint64_t[]>(size + kReadAheadWords);
  std::copy(shard.payload.begin(), shard.payload.end(), words.get());
  for (std::size_t i = 0; i < kReadAheadWords; ++i) words[size + i] = random() % 2 == 0 ? 0 : random();
  ++outcome.rounds;
  if (const auto fault = find_shard_fault(shape, shard.sizes, words.get(), lengths.data())) {
    ++outcome.faults[without_digits(*fault)];
    return false;
  }
  ++outcome.passed;
  outcome.with_records += shard.sizes.large_groups > 0 ? 1 : 0;
  const ShardBits view(shape, shard.sizes, words.get(), lengths.data());
  Reading<Flanks>(shape, shard.sizes, view).run(random);
  return true;
}

/// Makes a good shard, and tries it and changed ones.
template <class Flanks>
void fuzz(std::uint32_t k, Outcome& outcome, Random& random) {
  const GroupShape shape(k);
  const std::vector<FlankLengths> lengths = make_length_table(shape.flank_bases());
  const Shard<Flanks> good(k, random_content<Flanks>(shape, random));
  const ShardFields fields = FieldReader(good.view(), good.encoded.sizes).read();
  const EncodedShard same = write_fields(fields, shape, lengths);
  REQUIRE(std::equal(same.payload.begin(), same.payload.end(), good.encoded.payload.begin()));
  REQUIRE(try_shard<Flanks>(same, shape, lengths, outcome, random));
  for (int variant = 0; variant < 30; ++variant) {
    EncodedShard shard = changed_shard(fields, shape, lengths, random);
    // A file has the words that it says, or is refused before; of sizes beyond everything none are read.
    if (shard.sizes.words <= 1u << 16) {
      shard.payload.resize(shard.sizes.words);
    } else if (shard.sizes.words >> 50 == 0) {
      continue;
    }
    const bool passes = try_shard<Flanks>(shard, shape, lengths, outcome, random);
    outcome.changed_and_passed += passes && shard.payload != same.payload ? 1 : 0;
  }
}

std::uint64_t number_of(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

}  // namespace

TEST_CASE("of shards with something changed, all are refused but those that can be read") {
  const std::uint64_t seconds = number_of("WARPMER_FUZZ_SECONDS");
  Random random(number_of("WARPMER_FUZZ_SEED"));
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t rounds = by_tier<std::uint64_t>(3000, 300);
  Outcome outcome;
  for (std::uint64_t round = 0; seconds > 0 || round < rounds; ++round) {
    if (seconds > 0 && std::chrono::steady_clock::now() - begin > std::chrono::seconds(seconds)) break;
    const auto k = static_cast<std::uint32_t>(13 + random() % 52);
    with_flanks_type(k, [&]<class Flanks>(Flanks) { fuzz<Flanks>(k, outcome, random); });
  }
  CHECK(outcome.changed_and_passed > outcome.rounds / 100);
  CHECK(outcome.with_records > 0);
  CHECK(outcome.passed < outcome.rounds / 2);
  if (seconds == 0) return;
  MESSAGE(fmt::format("{} shards, {} of them pass, {} changed ones, {} with large groups", outcome.rounds,
                      outcome.passed, outcome.changed_and_passed, outcome.with_records));
  for (const auto& [fault, times] : outcome.faults) MESSAGE(fmt::format("{} {}", times, fault));
}
