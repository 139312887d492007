// The checksum of files.
// ctest: one thread

#include "file/checksum.h"

#include <doctest/doctest.h>

#include <string>

#ifdef __x86_64__
#include <cpuid.h>
#endif

using namespace warpmer;

TEST_CASE("pieces have the checksum of the whole") {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += static_cast<char>('a' + i * 7 % 26);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{240}, std::size_t{241}, text.size()}) {
    CAPTURE(size);
    for (const std::size_t first : {std::size_t{0}, size / 3, size}) {
      file::Checksum pieces;
      pieces.add({text.data(), first});
      pieces.add({text.data() + first, size - first});
      CHECK(pieces.value() == file::checksum(text.data(), size));
    }
  }
}

#ifdef __x86_64__
namespace {

/// True where the processor tells which registers are in use (XGETBV of 1).
bool tells_what_is_in_use() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & bit_OSXSAVE) == 0 || (ecx & bit_AVX) == 0)
    return false;
  return __get_cpuid_count(0xD, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & 4) != 0;
}

/// True when upper halves of vectors are in use: of 256 bits, of 512.
bool is_wide_in_use() {
  unsigned eax = 0, edx = 0;
  asm volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(1));
  return (eax & (1u << 2 | 1u << 6)) != 0;
}

}  // namespace

TEST_CASE("a checksum leaves no wide vectors in use, with which all code of SSE is slow") {
  if (!tells_what_is_in_use()) return;
  const std::string text(1 << 20, 'x');
  file::Checksum pieces;
  asm volatile("vzeroupper");
  if (is_wide_in_use()) return;  // it does not tell when they no longer are
  const std::uint64_t whole = file::checksum(text.data(), text.size());
  CHECK_FALSE(is_wide_in_use());
  pieces.add({text.data(), text.size()});
  CHECK_FALSE(is_wide_in_use());
  CHECK(pieces.value() == whole);
}
#endif
