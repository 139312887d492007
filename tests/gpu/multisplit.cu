// Multisplit against a stable sort by part on the host: every size, parts of all shapes, elements of all
// sizes; and the way back.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "gpu/device.h"
#include "kernels/tables/multisplit.cuh"
#include "kmer/super_kmer.h"

namespace {

using namespace warpmer;
using namespace warpmer::gpu;

/// The distribution of elements over parts.
enum class Shape { even, one_part, last_part, skewed, every_third_part };

WARPMER_HD std::uint64_t number_of(std::uint32_t element) { return element; }
WARPMER_HD std::uint64_t number_of(std::uint64_t element) { return element; }
template <int Words>
WARPMER_HD std::uint64_t number_of(const SuperKmer<Words>& element) {
  return element.word[Words - 1];
}

struct PartOf {
  Shape shape;
  std::uint32_t parts;

  template <class Element>
  WARPMER_HD std::uint32_t operator()(const Element& element) const {
    const auto random = static_cast<std::uint32_t>((number_of(element) * 0x9E3779B97F4A7C15u) >> 33);
    switch (shape) {
      case Shape::one_part:
        return 0;
      case Shape::last_part:
        return parts - 1;
      case Shape::skewed:
        return random % 16 != 0 ? parts / 2 : random / 16 % parts;
      case Shape::every_third_part:
        return random % ((parts + 2) / 3) * 3;
      case Shape::even:
        break;
    }
    return random % parts;
  }
};

/// Different ones, so that one that is lost or doubled is noticed.
template <class Element>
Element make(std::uint64_t i) {
  const std::uint64_t number = i * 0xD1342543DE82EF95u;
  if constexpr (sizeof(Element) <= 8) {
    return static_cast<Element>(sizeof(Element) == 8 ? number : i * 2654435761u);
  } else {
    Element element{};
    for (std::uint64_t& word : element.word) word = number ^ (&word - element.word);
    return element;
  }
}

template <class Element>
void check_split(std::size_t n, std::uint32_t parts, Shape shape, const Stream& stream,
                 DeviceMultisplit<Element, PartOf>& splitter) {
  CAPTURE(n);
  CAPTURE(parts);
  CAPTURE(static_cast<int>(shape));
  CAPTURE(sizeof(Element));
  const PartOf part_of{shape, parts};
  std::vector<Element> elements(n);
  for (std::size_t i = 0; i < n; ++i) elements[i] = make<Element>(i);
  std::vector<std::uint32_t> order(n);  // where the element at a place of the split comes from
  std::vector<std::uint64_t> sizes(parts), next(parts);
  for (const Element& element : elements) ++sizes[part_of(element)];
  for (std::uint32_t part = 1; part < parts; ++part) next[part] = next[part - 1] + sizes[part - 1];
  for (std::size_t i = 0; i < n; ++i) order[next[part_of(elements[i])]++] = static_cast<std::uint32_t>(i);

  const DeviceArray<Element> from(n + 1), to(n + 1);
  const DeviceArray<std::uint32_t> answers(n + 1), in_order(n + 1);
  const PinnedArray<std::uint64_t> found_sizes(parts);
  std::fill_n(found_sizes.data(), parts, ~0ull);
  copy_to_device(from.data(), elements.data(), n, stream);
  fill_bytes(to.data(), 0xA5, n + 1, stream);
  fill_bytes(in_order.data(), 0xA5, n + 1, stream);
  splitter.count(from.data(), n, found_sizes.data(), stream);
  splitter.place(from.data(), to.data(), stream);
  std::vector<Element> split(n + 1);
  copy_to_host(split.data(), to.data(), n + 1, stream);
  // The answer to an element is where it was.
  copy_to_device(answers.data(), order.data(), n, stream);
  splitter.restore(from.data(), answers.data(), in_order.data(), stream);
  std::vector<std::uint32_t> restored(n + 1);
  copy_to_host(restored.data(), in_order.data(), n + 1, stream);
  stream.wait();

  CHECK(std::equal(sizes.begin(), sizes.end(), found_sizes.data()));
  std::size_t wrong = 0, wrong_answers = 0;
  for (std::size_t i = 0; i < n; ++i) {
    wrong += split[i] == elements[order[i]] ? 0 : 1;
    wrong_answers += restored[i] == i ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(wrong_answers == 0);
  CHECK(restored[n] == 0xA5A5A5A5u);  // nothing is written behind the end
  const auto* const behind = reinterpret_cast<const unsigned char*>(&split[n]);
  CHECK(std::count(behind, behind + sizeof(Element), 0xA5) == sizeof(Element));
}

template <class Element>
void check_element(std::size_t largest) {
  const Stream stream;
  for (const std::uint32_t parts : {1u, 2u, 3u, 4u, 8u, 31u, 32u, 33u, 64u}) {
    for (const Shape shape :
         {Shape::even, Shape::one_part, Shape::last_part, Shape::skewed, Shape::every_third_part}) {
      DeviceMultisplit<Element, PartOf> splitter(parts, PartOf{shape, parts});
      for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{31}, std::size_t{33},
                                  std::size_t{4095}, std::size_t{4096}, std::size_t{70001}})
        check_split(n, parts, shape, stream, splitter);
    }
    DeviceMultisplit<Element, PartOf> splitter(parts, PartOf{Shape::even, parts});
    check_split(largest, parts, Shape::even, stream, splitter);
  }
}

}  // namespace

TEST_CASE("multisplit: keys, pairs and super-k-mers, any number of parts of any size") {
  check_element<std::uint32_t>(3'000'001);
  check_element<std::uint64_t>(5'000'003);
  check_element<SuperKmer<2>>(1'000'033);
  check_element<SuperKmer<4>>(1'000'000);
}
