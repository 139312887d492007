#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>

#include "kernels/tables/distributed_table.cuh"
#include "kernels/tables/multisplit.cuh"

namespace warpmer::gpu {

namespace {

using table::Key32;

/// Marks in a device's stream, around the stages of one batch after another.
class StageMarks {
 public:
  /// Forgets what there was, and makes room for so many batches.
  void begin(std::size_t batches, std::size_t stages) {
    stages_ = stages;
    next_ = 0;
    while (marks_.size() < batches * (stages + 1)) marks_.emplace_back(Event::Kind::timing);
  }
  /// Before the first stage of a batch, and behind each.
  void set(cudaStream_t stream) { marks_.at(next_++).record(stream); }

  /// Adds the times; the stream must have done everything.
  void add_to(std::array<double, kStages>& seconds, double share) const {
    for (std::size_t mark = 0; mark < next_; ++mark) {
      const std::size_t stage = mark % (stages_ + 1);
      if (stage > 0) seconds[stage - 1] += share * marks_[mark].seconds_since(marks_[mark - 1]);
    }
  }

 private:
  std::vector<Event> marks_;
  std::size_t stages_ = 0, next_ = 0;
};

/// The part of a pipeline on a device: streams, and room for a batch at each of its stages. Keys and answers
/// share the room of pairs, half and half.
struct TableLane {
  TableLane(std::uint32_t parts, std::size_t batch)
      : pair_split(parts, KeyOwner(parts)), key_split(parts, KeyOwner(parts)), sizes(parts), brought(batch) {
    if (parts == 1) return;  // nothing is split, nothing travels
    parted.reserve(batch);
    received.reserve(batch + batch / 8);
  }
  static Key32* keys(const DeviceArray<std::uint64_t>& room) { return reinterpret_cast<Key32*>(room.data()); }
  static std::uint32_t* answers(const DeviceArray<std::uint64_t>& room) { return keys(room) + room.size(); }

  /// Starts `work(stream)` on the table, between what `stream` does before and after. It yields to other
  /// batches' splits: their parts then travel while this one is inserted.
  template <class Work>
  void use_table(Work&& work) {
    arrived.record(stream);
    arrived.let_follow(table_stream);
    work(static_cast<cudaStream_t>(table_stream));
    finished.record(table_stream);
    finished.let_follow(stream);
  }

  Stream stream{Stream::Priority::high}, table_stream;
  Event arrived, finished;
  Event counted{Event::Kind::polled};
  StageMarks marks;
  DeviceMultisplit<std::uint64_t, KeyOwner> pair_split;
  DeviceMultisplit<Key32, KeyOwner> key_split;
  PinnedArray<std::uint64_t> sizes;  ///< sizes of the parts
  DeviceArray<std::uint64_t> brought, parted, received;
};

/// Returns the elements of a batch that a device brings.
template <class T>
DeviceElements<T> of_batch(const DeviceElements<T>& all, std::size_t number, std::size_t batch) {
  const std::size_t begin = std::min(number * batch, all.size);
  return {all.data + begin, std::min(batch, all.size - begin)};
}

template <class T>
std::size_t batches_of(const std::vector<DeviceElements<T>>& all, std::size_t batch) {
  std::size_t most = 0;
  for (const DeviceElements<T>& one : all) most = std::max(most, one.size);
  return (most + batch - 1) / batch;
}

}  // namespace

const char* name_of(BatchStage stage) {
  constexpr std::array<const char*, kStages> kNames = {"upload", "split",     "plan",    "transpose",
                                                       "table",  "give_back", "restore", "download"};
  return kNames[static_cast<std::size_t>(stage)];
}

/// Carries one batch at a time, driven by one thread of the host.
class DistributedTable::Pipeline {
 public:
  Pipeline(const DistributedTablePlan& plan, const std::vector<OnOneDevice<PairTable>>& tables)
      : tables_(tables), transposition_(plan.ordinals, plan.route) {
    lanes_.reserve(plan.ordinals.size());
    for (const int ordinal : plan.ordinals)
      lanes_.emplace_back(ordinal, static_cast<std::uint32_t>(plan.ordinals.size()), plan.batch);
  }

  /// Before a run of so many batches of so many stages.
  void begin(std::size_t batches, std::size_t stages) {
    for (OnOneDevice<TableLane>& lane : lanes_) {
      const CurrentDevice current(lane.ordinal());
      lane->marks.begin(batches, stages);
    }
  }
  void wait() const {
    for (const OnOneDevice<TableLane>& lane : lanes_) lane->stream.wait();
  }
  /// After an error: nothing is under way any more on memory that others may give back now.
  void settle() const {
    for (const OnOneDevice<TableLane>& lane : lanes_) {
      cudaStreamSynchronize(lane->table_stream);
      cudaStreamSynchronize(lane->stream);
    }
  }
  void add_times_to(std::array<double, kStages>& seconds) const {
    for (const OnOneDevice<TableLane>& lane : lanes_)
      lane->marks.add_to(seconds, 1. / static_cast<double>(lanes_.size()));
  }
  [[nodiscard]] bool goes_through_host() const { return transposition_.goes_through_host(); }

  void insert(const std::vector<DeviceElements<std::uint64_t>>& batch, Side side) {
    for_each([&](TableLane& lane, std::size_t device) {
      const std::size_t n = batch[device].size;
      lane.marks.set(lane.stream);
      if (side == Side::host) copy_to_device(lane.brought.data(), batch[device].data, n, lane.stream);
      lane.marks.set(lane.stream);
    });
    const auto pairs_of = [&](TableLane& lane, std::size_t device) {
      return side == Side::host ? lane.brought.data() : batch[device].data;
    };
    const mpi::PartitionTable table = exchange<std::uint64_t>(
        pairs_of, [&](std::size_t device) { return batch[device].size; },
        [](TableLane & lane) -> auto& { return lane.pair_split; });
    for_each([&](TableLane& lane, std::size_t device) {
      const std::uint64_t* const pairs = is_alone() ? pairs_of(lane, device) : lane.received.data();
      const std::uint64_t n = table.received(static_cast<std::uint32_t>(device));
      lane.use_table([&](cudaStream_t stream) { tables_[device]->insert(pairs, n, stream); });
      lane.marks.set(lane.stream);
    });
  }

  void find(const std::vector<DeviceElements<Key32>>& batch, const std::vector<std::uint32_t*>& answers,
            Side side) {
    for_each([&](TableLane& lane, std::size_t device) {
      lane.marks.set(lane.stream);
      if (side == Side::host)
        copy_to_device(TableLane::keys(lane.brought), batch[device].data, batch[device].size, lane.stream);
      lane.marks.set(lane.stream);
    });
    const auto keys_of = [&](TableLane& lane, std::size_t device) {
      return side == Side::host ? TableLane::keys(lane.brought) : batch[device].data;
    };
    const auto answers_of = [&](TableLane& lane, std::size_t device) {
      return side == Side::host ? TableLane::answers(lane.brought) : answers[device];
    };
    const mpi::PartitionTable table = exchange<Key32>(
        keys_of, [&](std::size_t device) { return batch[device].size; },
        [](TableLane & lane) -> auto& { return lane.key_split; });
    for_each([&](TableLane& lane, std::size_t device) {
      const Key32* const keys = is_alone() ? keys_of(lane, device) : TableLane::keys(lane.received);
      std::uint32_t* const found = is_alone() ? answers_of(lane, device) : TableLane::answers(lane.received);
      const std::uint64_t n = table.received(static_cast<std::uint32_t>(device));
      lane.use_table([&](cudaStream_t stream) { tables_[device]->find(keys, n, found, stream); });
      lane.marks.set(lane.stream);
    });
    if (!is_alone()) give_back(table);
    for_each([&](TableLane& lane, std::size_t device) {
      lane.marks.set(lane.stream);
      if (!is_alone()) {
        lane.key_split.restore(keys_of(lane, device), TableLane::answers(lane.parted),
                               answers_of(lane, device), lane.stream);
      }
      lane.marks.set(lane.stream);
      if (side == Side::host)
        copy_to_host(answers[device], TableLane::answers(lane.brought), batch[device].size, lane.stream);
      lane.marks.set(lane.stream);
    });
  }

 private:
  [[nodiscard]] bool is_alone() const { return lanes_.size() == 1; }

  template <class Work>
  void for_each(Work&& work) {
    for (std::size_t device = 0; device < lanes_.size(); ++device) {
      const CurrentDevice current(lanes_[device].ordinal());
      work(*lanes_[device], device);
    }
  }

  /// Multisplit and transposition: from what devices bring to what they have received. Three stages.
  template <class T, class DataOf, class SizeOf, class SplitOf>
  mpi::PartitionTable exchange(DataOf&& data_of, SizeOf&& size_of, SplitOf&& split_of) {
    mpi::PartitionTable table(static_cast<std::uint32_t>(lanes_.size()));
    if (is_alone()) {
      table.size(0, 0) = size_of(0);
      for (int stage = 0; stage < 3; ++stage) lanes_[0]->marks.set(lanes_[0]->stream);
      return table;
    }
    for_each([&](TableLane& lane, std::size_t device) {
      const T* const data = data_of(lane, device);
      split_of(lane).count(data, size_of(device), lane.sizes.data(), lane.stream);
      lane.counted.record(lane.stream);
      // While the host waits for the counts, their elements are put in order.
      split_of(lane).place(data, reinterpret_cast<T*>(lane.parted.data()), lane.stream);
      lane.marks.set(lane.stream);
    });
    for (std::uint32_t sender = 0; sender < table.devices(); ++sender) {
      lanes_[sender]->counted.wait();
      for (std::uint32_t receiver = 0; receiver < table.devices(); ++receiver)
        table.size(sender, receiver) = lanes_[sender]->sizes[receiver];
    }
    make_room(table);
    std::vector<Transposition::Share> shares;
    for_each([&](TableLane& lane, std::size_t /*device*/) {
      lane.marks.set(lane.stream);
      shares.push_back({lane.parted.data(), lane.received.data(), lane.stream});
    });
    transposition_.run(table, sizeof(T), shares);
    for_each([&](TableLane& lane, std::size_t /*device*/) { lane.marks.set(lane.stream); });
    return table;
  }

  /// Answers take the way that their keys came.
  void give_back(const mpi::PartitionTable& table) {
    std::vector<Transposition::Share> shares;
    for_each([&](TableLane& lane, std::size_t /*device*/) {
      shares.push_back({TableLane::answers(lane.received), TableLane::answers(lane.parted), lane.stream});
    });
    transposition_.run(table.transposed(), sizeof(std::uint32_t), shares);
  }

  /// A device may own more of a batch than others: hot keys.
  void make_room(const mpi::PartitionTable& table) {
    for_each([&](TableLane& lane, std::size_t device) {
      const std::uint64_t size = table.received(static_cast<std::uint32_t>(device));
      if (size <= lane.received.size()) return;
      lane.stream.wait();  // for what still uses it
      lane.received.reserve(size + size / 8);
    });
  }

  const std::vector<OnOneDevice<PairTable>>& tables_;
  std::vector<OnOneDevice<TableLane>> lanes_;
  Transposition transposition_;
};

DistributedTable::DistributedTable(const DistributedTablePlan& plan) : batch_(plan.batch) {
  tables_.reserve(plan.ordinals.size());
  for (const int ordinal : plan.ordinals) tables_.emplace_back(ordinal, plan.slots, plan.seed);
  for (std::uint32_t i = 0; i < plan.pipelines; ++i)
    pipelines_.push_back(std::make_unique<Pipeline>(plan, tables_));
}

DistributedTable::~DistributedTable() = default;

/// A thread for each pipeline; `run(pipeline, batch)` starts a batch.
template <class Run>
CascadeTimes DistributedTable::run_all(std::size_t batches, std::size_t stages, Run&& run) {
  const std::size_t each = (batches + pipelines_.size() - 1) / pipelines_.size();
  for (const auto& pipeline : pipelines_) pipeline->begin(each, stages);
  std::vector<std::exception_ptr> failures(pipelines_.size());
  const auto begin = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> threads;
    for (std::size_t number = 0; number < pipelines_.size(); ++number) {
      threads.emplace_back([&, number] {
        try {
          for (std::size_t batch = number; batch < batches; batch += pipelines_.size())
            run(*pipelines_[number], batch);
          pipelines_[number]->wait();
        } catch (...) {
          failures[number] = std::current_exception();
          pipelines_[number]->settle();
        }
      });
    }
  }
  CascadeTimes times;
  times.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (const std::exception_ptr& failure : failures) {
    if (failure != nullptr) std::rethrow_exception(failure);
  }
  for (const auto& pipeline : pipelines_) pipeline->add_times_to(times.stages);
  return times;
}

CascadeTimes DistributedTable::insert(const std::vector<DeviceElements<std::uint64_t>>& pairs, Side side) {
  const auto stages = static_cast<std::size_t>(BatchStage::table) + 1;
  return run_all(batches_of(pairs, batch_), stages, [&](Pipeline& pipeline, std::size_t number) {
    std::vector<DeviceElements<std::uint64_t>> batch;
    for (const DeviceElements<std::uint64_t>& all : pairs) batch.push_back(of_batch(all, number, batch_));
    pipeline.insert(batch, side);
  });
}

CascadeTimes DistributedTable::find(const std::vector<DeviceElements<table::Key32>>& keys,
                                    const std::vector<std::uint32_t*>& answers, Side side) {
  return run_all(batches_of(keys, batch_), kStages, [&](Pipeline& pipeline, std::size_t number) {
    std::vector<DeviceElements<Key32>> batch;
    std::vector<std::uint32_t*> answers_of_batch;
    for (std::size_t device = 0; device < keys.size(); ++device) {
      batch.push_back(of_batch(keys[device], number, batch_));
      answers_of_batch.push_back(answers[device] + (batch[device].data - keys[device].data));
    }
    pipeline.find(batch, answers_of_batch, side);
  });
}

void DistributedTable::clear() {
  for (OnOneDevice<PairTable>& table : tables_) {
    const CurrentDevice current(table.ordinal());
    table->clear(memory_stream());
    check(cudaStreamSynchronize(memory_stream()), "emptying a table");
  }
}

std::uint64_t DistributedTable::overflow() const {
  std::uint64_t overflow = 0;
  for (const OnOneDevice<PairTable>& table : tables_) {
    const CurrentDevice current(table.ordinal());
    overflow += table->overflow();
  }
  return overflow;
}

std::size_t DistributedTable::slots() const {
  std::size_t slots = 0;
  for (const OnOneDevice<PairTable>& table : tables_) slots += table->slots();
  return slots;
}

bool DistributedTable::goes_through_host() const { return pipelines_.front()->goes_through_host(); }

}  // namespace warpmer::gpu
