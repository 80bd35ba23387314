#include "tests/emulation/cuda/nccl/primitives.h"

#include <algorithm>
#include <cstring>

namespace weft::emulation::nccl {
namespace {

// NCCL cuts a chunk into pieces of 16 elements at least.
constexpr size_t kSliceUnit = 16;

size_t slice_of(size_t count, int slices, size_t nominal) {
  const size_t unit = kSliceUnit * static_cast<size_t>(slices);
  return std::max((count + unit - 1) / unit * kSliceUnit, nominal / 32);
}

}  // namespace

Primitives::Primitives(Block& block, const std::vector<Connection*>& sources,
                       const std::vector<Connection*>& destinations, const Shape& shape, size_t element,
                       const Reduction* reduction, bool net_registered)
    : block_(block), shape_(shape), element_(element), reduction_(reduction) {
  const uint64_t unit = shape.ll ? 1 : static_cast<uint64_t>(shape.slices_per_chunk) * shape.steps_per_slice;
  const auto link = [&](Connection* connection) {
    return Link{connection, (connection->step + unit - 1) / unit * unit,
                net_registered && !shape.ll && (connection->flags & kFlagDirectNic) != 0};
  };
  for (Connection* source : sources) {
    const Link& added = sources_.emplace_back(link(source));
    if (!shape.ll) store_release(source->head, added.step);  // credits for the steps that rounding up skipped
    if (added.net_registered) tell_size(&source->fifo[added.step % kSteps], 0);
  }
  for (Connection* destination : destinations) destinations_.push_back(link(destination));
}

char* Primitives::slot(const Link& link) const {
  const Connection& connection = *link.connection;
  char* buffer = connection.buffers[kProtocolSimple];
  const FifoSlot* fifo = connection.fifo != nullptr ? &connection.fifo[link.step % kSteps] : nullptr;
  if (fifo != nullptr && load_volatile(&fifo->mode) == kModeOffset) return buffer + load_volatile(&fifo->offset);
  return buffer + link.step % kSteps * static_cast<size_t>(connection.step_size);
}

LlLine* Primitives::ll_slot(const Link& link) const {
  const size_t lines = static_cast<size_t>(block_.communicator().buffer_sizes[kProtocolLl]) / kSteps / sizeof(LlLine);
  return reinterpret_cast<LlLine*>(link.connection->buffers[kProtocolLl]) + link.step % kSteps * lines;
}

const char* Primitives::own_values(const char* values, size_t count) {
  if (reduction_ == nullptr || !reduction_->scales()) return values;
  scaled_.resize(count * element_);
  reduction_->scale(scaled_.data(), values, count);
  return scaled_.data();
}

void Primitives::merge(const std::vector<const char*>& inputs, const std::vector<char*>& outputs, size_t count,
                       bool last) {
  if (inputs.empty() || outputs.empty()) return;
  char* first = outputs[0];
  const size_t bytes = count * element_;
  if (inputs.size() == 1) {
    if (first != inputs[0]) memcpy(first, inputs[0], bytes);
  } else {
    reduction_->combine(first, inputs[0], inputs[1], count);
    for (size_t i = 2; i < inputs.size(); ++i) reduction_->combine(first, first, inputs[i], count);
  }
  if (last && reduction_ != nullptr && reduction_->divides()) reduction_->divide(first, count);
  for (size_t i = 1; i < outputs.size(); ++i) {
    if (outputs[i] != first) memcpy(outputs[i], first, bytes);
  }
}

Task Primitives::move(Transfer transfer, ssize_t count) {
  const auto elements = static_cast<size_t>(std::max<ssize_t>(count, 0));
  if (shape_.ll) {
    co_await move_ll(transfer, elements);
  } else {
    co_await move_simple(transfer, elements);
  }
}

Task Primitives::move_simple(Transfer transfer, size_t count) {
  const auto steps = static_cast<uint64_t>(shape_.steps_per_slice);
  const size_t slice = slice_of(count, shape_.slices_per_chunk, shape_.step_bytes / element_ * steps);
  size_t done = 0;
  for (int i = 0; i < shape_.slices_per_chunk; ++i) {
    const size_t now = std::min(slice, count - done);
    const size_t offset = done * element_;
    std::vector<const char*> inputs;
    std::vector<char*> outputs;
    if (transfer.keep != nullptr) outputs.push_back(transfer.keep + offset);
    if (transfer.receive) {
      for (const Link& link : sources_) {
        while (load_acquire(link.connection->tail) < link.step + steps) {
          if (block_.check_abort()) co_return;
          co_await kYield;
        }
        if (!link.net_registered) {
          inputs.push_back(slot(link));
        } else if (transfer.registered != nullptr) {
          inputs.push_back(transfer.registered + offset);
        }
      }
    }
    if (transfer.send) {
      for (const Link& link : destinations_) {
        while (load_acquire(link.connection->head) + kSteps < link.step + steps) {
          if (block_.check_abort()) co_return;
          co_await kYield;
        }
        if (link.connection->fifo != nullptr) tell_size(&link.connection->fifo[link.step % kSteps], now * element_);
        if (!link.net_registered) {
          outputs.push_back(slot(link));
        } else if (transfer.registered != nullptr && transfer.receive) {
          outputs.push_back(transfer.registered + offset);
        }
      }
    }
    if (now > 0) {
      if (transfer.own != nullptr) inputs.push_back(own_values(transfer.own + offset, now));
      merge(inputs, outputs, now, transfer.last);
    }
    if (transfer.receive) {
      for (Link& link : sources_) {
        link.step += steps;
        store_release(link.connection->head, link.step);
      }
    }
    if (transfer.send) {
      for (Link& link : destinations_) {
        link.step += steps;
        store_release(link.connection->tail, link.step);
      }
    }
    block_.scheduler->progressed();
    done += now;
  }
}

Task Primitives::move_ll(Transfer transfer, size_t count) {
  const size_t bytes = count * element_;
  const size_t lines = (bytes + 7) / 8;
  if (transfer.send) {
    for (const Link& link : destinations_) {
      while (load_acquire(link.connection->head) + kSteps < link.step + 1) {
        if (block_.check_abort()) co_return;
        co_await kYield;
      }
      if (link.connection->fifo != nullptr)
        tell_size(&link.connection->fifo[link.step % kSteps], lines * sizeof(LlLine));
    }
  }
  std::vector<uint64_t> result(lines);
  bool any = false;
  if (transfer.own != nullptr && bytes > 0) {
    memcpy(result.data(), own_values(transfer.own, count), bytes);
    any = true;
  }
  if (transfer.receive) {
    std::vector<uint64_t> received(lines);
    for (const Link& link : sources_) {
      const auto flag = static_cast<uint32_t>(link.step + 1);
      for (size_t i = 0; i < lines; ++i) {
        const LlLine* line = ll_slot(link) + i;
        for (;;) {
          const uint64_t low = load_volatile(&line->halves[0]);
          const uint64_t high = load_volatile(&line->halves[1]);
          if (low >> 32 == flag && high >> 32 == flag) {
            received[i] = (low & UINT32_MAX) | high << 32;
            break;
          }
          if (block_.check_abort()) co_return;
          co_await kYield;
        }
      }
      if (any) {
        reduction_->combine(result.data(), received.data(), result.data(), count);
      } else {
        result.swap(received);
        received.resize(lines);
        any = true;
      }
    }
  }
  if (transfer.last && reduction_ != nullptr && reduction_->divides()) reduction_->divide(result.data(), count);
  if (transfer.keep != nullptr && bytes > 0) memcpy(transfer.keep, result.data(), bytes);
  if (transfer.send) {
    for (Link& link : destinations_) {
      const uint64_t flag = static_cast<uint64_t>(static_cast<uint32_t>(link.step + 1)) << 32;
      for (size_t i = 0; i < lines; ++i) {
        LlLine* line = ll_slot(link) + i;
        __atomic_store_n(&line->halves[0], flag | (result[i] & UINT32_MAX), __ATOMIC_RELAXED);
        __atomic_store_n(&line->halves[1], flag | result[i] >> 32, __ATOMIC_RELAXED);
      }
      ++link.step;
    }
  }
  if (transfer.receive) {
    for (Link& link : sources_) store_release(link.connection->head, ++link.step);
  }
  block_.scheduler->progressed();
}

Task Primitives::finish() {
  for (const Link& link : sources_) link.connection->step = link.step;
  for (const Link& link : destinations_) link.connection->step = link.step;
  for (const Link& link : destinations_) {
    if (!link.net_registered) continue;
    // The proxy says that the network has read the user's buffer.
    const auto last = link.step - static_cast<uint64_t>(shape_.steps_per_slice);
    const FifoSlot* slot = &link.connection->fifo[last % kSteps];
    while (load_volatile(&slot->size) != -1) {
      if (block_.check_abort()) co_return;
      co_await kYield;
    }
  }
}

}  // namespace weft::emulation::nccl
