#include "formats/jellyfish/jellyfish_lookup.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

namespace warpmer::formats {

JellyfishLookup::JellyfishLookup(std::unique_ptr<file::MappedInput> file)
    : file_(std::move(file)),
      header_(read_jellyfish_header(*file_, kJellyfishBinary)),
      key_bytes_((2 * header_.facts.k + 7) / 8),
      records_((file_->bytes().size() - header_.bytes) / (key_bytes_ + header_.count_bytes)) {
  if (header_.bytes + records_ * (key_bytes_ + header_.count_bytes) != file_->bytes().size())
    file_->refuse("this Jellyfish database is cut off in its last record");
  read_matrix();
}

void JellyfishLookup::read_matrix() {
  using Json = nlohmann::json;
  const Json fields = Json::parse(jellyfish_json(*file_));
  const auto matrix = fields.find("matrix1"), size = fields.find("size");
  const bool has_both = matrix != fields.end() && matrix->is_object() && size != fields.end() &&
                        size->is_number_unsigned() && size->get<std::uint64_t>() > 0;
  bool is_sound = has_both;
  if (has_both) {
    mask_ = size->get<std::uint64_t>() - 1;
    const auto columns = matrix->find("columns");
    const auto is_number = [](const Json& each) { return each.is_number_unsigned(); };
    const bool has_columns = columns != matrix->end() && columns->is_array();
    const bool is_identity = matrix->value("identity", Json(false)) == Json(true);
    is_sound = is_identity || (has_columns && columns->size() == 2 * header_.facts.k &&
                               std::all_of(columns->begin(), columns->end(), is_number));
    if (is_sound)
      multiply(is_identity ? std::vector<std::uint64_t>() : columns->get<std::vector<std::uint64_t>>());
  }
  if (!is_sound) {
    file_->refuse("this Jellyfish database is damaged: its header has no matrix by which k-mers are found");
  }
}

/// Makes the products of all bytes at all places. `columns`: that of a k-mer's highest bit first; none: the
/// identity.
void JellyfishLookup::multiply(const std::vector<std::uint64_t>& columns) {
  const auto column = [&](std::size_t bit) {
    if (columns.empty()) return bit < 64 ? std::uint64_t{1} << bit : 0;
    return bit < columns.size() ? columns[columns.size() - 1 - bit] : 0;
  };
  products_.resize(key_bytes_);
  for (std::size_t byte = 0; byte < products_.size(); ++byte) {
    for (unsigned value = 0; value < 256; ++value) {
      std::uint64_t product = 0;
      for (unsigned bit = 0; bit < 8; ++bit) product ^= (value >> bit & 1) != 0 ? column(8 * byte + bit) : 0;
      products_[byte][value] = product & mask_;
    }
  }
}

std::uint64_t JellyfishLookup::position_of(Key128 kmer) const {
  std::uint64_t product = 0;
  for (const auto& of_byte : products_) {
    product ^= of_byte[static_cast<std::uint8_t>(kmer)];
    kmer >>= 8;
  }
  return product;
}

Key128 JellyfishLookup::kmer_at(std::uint64_t record) const {
  Key128 kmer = 0;
  std::memcpy(&kmer, file_->bytes().data() + header_.bytes + record * (key_bytes_ + header_.count_bytes),
              key_bytes_);
  return kmer & key_mask<Key128>(header_.facts.k);
}

std::uint64_t JellyfishLookup::find(Key128 kmer) const {
  const DatabaseRank wanted{position_of(kmer), kmer};
  // What is searched is between two places. Positions are as good as random, so the first steps guess.
  std::uint64_t first = 0, last = records_;
  std::uint64_t low = 0, high = mask_;
  for (int step = 0; first < last; ++step) {
    constexpr int kGuesses = 8;
    std::uint64_t middle = first + (last - first) / 2;
    if (step < kGuesses && high > low) {
      const auto share = static_cast<std::uint64_t>(Key128{wanted.position - low} * (last - first) /
                                                    (Key128{high - low} + 1));
      middle = first + std::min(share, last - first - 1);
    }
    const Key128 other = kmer_at(middle);
    if (other == kmer) return count_at(middle);
    const DatabaseRank place{position_of(other), other};
    if (place < wanted) {
      first = middle + 1;
      low = std::min(std::max(low, place.position), wanted.position);
    } else {
      last = middle;
      high = std::max(std::min(high, place.position), wanted.position);
    }
  }
  return 0;
}

std::uint64_t JellyfishLookup::count_at(std::uint64_t record) const {
  std::uint64_t count = 0;
  const std::uint64_t at = header_.bytes + record * (key_bytes_ + header_.count_bytes) + key_bytes_;
  std::memcpy(&count, file_->bytes().data() + at, header_.count_bytes);
  return count;
}

}  // namespace warpmer::formats
