// Multisplit, beside the way over CUB: name each element's part, and sort by that.

#include <cub/device/device_radix_sort.cuh>
#include <vector>

#include "base/error.h"
#include "distributed/experiments.h"
#include "distributed/launch.cuh"
#include "kernels/memory/current_device.cuh"
#include "kernels/tables/multisplit.cuh"
#include "kmer/super_kmer.h"

namespace warpmer::bench {
namespace {

template <class Element>
WARPMER_HD std::uint64_t number_in(const Element& element) {
  if constexpr (sizeof(Element) <= 8) {
    return element;
  } else {
    return element.word[0];
  }
}

struct PartOf {
  std::uint32_t parts;
  template <class Element>
  WARPMER_HD std::uint32_t operator()(const Element& element) const {
    return static_cast<std::uint32_t>(((mix64(number_in(element)) >> 32) * parts) >> 32);
  }
};

template <class Element>
struct MakeElement {
  Element* elements;
  __device__ void operator()(std::size_t i) const {
    Element element{};
    if constexpr (sizeof(Element) <= 8) {
      element = static_cast<Element>(i);
    } else {
      element.word[0] = i;
    }
    elements[i] = element;
  }
};

template <class Element>
struct NamePart {
  PartOf part_of;
  const Element* elements;
  std::uint8_t* parts;
  __device__ void operator()(std::size_t i) const {
    parts[i] = static_cast<std::uint8_t>(part_of(elements[i]));
  }
};

template <class Element>
struct CompareElements {
  const Element *ours, *theirs;
  unsigned long long* wrong;
  __device__ void operator()(std::size_t i) const {
    if (!(ours[i] == theirs[i])) atomicAdd(wrong, 1ull);
  }
};

/// The answer to an element is its number.
template <class Element>
struct Answer {
  const Element* elements;
  std::uint32_t* answers;
  __device__ void operator()(std::size_t i) const {
    answers[i] = static_cast<std::uint32_t>(number_in(elements[i]));
  }
};
struct CheckAnswer {
  const std::uint32_t* answers;
  unsigned long long* wrong;
  __device__ void operator()(std::size_t i) const {
    if (answers[i] != static_cast<std::uint32_t>(i)) atomicAdd(wrong, 1ull);
  }
};

template <class Element>
class LaneComparison {
 public:
  LaneComparison(std::size_t n, std::uint32_t rounds)
      : n_(n),
        rounds_(rounds),
        from_(n),
        ours_(n),
        theirs_(n),
        numbers_(n),
        ordered_numbers_(n),
        answers_(n),
        restored_(n),
        wrong_(1),
        sizes_(gpu::kMostParts) {
    for_each_number("making elements", n, MakeElement<Element>{from_.data()}, stream_);
  }

  MultisplitResult run(std::uint32_t parts) {
    gpu::DeviceMultisplit<Element, PartOf> split(parts, PartOf{parts});
    MultisplitResult result{};
    result.parts = parts;
    result.element_bytes = sizeof(Element);
    result.warpmer_seconds = seconds_of([&] {
      split.count(from_.data(), n_, sizes_.data(), stream_);
      split.place(from_.data(), ours_.data(), stream_);
    });
    result.cub_seconds = seconds_of([&] { split_by_sorting(parts); });
    for_each_number("making answers", n_, Answer<Element>{ours_.data(), answers_.data()}, stream_);
    result.restore_seconds =
        seconds_of([&] { split.restore(from_.data(), answers_.data(), restored_.data(), stream_); });
    gpu::fill_bytes(wrong_.data(), 0, 1, stream_);
    for_each_number("comparing elements", n_,
                    CompareElements<Element>{ours_.data(), theirs_.data(), wrong_.data()}, stream_);
    for_each_number("checking answers", n_, CheckAnswer{restored_.data(), wrong_.data()}, stream_);
    unsigned long long wrong = 0;
    gpu::copy_to_host(&wrong, wrong_.data(), 1, stream_);
    stream_.wait();
    result.wrong = wrong;
    return result;
  }

 private:
  void split_by_sorting(std::uint32_t parts) {
    int bits = 0;
    while ((1u << bits) < parts) ++bits;
    for_each_number("naming parts", n_, NamePart<Element>{PartOf{parts}, from_.data(), numbers_.data()},
                    stream_);
    const auto sort = [&](void* scratch, std::size_t& bytes) {
      gpu::check(cub::DeviceRadixSort::SortPairs(scratch, bytes, numbers_.data(), ordered_numbers_.data(),
                                                 from_.data(), theirs_.data(), static_cast<long long>(n_), 0,
                                                 bits, stream_),
                 "splitting by a sort");
    };
    std::size_t bytes = 0;
    sort(nullptr, bytes);
    scratch_.reserve(bytes);
    sort(scratch_.data(), bytes);
  }

  /// The median of the rounds; one more to warm up.
  template <class Work>
  double seconds_of(Work&& work) {
    std::vector<double> seconds;
    for (std::uint32_t round = 0; round <= rounds_; ++round) {
      begin_.record(stream_);
      work();
      end_.record(stream_);
      end_.wait();
      if (round > 0) seconds.push_back(end_.seconds_since(begin_));
    }
    return median(seconds);
  }

  std::size_t n_;
  std::uint32_t rounds_;
  gpu::Stream stream_;
  gpu::DeviceArray<Element> from_, ours_, theirs_;
  gpu::DeviceArray<std::uint8_t> numbers_, ordered_numbers_;
  gpu::DeviceArray<std::uint32_t> answers_, restored_;
  gpu::DeviceArray<unsigned long long> wrong_;
  gpu::PinnedArray<std::uint64_t> sizes_;
  gpu::DeviceArray<char> scratch_;
  gpu::Event begin_{gpu::Event::Kind::timing}, end_{gpu::Event::Kind::timing};
};

template <class Element>
void compare(const MultisplitSetting& setting, const std::function<void(const MultisplitResult&)>& keep) {
  LaneComparison<Element> comparison(setting.elements, setting.rounds);
  for (const std::uint32_t parts : setting.parts) keep(comparison.run(parts));
}

}  // namespace

void run_multisplits(const MultisplitSetting& setting,
                     const std::function<void(const MultisplitResult&)>& keep) {
  const gpu::CurrentDevice current(setting.ordinal);
  for (const std::uint32_t bytes : setting.element_bytes) {
    switch (bytes) {
      case 4:
        compare<std::uint32_t>(setting, keep);
        break;
      case 8:
        compare<std::uint64_t>(setting, keep);
        break;
      case 16:
        compare<SuperKmer<2>>(setting, keep);
        break;
      case 32:
        compare<SuperKmer<4>>(setting, keep);
        break;
      default:
        throw InternalError("a multisplit of elements of a size that nothing has");
    }
  }
}

}  // namespace warpmer::bench
