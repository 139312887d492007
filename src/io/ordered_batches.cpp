#include "io/ordered_batches.h"

#include <utility>

namespace warpmer::io {

std::size_t BatchPart::text_bytes() const {
  if (size() == 0) return 0;
  const std::size_t text_end =
      end == batch->pieces.size() ? batch->text.size() : batch->pieces[end].name_offset;
  return text_end - batch->pieces[first].name_offset;
}

void BatchPart::append_to(Batch& to) const {
  if (to.pieces.empty() && size() == batch->pieces.size()) {
    std::swap(*batch, to);
  } else {
    append_records(*batch, first, end, to);
  }
}

OrderedBatches::BatchState OrderedBatches::state() const {
  if (!ready_.empty()) return BatchState::ready;
  if (!has_ended_ || readers_ > 0) return BatchState::waiting;
  if (error_) std::rethrow_exception(error_);
  return BatchState::over;
}

BatchPart OrderedBatches::take(std::size_t reads) {
  BatchPart part{ready_.front(), taken_, taken_ + reads};
  taken_ += reads;
  if (left() == 0) {
    ready_.pop_front();
    taken_ = 0;
  }
  return part;
}

void OrderedBatches::read(std::unique_lock<std::mutex>& lock) {
  ++readers_;
  lock.unlock();
  std::shared_ptr<Batch> batch;
  std::exception_ptr error;
  bool is_there = false;
  try {
    batch = pool_.take();
    batch->clear();
    is_there = inputs_->next(*batch);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  --readers_;
  if (error && !error_) error_ = error;
  has_ended_ = has_ended_ || !is_there;
  if (!is_there) return;
  early_.emplace(batch->ordinal, std::move(batch));
  while (!early_.empty() && early_.begin()->first == next_ordinal_) {
    ready_.push_back(std::move(early_.begin()->second));
    early_.erase(early_.begin());
    ++next_ordinal_;
  }
}

}  // namespace warpmer::io
