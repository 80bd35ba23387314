#include "transports/connection/rail.h"

namespace weft {

Result<std::unique_ptr<Rail>> Rail::open(const fabric::Library& library, const fabric::Info& info,
                                         std::size_t cq_entries) {
  fabric::Info copy(library.functions(), library.functions().dupinfo(info.get()));
  if (copy.get() == nullptr) return fail(Code::kSystem, "fi_dupinfo failed: out of memory");
  // The parts keep pointers to each other, so the rail is put in its final place first and filled there.
  std::unique_ptr<Rail> rail(new Rail(std::move(copy)));
  TRY(rail->domain_, fabric::Domain::open(library, rail->info_));
  TRY(rail->addresses_, fabric::AddressVector::open(*rail->domain_));
  TRY(rail->completions_, fabric::CompletionQueue::open(*rail->domain_, cq_entries));
  TRY(rail->endpoint_, fabric::Endpoint::open(*rail->domain_, *rail->completions_, *rail->addresses_));
  return rail;
}

}  // namespace weft
