// Messages arrive whole, in order, in the right buffer.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/fabric_fake/random.h"
#include "tests/support/comm_pair.h"
#include "tests/support/log_capture.h"

namespace weft::sendrecv {
namespace {

using test::Buffer;
using test::CommPair;
using test::DevicePair;
using test::LogCapture;

class SendRecvTest : public testing::Test {
 protected:
  SendRecvTest() : comms_(pair_.connect()) {}

  /// One message from end to end; returns the size that test() reported.
  int transfer(std::span<const std::byte> out, std::span<std::byte> in, int tag = 0) {
    Request* const received = test::receive(*comms_.receive, std::array{Buffer{in, tag}});
    Request* const sent = test::send(*comms_.send, out, tag);
    if (received == nullptr || sent == nullptr) return -1;
    int sent_size = -1;
    int size = -1;
    // The receiving end first: what arrives in the post is there already.
    EXPECT_EQ(test::finish(received, &size), TestStatus::kDone);
    EXPECT_EQ(test::finish(sent, &sent_size), TestStatus::kDone);
    EXPECT_EQ(sent_size, static_cast<int>(out.size()));
    return size;
  }

  DevicePair pair_;
  CommPair comms_;
};

TEST_F(SendRecvTest, EverySizeUpToAPageAndSomeLargerOnesArrive) {
  std::vector<std::size_t> sizes(4100);
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = i;
  for (const std::size_t size : {65'535UL, 65'536UL, 1'000'003UL}) sizes.push_back(size);
  std::vector<std::byte> out(sizes.back());
  std::vector<std::byte> in(sizes.back() + 1);
  for (const std::size_t size : sizes) {
    test::fill(std::span(out).first(size), size);
    in[size] = std::byte{0xee};
    ASSERT_EQ(transfer(std::span(out).first(size), std::span(in).first(size)), static_cast<int>(size));
    ASSERT_EQ(test::wrong_bytes(std::span(in).first(size), size), 0U) << size;
    ASSERT_EQ(in[size], std::byte{0xee}) << "written behind the end of " << size;
  }
}

TEST_F(SendRecvTest, ZeroBytesNeedNoBuffer) {
  EXPECT_EQ(transfer({}, {}), 0);
  EXPECT_EQ(transfer({}, {}, -1), 0);
}

TEST_F(SendRecvTest, LargerReceiveReportsWhatCame) {
  std::array<std::byte, 100> out{};
  std::array<std::byte, 1000> in{};
  test::fill(out, 5);
  EXPECT_EQ(transfer(out, in), 100);
  EXPECT_EQ(test::wrong_bytes(std::span(in).first(100), 5), 0U);
  EXPECT_EQ(std::ranges::count(std::span(in).subspan(100), std::byte{0}), 900);
  EXPECT_EQ(transfer({}, in), 0);
}

TEST_F(SendRecvTest, MessageThatComesBeforeItsReceiveWaits) {
  std::array<std::byte, 64> out{};
  std::array<std::byte, 64> in{};
  test::fill(out, 6);
  Request* const sent = test::send(*comms_.send, out);
  ASSERT_EQ(test::finish(sent, nullptr), TestStatus::kDone);
  Request* const received = test::receive(*comms_.receive, std::array{Buffer{in}});
  ASSERT_EQ(test::finish(received, nullptr), TestStatus::kDone);
  EXPECT_EQ(in, out);
}

TEST_F(SendRecvTest, EveryTagFindsItsOwnReceive) {
  constexpr std::array kTags = {0, 1, -1, 71, 4095, 4096, 65'536, 0x7fff'ffff, static_cast<int>(0x8000'0000)};
  std::vector<std::array<std::byte, 32>> out(kTags.size());
  std::vector<std::array<std::byte, 32>> in(kTags.size());
  std::vector<Request*> requests;
  for (std::size_t i = 0; i < kTags.size(); ++i) {
    requests.push_back(test::receive(*comms_.receive, std::array{Buffer{in[i], kTags[i]}}));
  }
  for (std::size_t i = kTags.size(); i-- > 0;) {
    test::fill(out[i], i);
    requests.push_back(test::send(*comms_.send, out[i], kTags[i]));
  }
  ASSERT_EQ(test::finish(requests), TestStatus::kDone);
  for (std::size_t i = 0; i < kTags.size(); ++i) EXPECT_EQ(test::wrong_bytes(in[i], i), 0U) << "tag " << kTags[i];
}

TEST_F(SendRecvTest, GroupOfEightIsFilledWhateverOrderTheSendsComeIn) {
  std::array<std::size_t, kMaxGroup> order = {0, 1, 2, 3, 4, 5, 6, 7};
  test::Random random(12);
  for (int round = 0; round < 200; ++round) {
    std::array<std::array<std::byte, 256>, kMaxGroup> out{};
    std::array<std::array<std::byte, 300>, kMaxGroup> in{};
    std::array<Buffer, kMaxGroup> buffers;
    for (std::size_t i = 0; i < kMaxGroup; ++i) buffers[i] = {in[i], static_cast<int>(i * 3)};
    for (std::size_t i = kMaxGroup; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    Request* const received = test::receive(*comms_.receive, buffers);
    std::vector<Request*> sends;
    for (const std::size_t i : order) {
      test::fill(std::span(out[i]).first(i * 30), i);
      sends.push_back(test::send(*comms_.send, std::span(out[i]).first(i * 30), static_cast<int>(i * 3)));
    }
    std::array<int, kMaxGroup> sizes{};
    ASSERT_EQ(test::finish(received, sizes.data()), TestStatus::kDone);
    ASSERT_EQ(test::finish(sends), TestStatus::kDone);
    for (std::size_t i = 0; i < kMaxGroup; ++i) {
      ASSERT_EQ(sizes[i], static_cast<int>(i * 30));
      ASSERT_EQ(test::wrong_bytes(std::span(in[i]).first(i * 30), i), 0U);
    }
  }
}

TEST_F(SendRecvTest, GroupIsDoneOnlyWithItsLastBuffer) {
  std::array<std::array<std::byte, 16>, kMaxGroup> in{};
  std::array<Buffer, kMaxGroup> buffers;
  for (std::size_t i = 0; i < kMaxGroup; ++i) buffers[i] = {in[i], static_cast<int>(i)};
  Request* const received = test::receive(*comms_.receive, buffers);
  const std::array<std::byte, 16> out{};
  for (std::size_t i = 0; i < kMaxGroup; ++i) {
    ASSERT_EQ(sendrecv::test(*received, nullptr), TestStatus::kPending) << i << " of 8 are there";
    ASSERT_EQ(test::finish(test::send(*comms_.send, out, static_cast<int>(i)), nullptr), TestStatus::kDone);
  }
  EXPECT_EQ(test::finish(received, nullptr), TestStatus::kDone);
}

TEST_F(SendRecvTest, SameTagInOneGroupIsFilledInOrder) {
  std::array<std::array<std::byte, 16>, kMaxGroup> out{};
  std::array<std::array<std::byte, 16>, kMaxGroup> in{};
  std::array<Buffer, kMaxGroup> buffers;
  // Two tags, interleaved: 5 9 5 9 ...
  for (std::size_t i = 0; i < kMaxGroup; ++i) buffers[i] = {in[i], i % 2 == 0 ? 5 : 9};
  std::vector<Request*> requests = {test::receive(*comms_.receive, buffers)};
  // All of one tag, then all of the other.
  for (const std::size_t i : {1, 3, 5, 7, 0, 2, 4, 6}) {
    test::fill(out[i], i);
    requests.push_back(test::send(*comms_.send, out[i], i % 2 == 0 ? 5 : 9));
  }
  ASSERT_EQ(test::finish(requests), TestStatus::kDone);
  for (std::size_t i = 0; i < kMaxGroup; ++i) EXPECT_EQ(test::wrong_bytes(in[i], i), 0U) << i;
}

TEST_F(SendRecvTest, ThirtyTwoGroupsOfEightAreInFlightAtOnce) {
  constexpr std::size_t kMessages = kRecvRequests * kMaxGroup;
  std::vector<std::array<std::byte, 40>> out(kMessages);
  std::vector<std::array<std::byte, 40>> in(kMessages);
  std::vector<Request*> receives;
  for (std::size_t group = 0; group < kRecvRequests; ++group) {
    std::array<Buffer, kMaxGroup> buffers;
    for (std::size_t i = 0; i < kMaxGroup; ++i) buffers[i] = {in[group * kMaxGroup + i], static_cast<int>(i % 3)};
    Request* request = nullptr;
    ASSERT_EQ(test::try_receive(*comms_.receive, buffers, request), PostStatus::kPosted) << "group " << group;
    receives.push_back(request);
  }
  Request* one_more = nullptr;
  EXPECT_EQ(test::try_receive(*comms_.receive, std::array{Buffer{}}, one_more), PostStatus::kAgain);
  EXPECT_EQ(one_more, nullptr);
  std::vector<Request*> sends;
  for (std::size_t i = 0; i < kMessages; ++i) {
    test::fill(out[i], i);
    Request* request = nullptr;
    ASSERT_EQ(test::try_send(*comms_.send, out[i], static_cast<int>(i % kMaxGroup % 3), request), PostStatus::kPosted);
    sends.push_back(request);
  }
  EXPECT_EQ(test::try_send(*comms_.send, out[0], 0, one_more), PostStatus::kAgain);
  EXPECT_EQ(one_more, nullptr);
  // Asked about in the opposite order.
  std::ranges::reverse(receives);
  ASSERT_EQ(test::finish(receives), TestStatus::kDone);
  ASSERT_EQ(test::finish(sends), TestStatus::kDone);
  for (std::size_t i = 0; i < kMessages; ++i) ASSERT_EQ(test::wrong_bytes(in[i], i), 0U) << i;
  // And the ring turns on.
  EXPECT_EQ(transfer(out[3], in[7]), 40);
}

TEST_F(SendRecvTest, FullRingAnswersAgainUntilItsOldestIsGivenBack) {
  std::vector<std::array<std::byte, 8>> in(kRecvRequests + 1);
  std::vector<Request*> receives;
  for (std::size_t i = 0; i < kRecvRequests; ++i)
    receives.push_back(test::receive(*comms_.receive, std::array{Buffer{in[i]}}));
  std::array<std::byte, 8> out{};
  std::vector<Request*> sends;
  for (std::size_t i = 0; i < 2; ++i) sends.push_back(test::send(*comms_.send, out));
  ASSERT_EQ(test::finish(sends), TestStatus::kDone);
  Request* request = nullptr;
  // The second is done and given back, but the ring is filled strictly in order.
  ASSERT_EQ(test::finish(receives[1], nullptr), TestStatus::kDone);
  EXPECT_EQ(test::try_receive(*comms_.receive, std::array{Buffer{in.back()}}, request), PostStatus::kAgain);
  ASSERT_EQ(test::finish(receives[0], nullptr), TestStatus::kDone);
  EXPECT_EQ(test::try_receive(*comms_.receive, std::array{Buffer{in.back()}}, request), PostStatus::kPosted);
}

TEST_F(SendRecvTest, TagsBesidesZeroUpToTheLimitAreTakenAndTheNextIsRefusedByName) {
  LogCapture::current().expect_warning("tag 1256 to peer");
  LogCapture::current().expect_warning("tag 1256 from peer");
  const std::array<std::byte, 8> out{};
  std::array<std::byte, 8> in{};
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(transfer(out, in, 0), 8);
    for (int tag = 1000; tag < 1256; ++tag) ASSERT_EQ(transfer(out, in, tag), 8) << tag;
  }
  Request* request = nullptr;
  EXPECT_EQ(test::try_send(*comms_.send, out, 1256, request), PostStatus::kFailed);
  EXPECT_EQ(test::try_receive(*comms_.receive, std::array{Buffer{in, 1256}}, request), PostStatus::kFailed);
  EXPECT_EQ(request, nullptr);
  for (const Comm* comm : {static_cast<Comm*>(comms_.send.get()), static_cast<Comm*>(comms_.receive.get())}) {
    EXPECT_EQ(comm->error().code, Code::kUsage);
    EXPECT_NE(comm->error().what.find("one too many"), std::string::npos) << comm->error().what;
    EXPECT_NE(comm->error().what.find("256 different tags besides 0"), std::string::npos) << comm->error().what;
  }
}

TEST_F(SendRecvTest, TagsThatHashAlikeAreKeptApart) {
  // Tags of one slot of the table: equal high bits of their products with its multiplier.
  std::vector<int> alike;
  for (std::uint32_t tag = 0; alike.size() < 40; ++tag) {
    if ((tag * 2654435769U) >> 24 == 255) alike.push_back(static_cast<int>(tag));
  }
  std::vector<std::array<std::byte, 16>> in(alike.size());
  std::array<std::byte, 16> out{};
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < alike.size(); ++i) {
      test::fill(out, i);
      ASSERT_EQ(transfer(out, in[i], alike[i]), 16);
      ASSERT_EQ(test::wrong_bytes(in[i], i), 0U);
    }
  }
}

TEST(SendRecvMemoryTest, RegisteredBuffersTravelWithTheirDescriptors) {
  test::FakeOptions options;
  options.nics.front().mr_mode = FI_MR_LOCAL;
  DevicePair pair(options);
  const CommPair comms = pair.connect();
  std::vector<std::byte> out(10'000);
  std::vector<std::byte> in(10'000);
  test::fill(out, 3);
  MemoryHandle* const out_memory = pair.near->register_memory(out.data(), out.size(), kPointerHost).value();
  MemoryHandle* const in_memory = pair.far->register_memory(in.data(), in.size(), kPointerHost).value();
  std::array<Request*, 2> requests{};
  void* data = in.data();
  const std::size_t size = in.size();
  const int tag = 4;
  void* memory = in_memory;
  ASSERT_EQ(comms.receive->receive(1, &data, &size, &tag, &memory, false, requests[0]), PostStatus::kPosted);
  ASSERT_EQ(comms.send->send(out.data(), out.size(), tag, out_memory, requests[1]), PostStatus::kPosted);
  ASSERT_EQ(test::finish(requests), TestStatus::kDone);
  EXPECT_EQ(test::wrong_bytes(in, 3), 0U);
  EXPECT_TRUE(pair.near->deregister_memory(out_memory).has_value());
  EXPECT_TRUE(pair.far->deregister_memory(in_memory).has_value());
}

TEST(SendRecvTwoWayTest, BothDirectionsAndSeveralConnectionsDoNotMix) {
  DevicePair pair;
  std::vector<CommPair> comms;
  for (int i = 0; i < 6; ++i) comms.push_back(i % 2 == 0 ? pair.connect() : test::connect(*pair.far, *pair.near));
  std::vector<std::array<std::byte, 200>> out(comms.size());
  std::vector<std::array<std::byte, 200>> in(comms.size());
  for (std::uint64_t round = 0; round < 50; ++round) {
    std::vector<Request*> requests;
    for (std::size_t i = 0; i < comms.size(); ++i) {
      test::fill(out[i], round * 100 + i);
      requests.push_back(test::send(*comms[i].send, out[i], 7));
    }
    for (std::size_t i = comms.size(); i-- > 0;) {
      requests.push_back(test::receive(*comms[i].receive, std::array{Buffer{in[i], 7}}));
    }
    ASSERT_EQ(test::finish(requests), TestStatus::kDone);
    for (std::size_t i = 0; i < comms.size(); ++i) ASSERT_EQ(test::wrong_bytes(in[i], round * 100 + i), 0U);
  }
}

}  // namespace
}  // namespace weft::sendrecv
