// gzip and BGZF: whole, in members and blocks, cut and damaged.

#include <fmt/format.h>

#include "unit/io/io_fixture.h"

using namespace io_test;

namespace {

Records sample(unsigned seed, std::size_t count, std::size_t longest) {
  std::mt19937 random(seed);
  return random_records(random, count, longest);
}

}  // namespace

TEST_CASE("io compressed: gzip in one member and in several") {
  const ScratchFolder folder;
  const Records records = sample(21, 500, 300);
  const std::string text = fastq(records);
  CHECK(read_all({folder.write("one.gz", deflate(text))}) == records);
  CHECK(read_all({folder.write("stored.gz", deflate(text, 0))}) == records);
  std::string members;
  for (std::size_t pos = 0; pos < text.size(); pos += 777) members += deflate(text.substr(pos, 777));
  CHECK(read_all({folder.write("many.gz", members)}) == records);
  CHECK(read_all({folder.write("empty-members.gz", deflate("") + members + deflate(""))}) == records);
  CHECK(read_all({folder.write("nothing.gz", deflate(""))}).empty());
  CHECK(read_all({folder.write("bgzf-then-gzip-like.gz", deflate("") + bgzf(text))}) == records);
}

TEST_CASE("io compressed: far more text than the ring of buffers holds") {
  const ScratchFolder folder;
  const Records records = sample(22, 3000, 8000);
  const std::string text = fastq(records);
  REQUIRE(text.size() > 20'000'000);
  const std::string gzip = folder.write("large.gz", deflate(text, 1));
  const std::string blocks = folder.write("large.bgz", bgzf(text));
  for (const unsigned threads : {1U, 4U}) {
    io::InputOptions options;
    options.threads = threads;
    options.batch_bytes = 100'000;
    CHECK(read_all({gzip}, options) == records);
    CHECK(read_all({blocks}, options) == records);
  }
}

TEST_CASE("io compressed: what may and may not follow the last gzip member") {
  const ScratchFolder folder;
  const Records records = sample(23, 20, 100);
  const std::string gzip = deflate(fastq(records));
  CHECK(read_all({folder.write("zeros.gz", gzip + std::string(700'000, '\0'))}) == records);
  CHECK(read_all({folder.write("zero.gz", gzip + std::string(1, '\0'))}) == records);
  CHECK(contains(input_error({folder.write("junk.gz", gzip + "junk")}), "follows gzip member 1"));
  CHECK(contains(input_error({folder.write("late.gz", gzip + std::string(700'000, '\0') + "x")}),
                 "follows gzip member 1"));
  CHECK(contains(input_error({folder.write("text.gz", gzip + fastq(records))}), "'@"));
  CHECK(contains(input_error({folder.write("half.gz", gzip + gzip.substr(0, 5))}), "truncated"));
  CHECK(contains(input_error({folder.write("magic.gz", gzip + "\x1f\x8c is no member")}), "corrupt"));
}

TEST_CASE("io compressed: gzip cut anywhere is an error") {
  const ScratchFolder folder;
  const std::string gzip = deflate(fastq(sample(24, 10, 60))) + deflate(fastq(sample(25, 2, 60)));
  const std::size_t first = deflate(fastq(sample(24, 10, 60))).size();
  for (std::size_t size = 3; size < gzip.size(); ++size) {
    if (size == first) continue;  // a whole member is a whole file
    CAPTURE(size);
    const std::string message = input_error({folder.write("cut.gz", gzip.substr(0, size))});
    CHECK(contains(message, "truncated"));
  }
}

TEST_CASE("io compressed: no flipped bit of gzip or BGZF goes unseen") {
  const ScratchFolder folder;
  const Records records = sample(26, 4, 60);
  const std::string text = fastq(records);
  for (const std::string& whole : {deflate(text), bgzf(text, 100)}) {
    for (std::size_t i = 2; i < whole.size(); ++i) {
      CAPTURE(i);
      try {
        // Only fields of the header that say nothing about the text may change without harm.
        const Records read = read_all({folder.write("damaged", flipped(whole, i, 1 << (i % 8)))});
        CHECK(read == records);
      } catch (const warpmer::InputError& error) {
        CHECK(std::string(error.what()).size() > 20);
      }
    }
  }
}

TEST_CASE("io compressed: BGZF cut anywhere is an error, at a block's end too") {
  const ScratchFolder folder;
  const std::string text = fastq(sample(27, 12, 60));
  const std::string whole = bgzf(text, 200);
  CHECK(read_all({folder.write("whole.bgz", whole)}).size() == 12);
  for (std::size_t size = 2; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(contains(input_error({folder.write("cut.bgz", whole.substr(0, size))}), "truncated"));
  }
  CHECK(contains(input_error({folder.write("zeros.bgz", bgzf_block(text) + std::string(9, '\0'))}),
                 "truncated"));
  CHECK(read_all({folder.write("twice.bgz", whole + whole)}).size() == 24);
}

TEST_CASE("io compressed: BGZF may go on as other gzip, and not as anything else") {
  const ScratchFolder folder;
  const Records records = sample(29, 3000, 2000);
  const std::string text = fastq(records), half = text.substr(0, text.size() / 2);
  const std::string blocks = bgzf(half), rest = deflate(text.substr(half.size()), 1);
  const std::string mixed = folder.write("mixed.gz", blocks + rest);
  const std::string again = folder.write(
      "again.gz", bgzf(half.substr(0, 900)) + deflate(half.substr(900)) + bgzf(text.substr(half.size())));
  const std::string count = std::to_string((half.size() + 59'999) / 60'000 + 2);
  for (const unsigned threads : {1U, 4U}) {
    io::InputOptions options;
    options.threads = threads;
    CHECK(read_all({mixed}, options) == records);
    CHECK(read_all({again}, options) == records);
    CHECK(read_all({folder.write("zeros.gz", blocks + rest + std::string(9, '\0'))}, options) == records);
    CHECK(contains(
        input_error({folder.write("cut.gz", (blocks + rest).substr(0, blocks.size() + 900))}, options),
        "the file ends inside member " + count + " after " + std::to_string(blocks.size() + 900)));
    CHECK(contains(input_error({folder.write("no_end.gz", bgzf_block(half.substr(0, 900)) + rest)}, options),
                   ", where gzip follows: the empty block"));
    CHECK(contains(input_error({folder.write("junk.gz", bgzf(text) + "junk")}, options),
                   "neither another member nor the end of the file, but 'junk'"));
  }
}

TEST_CASE("io compressed: BGZF behind a member of gzip is cut off where its last empty block is missing") {
  const ScratchFolder folder;
  const Records records = sample(30, 3000, 2000);
  const std::string text = fastq(records), half = text.substr(0, text.size() / 2);
  const std::string gzip = deflate(half, 1), blocks = bgzf(text.substr(half.size()));
  const std::string cut = blocks.substr(0, blocks.size() - 28);  // which is what the empty block has
  for (const unsigned threads : {1U, 8U}) {
    io::InputOptions options;
    options.threads = threads;
    const auto refusal = [&](const std::string& data) {
      return input_error({folder.write("cut.gz", data)}, options);
    };
    CHECK(read_all({folder.write("whole.gz", gzip + blocks)}, options) == records);
    CHECK(read_all({folder.write("more.gz", gzip + blocks + deflate("") + std::string(9, '\0'))}, options) ==
          records);
    CHECK(contains(refusal(gzip + cut), "the empty block that marks its end is missing"));
    CHECK(contains(refusal(gzip + cut + std::string(9, '\0')),
                   "the empty block that marks its end is missing"));
    CHECK(contains(refusal(gzip + cut + deflate("")), "the empty block that marks its end is missing"));
    CHECK(contains(refusal(fmt::format("{}{}{}", bgzf(""), gzip, cut)),
                   "the empty block that marks its end is missing"));
  }
}

TEST_CASE("io compressed: errors in the text inside keep their places") {
  const ScratchFolder folder;
  const std::string text = fastq(sample(28, 3, 40)) + "@bad x\nACGT\n+\nIII\n@c\nA\n+\nI\n";
  for (const std::string& data : {deflate(text), bgzf(text, 50)}) {
    const std::string message = input_error({folder.write("bad.gz", data)});
    CHECK(contains(message, "bad.gz, record 4 ('bad'), line 16: the quality has 3 characters"));
  }
  CHECK(contains(input_error({folder.write("t.gz", deflate("some text"))}), "neither FASTA nor FASTQ"));
  CHECK(contains(input_error({folder.write("tt.gz", deflate(deflate("some text")))}), "a second time"));
}
