#include "tests/support/rdma_pair.h"

#include <gtest/gtest.h>
#include <rdma/fi_domain.h>

#include <string>

#include "tests/support/give_up.h"

namespace weft::test {
namespace {

constexpr std::size_t kMemory = std::size_t{4} << 20;

}  // namespace

FakeOptions rdma_options(std::size_t rails) {
  FakeOptions options;
  options.nics.clear();
  for (std::size_t i = 0; i < rails; ++i) {
    FakeNic nic;
    nic.name = "efa_" + std::to_string(i);
    nic.provider = "efa";
    nic.fabric = "efa-direct";
    nic.caps |= FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    nic.mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
    options.nics.push_back(nic);
  }
  return options;
}

std::unique_ptr<Device> open_rdma_device(const FakeFabric& fake, const DeviceOptions& options) {
  const auto infos = value_or_give_up(fake.library().discover(rdma::hints("efa")));
  std::vector<const fabric::Info*> rails;
  for (const fabric::Info& each : infos) rails.push_back(&each);
  return value_or_give_up(rdma::open_device(fake.library(), rails, options));
}

void progress_rdma(Device& device) {
  const SpinGuard guard(device.lock());
  rdma::Adapter::of(device).progress();
}

RdmaPair::RdmaPair(std::size_t rails, const DeviceOptions& options)
    : fake(rdma_options(rails)),
      near(open_rdma_device(fake, options)),
      far(open_rdma_device(fake, options)),
      rails_(rails),
      out_(kMemory),
      in_(kMemory) {
  Handle handle{};
  const auto listener = value_or_give_up(rdma::listen(*far, handle));
  while (!sender || !receiver) {
    if (!sender) sender = value_or_give_up(rdma::connect(*near, handle));
    if (!receiver) receiver = value_or_give_up(rdma::accept(*listener));
  }
  out_memory_ = value_or_give_up(near->register_memory(out_.data(), out_.size(), kPointerHost));
  in_memory_ = value_or_give_up(far->register_memory(in_.data(), in_.size(), kPointerHost));
}

RdmaPair::~RdmaPair() {
  close_sender();
  close_receiver();
  EXPECT_TRUE(near->deregister_memory(out_memory_).has_value());
  EXPECT_TRUE(far->deregister_memory(in_memory_).has_value());
}

void RdmaPair::close_sender() {
  if (sender) rdma::close(std::move(sender));
}

void RdmaPair::close_receiver() {
  if (receiver) rdma::close(std::move(receiver));
}

rdma::Request* RdmaPair::try_send(std::span<const std::byte> bytes, int tag) {
  rdma::Request* request = nullptr;
  sender->send(bytes.data(), bytes.size(), tag, out_memory_, request);
  return request;
}

rdma::Request* RdmaPair::send(std::span<const std::byte> bytes, int tag) {
  rdma::Request* request = nullptr;
  poll_until([&] { return (request = try_send(bytes, tag)) != nullptr || sender->failed(); });
  return request;
}

rdma::Request* RdmaPair::try_receive(std::span<const Buffer> buffers, bool optional) {
  std::array<void*, rdma::kMaxGroup> data{};
  std::array<std::size_t, rdma::kMaxGroup> sizes{};
  std::array<int, rdma::kMaxGroup> tags{};
  std::array<void*, rdma::kMaxGroup> memory{};
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    data[i] = buffers[i].bytes.data();
    sizes[i] = buffers[i].bytes.size();
    tags[i] = buffers[i].tag;
    memory[i] = in_memory_;
  }
  rdma::Request* request = nullptr;
  receiver->receive(static_cast<int>(buffers.size()), data.data(), sizes.data(), tags.data(), memory.data(), optional,
                    request);
  return request;
}

TestStatus finish(std::span<rdma::Request* const> requests) {
  std::vector<rdma::Request*> left(requests.begin(), requests.end());
  auto outcome = TestStatus::kPending;
  poll_until([&] {
    std::erase_if(left, [&](rdma::Request* each) {
      const TestStatus status = rdma::test(*each, nullptr);
      if (status == TestStatus::kFailed) outcome = TestStatus::kFailed;
      return status == TestStatus::kDone;
    });
    return left.empty() || outcome == TestStatus::kFailed;
  });
  return left.empty() ? TestStatus::kDone : outcome;
}

}  // namespace weft::test
