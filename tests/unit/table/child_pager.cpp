// Which child comes and which goes, against a list.
// ctest: one thread

#include "table/child_pager.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include "table/child_directory.h"

namespace {

using namespace warpmer;
using table::ChildPager;

/// Serves everything that waits, as a table does; returns the children in their order.
std::vector<std::uint32_t> serve(ChildPager& pager, bool changes) {
  std::vector<std::uint32_t> order;
  while (const auto visit = pager.next()) {
    const bool was_there = pager.child_in(visit->frame) == visit->child;
    if (!was_there) {
      pager.leave(visit->frame);
      pager.enter(visit->child, visit->frame);
    }
    if (changes) pager.changed(visit->child);
    pager.served(visit->child, was_there);
    order.push_back(visit->child);
  }
  return order;
}

ChildPager make_pager(std::uint32_t frames, std::uint32_t children) {
  ChildPager pager(frames);
  for (std::uint32_t child = 0; child < children; ++child) pager.add(child, 100 + child, true);
  return pager;
}

/// Residents in a list, of which a miss takes the first.
struct ListModel {
  std::uint32_t frames;
  std::deque<std::uint32_t> residents;
  std::map<std::uint32_t, bool> dirty;
  table::PagingCounts counts;

  void visit(std::uint32_t child, bool changes) {
    ++counts.visits;
    const auto there = std::find(residents.begin(), residents.end(), child);
    if (there != residents.end()) {
      ++counts.hits;
    } else {
      if (residents.size() == frames) {
        const std::uint32_t gone = residents.front();
        residents.pop_front();
        if (dirty[gone]) {
          ++counts.write_backs;
          counts.written_bytes += 100 + gone;
          dirty[gone] = false;
        }
      }
      residents.push_back(child);
      ++counts.fetches;
      counts.fetched_bytes += 100 + child;
    }
    dirty[child] = dirty[child] || changes;
  }
};

TEST_CASE("first in, first out, against a list") {
  std::mt19937 random(1);
  for (std::uint32_t frames = 1; frames <= 7; ++frames) {
    CAPTURE(frames);
    ChildPager pager = make_pager(frames, 7);
    ListModel model{frames, {}, {}, {}};
    for (int batch = 0; batch < 400; ++batch) {
      for (std::uint32_t child = 0; child < 7; ++child)
        pager.set_work(child, random() % 3 == 0 ? 1 + random() % 5 : 0);
      const bool changes = random() % 2 == 0;
      for (const std::uint32_t child : serve(pager, changes)) model.visit(child, changes);
      CHECK(pager.counts() == model.counts);
    }
    for (const std::uint32_t child : model.residents) CHECK(pager.child_in(pager.frame_for(child)) == child);
    CHECK(pager.waiting() == 0);
  }
}

TEST_CASE("those that are there come first, then the others by turn") {
  ChildPager pager = make_pager(2, 5);
  const auto all = [&] {
    for (std::uint32_t child = 0; child < 5; ++child) pager.set_work(child, 1);
    return serve(pager, false);
  };
  CHECK(all() == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
  // 4 is in the first frame, 3 in the second.
  CHECK(all() == std::vector<std::uint32_t>{4, 3, 0, 1, 2});
  CHECK(pager.counts().hits == 2);
}

TEST_CASE("a child without an image is not fetched until it has been written back") {
  ChildPager pager(1);
  pager.add(0, 10, false);
  pager.add(1, 20, false);
  pager.set_work(0, 1);
  serve(pager, true);
  CHECK(pager.counts().fetches == 0);
  pager.set_bytes(0, 15);
  pager.set_work(1, 1);
  serve(pager, true);
  CHECK(pager.counts().written_bytes == 15);
  CHECK(pager.counts().write_backs == 1);
  pager.set_work(0, 1);
  serve(pager, false);
  CHECK(pager.counts().fetched_bytes == 15);
}

TEST_CASE("a directory is halved, and every hash belongs to someone") {
  using table::ChildDirectory;
  ChildDirectory directory;
  CHECK(directory.split(0, 1));
  CHECK(directory.split(1, 2));
  CHECK(directory.entries() == std::vector<std::uint32_t>{0, 0, 1, 2});
  CHECK(directory.share_of(0) == 2);
  CHECK(directory.split(0, 3));
  CHECK(directory.entries() == std::vector<std::uint32_t>{0, 3, 1, 2});
  std::uint32_t newest = 4;
  while (directory.split(1, newest)) ++newest;
  CHECK(directory.bits() == ChildDirectory::kMostBits);
}

}  // namespace
