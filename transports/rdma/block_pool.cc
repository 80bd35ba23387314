#include "transports/rdma/block_pool.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace weft::rdma {
namespace {

constexpr std::size_t kSlabBytes = BlockPool::kPerSlab * sizeof(Block);

}  // namespace

BlockPool::~BlockPool() {
  for (auto& slab : slabs_) {
    slab->rails.regions.clear();
    munmap(slab->data, kSlabBytes);
  }
}

Status BlockPool::grow() {
  // Pages of their own, which a child of fork() does not get: the NIC must go on seeing ours.
  void* data = mmap(nullptr, kSlabBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return fail(Code::kSystem, errno, "no memory for the mailboxes of new connections");
  (void)madvise(data, kSlabBytes, MADV_DONTFORK);
  auto slab = std::make_unique<Slab>();
  slab->data = static_cast<std::byte*>(data);
  constexpr std::uint64_t kAccess = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  auto rails = RailRegions::open(domains_, {.data = data, .size = kSlabBytes}, kAccess);
  if (!rails) {
    munmap(data, kSlabBytes);
    return std::unexpected(rails.error());
  }
  slab->rails = std::move(*rails);
  for (std::size_t i = kPerSlab; i-- > 0;) {
    fresh_.push_back({reinterpret_cast<Block*>(slab->data + i * sizeof(Block)), slab.get()});
  }
  slabs_.push_back(std::move(slab));
  return {};
}

Result<BlockRef> BlockPool::take() {
  if (fresh_.empty() && !resting_.empty()) {
    const bool rested = std::chrono::steady_clock::now() - resting_.front().since >= kRest;
    if (rested || blocks() >= kManyBlocks) {
      fresh_.push_back(resting_.front().block);
      resting_.pop_front();
    }
  }
  if (fresh_.empty()) TRY_VOID(grow());
  const BlockRef block = fresh_.back();
  fresh_.pop_back();
  std::memset(static_cast<void*>(block.block), 0, sizeof(Block));
  return block;
}

void BlockPool::give(BlockRef block) noexcept { resting_.push_back({block, std::chrono::steady_clock::now()}); }

}  // namespace weft::rdma
