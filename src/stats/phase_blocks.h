#pragma once
/// Which parts of a sequence are of one haplotype, by its hap-mers, as Merqury tells it
/// (bedMerToPhaseBlock; Rhie, Walenz, Koren, Phillippy 2020).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace warpmer::stats {

/// A k-mer of a sequence that one of the two sets of hap-mers has.
struct HapMarker {
  std::uint64_t start = 0, end = 0;  ///< bases, from 0; `end` is behind the last
  std::size_t hap = 0;               ///< the set, 0 or 1
};

/// A marker as seen from the block that it is found in.
enum class MarkerState : std::uint8_t {
  same,           ///< of the block's haplotype
  short_switch,   ///< of the other one, maybe for a short way
  switched_back,  ///< of the block's haplotype, after such ones
  long_switch,    ///< of the other one, and it begins a block that includes the switches before it
};

/// Consecutive markers of one haplotype but for short switches.
struct PhaseBlock {
  std::string sequence;
  std::uint64_t start = 0, end = 0;
  std::size_t hap = 0;
  std::uint64_t switches = 0;  ///< markers of the other haplotype
  std::uint64_t markers = 0;   ///< all, at least 2

  /// Returns switches by markers, in as many bits as Merqury has them.
  [[nodiscard]] float switch_rate() const {
    return static_cast<float>(switches) / static_cast<float>(markers);
  }
};

struct PhaseLimits {
  std::uint64_t switches = 100;       ///< so many in a row are no short switch any more
  std::uint64_t range_bases = 20000;  ///< neither are such as reach farther
};

/// Joins markers, which come in order, to blocks. Three habits are Merqury's own. Switches at the end of a
/// sequence are a block for themselves, which has the haplotype of the marker that comes next, in whatever
/// sequence it is, and the switches of the block before it. At the end of the last sequence they belong to
/// its block, as markers that are no switches. Blocks of one marker are left out.
class PhaseBlocks {
 public:
  PhaseBlocks(const PhaseLimits& limits, std::function<void(const PhaseBlock&)> take)
      : limits_(limits), take_(std::move(take)) {}

  /// The markers that come are of this sequence.
  void begin_sequence(std::string name) {
    next_name_ = std::move(name);
    is_first_ = true;
  }
  MarkerState add(const HapMarker& marker);
  /// Returns the haplotype of the block that the last marker was found in.
  [[nodiscard]] std::size_t hap() const { return block_.hap; }
  void finish();

 private:
  void start_sequence(const HapMarker& marker);
  void take(const PhaseBlock& block) const {
    if (block.markers > 1) take_(block);
  }

  PhaseLimits limits_;
  std::function<void(const PhaseBlock&)> take_;
  std::string next_name_;
  bool is_first_ = true;   ///< no marker of this sequence has come
  PhaseBlock block_;       ///< without markers before the first one
  std::uint64_t row_ = 0;  ///< switches since the last marker of the block's haplotype
  std::uint64_t row_start_ = 0, row_end_ = 0;
  std::uint64_t last_end_ = 0;
};

}  // namespace warpmer::stats
