#include "bench/all_reduce.h"

#include <algorithm>

#include "bench/bandwidth.h"
#include "bench/pattern.h"

namespace weft::bench {
namespace {

float* floats(const Buffer& buffer) { return reinterpret_cast<float*>(buffer.data()); }

}  // namespace

AllReduce::AllReduce(const Session& session, Pipe& right, Pipe& left)
    : session_(session),
      right_(&right),
      left_(&left),
      ranks_(static_cast<std::size_t>(session.size())),
      rank_(static_cast<std::size_t>(session.rank())),
      chunk_elements_(std::max<std::size_t>(1, session.options.chunk / sizeof(float))) {
  for (const std::size_t bytes : session.options.sizes) {
    const std::size_t count = std::max<std::size_t>(1, bytes / sizeof(float));
    if (counts_.empty() || counts_.back() != count) counts_.push_back(count);
  }
}

Result<std::unique_ptr<Workload>> AllReduce::create(const Session& session, Mesh& mesh) {
  const auto size = static_cast<std::size_t>(session.size());
  const auto rank = static_cast<std::size_t>(session.rank());
  std::unique_ptr<AllReduce> made(
      new AllReduce(session, *mesh.send[(rank + 1) % size], *mesh.receive[(rank + size - 1) % size]));
  const std::size_t largest = made->counts_.back() * sizeof(float);
  const std::size_t places = made->left_->capacity() * made->chunk_elements_ * sizeof(float);
  TRY(made->input_, Buffer::allocate(largest));
  TRY(made->output_, Buffer::allocate(largest));
  TRY(made->scratch_, Buffer::allocate(places));
  TRY_VOID(made->right_->add_region(made->output_.data(), largest));
  TRY_VOID(made->right_->add_region(made->input_.data(), largest));
  TRY_VOID(made->left_->add_region(made->output_.data(), largest));
  TRY_VOID(made->left_->add_region(made->scratch_.data(), places));
  return made;
}

Shape AllReduce::shape(std::size_t row) const {
  const std::size_t bytes = counts_[row] * sizeof(float);
  return {.label = {},
          .bytes = bytes,
          .count = counts_[row],
          .type = "float",
          .redop = "sum",
          .algorithm_bytes = static_cast<double>(bytes),
          .wire_bytes = static_cast<double>(bytes) * all_reduce_bus_factor(session_.size())};
}

void AllReduce::select(std::size_t row) {
  count_ = counts_[row];
  const std::size_t longest_slice = (count_ + ranks_ - 1) / ranks_;
  chunks_ = (longest_slice + chunk_elements_ - 1) / chunk_elements_;
  items_ = 2 * (ranks_ - 1) * chunks_;
}

void AllReduce::fill(std::uint64_t iteration) {
  fill_addends({floats(input_), count_}, session_.rank(), session_.size(), iteration);
  poison_sums({floats(output_), count_});
}

std::size_t AllReduce::wrong(std::uint64_t iteration) const {
  return count_wrong_sums({floats(output_), count_}, session_.size(), iteration);
}

AllReduce::Piece AllReduce::piece(std::size_t slice, std::size_t chunk) const {
  // Slices differ by at most one element: the first count_ % ranks_ have one more.
  const std::size_t base = count_ / ranks_;
  const std::size_t longer = count_ % ranks_;
  const std::size_t slice_begin = slice * base + std::min(slice, longer);
  const std::size_t slice_count = base + (slice < longer ? 1 : 0);
  const std::size_t offset = std::min(chunk * chunk_elements_, slice_count);
  return {slice_begin + offset, std::min(chunk_elements_, slice_count - offset)};
}

AllReduce::Piece AllReduce::sent_piece(std::size_t index) const {
  return piece((rank_ + 2 * ranks_ - index / chunks_) % ranks_, index % chunks_);
}

AllReduce::Piece AllReduce::received_piece(std::size_t index) const {
  return piece((rank_ + 2 * ranks_ - index / chunks_ - 1) % ranks_, index % chunks_);
}

std::size_t AllReduce::skip_empty_sends(std::size_t index) const {
  while (index < items_ && sent_piece(index).count == 0) ++index;
  return index;
}

std::size_t AllReduce::skip_empty_receives(std::size_t index) const {
  while (index < items_ && received_piece(index).count == 0) ++index;
  return index;
}

bool AllReduce::may_receive(std::size_t index) const {
  const std::size_t first_gather = (ranks_ - 1) * chunks_;
  if (index < first_gather) return scratch_posted_ - scratch_done_ < left_->capacity();
  // The final chunk lands where its partial sum lay, which left from there in step s + 1 - n (step 0 leaves from the
  // input). Until that send is complete the place belongs to the plugin.
  const std::size_t partial = index - first_gather;
  return partial < chunks_ || partial < send_done_;
}

PostStatus AllReduce::post_receive() {
  if (receive_posted_ == items_ || !may_receive(receive_posted_)) return PostStatus::kAgain;
  const Piece place = received_piece(receive_posted_);
  const bool to_scratch = receive_posted_ < (ranks_ - 1) * chunks_;
  float* target = to_scratch ? floats(scratch_) + scratch_posted_ % left_->capacity() * chunk_elements_
                             : floats(output_) + place.begin;
  const PostStatus status =
      left_->post(to_scratch ? kScratch : kOutput, reinterpret_cast<std::byte*>(target), place.count * sizeof(float));
  if (status != PostStatus::kPosted) return status;
  if (to_scratch) ++scratch_posted_;
  receive_posted_ = skip_empty_receives(receive_posted_ + 1);
  return status;
}

PostStatus AllReduce::post_send() {
  // Chunk c of step s is chunk c of what arrived in step s - 1.
  if (send_posted_ == items_ || send_posted_ >= receive_done_ + chunks_) return PostStatus::kAgain;
  const Piece place = sent_piece(send_posted_);
  const bool own = send_posted_ < chunks_;
  float* source = floats(own ? input_ : output_) + place.begin;
  const PostStatus status =
      right_->post(own ? kInput : kOutput, reinterpret_cast<std::byte*>(source), place.count * sizeof(float));
  if (status == PostStatus::kPosted) send_posted_ = skip_empty_sends(send_posted_ + 1);
  return status;
}

TestStatus AllReduce::finish_receive() {
  const TestStatus status = left_->poll();
  if (status != TestStatus::kDone) return status;
  if (receive_done_ < (ranks_ - 1) * chunks_) {
    const Piece place = received_piece(receive_done_);
    const float* arrived = floats(scratch_) + scratch_done_++ % left_->capacity() * chunk_elements_;
    const float* own = floats(input_) + place.begin;
    float* sum = floats(output_) + place.begin;
    for (std::size_t i = 0; i < place.count; ++i) sum[i] = own[i] + arrived[i];
  }
  receive_done_ = skip_empty_receives(receive_done_ + 1);
  return status;
}

TestStatus AllReduce::finish_send() {
  const TestStatus status = right_->poll();
  if (status == TestStatus::kDone) send_done_ = skip_empty_sends(send_done_ + 1);
  return status;
}

Status AllReduce::run() {
  receive_posted_ = receive_done_ = skip_empty_receives(0);
  send_posted_ = send_done_ = skip_empty_sends(0);
  scratch_posted_ = scratch_done_ = 0;
  Idle& idle = session_.idle;
  while (receive_done_ < items_ || send_done_ < items_) {
    const TestStatus received = finish_receive();
    const PostStatus receiving = post_receive();
    const PostStatus sending = post_send();
    const TestStatus sent = finish_send();
    if (received == TestStatus::kFailed || receiving == PostStatus::kFailed) return std::unexpected(left_->error());
    if (sent == TestStatus::kFailed || sending == PostStatus::kFailed) return std::unexpected(right_->error());
    if (received == TestStatus::kDone || sent == TestStatus::kDone || receiving == PostStatus::kPosted ||
        sending == PostStatus::kPosted) {
      idle.moved();
    } else if (!idle.keep_waiting()) {
      const Pipe* stuck = receive_done_ < items_ ? left_ : right_;
      return std::unexpected(idle.error(stuck->what()));
    }
  }
  return {};
}

}  // namespace weft::bench
