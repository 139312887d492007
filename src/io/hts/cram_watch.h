#pragma once
/// Finds what decides how much memory a CRAM file takes to be decoded (CRAMv3, sections 6 to 8), and damage.

#include <cstdint>
#include <string>
#include <string_view>

namespace warpmer::io {

/// The largest of what was seen of a file.
struct CramSize {
  std::uint64_t header_bytes = 0;  ///< text of the file's header
  std::uint64_t slice_bases = 0;   ///< in a slice; a record with all but its bases counts as kRecordBases
  bool needs_reference = false;    ///< bases are differences from sequences that are not in the file

  static constexpr std::uint64_t kRecordBases = 64;
};

/// Follows a file from container to container, without decoding anything.
class CramWatch {
 public:
  static constexpr std::size_t kDefinitionBytes = 26;  ///< bytes of a file in front of its containers

  /// `shown`: the file's name for messages.
  explicit CramWatch(std::string shown) : shown_(std::move(shown)) {}

  /// Goes on with `bytes`, which come next. InputError where no container can be, behind the one that ends a
  /// file, for a container or a block without its checksum, or if the file's version is none that htslib
  /// writes.
  void see(std::string_view bytes);
  /// Returns true when more has to come: what was seen ends within a container, or within the file's
  /// definition.
  [[nodiscard]] bool is_within_container() const noexcept {
    return skip_ > 0 || blocks_left_ > 0 || !pending_.empty();
  }
  [[nodiscard]] const CramSize& size() const noexcept { return size_; }
  /// Returns the number of containers whose beginnings were seen; the first has the file's header.
  [[nodiscard]] std::uint64_t containers() const noexcept { return containers_; }
  /// Returns the number of records that these containers say they have.
  [[nodiscard]] std::uint64_t records() const noexcept { return records_; }

 private:
  void see_some(std::string_view bytes);
  void begin();
  void check_behind_end() const;
  void enter_container();
  void enter_block();
  void add_data(std::string_view bytes);
  void leave_block();
  void pass_over(std::uint64_t bytes);
  [[noreturn]] void fail(std::string_view what) const;

  std::string shown_;
  CramSize size_;
  unsigned version_ = 0;  ///< major; 0: at the beginning of the file
  std::uint64_t containers_ = 0;
  std::uint64_t records_ = 0;
  bool has_ended_ = false;  ///< the container that ends a file was seen
  std::uint64_t skip_ = 0;  ///< bytes of a container of which nothing is wanted any more
  std::string pending_;     ///< the beginning of the file, a container or a block, as far as it was seen
  std::uint64_t body_bytes_ = 0;  ///< of a container, behind the blocks that were begun
  std::int32_t blocks_left_ = 0;  ///< of that container, which have not ended yet
  bool is_in_block_ = false;      ///< behind the header of a block
  std::uint64_t data_bytes_ = 0;  ///< of the block, in front of its checksum, still to come
  std::uint32_t checksum_ = 0;    ///< of what was seen of the block
};

}  // namespace warpmer::io
