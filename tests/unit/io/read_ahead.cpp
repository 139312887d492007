#include "io/blocks/read_ahead.h"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace warpmer::io {
namespace {

/// Every third block has two texts. Notes whether one was worked on while the one before it had more.
class OpenBlocks final : public TextBlockLoader {
 public:
  explicit OpenBlocks(std::atomic<bool>& is_behind_open) : is_behind_open_(is_behind_open) {}

  [[nodiscard]] std::size_t text_capacity() const noexcept override { return 1; }
  bool load(TextBlock& /*block*/) override { return loaded_ < kBlocks && ++loaded_ > 0; }
  void work(TextBlock& block) override {
    if (is_open_) is_behind_open_ = true;
    block.text_size = 1;
    block.has_more = ++worked_ % 3 == 0;
    if (block.has_more) is_open_ = true;
  }
  bool hand_over(TextBlock& block) override {
    if (!block.has_more) return false;
    if (!block.is_handed_over) return block.is_handed_over = true;
    is_open_ = false;
    return false;
  }

  static constexpr unsigned kBlocks = 6000;
  static constexpr unsigned kTexts = kBlocks + kBlocks / 3;

 private:
  std::atomic<bool>& is_behind_open_;
  std::atomic<bool> is_open_ = false;
  unsigned loaded_ = 0, worked_ = 0;
};

}  // namespace

TEST_CASE("io read ahead: readers that produce do not go behind a block that has more") {
  // A reader that did would wait for a text that no thread may ever borrow.
  for (const unsigned readers : {1U, 2U, 3U}) {
    CAPTURE(readers);
    std::atomic<bool> is_behind_open = false;
    const std::atomic<bool> cancelled = false;
    ReadAhead ahead(std::make_unique<OpenBlocks>(is_behind_open), 0, cancelled, readers);
    std::atomic<unsigned> texts = 0;
    const auto read = [&](unsigned pause) {
      for (unsigned i = 0;; ++i) {
        const BlockLease lease = ahead.borrow();
        if (lease.is_end || lease.error) return;
        ++texts;
        if (i % pause == 0) std::this_thread::yield();
        ahead.give_back(lease);
      }
    };
    {
      std::vector<std::jthread> others;
      for (unsigned i = 1; i < readers; ++i) others.emplace_back(read, i + 1);
      read(1);
    }
    CHECK(texts == OpenBlocks::kTexts);
    CHECK(!is_behind_open);
  }
}

}  // namespace warpmer::io
