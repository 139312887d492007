// Bits that are a shard, and bits that are none.

#include "groups/shard_check.h"

#include <algorithm>
#include <optional>
#include <random>
#include <string>

#include "doctest/doctest.h"
#include "groups/flanked_kmer.h"
#include "unit/groups/encoded_content.h"
#include "unit/groups/random_sequences.h"
#include "unit/groups/shard_fields.h"

using namespace warpmer;
using namespace warpmer::groups;
using namespace warpmer::tests;

namespace {

template <class Key, class Flanks>
void add_text(Content<Flanks>& content, std::string_view text, const GroupShape& shape, std::uint64_t times) {
  const GroupHash hash(shape.m);
  for_each_kmer<Key>(text, shape.k, [&](Key kmer) {
    const auto place = flanked_kmer<Flanks>(kmer, shape, true);
    content[{shape.rest_of(hash(place.mmer)), place.layer, place.flanks}] += times;
  });
}

template <class Key, class Flanks>
void check_texts(std::uint32_t k, std::mt19937_64& random) {
  Content<Flanks> content;
  const std::uint64_t counts[] = {1, 1, 3, 1000, std::uint64_t{1} << 40, std::uint64_t{1} << 50};
  for (int round = 0; round < 4; ++round) {
    for (const std::string& text : awkward_sequences(k, random))
      add_text<Key>(content, text, GroupShape(k), counts[random() % std::size(counts)]);
  }
  content.begin()->second = UINT64_MAX;
  const Shard<Flanks> shard(k, content);
  CHECK(find_shard_fault(shard.shape, shard.encoded.sizes, shard.encoded.payload.data(),
                         shard.lengths.data()) == std::nullopt);
}

constexpr std::uint32_t kK = 31, kN = 16;

/// Adds a group of strings that have nothing in common.
void add_strings(Content<Key64>& content, std::uint32_t rest, std::size_t strings, std::mt19937_64& random) {
  for (std::size_t i = 0; i < strings; ++i) {
    const Key64 left = random() & key_mask<Key64>(kN), right = random() & key_mask<Key64>(kN);
    for (std::uint32_t layer = 0; layer <= kN; ++layer)
      content[{rest, layer, flanks_at(left, right, layer, kN)}] = 1 + random() % 3;
  }
}

/// A shard to change the fields of: groups 10 and 11 of 40 strings each, and three large groups.
class Changed {
 public:
  Changed() : shard_(kK, content()) { fields_ = FieldReader(shard_.view(), shard_.encoded.sizes).read(); }

  /// Returns the i-th field of a kind in all parts.
  Field& field(FieldKind kind, std::size_t i = 0) {
    for (Part& part : fields_.parts) {
      for (Field& field : part) {
        if (field.kind == kind && i-- == 0) return field;
      }
    }
    FAIL("no such field");
    return fields_.parts[0][0];
  }
  /// Returns the last record.
  Part& record() { return fields_.parts.back(); }
  ShardFields& fields() { return fields_; }
  /// Inserts a field before the first one of a kind in the first record.
  void insert_before(FieldKind kind, const Field& field) {
    Part& part = fields_.parts[static_cast<std::size_t>(fields_.buckets)];
    part.insert(std::find_if(part.begin(), part.end(), [&](const Field& f) { return f.kind == kind; }),
                Field(field));
  }
  [[nodiscard]] EncodedShard write() const { return write_fields(fields_, shard_.shape, shard_.lengths); }
  [[nodiscard]] std::string fault() const { return fault(write()); }
  [[nodiscard]] std::string fault(EncodedShard shard) const {
    shard.payload.resize(shard.payload.size() + kReadAheadWords, 0x5555555555555555u);
    const auto fault =
        find_shard_fault(shard_.shape, shard.sizes, shard.payload.data(), shard_.lengths.data());
    // What is wrong, without where.
    if (!fault) return "nothing";
    return fault->substr(
        std::min({fault->find("has"), fault->find("begins"), fault->find("its "), fault->size()}));
  }

 private:
  static Content<Key64> content() {
    std::mt19937_64 random(7);
    Content<Key64> content;
    for (const std::uint32_t rest : {10u, 11u}) add_strings(content, rest, 40, random);
    for (const std::uint32_t rest : {500u, 100000u, 200000u}) add_strings(content, rest, 100, random);
    return content;
  }

  Shard<Key64> shard_;
  ShardFields fields_;
};

/// Returns what is said of a shard after a change.
template <class Change>
std::string fault_after(Change&& change) {
  Changed changed;
  change(changed);
  return changed.fault();
}
template <class Change>
std::string fault_of_sizes(Change&& change) {
  Changed changed;
  EncodedShard shard = changed.write();
  change(shard.sizes);
  return changed.fault(shard);
}

using enum FieldKind;

}  // namespace

TEST_CASE("good shards pass") {
  std::mt19937_64 random(1);
  for (const std::uint32_t k : {13u, 16u, 19u, 20u, 27u, 28u, 31u, 32u}) check_texts<Key64, Key64>(k, random);
  for (const std::uint32_t k : {33u, 39u, 47u}) check_texts<Key128, Key64>(k, random);
  for (const std::uint32_t k : {48u, 55u, 63u, 64u}) check_texts<Key128, Key128>(k, random);
  CHECK(Changed().fault() == "nothing");
  const auto lengths = make_length_table(kN);
  const std::uint64_t nothing[kReadAheadWords] = {};
  CHECK(find_shard_fault(GroupShape(kK), {}, nothing, lengths.data()) == std::nullopt);
}

TEST_CASE("sizes that are not those of the payload") {
  CHECK(fault_of_sizes([](ShardSizes& sizes) { ++sizes.kmers; }) == "has not as many k-mers as it says");
  CHECK(fault_of_sizes([](ShardSizes& sizes) { --sizes.groups; }) == "has not as many groups as it says");
  CHECK(fault_of_sizes([](ShardSizes& sizes) { sizes.groups = 1u << 19; }) == "has more groups than ids");
  CHECK(fault_of_sizes([](ShardSizes& sizes) { sizes.buckets = UINT64_MAX; }) == "has more buckets than ids");
  CHECK(fault_of_sizes([](ShardSizes& sizes) { sizes.large_groups = UINT64_MAX; }) ==
        "has more large groups than groups");
  CHECK(fault_of_sizes([](ShardSizes& sizes) { sizes.offset_bits = 65; }) ==
        "its offsets have no such width");
  CHECK(fault_of_sizes([](ShardSizes& sizes) { sizes.words = 1; }) == "its payload has no such size");
  CHECK(fault_of_sizes([](ShardSizes& sizes) { sizes.words = UINT64_MAX; }) ==
        "its payload has no such size");
  CHECK(fault_of_sizes([](ShardSizes& sizes) { ++sizes.words; }) ==
        "its payload is longer than what is in it");
  CHECK(fault_of_sizes([](ShardSizes& sizes) { sizes = {}, sizes.words = 1; }) ==
        "has no buckets, but is not empty");
}

TEST_CASE("offsets that are not where parts begin, and bits that belong to nothing") {
  const auto fault_of_bit = [](auto&& bit_of) {
    const Changed changed;
    EncodedShard shard = changed.write();
    const std::uint64_t bit = bit_of(shard.sizes);
    shard.payload[bit / 64] ^= std::uint64_t{1} << (bit % 64);
    return changed.fault(shard);
  };
  CHECK(fault_of_bit([](const ShardSizes&) { return 0; }) == "its first offset is not 0");
  CHECK(fault_of_bit([](const ShardSizes& sizes) {
          return ShardLayout::offsets(sizes) * sizes.offset_bits;
        }) == "has bits behind its offsets");
  CHECK(fault_of_bit([](const ShardSizes& sizes) { return 64 * sizes.words - 1; }) ==
        "has bits behind its last part");
  for (std::uint64_t bit = 0; bit < 200; ++bit) {
    CHECK(fault_of_bit([&](const ShardSizes& sizes) {
            return std::min(bit, ShardLayout::offsets(sizes) * sizes.offset_bits - 1);
          }) != "nothing");
  }
  Changed changed;
  CHECK(changed.fault(write_fields(changed.fields(), GroupShape(kK), make_length_table(kN), 1)) ==
        "its offsets have another width than the last of them");
}

TEST_CASE("a bucket with a field changed") {
  CHECK(fault_after([](Changed& shard) { shard.field(strings).value = UINT64_MAX; }) ==
        "has more strings than bits for them");
  CHECK(fault_after([](Changed& shard) {
          shard.field(strings) = {strings, 64, 0, 0};
        }) == "has no number of strings");
  CHECK(fault_after([](Changed& shard) { shard.field(flag).value = 0; }) ==
        "begins with a string of no group");
  CHECK(fault_after([](Changed& shard) {
          // The second group's strings become the first one's.
          Part& part = shard.fields().parts[0];
          shard.field(flag, 40).value = 0;
          part.erase(std::find_if(part.begin(), part.end(),
                                  [](const Field& f) { return f.kind == FieldKind::remainder; }));
        }) == "has a large group without a record");
  CHECK(fault_after([](Changed& shard) { shard.field(FieldKind::remainder).value = 11; }) ==
        "has a group twice");
  CHECK(fault_after([](Changed& shard) {
          Field& last = shard.field(FieldKind::remainder, 1);
          last.value = (1u << last.width) - 1;
        }) == "has a group of another bucket");
  CHECK(fault_after([](Changed& shard) {
          Field& code = shard.field(length);
          code.value = (1u << code.width) - 1;
        }) == "has a string of no length");
  CHECK(fault_after([](Changed& shard) { shard.field(length).value = StringLengths(kN).large(); }) ==
        "has a large group beside strings");
  CHECK(fault_after([](Changed& shard) { shard.field(large_number).value ^= 1; }) ==
        "has large groups out of order");
  CHECK(fault_after([](Changed& shard) {
          for (std::size_t i : {0u, 1u}) shard.field(bases, 2 + i).value = shard.field(bases, i).value;
        }) == "has a k-mer twice");
}

TEST_CASE("counts changed") {
  CHECK(fault_after([](Changed& shard) { shard.field(count_head).value = 66; }) ==
        "has a count of more than 64 bits");
  CHECK(fault_after([](Changed& shard) { shard.field(count_head).value = UINT64_MAX; }) ==
        "has a count of more than 64 bits");
  // 2 beyond 2^64 - 2.
  CHECK(fault_after([](Changed& shard) {
          shard.field(count_head, 1).value = UINT64_MAX - 1;
          shard.field(count).value = 2;
        }) == "has a count of more than 64 bits");
  CHECK(fault_after([](Changed& shard) {
          shard.field(count_head, 1).value = UINT64_MAX - 2;
          shard.field(count).value = 2;
        }) == "nothing");
  CHECK(fault_after([](Changed& shard) {
          shard.field(count_head, 1) = {count_head, 64, 0, 0};
        }) == "has a count without an end");
}

TEST_CASE("a record with a field changed") {
  const std::string no_bits = "has not as many bits as it takes";
  CHECK(fault_after([](Changed& shard) { shard.field(record_head).value = 64; }) ==
        "has too few strings for a record");
  CHECK(fault_after([&](Changed& shard) { shard.field(record_head).value = UINT64_MAX; }) ==
        "has fewer k-mers than strings");
  CHECK(fault_after([&](Changed& shard) { shard.field(record_head, 1).value = std::uint64_t{1} << 32; }) ==
        "has 2^32 k-mers or more");
  CHECK(fault_after([&](Changed& shard) { shard.field(record_head, 1).value = UINT32_MAX; }) == no_bits);
  CHECK(fault_after([](Changed& shard) { shard.field(record_head, 2).value = UINT64_MAX; }) ==
        "has more counts than bits for them");
  CHECK(fault_after([&](Changed& shard) { ++shard.field(record_head, 2).value; }) == no_bits);
  CHECK(fault_after([](Changed& shard) { ++shard.field(mark).value; }) == "has a mark at another string");
  CHECK(fault_after([](Changed& shard) { ++shard.field(mark, 3).value; }) == "has a mark at another string");
  CHECK(fault_after([](Changed& shard) { ++shard.field(begin, 3).value; }) == "has layers of other sizes");
  CHECK(fault_after([](Changed& shard) {
          std::swap(shard.field(number, 3).value, shard.field(number, 4).value);
        }) == "has a layer out of order");
  CHECK(fault_after([](Changed& shard) { shard.field(number, 3).value = shard.field(number, 2).value; }) ==
        "has a layer out of order");
  CHECK(fault_after([](Changed& shard) { shard.field(number).value = 127; }) ==
        "has a string in a layer that it is not in");
  CHECK(fault_after([](Changed& shard) {
          for (Field& field : shard.record()) {
            if (field.kind == length) field.value = StringLengths(kN).large();
          }
        }) == "has a string of no length");
  CHECK(fault_after([](Changed& shard) {
          // One bit more, which belongs to no count.
          ++shard.field(record_head, 2).value;
          shard.insert_before(begin, {count, 1, 0, 0});
        }) == "has not as many bits of counts as it says");
  CHECK(fault_after([](Changed& shard) {
          // One k-mer more, which belongs to no string.
          ++shard.field(record_head, 1).value;
          shard.insert_before(count_head, {bases, 2, 0, 0});
          shard.insert_before(number, shard.field(number));
        }) == "has not as many k-mers as it says");
  CHECK(fault_after([](Changed& shard) { shard.fields().parts.pop_back(); }) != "nothing");
  CHECK(fault_after([](Changed& shard) { shard.record().pop_back(); }) == no_bits);
}
