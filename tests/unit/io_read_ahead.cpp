#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "io/read_ahead.h"

namespace warpmer::io {
namespace {

/// Every third portion has two texts. Notes whether one was worked on while the one before it had more.
class OpenPortions final : public PortionLoader {
 public:
  explicit OpenPortions(std::atomic<bool>& is_behind_open) : is_behind_open_(is_behind_open) {}

  [[nodiscard]] std::size_t text_capacity() const noexcept override { return 1; }
  bool load(Portion& /*portion*/) override { return loaded_ < kPortions && ++loaded_ > 0; }
  void work(Portion& portion) override {
    if (is_open_) is_behind_open_ = true;
    portion.text_size = 1;
    portion.has_more = ++worked_ % 3 == 0;
    if (portion.has_more) is_open_ = true;
  }
  bool hand_over(Portion& portion) override {
    if (!portion.has_more) return false;
    if (!portion.is_handed_over) return portion.is_handed_over = true;
    is_open_ = false;
    return false;
  }

  static constexpr unsigned kPortions = 6000;
  static constexpr unsigned kTexts = kPortions + kPortions / 3;

 private:
  std::atomic<bool>& is_behind_open_;
  std::atomic<bool> is_open_ = false;
  unsigned loaded_ = 0, worked_ = 0;
};

}  // namespace

TEST_CASE("io read ahead: readers that produce do not go behind a portion that has more") {
  // Whoever did would wait for a text that nobody may ever borrow.
  for (const unsigned readers : {1U, 2U, 3U}) {
    CAPTURE(readers);
    std::atomic<bool> is_behind_open = false;
    const std::atomic<bool> cancelled = false;
    ReadAhead ahead(std::make_unique<OpenPortions>(is_behind_open), 0, cancelled, readers);
    std::atomic<unsigned> texts = 0;
    const auto read = [&](unsigned pause) {
      for (unsigned i = 0;; ++i) {
        const ReadAhead::Loan loan = ahead.borrow();
        if (loan.is_end || loan.error) return;
        ++texts;
        if (i % pause == 0) std::this_thread::yield();
        ahead.give_back(loan);
      }
    };
    {
      std::vector<std::jthread> others;
      for (unsigned i = 1; i < readers; ++i) others.emplace_back(read, i + 1);
      read(1);
    }
    CHECK(texts == OpenPortions::kTexts);
    CHECK(!is_behind_open);
  }
}

}  // namespace warpmer::io
