// The fake fabric behaves as libfabric's manual pages say: fi_tagged(3), fi_msg(3), fi_cq(3), fi_endpoint(3), fi_av(3).
#include "tests/fabric_fake/fake_fabric.h"

#include <gtest/gtest.h>
#include <rdma/fi_cm.h>

#include "tests/support/fabric_pair.h"

namespace weft::test {
namespace {

class FakeFabricTest : public FabricPair {};

TEST_F(FakeFabricTest, MessageMayComeBeforeItsReceive) {
  ASSERT_NO_FATAL_FAILURE(start());
  send("early", 4);
  EXPECT_EQ(fake->unexpected_messages(2), 1U);
  EXPECT_TRUE(a->read().has_value()) << "a short message is out once it has arrived";
  std::string& into = room();
  receive(into, 4);
  EXPECT_EQ(fake->unexpected_messages(2), 0U);
  const auto done = b->read();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->len, 5U);
  EXPECT_EQ(into.substr(0, 6), "early.");
}

TEST_F(FakeFabricTest, LongMessageWaitsForItsReceive) {
  FakeOptions options;
  options.eager_bytes = 8;
  ASSERT_NO_FATAL_FAILURE(start(options));
  send("longer than eight", 4);
  EXPECT_FALSE(a->read().has_value());
  std::string& into = room(17);
  receive(into, 4);
  EXPECT_TRUE(a->read().has_value());
  EXPECT_TRUE(b->read().has_value());
  EXPECT_EQ(into, "longer than eight");
}

TEST_F(FakeFabricTest, EmptyMessageArrives) {
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_EQ(b->endpoint->tagged_receive(nullptr, 0, nullptr, 1, operation()).status, PostStatus::kPosted);
  ASSERT_EQ(a->endpoint->tagged_send(nullptr, 0, nullptr, to_b, 1, operation()).status, PostStatus::kPosted);
  const auto done = b->read();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->len, 0U);
  send("", 2);  // and the other way round
  ASSERT_EQ(b->endpoint->tagged_receive(nullptr, 0, nullptr, 2, operation()).status, PostStatus::kPosted);
  EXPECT_TRUE(b->read().has_value());
}

TEST_F(FakeFabricTest, OneTagMatchesInOrder) {
  ASSERT_NO_FATAL_FAILURE(start());
  std::string& first = room(1);
  std::string& second = room(1);
  receive(first);
  receive(second);
  send("1");
  send("2");
  EXPECT_EQ(first + second, "12");
  send("3");
  send("4");
  receive(first);
  receive(second);
  EXPECT_EQ(first + second, "34");
}

TEST_F(FakeFabricTest, IgnoredBitsMatchAnything) {
  ASSERT_NO_FATAL_FAILURE(start());
  std::string& into = room(1);
  fabric::Operation& wildcard = operation();
  ASSERT_EQ(fi_trecv(b->endpoint->get(), into.data(), 1, nullptr, FI_ADDR_UNSPEC, 0x100, 0xff, &wildcard), 0);
  send("n", 0x207);
  EXPECT_EQ(into, ".");
  send("y", 0x107);
  EXPECT_EQ(into, "y");
  const auto done = b->read();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->tag, 0x107U);
}

TEST_F(FakeFabricTest, TaggedAndUntaggedNeverMeet) {
  ASSERT_NO_FATAL_FAILURE(start());
  std::string& untagged = room(1);
  std::string& tagged = room(1);
  b->endpoint->receive(untagged.data(), 1, nullptr, operation());
  receive(tagged, 0);
  send("t", 0);
  EXPECT_EQ(tagged, "t");
  EXPECT_EQ(untagged, ".");
  const std::string& plain = buffer("u");
  a->endpoint->send(plain.data(), 1, nullptr, to_b, operation());
  EXPECT_EQ(untagged, "u");
}

TEST_F(FakeFabricTest, DirectedReceiveTakesItsSenderOnly) {
  ASSERT_NO_FATAL_FAILURE(start());
  std::string& into = room(1);
  const auto self = b->know(*b);
  ASSERT_TRUE(self.has_value());
  ASSERT_EQ(fi_trecv(b->endpoint->get(), into.data(), 1, nullptr, to_a, 0, 0, &operation()), 0);
  const std::string& own = buffer("b");
  b->endpoint->tagged_send(own.data(), 1, nullptr, *self, 0, operation());
  EXPECT_EQ(into, ".");
  send("a");
  EXPECT_EQ(into, "a");
}

TEST_F(FakeFabricTest, TruncationFillsTheBufferAndNothingBeyond) {
  ASSERT_NO_FATAL_FAILURE(start());
  std::string& into = room(8);
  ASSERT_EQ(b->endpoint->tagged_receive(into.data(), 3, nullptr, 0, operation(9)).status, PostStatus::kPosted);
  send("abcdef");
  EXPECT_EQ(into, "abc.....");
  const auto error = b->read_error();
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->error, FI_ETRUNC);
  EXPECT_EQ(error->length, 3U);
  EXPECT_EQ(error->overflow, 3U);
  EXPECT_TRUE(a->read().has_value());
}

TEST_F(FakeFabricTest, CancelledReceiveTakesNothingAnyMore) {
  ASSERT_NO_FATAL_FAILURE(start());
  std::string& gone = room(1);
  fabric::Operation& cancelled = operation();
  b->endpoint->tagged_receive(gone.data(), 1, nullptr, 0, cancelled);
  EXPECT_EQ(fake->posted_receives(2), 1U);
  EXPECT_TRUE(b->endpoint->cancel(cancelled));
  EXPECT_EQ(fake->posted_receives(2), 0U);
  send("x");
  EXPECT_EQ(gone, ".");
  EXPECT_EQ(fake->unexpected_messages(2), 1U);
}

TEST_F(FakeFabricTest, SendsCannotBeCancelled) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().delivery = Delivery::kManual;
  fabric::Operation& sent = operation();
  a->endpoint->tagged_send("x", 1, nullptr, to_b, 0, sent);
  EXPECT_FALSE(a->endpoint->cancel(sent));
  fake->run_until_idle();
  EXPECT_TRUE(a->read().has_value());
}

TEST_F(FakeFabricTest, TooLongMessageIsRefused) {
  FakeOptions options;
  options.nics = {{.max_message = 4}};
  ASSERT_NO_FATAL_FAILURE(start(options));
  EXPECT_EQ(send("12345").error, FI_EMSGSIZE);
  EXPECT_EQ(send("1234").status, PostStatus::kPosted);
}

TEST_F(FakeFabricTest, SmallPoolOfMessagesSaysAgain) {
  FakeOptions options;
  options.flights = 2;
  ASSERT_NO_FATAL_FAILURE(start(options));
  fake->faults().delivery = Delivery::kManual;
  EXPECT_EQ(send("1").status, PostStatus::kPosted);
  EXPECT_EQ(send("2").status, PostStatus::kPosted);
  EXPECT_EQ(send("3").status, PostStatus::kAgain);
}

TEST_F(FakeFabricTest, CompletionsSayWhatTheyAreOf) {
  ASSERT_NO_FATAL_FAILURE(start());
  std::string& into = room(1);
  receive(into, 3);
  send("x", 3);
  const auto sent = a->read();
  const auto received = b->read();
  ASSERT_TRUE(sent.has_value() && received.has_value());
  EXPECT_EQ(sent->flags, FI_TAGGED | FI_SEND);
  EXPECT_EQ(received->flags, FI_TAGGED | FI_RECV);
  EXPECT_EQ(received->buf, into.data());
}

TEST_F(FakeFabricTest, ReadingNothingAsksForProgressOnly) {
  ASSERT_NO_FATAL_FAILURE(start());
  EXPECT_EQ(fi_cq_read(a->completions->get(), nullptr, 0), -FI_EAGAIN);
  send("x");
  EXPECT_EQ(fi_cq_read(a->completions->get(), nullptr, 0), 0);
  EXPECT_TRUE(a->read().has_value());
}

TEST_F(FakeFabricTest, ShortEntryFormatsArePrefixes) {
  ASSERT_NO_FATAL_FAILURE(start());
  fi_cq_attr attributes{};
  attributes.format = FI_CQ_FORMAT_CONTEXT;
  attributes.wait_obj = FI_WAIT_NONE;
  fid_cq* cq = nullptr;
  ASSERT_EQ(fi_cq_open(a->domain->get(), &attributes, &cq, nullptr), 0);
  fid_ep* ep = nullptr;
  ASSERT_EQ(fi_endpoint(a->domain->get(), a->info.get(), &ep, nullptr), 0);
  ASSERT_EQ(fi_ep_bind(ep, &a->addresses->get()->fid, 0), 0);
  ASSERT_EQ(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), 0);
  ASSERT_EQ(fi_enable(ep), 0);
  fabric::Operation& first = operation();
  fabric::Operation& second = operation();
  ASSERT_EQ(fi_send(ep, nullptr, 0, nullptr, to_b, &first), 0);
  ASSERT_EQ(fi_send(ep, nullptr, 0, nullptr, to_b, &second), 0);
  fi_cq_entry entries[2] = {};
  ASSERT_EQ(fi_cq_read(cq, entries, 2), 2);
  EXPECT_EQ(entries[0].op_context, &first);
  EXPECT_EQ(entries[1].op_context, &second);
  EXPECT_EQ(fi_close(&cq->fid), -FI_EBUSY) << "an endpoint is bound to it";
  EXPECT_EQ(fi_close(&ep->fid), 0);
  EXPECT_EQ(fi_close(&cq->fid), 0);
}

TEST_F(FakeFabricTest, EndpointNeedsItsPartsBeforeItStarts) {
  ASSERT_NO_FATAL_FAILURE(start());
  fid_ep* ep = nullptr;
  ASSERT_EQ(fi_endpoint(a->domain->get(), a->info.get(), &ep, nullptr), 0);
  EXPECT_EQ(fi_enable(ep), -FI_ENOAV);
  ASSERT_EQ(fi_ep_bind(ep, &a->addresses->get()->fid, 0), 0);
  EXPECT_EQ(fi_enable(ep), -FI_ENOCQ);
  char name[kFakeAddressBytes];
  std::size_t size = sizeof name;
  EXPECT_EQ(fi_getname(&ep->fid, name, &size), -FI_EOPBADSTATE);
  EXPECT_EQ(fi_send(ep, nullptr, 0, nullptr, to_b, &operation()), -FI_EOPBADSTATE);
  EXPECT_EQ(fi_recv(ep, nullptr, 0, nullptr, FI_ADDR_UNSPEC, &operation()), -FI_EOPBADSTATE);
  EXPECT_EQ(fi_close(&ep->fid), 0);
}

TEST_F(FakeFabricTest, NameThatDoesNotFitTellsItsSize) {
  ASSERT_NO_FATAL_FAILURE(start());
  char name[kFakeAddressBytes];
  std::size_t size = 4;
  EXPECT_EQ(fi_getname(&a->endpoint->get()->fid, name, &size), -FI_ETOOSMALL);
  EXPECT_EQ(size, kFakeAddressBytes);
}

TEST_F(FakeFabricTest, AddressInsertedTwiceIsRemovedTwice) {
  ASSERT_NO_FATAL_FAILURE(start());
  const auto again = a->know(*b);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(*again, to_b);
  a->addresses->remove(to_b);
  EXPECT_EQ(send("x").status, PostStatus::kPosted);
  a->addresses->remove(to_b);
  fi_addr_t gone = to_b;
  EXPECT_EQ(fi_av_remove(a->addresses->get(), &gone, 1, 0), -FI_EINVAL);
}

TEST_F(FakeFabricTest, LookupGivesTheAddressBack) {
  ASSERT_NO_FATAL_FAILURE(start());
  std::byte address[kFakeAddressBytes];
  std::size_t size = sizeof address;
  ASSERT_EQ(fi_av_lookup(a->addresses->get(), to_b, address, &size), 0);
  EXPECT_EQ(FakeFabric::endpoint_of(address), 2U);
}

TEST_F(FakeFabricTest, CloseForgetsWhatIsUnderWay) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().delivery = Delivery::kManual;
  send("never");
  std::string& into = room();
  b->endpoint->tagged_receive(into.data(), into.size(), nullptr, 0, operation());
  a->endpoint.reset();
  EXPECT_EQ(fake->in_flight(), 0U);
  EXPECT_EQ(fake->run_until_idle(), 0U);
  EXPECT_FALSE(b->read().has_value());
}

TEST_F(FakeFabricTest, CloseTakesBackALongMessageThatWaits) {
  FakeOptions options;
  options.eager_bytes = 2;
  ASSERT_NO_FATAL_FAILURE(start(options));
  send("long");
  EXPECT_EQ(fake->unexpected_messages(2), 1U);
  a->endpoint.reset();
  EXPECT_EQ(fake->unexpected_messages(2), 0U);
}

TEST_F(FakeFabricTest, ShortMessageOutlivesItsSender) {
  ASSERT_NO_FATAL_FAILURE(start());
  send("kept");
  a->endpoint.reset();
  std::string& into = room(4);
  receive(into);
  EXPECT_EQ(into, "kept");
}

TEST_F(FakeFabricTest, InfoIsCopiedWhole) {
  ASSERT_NO_FATAL_FAILURE(start());
  const auto functions = FakeFabric::functions();
  fi_info* const copy = functions.dupinfo(a->info.get());
  EXPECT_STREQ(copy->domain_attr->name, "fake0");
  EXPECT_NE(copy->domain_attr->name, a->info.get()->domain_attr->name);
  EXPECT_NE(copy->ep_attr, a->info.get()->ep_attr);
  EXPECT_EQ(copy->ep_attr->max_msg_size, a->info.get()->ep_attr->max_msg_size);
  EXPECT_NE(copy->nic, a->info.get()->nic);
  EXPECT_EQ(copy->nic->link_attr->speed, 100'000'000'000U);
  functions.freeinfo(copy);
  fi_info* const empty = functions.dupinfo(nullptr);
  EXPECT_NE(empty->tx_attr, nullptr);
  EXPECT_NE(empty->rx_attr, nullptr);
  EXPECT_EQ(empty->caps, 0U);
  functions.freeinfo(empty);
}

TEST_F(FakeFabricTest, NothingIsOfferedThatTheHintsRuleOut) {
  FakeOptions options;
  options.nics = {{.mr_mode = FI_MR_LOCAL, .mode = FI_CONTEXT}};
  const FakeFabric strict(options);
  const auto functions = FakeFabric::functions();
  fi_info* const hints = functions.dupinfo(nullptr);
  fi_info* found = nullptr;
  const auto ask = [&] { return functions.getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &found); };
  hints->caps = FI_MSG;
  hints->mode = FI_CONTEXT;
  EXPECT_EQ(ask(), -FI_ENODATA) << "registration is needed";
  hints->domain_attr->mr_mode = FI_MR_LOCAL;
  ASSERT_EQ(ask(), 0);
  functions.freeinfo(found);
  hints->mode = 0;
  EXPECT_EQ(ask(), -FI_ENODATA) << "contexts are needed";
  hints->mode = FI_CONTEXT;
  hints->ep_attr->type = FI_EP_MSG;
  EXPECT_EQ(ask(), -FI_ENODATA) << "datagrams are all there is";
  functions.freeinfo(hints);
}

}  // namespace
}  // namespace weft::test
