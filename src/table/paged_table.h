#pragma once
/// A table that is larger than the memory of the device it is asked on (Starfish: Xiong et al. 2022): child
/// tables, of which some are in frames of the device and the others lie on the host. Operations come in
/// batches, stay on the device, and are queued by child, so that a child has to come once to serve all of
/// them; queries that have found something are masked, and the children rotate through.
///
/// Each frame has a queue of work of its own (a stream, on a GPU), and nothing waits but for what it needs:
/// one child is written back and another is read while those in other frames are worked on. A child in which
/// something found no room is rebuilt alone, with another hash function, larger, or as two.
///
/// `Children` is where children lie and what moves and serves them: a GPU (kernels/live/device_children.cuh,
/// which says what each function means), or host memory for tests and benches
/// (bench/starfish/host_children.h). Which child comes when, and what becomes of one that is full, stands
/// here, once.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "table/child_directory.h"
#include "table/child_pager.h"
#include "table/child_table.h"
#include "table/paged_table_plan.h"

namespace warpmer::table {

/// An operation that throws, for example ResourceError, may leave a child half done. Nothing works on the
/// caller's memory any more then, and the table can only be destroyed: all else throws InternalError.
template <class Children>
class PagedTable {
 public:
  using Key = typename Children::Key;
  using Items = ChildItems<Key>;
  using Update = typename Items::Update;
  using Child = ChildInFrame<Key>;

  /// `more`: what Children's constructor takes besides. ResourceError when memory does not suffice.
  template <class... More>
  explicit PagedTable(const PagedTablePlan& plan, More&&... more)
      : plan_(completed(plan)),
        children_(plan.frames, ChildShape{plan.frame_buckets, 0}.template bytes<Key>(), plan_.batch,
                  plan.children, plan.most_image_bytes, std::forward<More>(more)...),
        pager_(plan.frames),
        directory_(Items::Place::kBits),
        in_frame_(plan.frames) {
    if (plan_.placement == Placement::by_arrival) return;
    open_child();
    if (!plan_.weights.empty()) {
      divide_by_weights();
    } else {
      while (tables_.size() < plan_.children) add_child();
    }
  }

  /// Adds the values of `n` updates to their keys'. Updates of kEmptyKey are none. They are in memory that
  /// Children can read, and may change when this returns. `distinct`: each key comes once, since the last
  /// `flush`, which is quicker; k-mers come so. ResourceError when a child cannot be built, or memory ends.
  void insert(const Update* updates, std::size_t n, bool distinct) {
    if (!distinct && !Items::kArePairs) throw InternalError("k-mers were to be added more than once");
    guarded([&] {
      if (plan_.placement == Placement::by_arrival) {
        insert_by_arrival(updates, n, distinct);
      } else {
        enqueue(distinct ? UpdateKind::add_distinct : UpdateKind::add, updates, n);
      }
    });
  }
  /// Takes keys out of the table, as updates of any value. It is neither for tables by arrival nor for
  /// k-mers.
  void erase(const Update* updates, std::size_t n) {
    if (plan_.placement == Placement::by_arrival) throw InternalError("a table by arrival does not erase");
    if (!Items::kArePairs) throw InternalError("a table of k-mers does not erase");
    guarded([&] { enqueue(UpdateKind::erase, updates, n); });
  }
  /// Takes the counts of `n` updates, each key once, off their keys', of k-mers, after all operations
  /// before. The count of each update becomes what was not there.
  void subtract(Update* updates, std::size_t n) {
    if (Items::kArePairs) throw InternalError("a table of pairs does not subtract");
    guarded([&] {
      serve_all();
      while (n > 0) {
        const std::size_t some = std::min(n, plan_.batch);
        children_.bring_updates(updates, some);
        kind_ = UpdateKind::subtract;
        visit_children(children_.sort_updates(directory()), 0);
        children_.take_updates(updates, some);
        updates += some;
        n -= some;
      }
    });
  }
  /// Makes the room of k-mers, or pairs, free that were taken out.
  void drop_removed() {
    guarded([&] {
      serve_all();
      purge();
    });
  }
  /// Every operation that waits is done when this returns.
  void flush() {
    guarded([&] { serve_all(); });
  }
  /// The values of `n` keys, 0 for those that are not there, after all operations before.
  void find(const Key* keys, std::size_t n, std::uint32_t* answers) {
    guarded([&] {
      serve_all();
      while (n > 0) {
        const std::size_t some = std::min(n, plan_.query_batch);
        children_.bring_queries(keys, some);
        find_all(some);
        children_.take_answers(answers, some);
        keys += some;
        answers += some;
        n -= some;
      }
    });
  }

  /// Adds a child. By key, the one with the most entries is halved; by arrival, a new one is begun. Returns
  /// its number.
  std::uint32_t add_child() {
    return guarded([&] {
      serve_all();
      if (plan_.placement == Placement::by_arrival) return open_child();
      const std::uint32_t child = fullest();
      const std::uint32_t frame = pager_.frame_for(child);
      bring_in(child, frame);
      return halve(child, frame).back();
    });
  }

  /// A child, in a frame.
  struct Brought {
    std::uint32_t frame;
    Child child;
  };
  /// Brings a child to the device, when nothing waits any more. It is there for what is enqueued in its frame
  /// from then on, which only reads it, until other operations follow, or as many others have been brought as
  /// there are frames besides.
  Brought bring(std::uint32_t child) {
    return guarded([&] {
      serve_all();
      const std::uint32_t frame = pager_.frame_for(child);
      bring_in(child, frame);
      pager_.renew(child);
      return Brought{frame, children_.at(frame, in_frame(child))};
    });
  }
  /// Returns all children, by key, in the order of their keys' places.
  [[nodiscard]] std::vector<ChildRange> ranges() const { return directory_.ranges(); }
  [[nodiscard]] const ChildShape& shape(std::uint32_t child) const { return tables_[child].shape; }
  /// Returns true after an operation that has thrown.
  [[nodiscard]] bool has_failed() const { return has_failed_; }
  /// Returns the number of slots of a child that have been taken.
  [[nodiscard]] std::uint64_t filled(std::uint32_t child) const { return tables_[child].filled; }

  [[nodiscard]] std::uint32_t children() const { return static_cast<std::uint32_t>(tables_.size()); }
  /// Returns the child that a key belongs to, by key.
  [[nodiscard]] std::uint32_t child_of(Key key) const {
    return ChildDirectoryView<Key>{directory_.entries().data(), directory_.bits(), children_.place()}
        .child_of(key);
  }
  [[nodiscard]] const PagingCounts& paging() const { return pager_.counts(); }
  [[nodiscard]] const PagedTableCounts& counts() const { return counts_; }
  [[nodiscard]] Children& storage() { return children_; }
  [[nodiscard]] const Children& storage() const { return children_; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  enum class UpdateKind : std::uint8_t { add, add_distinct, subtract, erase };

  /// A child, wherever it is.
  struct ChildState {
    ChildShape shape;
    std::uint64_t filled = 0;  ///< slots
    bool has_erased = false;   ///< some slots have no value
  };
  /// The work under way in a frame: to be seen to before the child goes, or is asked.
  struct FrameWork {
    bool is_update = false, is_query = false;
    std::size_t begin = 0,
                end = 0;  ///< range of the updates: a part of their order, or of a frame's own pairs
    UpdateKind kind = UpdateKind::add;
  };

  /// A frame's part of a batch holds one operation at least: by arrival, each frame has pairs of its own.
  static PagedTablePlan completed(PagedTablePlan plan) {
    plan.batch = std::max<std::size_t>(plan.batch, plan.frames);
    if (plan.child_buckets == 0) plan.child_buckets = plan.frame_buckets;
    if (plan.query_batch == 0) plan.query_batch = plan.batch;
    return plan;
  }

  template <class Operation>
  auto guarded(Operation&& operation) {
    if (has_failed_) throw InternalError("a paged table that has failed is used again");
    try {
      return operation();
    } catch (...) {
      has_failed_ = true;
      children_.settle();
      throw;
    }
  }

  // --- Queued by child.

  void enqueue(UpdateKind kind, const Update* updates, std::size_t n) {
    if (kind != kind_) serve_all();  // operations of one kind may be done in any order
    kind_ = kind;
    while (n > 0) {
      if (queued_ == plan_.batch) serve_updates(plan_.batch / 2);
      const std::size_t some = std::min(n, plan_.batch - queued_);
      children_.bring_updates(updates, some);
      queued_ += some;
      updates += some;
      n -= some;
    }
  }

  void serve_all() {
    serve_updates(0);
    complete_all();
  }
  /// Serves one child after another until at most so many operations wait.
  void serve_updates(std::uint64_t limit) {
    if (queued_ == 0) return;
    visit_children(children_.sort_updates(directory()), limit);
    if (limit > 0) {
      queued_ = children_.keep_waiting();
    } else {
      children_.forget_updates();
      queued_ = 0;
    }
  }
  /// Brings children in turn to do their updates, until at most so many wait.
  void visit_children(const std::vector<std::size_t>& begins, std::uint64_t limit) {
    set_work(begins);
    while (pager_.waiting() > limit) {
      const ChildPager::Visit visit = *pager_.next();
      const bool was_there = bring_in(visit.child, visit.frame);
      start_update(visit.child, visit.frame, begins[visit.child], begins[visit.child + 1]);
      pager_.served(visit.child, was_there);
    }
    complete_all();
    for (std::uint32_t child = 0; child < tables_.size(); ++child) pager_.set_work(child, 0);
  }
  /// `begins`: where each child's operations begin in their order; and the end.
  void set_work(const std::vector<std::size_t>& begins) {
    for (std::uint32_t child = 0; child + std::size_t{1} < begins.size(); ++child)
      pager_.set_work(child, begins[child + 1] - begins[child]);
  }

  void find_all(std::size_t n) {
    const bool by_key = plan_.placement == Placement::by_key;
    const std::vector<std::size_t> begins =
        by_key ? children_.sort_queries(directory()) : std::vector<std::size_t>();
    found_ = 0;
    if (by_key) set_work(begins);
    for (std::uint32_t child = 0; !by_key && child < tables_.size(); ++child) pager_.set_work(child, n);
    most_found_ = 0;
    bool all_there = true;  // so far, children were on the device already
    while (const auto visit = pager_.next()) {
      const std::uint32_t child = visit->child;
      const bool is_there = pager_.child_in(visit->frame) == child;
      complete(visit->frame);
      if (!by_key && !is_there && (all_there || may_be_all(n))) complete_all();
      all_there = all_there && is_there;
      if (found_ == n) break;
      const bool was_there = bring_in(child, visit->frame);
      in_frame_[visit->frame].is_query = true;
      children_.find(visit->frame, in_frame(child, Belonging::known), by_key ? begins[child] : 0,
                     by_key ? begins[child + 1] : n);
      pager_.served(child, was_there);
    }
    complete_all();
    for (std::uint32_t child = 0; child < tables_.size(); ++child) pager_.set_work(child, 0);
  }

  /// By arrival, it is not known which child has to come before those that are there have answered. While
  /// these are asked, the next one comes already, unless, by what one child has found so far, they may have
  /// found everything.
  [[nodiscard]] bool may_be_all(std::size_t n) const {
    const auto asked = std::count_if(in_frame_.begin(), in_frame_.end(),
                                     [](const FrameWork& work) { return work.is_query; });
    return found_ + static_cast<std::uint64_t>(asked) * most_found_ >= n;
  }

  // --- By arrival.

  void insert_by_arrival(const Update* updates, std::size_t n, bool distinct) {
    if (!distinct) throw InternalError("a table by arrival takes each key once");
    const std::size_t most = plan_.batch / plan_.frames;
    while (n > 0) {
      if (tables_.empty() || room(newest()) == 0) open_child();
      const std::uint32_t child = newest();
      const std::uint32_t frame = pager_.frame_for(child);
      const bool was_there = bring_in(child, frame);
      complete(frame);
      const std::size_t some = std::min<std::uint64_t>({n, most, room(child)});
      children_.bring_to_frame(frame, updates, some);
      arrived_ += some;
      start_update(child, frame, 0, some);
      pager_.served(child, was_there);
      updates += some;
      n -= some;
    }
    children_.wait_for_input();
  }
  [[nodiscard]] std::uint32_t newest() const { return static_cast<std::uint32_t>(tables_.size() - 1); }
  /// Pairs that a child by arrival may still get.
  [[nodiscard]] std::uint64_t room(std::uint32_t child) const {
    const std::uint64_t most = std::max<std::uint64_t>(1, tables_[child].shape.entries_at(plan_.load));
    return most > arrived_ ? most - arrived_ : 0;
  }

  // --- Children and frames.

  [[nodiscard]] ChildDirectoryView<Key> directory() {
    if (plan_.placement == Placement::by_arrival) return {};
    return children_.directory(directory_.entries(), directory_.bits());
  }
  /// Says whether operations have to be asked which child they belong to: not when they have been put in
  /// order, and no child has been halved since.
  enum class Belonging : std::uint8_t { asked, known };
  [[nodiscard]] Child in_frame(std::uint32_t child, Belonging belonging = Belonging::asked) {
    Child one{nullptr, tables_[child].shape, child};
    if (belonging == Belonging::asked) one.directory = directory();
    return one;
  }

  /// Opens a new child, which holds nothing.
  std::uint32_t open_child() {
    tables_.push_back({{plan_.child_buckets, plan_.first_seed}});
    const std::uint32_t child = newest();
    arrived_ = 0;
    children_.make_image(child);
    pager_.add(child, tables_[child].shape.template bytes<Key>(), false);
    return child;
  }
  /// Begins with as many children, and as large ones, as what comes asks for.
  void divide_by_weights() {
    directory_.divide(plan_.weights, plan_.most_at_first(), [&] { return open_child(); });
    std::vector<std::size_t> bytes(tables_.size());
    for (const ChildRange& range : directory_.ranges()) {
      ChildShape& shape = tables_[range.child].shape;
      shape.buckets = plan_.buckets_at_first(range);
      bytes[range.child] = shape.template bytes<Key>();
      pager_.set_bytes(range.child, bytes[range.child]);
    }
    children_.fit_images(bytes);
  }

  /// The child is in its frame when the work that is enqueued there next begins. Returns whether it was.
  bool bring_in(std::uint32_t child, std::uint32_t frame) {
    if (pager_.child_in(frame) == child) return true;
    complete(frame);  // which may put another child there
    const std::uint32_t leaving = pager_.child_in(frame);
    if (leaving == child) return true;
    if (pager_.leave(frame)) children_.write_back(frame, leaving, tables_[leaving].shape);
    if (pager_.enter(child, frame)) {
      children_.fetch(frame, child, tables_[child].shape);
    } else {
      children_.clear(frame, tables_[child].shape);
    }
    return false;
  }

  void start_update(std::uint32_t child, std::uint32_t frame, std::size_t begin, std::size_t end) {
    complete(frame);
    in_frame_[frame] = {true, false, begin, end, kind_of_work()};
    run_update(in_frame(child, Belonging::known), frame, in_frame_[frame]);
    pager_.changed(child);
  }
  [[nodiscard]] UpdateKind kind_of_work() const {
    return plan_.placement == Placement::by_arrival ? UpdateKind::add_distinct : kind_;
  }
  void run_update(const Child& child, std::uint32_t frame, const FrameWork& work) {
    const bool own = plan_.placement == Placement::by_arrival;
    if (work.kind == UpdateKind::erase) {
      children_.update(frame, child, ChildStep::erase, work.begin, work.end, own);
    } else if (work.kind == UpdateKind::subtract) {
      children_.update(frame, child, ChildStep::subtract, work.begin, work.end, own);
    } else if (work.kind == UpdateKind::add_distinct) {
      children_.update(frame, child, ChildStep::insert, work.begin, work.end, own);
    } else {
      children_.update(frame, child, ChildStep::place, work.begin, work.end, own);
      children_.update(frame, child, ChildStep::count, work.begin, work.end, own);
    }
  }

  /// Sees to what was under way in a frame. Whatever found no room has one afterwards.
  void complete(std::uint32_t frame) {
    const FrameWork work = std::exchange(in_frame_[frame], {});
    if (!work.is_update && !work.is_query) return;
    const ChildReport report = children_.wait(frame);
    found_ += report.found;
    most_found_ = std::max(most_found_, report.found);
    if (!work.is_update) return;
    const std::uint32_t child = pager_.child_in(frame);
    tables_[child].filled += report.filled;
    tables_[child].has_erased =
        tables_[child].has_erased || work.kind == UpdateKind::erase || work.kind == UpdateKind::subtract;
    if (report.left > 0 || take_for_failed()) repair(child, frame, work, report.left);
  }
  void complete_all() {
    for (std::uint32_t frame = 0; frame < pager_.frames(); ++frame) complete(frame);
  }
  [[nodiscard]] bool take_for_failed() {
    if (discarded_ >= plan_.discarded) return false;
    ++discarded_;
    return true;
  }

  // --- Children that are built anew. In one frame, one step after another: it is rare.

  /// Sees to a child in which `left` operations found no room: builds it with another hash function, larger
  /// if it is that full, as two if it cannot be larger, until nothing is left.
  void repair(std::uint32_t child, std::uint32_t frame, const FrameWork& work, std::uint64_t left) {
    for (std::uint32_t attempt = 1;; ++attempt) {
      const ChildState& table = tables_[child];
      ChildShape shape = table.shape;
      // Where keys were erased, slots are free again first.
      const bool purges = table.has_erased;
      const std::uint64_t entries = table.filled + left;
      const bool is_full = !purges && entries > shape.entries_at(plan_.load);
      if (is_full && can_be_enlarged(child, entries)) {
        shape.buckets = std::max(grown(shape.buckets), roomy(entries));
        ++counts_.enlarged;
        attempt = 0;
      } else if (is_full && plan_.placement == Placement::by_key) {
        // The rest belongs to any part.
        const std::vector<std::uint32_t> parts = halve(child, frame);
        for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
          bring_in(*part, frame);
          redo_or_repair(*part, frame, work);
        }
        return;
      }
      ++shape.seed;
      rebuild(child, frame, shape);
      left = redo(child, frame, work);
      if (left == 0 && !take_for_failed()) return;
      if (purges) attempt = 0;  // it may be full for all that, and be made larger
      if (attempt >= plan_.attempts) throw_unbuildable(child);
    }
  }
  /// True when a child of so many entries can be enlarged: it cannot where too many of them would be in the
  /// largest one, and each half of them in a smaller one would do.
  [[nodiscard]] bool can_be_enlarged(std::uint32_t child, std::uint64_t entries) const {
    if (tables_[child].shape.buckets == plan_.frame_buckets) return false;
    return entries <= ChildShape{plan_.frame_buckets, 0}.entries_at(plan_.load) ||
           plan_.placement == Placement::by_arrival || !can_be_halved(child);
  }
  [[nodiscard]] bool can_be_halved(std::uint32_t child) const {
    const ChildRange range = directory_.range(child);
    return children_.place().can_divide(range.first, range.end);
  }
  [[nodiscard]] bool is_one_place(std::uint32_t child) const {
    return plan_.placement == Placement::by_key && !can_be_halved(child);
  }
  /// Does what is left of the work on a child; returns how much is left then.
  std::uint64_t redo(std::uint32_t child, std::uint32_t frame, const FrameWork& work) {
    run_update(in_frame(child), frame, work);
    pager_.changed(child);
    const ChildReport report = children_.wait(frame);
    tables_[child].filled += report.filled;
    return report.left;
  }
  void redo_or_repair(std::uint32_t child, std::uint32_t frame, const FrameWork& work) {
    if (const std::uint64_t left = redo(child, frame, work); left > 0) repair(child, frame, work, left);
  }

  /// Builds the child in a frame anew, of what is there.
  void rebuild(std::uint32_t child, std::uint32_t frame, const ChildShape& shape) {
    const ChildShape before = tables_[child].shape;
    children_.write_back(frame, child, before);
    counts_.rebuild_written += before.template bytes<Key>();
    if (!try_to_build(child, frame, shape, before)) throw_unbuildable(child);
  }
  /// Builds a child in a frame of what its image, of a shape `before`, holds of it. That stays what it is.
  /// False: no hash function has a slot for everything.
  bool try_to_build(std::uint32_t child, std::uint32_t frame, ChildShape shape, const ChildShape& before) {
    ChildState& table = tables_[child];
    for (std::uint32_t attempt = 0; attempt < plan_.attempts; ++attempt, ++shape.seed) {
      table.shape = shape;
      children_.clear(frame, shape);
      children_.pour(frame, in_frame(child), before);
      counts_.rebuild_read += before.template bytes<Key>();
      const ChildReport report = children_.wait(frame);
      ++counts_.rebuilds;
      if (report.left > 0) {
        // Of two halves, one is the larger.
        const std::uint64_t entries = report.filled + report.left;
        const bool is_full = entries > shape.entries_at(plan_.load);
        if (is_full && shape.buckets == plan_.frame_buckets) {
          if (is_one_place(child)) throw_one_place(child);
          if (entries > shape.slots()) return false;  // whatever the function
        }
        if (is_full) shape.buckets = std::max(shape.buckets, roomy(entries));
        continue;
      }
      table.filled = report.filled;
      table.has_erased = false;
      pager_.set_bytes(child, shape.template bytes<Key>());
      pager_.changed(child);
      return true;
    }
    return false;
  }

  /// Gives half of a child in a frame to a new one, and halves halves that are too full for a frame. Returns
  /// the child and all new ones, the last of which is in the frame.
  std::vector<std::uint32_t> halve(std::uint32_t child, std::uint32_t frame) {
    if (!can_be_halved(child)) throw_one_place(child);
    const ChildShape before = tables_[child].shape;
    children_.write_back(frame, child, before);
    counts_.rebuild_written += before.template bytes<Key>();
    std::vector<std::uint32_t> parts;
    halve_image(child, frame, before, parts);
    return parts;
  }
  /// Does the same for a child whose image, of a shape `before`, is not of it alone.
  void halve_image(std::uint32_t child, std::uint32_t frame, const ChildShape& before,
                   std::vector<std::uint32_t>& parts) {
    const std::uint32_t other = open_child();
    if (!directory_.split(child, other)) throw InternalError("a child that can be halved was not");
    ++counts_.halved;
    const ChildShape half{grown((before.buckets + 1) / 2), plan_.first_seed};
    build_or_halve(child, frame, half, before, parts);
    // The image still has everything; the last part's own one goes where the other's image is to be.
    const std::uint32_t last = parts.back();
    pager_.leave(frame);
    children_.write_back(frame, other, tables_[last].shape);
    children_.swap_images(last, other);
    pager_.enter(other, frame);
    build_or_halve(other, frame, half, before, parts);
  }
  void build_or_halve(std::uint32_t child, std::uint32_t frame, const ChildShape& half,
                      const ChildShape& before, std::vector<std::uint32_t>& parts) {
    if (try_to_build(child, frame, half, before)) {
      parts.push_back(child);
    } else if (can_be_halved(child)) {
      halve_image(child, frame, before, parts);
    } else {
      throw_unbuildable(child);
    }
  }
  /// Returns the number of buckets of a child that had so many, and was too full; and of one that has so many
  /// entries, and is to get more.
  [[nodiscard]] std::uint32_t grown(std::uint32_t buckets) const {
    return std::min(plan_.frame_buckets, static_cast<std::uint32_t>(std::ceil(buckets * plan_.growth)));
  }
  [[nodiscard]] std::uint32_t roomy(std::uint64_t entries) const {
    return std::min(plan_.frame_buckets, ChildShape::buckets_for(entries, plan_.load / plan_.growth));
  }

  /// Makes room of what was erased.
  void purge() {
    for (std::uint32_t child = 0; child < tables_.size(); ++child) {
      if (!tables_[child].has_erased) continue;
      const std::uint32_t frame = pager_.frame_for(child);
      bring_in(child, frame);
      rebuild(child, frame, tables_[child].shape);
    }
  }
  /// Returns the child that holds the most; of several the one that most hashes belong to.
  [[nodiscard]] std::uint32_t fullest() const {
    std::uint32_t best = kNone;
    std::pair<std::uint64_t, std::size_t> most{0, 0};
    for (std::uint32_t child = 0; child < tables_.size(); ++child) {
      const std::pair<std::uint64_t, std::size_t> one{tables_[child].filled, directory_.share_of(child)};
      if (best != kNone && one <= most) continue;
      best = child;
      most = one;
    }
    return best;
  }

  [[noreturn]] void throw_full(PagedTableFull::Reason reason, std::uint32_t child,
                               const std::string& message) const {
    throw PagedTableFull(reason, child == kNone ? ChildRange{} : directory_.range(child), message);
  }
  [[noreturn]] void throw_one_place(std::uint32_t child) const {
    throw_full(PagedTableFull::Reason::one_place, child,
               "a child table is too full, and all it has belongs together");
  }
  [[noreturn]] void throw_unbuildable(std::uint32_t child) const {
    throw_full(PagedTableFull::Reason::unbuildable, plan_.placement == Placement::by_key ? child : kNone,
               "a child table could not be built: in " + std::to_string(plan_.attempts) +
                   " builds with different hash functions some key found no place");
  }

  PagedTablePlan plan_;
  Children children_;
  ChildPager pager_;
  ChildDirectory directory_;
  std::vector<ChildState> tables_;   ///< by number
  std::vector<FrameWork> in_frame_;  ///< by frame
  PagedTableCounts counts_;
  UpdateKind kind_ = UpdateKind::add;  ///< kind of the operations that wait
  std::size_t queued_ = 0;             ///< operations that wait
  std::uint64_t found_ = 0;            ///< queries answered, of the batch that is under way
  std::uint64_t most_found_ = 0;       ///< most found by one child
  std::uint64_t arrived_ = 0;          ///< pairs that the newest child by arrival has got
  std::uint32_t discarded_ = 0;
  bool has_failed_ = false;
};

}  // namespace warpmer::table
