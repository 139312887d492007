// Payloads that are read when it is their turn to be written.
// ctest: one thread

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "index/index_file.h"
#include "unit/index/index_file_common.h"

using namespace warpmer;

namespace {

/// A payload that a test has.
struct HeldPayload : index::PayloadSource {
  explicit HeldPayload(std::vector<std::uint64_t> held, bool fails_in_the_end = false)
      : words(std::move(held)), fails(fails_in_the_end) {}
  std::span<const std::uint64_t> next() override {
    const auto some = std::span(words).subspan(taken).first(std::min<std::size_t>(3, words.size() - taken));
    if (some.empty() && fails) throw ResourceError("the disk has gone");
    taken += some.size();
    return some;
  }
  std::vector<std::uint64_t> words;
  std::size_t taken = 0;
  bool fails;
};

}  // namespace

TEST_CASE("an index is the same whether payloads come from memory or from elsewhere, in any order") {
  const index::test::ScratchFolder scratch;
  const index::test::Sample sample = index::test::make_sample(11, 4, 200);
  write_sample(sample, scratch / "memory.wmi");
  for (const bool in_order : {true, false}) {
    index::IndexWriter writer(scratch / "source.wmi", sample.params);
    for (std::uint32_t i = 0; i < sample.params.shards(); ++i) {
      const std::uint32_t shard = in_order ? i : sample.params.shards() - 1 - i;
      index::FrozenShard frozen = sample.shards[shard];
      const std::uint64_t waiting = writer.bytes_waiting();
      if (shard % 3 != 1) frozen.source = std::make_shared<HeldPayload>(std::exchange(frozen.payload, {}));
      const bool is_elsewhere = frozen.source != nullptr;
      writer.put(shard, std::move(frozen));
      if (is_elsewhere) CHECK(writer.bytes_waiting() <= waiting);
    }
    writer.finish(sample.totals, sample.histogram, index::test::sample_provenance());
    CHECK(index::test::read_bytes(scratch / "source.wmi") == index::test::read_bytes(scratch / "memory.wmi"));
  }
  index::FrozenShard bad = sample.shards[0];
  bad.source = std::make_shared<HeldPayload>(std::exchange(bad.payload, {}), true);
  {
    index::IndexWriter writer(scratch / "bad.wmi", sample.params);
    CHECK_THROWS_WITH_AS(writer.put(0, std::move(bad)), "the disk has gone", ResourceError);
    CHECK_THROWS_AS(writer.finish(sample.totals, sample.histogram, {}), ResourceError);
  }
  CHECK(scratch.files() == 2);
}
