// Tests memory as the system of this build has it: portable builds run the same.

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "system/byte_search.h"
#include "system/huge_pages.h"
#include "system/mapped_memory.h"
#include "system/process_limits.h"
#include "system/process_memory.h"

using namespace warpmer;

TEST_CASE("system: huge pages begin at their boundary, and what is given back is zero") {
  const std::size_t page = system::page_bytes();
  for (const std::size_t bytes :
       {page, 3 * page, system::kHugePageBytes, 3 * system::kHugePageBytes + page}) {
    CAPTURE(bytes);
    char* const memory = system::map_huge_pages(bytes);
    REQUIRE(memory != nullptr);
    if (bytes >= system::kHugePageBytes)
      CHECK(reinterpret_cast<std::uintptr_t>(memory) % system::kHugePageBytes == 0);
    std::memset(memory, 'x', bytes);
    system::avoid_huge_pages(memory, bytes);
    system::give_back_pages(memory + bytes - page, page);
    if (bytes > page) system::give_back_pages(memory, page);
    const std::string zeros(page, '\0'), written(page, 'x');
    CHECK(std::memcmp(memory, zeros.data(), page) == 0);
    CHECK(std::memcmp(memory + bytes - page, zeros.data(), page) == 0);
    for (std::size_t at = page; at + page < bytes; at += page) {
      if (std::memcmp(memory + at, written.data(), page) != 0) FAIL("a page that was not given back is lost");
    }
    std::memset(memory, 'y', bytes);  // it can be written again
    system::unmap_huge_pages(memory, bytes);
  }
}

TEST_CASE("system: the last of some bytes is found, in all of them and in none") {
  const std::string text = "abcabc";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    CAPTURE(size);
    const std::size_t expected = std::string_view(text).substr(0, size).rfind('b');
    const char* const found = system::last_byte(text.data(), 'b', size);
    CHECK(found == (expected == std::string::npos ? nullptr : text.data() + expected));
  }
}

TEST_CASE("system: a mapping grows and keeps what is in it") {
  std::size_t bytes = std::size_t{1} << 20;
  char* memory = static_cast<char*>(system::grow_mapping(nullptr, 0, bytes));
  REQUIRE(memory != nullptr);
  for (std::size_t at = 0; at < bytes; ++at) memory[at] = static_cast<char>(at * 7 >> 3);
  for (int times = 0; times < 4; ++times) {
    memory = static_cast<char*>(system::grow_mapping(memory, bytes, 2 * bytes));
    REQUIRE(memory != nullptr);
    std::size_t wrong = 0;
    for (std::size_t at = 0; at < bytes; ++at) wrong += memory[at] != static_cast<char>(at * 7 >> 3);
    for (std::size_t at = bytes; at < 2 * bytes; ++at) {
      wrong += memory[at] != 0;
      memory[at] = static_cast<char>(at * 7 >> 3);
    }
    CHECK(wrong == 0);
    bytes *= 2;
  }
  CHECK(system::grow_mapping(memory, bytes, SIZE_MAX / 2) == nullptr);
  CHECK(memory[bytes - 1] == static_cast<char>((bytes - 1) * 7 >> 3));
  ::munmap(memory, bytes);
}

TEST_CASE("system: what this process holds is told, and its largest") {
  // Linux adds pages up in batches, for each processor, so its numbers are a little behind.
  constexpr std::size_t kBytes = std::size_t{64} << 20, kBehind = std::size_t{2} << 20;
  const std::uint64_t before = system::peak_resident_bytes();
  char* const memory = system::map_huge_pages(kBytes);
  REQUIRE(memory != nullptr);
  std::memset(memory, 'x', kBytes);
  const auto now = system::resident_bytes();
  if (now) CHECK(*now + kBehind >= kBytes);
  const std::uint64_t peak = system::peak_resident_bytes();
  CHECK(peak + kBehind >= std::max<std::uint64_t>(before, kBytes));
  CHECK(peak < std::uint64_t{1} << 44);  // in bytes, and not in some other unit
  system::unmap_huge_pages(memory, kBytes);
  CHECK(system::peak_resident_bytes() + kBehind >= peak);
  CHECK(system::memory_room().limit_bytes > kBytes);
  CHECK(system::affinity_cores().value_or(1) >= 1);
}
