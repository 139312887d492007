#pragma once
/// Mixes of operations that run side by side, as functions of their number, so that every answer can be
/// checked (Ashkiani et al. 2018, section VI-C). All keys of a mix are different, so that the answer to an
/// operation does not depend on when it runs.

#include <cstdint>
#include <string>

#include "kmer/platform.h"
#include "tables/keys.h"
#include "tables/table_under_test.h"

namespace warpmer::bench {

/// The paper's Gamma, in percent; the rest are lookups of keys that are not there.
struct Mix {
  std::uint32_t insert = 50;  ///< insertions of new keys
  std::uint32_t erase = 50;   ///< operations on keys that are there
  std::uint32_t find = 0;     ///< operations on keys that are there

  [[nodiscard]] std::string name() const {
    return std::to_string(insert) + "/" + std::to_string(erase) + "/" + std::to_string(find) + "/" +
           std::to_string(100 - insert - erase - find);
  }
};

/// A table of unique keys (KeyPlan) that is worked on.
struct MixPlan {
  Mix mix;
  std::uint64_t initial = 0;     ///< keys that are there when the operations begin
  std::uint64_t operations = 0;  ///< no more than `initial`
};

/// Makes the operations of a plan, and knows the table's contents after them. Operation t uses key t of those
/// that are there, a new key, or one that is never there.
class MixMaker {
 public:
  WARPMER_HD explicit MixMaker(const MixPlan& plan) : plan_(plan) {}

  [[nodiscard]] WARPMER_HD Operation operation(std::uint64_t t) const {
    const Key32 key = key_number(is_there(t) ? t : plan_.initial + t);
    return {inserts(t)  ? OperationKind::replace
            : erases(t) ? OperationKind::erase
                        : OperationKind::find,
            key, value_of(key)};
  }
  [[nodiscard]] WARPMER_HD bool is_right(std::uint64_t t, std::uint32_t answer) const {
    return answer == (is_there(t) ? value_of(key_number(t)) : kAbsent);
  }

  /// Returns the number of all keys that an operation may use.
  [[nodiscard]] WARPMER_HD std::uint64_t keys() const { return plan_.initial + plan_.operations; }
  [[nodiscard]] WARPMER_HD Key32 key(std::uint64_t i) const { return key_number(i); }
  /// True when `answer` is right for a lookup of key i after all operations.
  [[nodiscard]] WARPMER_HD bool is_right_after(std::uint64_t i, std::uint32_t answer) const {
    bool there = true;
    if (i >= plan_.initial) {
      there = inserts(i - plan_.initial);
    } else if (i < plan_.operations) {
      there = !erases(i);
    }
    return answer == (there ? value_of(key_number(i)) : kAbsent);
  }

 private:
  [[nodiscard]] WARPMER_HD static std::uint32_t draw(std::uint64_t t) {
    return mix32(static_cast<std::uint32_t>(t) ^ 0x5F356495u) % 100;
  }
  [[nodiscard]] WARPMER_HD bool inserts(std::uint64_t t) const { return draw(t) < plan_.mix.insert; }
  [[nodiscard]] WARPMER_HD bool erases(std::uint64_t t) const {
    return !inserts(t) && draw(t) < plan_.mix.insert + plan_.mix.erase;
  }
  /// True when the operation's key is there before it.
  [[nodiscard]] WARPMER_HD bool is_there(std::uint64_t t) const {
    return !inserts(t) && draw(t) < plan_.mix.insert + plan_.mix.erase + plan_.mix.find;
  }

  MixPlan plan_;
};

}  // namespace warpmer::bench
