#pragma once
/// The probing schemes on slots of one word (table/word_slots.h) as the experiments use them, on any tile. A
/// family names a scheme; `On<T>` is the scheme on a tile.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kmer/platform.h"
#include "table/cuckoo.h"
#include "table/iceberg.h"
#include "table/warpdrive.h"
#include "table/word_slots.h"

namespace warpmer::bench {

using WordSlots = table::Slots<table::Key32>;

/// The paper's p_max: far more windows than a key visits while there is room.
inline constexpr std::uint32_t kMostWindows = 4096;

/// WarpDrive with windows of `Window` slots. A window that is more than a group looks at may start at any
/// group.
template <int Window>
struct WarpDriveFamily {
  static constexpr int kWindow = Window;
  static constexpr int kHashes = 0;
  static constexpr std::size_t kStash = 0;
  static constexpr int kCountingPasses = 1;
  static constexpr bool kReplaces = true;

  /// Returns the number of windows.
  static std::uint32_t buckets_for(std::uint64_t slots, int bucket) {
    const auto groups = (slots + static_cast<std::uint64_t>(bucket) - 1) / static_cast<std::uint64_t>(bucket);
    const auto in_window = static_cast<std::uint64_t>(Window / bucket);
    return table::windows_from(groups > in_window ? groups - in_window + 1 : 1);
  }
  static std::size_t slots_of(std::uint32_t buckets, int bucket) {
    return (std::size_t{buckets} - 1) * static_cast<std::size_t>(bucket) + Window;
  }

  template <class T>
  struct On {
    using Probing = std::conditional_t<Window == T::kWidth, table::HashedWindows<T, Window>,
                                       table::ScatteredWindows<T, Window>>;
    using Scheme = table::WarpDrive<T, Probing>;
    WARPMER_HD static Scheme scheme(WordSlots slots, std::uint32_t buckets, std::uint32_t seed,
                                    bool /*with_stash*/) {
      return Scheme(slots, Probing(buckets, seed, kMostWindows));
    }
    WARPMER_HD static WordSlots first_bucket(const Scheme& scheme, table::Key32 key) {
      return scheme.window(scheme.home(key));
    }
    WARPMER_HD static bool insert_distinct(const Scheme& scheme, const T& tile,
                                           table::Slot<table::Key32> in) {
      return scheme.insert(tile, in.key, in.count).placed;
    }
    WARPMER_HD static bool count(int /*pass*/, const Scheme& scheme, const T& tile,
                                 table::Slot<table::Key32> in) {
      return scheme.insert(tile, in.key, in.count).placed;
    }
    WARPMER_HD static bool replace(const Scheme& scheme, const T& tile, table::Slot<table::Key32> in) {
      return scheme.replace(tile, in.key, in.count).placed;
    }
  };
};

/// The common part of cuckoo and iceberg tables.
struct BucketFamily {
  static constexpr int kWindow = 0;
  static constexpr std::size_t kStash = table::kStashSlots;
  static constexpr int kCountingPasses = 2;  ///< tiles share the table: place, then add
  static constexpr bool kReplaces = false;

  static std::uint32_t buckets_for(std::uint64_t slots, int bucket) {
    const auto each = static_cast<std::uint64_t>(bucket);
    return static_cast<std::uint32_t>((slots + each - 1) / each);
  }
  static std::size_t slots_of(std::uint32_t buckets, int bucket) {
    return std::size_t{buckets} * static_cast<std::size_t>(bucket);
  }

  template <class T, class SchemeType>
  struct OnBuckets {
    using Scheme = SchemeType;
    WARPMER_HD static Scheme scheme(WordSlots slots, std::uint32_t buckets, std::uint32_t seed,
                                    bool with_stash) {
      const Scheme whole(slots, buckets, seed);
      return with_stash ? whole : whole.without_stash();
    }
    WARPMER_HD static WordSlots first_bucket(const Scheme& scheme, table::Key32 key) {
      return scheme.bucket(scheme.bucket_of(key, 0));
    }
  };
};

template <int Hashes, table::Eviction kEviction = table::Eviction::at_once>
struct CuckooFamily : BucketFamily {
  static constexpr int kHashes = Hashes;

  template <class T>
  struct On : OnBuckets<T, table::Cuckoo<T, Hashes, kEviction>> {
    using Scheme = table::Cuckoo<T, Hashes, kEviction>;
    WARPMER_HD static bool insert_distinct(const Scheme& scheme, const T& tile,
                                           table::Slot<table::Key32> in) {
      return scheme.insert_distinct(tile, in.key, in.count).insertion.placed;
    }
    WARPMER_HD static bool count(int pass, const Scheme& scheme, const T& tile,
                                 table::Slot<table::Key32> in) {
      return pass == 0 ? scheme.place(tile, in.key).insertion.placed
                       : scheme.add(tile, in.key, in.count).placed;
    }
  };
};

/// `ThresholdPercent`: filled so far, a primary bucket sends keys on.
template <int ThresholdPercent = 80>
struct IcebergFamily : BucketFamily {
  static constexpr int kHashes = 3;

  template <class T>
  struct On : OnBuckets<T, table::Iceberg<T, ThresholdPercent>> {
    using Scheme = table::Iceberg<T, ThresholdPercent>;
    WARPMER_HD static bool insert_distinct(const Scheme& scheme, const T& tile,
                                           table::Slot<table::Key32> in) {
      return scheme.insert(tile, in.key, in.count).placed;
    }
    WARPMER_HD static bool count(int pass, const Scheme& scheme, const T& tile,
                                 table::Slot<table::Key32> in) {
      return pass == 0 ? scheme.place(tile, in.key).placed : scheme.add(tile, in.key, in.count).placed;
    }
  };
};

}  // namespace warpmer::bench
