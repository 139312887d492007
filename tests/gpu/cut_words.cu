// The cut on the device: every k-mer is in one word, every word in the bin that its minimizer names.

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "gpu/random_reads.h"
#include "kernels/count/staged.cuh"
#include "kernels/text/text_packing.cuh"
#include "kmer/hash.h"
#include "kmer/minimizer.h"

namespace {

using namespace warpmer;
using namespace warpmer::gpu;

/// All k-mers of a text, canonical, sorted: one after the other, with the definitions of src/core.
template <class Key>
std::vector<Key> expected_kmers(const std::string& text, std::uint32_t k) {
  std::vector<Key> kmers;
  for (std::size_t i = 0; i + k <= text.size(); ++i) {
    Key kmer{};
    if (kmer_from_text(std::string_view(text).substr(i, k), kmer)) kmers.push_back(canonical(kmer, k));
  }
  std::sort(kmers.begin(), kmers.end());
  return kmers;
}

std::string joined(const std::vector<std::string>& reads) {
  std::string text;
  for (const auto& read : reads) text += read + kSeparator;
  return text;
}

DeviceArray<char> on_device(const std::string& text, cudaStream_t stream) {
  DeviceArray<char> device(text_room(text.size()));
  copy_to_device(device.data(), text.data(), text.size(), stream);
  return device;
}

template <class Key, int Words>
void check_cut(const std::string& text, std::uint32_t k, std::uint32_t bin_bits, std::uint32_t capacity) {
  CAPTURE(k);
  const Stream stream;
  StagedWords<Words> staged(bin_bits, capacity, stream);
  // Places that remain empty are looked at here, too.
  fill_bytes(staged.staging().words, 0, staged.staging().capacity(), stream);
  const auto device = on_device(text, stream);
  const auto bytes = static_cast<std::uint32_t>(text.size());
  DeviceArray<std::uint32_t> left(tiles_of(bytes) + 1), again(tiles_of(bytes) + 1);
  DeviceArray<CutStatus> status(1);
  const DeviceCutParams params{k, minimizer_length(k), bin_bits, true};
  std::vector<Key> found;
  std::uint64_t kmers = 0;
  const std::uint32_t* tiles = nullptr;
  for (std::uint32_t tile_count = tiles_of(bytes), round = 0; tile_count > 0; ++round) {
    REQUIRE(round < 1000);
    reset_status(status.data(), stream);
    launch_cut<Words>(device.data(), bytes, params, staged.staging(), tiles, tile_count, left.data(),
                      status.data(), stream);
    CutStatus result{};
    copy_to_host(&result, status.data(), 1, stream);
    stream.wait();
    kmers += result.kmers;
    CHECK(result.first_invalid == UINT32_MAX);
    const auto sizes = staged.staged();
    CHECK(result.fullest == *std::max_element(sizes.begin(), sizes.end()));
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    bool right_list = true, one_each = true;
    for (std::uint32_t region = 0; region < kRegions; ++region) {
      std::vector<SuperKmer<Words>> words(sizes[region]);
      std::vector<WordPlace> places(sizes[region]);
      const std::size_t begin = std::size_t{region} * staged.staging().region_capacity;
      copy_to_host(words.data(), staged.staging().words + begin, words.size(), stream);
      copy_to_host(places.data(), staged.staging().places + begin, places.size(), stream);
      stream.wait();
      for (std::size_t i = 0; i < words.size(); ++i) {
        const auto [bin, rank] = places[i];
        if (bin == kNoBin) continue;
        const SuperKmerReader<Key, Words> reader(words[i], k);
        one_each = one_each && seen.emplace(bin, rank).second;
        right_list = right_list && bin >> (bin_bits - kRegionBits) == region;
        for (std::uint32_t j = 0; j < reader.kmers(); ++j) {
          found.push_back(reader.canonical(j));
          right_list = right_list && shard_of_kmer(found.back(), k, true, bin_bits) == bin;
        }
      }
    }
    CHECK(right_list);
    CHECK(one_each);
    const auto segment = staged.split();
    stream.wait();
    CHECK(segment.parts.size() == (segment.words.size() > 0 ? 1 : 0));
    tile_count = result.tiles_left;
    std::swap(left, again);
    tiles = again.data();
  }
  std::sort(found.begin(), found.end());
  CHECK(kmers == found.size());
  CHECK(found == expected_kmers<Key>(text, k));
}

TEST_CASE("every k-mer is cut once, into the list of its minimizer") {
  const std::string text = joined(tests::random_reads(400, 3000, 1));
  for (const std::uint32_t k : {13u, 15u, 17u, 21u, 27u, 31u, 32u}) check_cut<Key64, 2>(text, k, 14, 1 << 17);
  for (const std::uint32_t k : {33u, 48u}) check_cut<Key128, 2>(text, k, 12, 1 << 17);
  for (const std::uint32_t k : {49u, 55u, 64u}) check_cut<Key128, 4>(text, k, 16, 1 << 17);
}

TEST_CASE("a long sequence is cut across tiles, a hot k-mer in full words") {
  check_cut<Key64, 2>(std::string(10000, 'A'), 31, 12, 1 << 17);
  check_cut<Key128, 4>(std::string(10000, 'T'), 64, 12, 1 << 17);
  check_cut<Key64, 2>(joined(tests::random_reads(3, 30000, 2, 20000)), 31, 12, 1 << 17);
}

TEST_CASE("texts of next to nothing") {
  for (const std::string& text : {std::string("\n"), std::string("A"), std::string(30, 'C'),
                                  std::string(31, 'C'), std::string(32, 'G'), std::string(2048, 'N')})
    check_cut<Key64, 2>(text, 31, 12, 1 << 17);
}

TEST_CASE("what finds no room is cut later, once") {
  check_cut<Key64, 2>(joined(tests::random_reads(20000, 1000000, 3)), 31, 12, kRegions * kTileStarts);
  // All of it in one region, while the others have room.
  check_cut<Key64, 2>(std::string(200000, 'A') + joined(tests::random_reads(200, 10000, 4)), 31, 12,
                      kRegions * kTileStarts);
}

TEST_CASE("the first character that is no nucleotide code is found") {
  for (int c = 0; c < 256; ++c) {
    if (c == kSeparator) continue;
    std::string text(5000, 'A');
    text[3000] = static_cast<char>(c);
    text[4000] = '!';
    const Stream stream;
    StagedWords<2> staged(12, 1 << 16, stream);
    const auto device = on_device(text, stream);
    DeviceArray<std::uint32_t> left(16);
    DeviceArray<CutStatus> status(1);
    reset_status(status.data(), stream);
    launch_cut<2>(device.data(), 5000, {31, 14, 12}, staged.staging(), nullptr, tiles_of(5000), left.data(),
                  status.data(), stream);
    CutStatus result{};
    copy_to_host(&result, status.data(), 1, stream);
    stream.wait();
    CAPTURE(c);
    CHECK(result.first_invalid == (char_class(static_cast<char>(c)) == CharClass::invalid ? 3000u : 4000u));
  }
}

}  // namespace
