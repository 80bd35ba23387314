#include "transports/rdma/comm.h"

namespace weft::rdma {

Connection::Connection(Adapter& adapter, Peer* peer, Paths* paths, BlockRef block)
    : Comm(adapter.device(), peer), adapter_(adapter), paths_(paths), block_(block) {
  paths_->watch(*this);
}

Connection::~Connection() {
  paths_->unwatch(*this);
  paths_->release();
  adapter_.blocks().give(block_);
}

void Connection::on_peer_failed(const Error& error) {
  // From the control channel, which knows the lead rail only; or from the paths, when none is left.
  if (paths_->up() != 0 && !device().lost()) paths_->lead_failed(error);
  if (paths_->up() == 0 || device().lost()) Comm::on_peer_failed(error);
}

}  // namespace weft::rdma
