// Compiles only if layout.h agrees with NCCL's own headers. Never linked.
#include "collectives.h"
#include "device.h"
#include "nccl/layout.h"

namespace ours = weft::emulation::nccl;

#define SAME_SIZE(theirs, own) static_assert(sizeof(theirs) == sizeof(ours::own), #theirs)
#define SAME_PLACE(theirs, field, own, own_field) \
  static_assert(offsetof(theirs, field) == offsetof(ours::own, own_field), #theirs "." #field)
#define SAME_VALUE(theirs, own) static_assert(static_cast<long>(theirs) == static_cast<long>(ours::own), #theirs)

SAME_SIZE(ncclConnInfo, Connection);
SAME_PLACE(ncclConnInfo, tail, Connection, tail);
SAME_PLACE(ncclConnInfo, head, Connection, head);
SAME_PLACE(ncclConnInfo, flags, Connection, flags);
SAME_PLACE(ncclConnInfo, stepSize, Connection, step_size);
SAME_PLACE(ncclConnInfo, connFifo, Connection, fifo);
SAME_PLACE(ncclConnInfo, step, Connection, step);
SAME_SIZE(ncclConnFifo, FifoSlot);
SAME_PLACE(ncclConnFifo, mode, FifoSlot, mode);
SAME_PLACE(ncclConnFifo, offset, FifoSlot, offset);
SAME_PLACE(ncclConnFifo, size, FifoSlot, size);
SAME_SIZE(ncclDevChannelPeer, ChannelPeer);
SAME_PLACE(ncclDevChannelPeer, recv, ChannelPeer, recv);
SAME_SIZE(ncclRing, Ring);
SAME_PLACE(ncclRing, userRanks, Ring, user_ranks);
SAME_PLACE(ncclRing, index, Ring, index);
SAME_SIZE(ncclTree, Tree);
SAME_PLACE(ncclTree, up, Tree, up);
SAME_PLACE(ncclTree, down, Tree, down);
SAME_SIZE(ncclDevChannel, Channel);
SAME_PLACE(ncclDevChannel, ring, Channel, ring);
SAME_PLACE(ncclDevChannel, tree, Channel, tree);
SAME_PLACE(ncclDevChannel, workCounter, Channel, work_counter);
SAME_SIZE(ncclKernelComm, Communicator);
SAME_PLACE(ncclKernelComm, nRanks, Communicator, ranks);
SAME_PLACE(ncclKernelComm, buffSizes, Communicator, buffer_sizes);
SAME_PLACE(ncclKernelComm, p2pChunkSize, Communicator, p2p_chunk_size);
SAME_PLACE(ncclKernelComm, abortFlag, Communicator, abort_flag);
SAME_PLACE(ncclKernelComm, channels, Communicator, channels);
SAME_SIZE(ncclKernelCommAndChannels, CommunicatorAndChannels);
SAME_PLACE(ncclKernelCommAndChannels, channels, CommunicatorAndChannels, channels);
SAME_SIZE(ncclDevKernelArgs, KernelArguments);
SAME_PLACE(ncclDevKernelArgs, channelMask, KernelArguments, channel_mask);
SAME_PLACE(ncclDevKernelArgs, workStorageType, KernelArguments, storage);
SAME_PLACE(ncclDevKernelArgs, workMask, KernelArguments, work_mask);
SAME_PLACE(ncclDevKernelArgs, workBuf, KernelArguments, work_buffer);
SAME_SIZE(ncclDevWorkBatch, WorkBatch);
SAME_PLACE(ncclDevWorkBatch, offsetBase, WorkBatch, offset_base);
SAME_PLACE(ncclDevWorkBatch, offsetBitset, WorkBatch, offset_bits);
SAME_SIZE(ncclDevWorkP2p, PointToPointWork);
SAME_PLACE(ncclDevWorkP2p, sendBytes, PointToPointWork, send_bytes);
SAME_PLACE(ncclDevWorkP2p, sendRank, PointToPointWork, send_rank);
SAME_PLACE(ncclDevWorkP2p, nP2pChannels, PointToPointWork, channels);
SAME_SIZE(ncclDevWorkColl, CollectiveWork);
SAME_PLACE(ncclDevWorkColl, root, CollectiveWork, root);
SAME_PLACE(ncclDevWorkColl, recvbuff, CollectiveWork, recv_buffer);
SAME_PLACE(ncclDevWorkColl, sendbuff, CollectiveWork, send_buffer);
SAME_PLACE(ncclDevWorkColl, cbd, CollectiveWork, count_low);
SAME_PLACE(ncclDevWorkColl, redOpArg, CollectiveWork, reduction_argument);
static_assert(sizeof(ncclDevWorkCollReg) == ours::kRegisteredCollectiveSize, "ncclDevWorkCollReg");
SAME_VALUE(MAXCHANNELS, kMaxChannels);
SAME_VALUE(NCCL_STEPS, kSteps);
SAME_VALUE(NCCL_NUM_PROTOCOLS, kProtocols);
SAME_VALUE(NCCL_PROTO_LL, kProtocolLl);
SAME_VALUE(NCCL_PROTO_LL128, kProtocolLl128);
SAME_VALUE(NCCL_PROTO_SIMPLE, kProtocolSimple);
SAME_VALUE(ncclNumTypes, kTypes);
SAME_VALUE(NCCL_MAX_TREE_ARITY, kMaxTreeArity);
SAME_VALUE(NCCL_MODE_NORMAL, kModeNormal);
SAME_VALUE(NCCL_MODE_OFFSET, kModeOffset);
SAME_VALUE(NCCL_DIRECT_NIC, kFlagDirectNic);
SAME_VALUE(NCCL_MAX_NET_SIZE, kMaxNetSize);
SAME_VALUE(ncclDevWorkStorageTypeArgs, WorkStorage::kArguments);
SAME_VALUE(ncclDevWorkStorageTypeFifo, WorkStorage::kFifo);
SAME_VALUE(ncclDevWorkTypeP2p, WorkType::kPointToPoint);
SAME_VALUE(ncclDevWorkTypeColl, WorkType::kCollective);
SAME_VALUE(ncclDevWorkTypeCollReg, WorkType::kRegisteredCollective);
