#include "tests/lab/scenario.h"

#include <csignal>
#include <cstdio>
#include <vector>

#include "tests/lab/rank.h"

namespace weft::lab {
namespace {

size_t run_all(const Options& options, std::vector<Rank>& ranks, int size) {
  size_t wrong = 0;
  Options now = options;
  for (const std::string& name : options.collectives) {
    for (const Element element : options.elements) {
      now.element = element;
      for (const Operation operation : options.operations) {
        now.operation = operation;
        wrong += run_collective(name, now, ranks, size);
      }
    }
  }
  return wrong;
}

size_t collectives(const Options& options, World& world) {
  std::vector<Rank> ranks = make_ranks(options, world, 0);
  return run_all(options, ranks, options.ranks());
}

// Communicators one after the other in one process: NCCL unloads the plugin with the last one and loads it again.
size_t recreate(const Options& options, World& world) {
  size_t wrong = 0;
  for (int id = 0; id < 3; ++id) {
    std::vector<Rank> ranks = make_ranks(options, world, id);
    wrong += run_all(options, ranks, options.ranks());
    ranks.clear();
    meet(world, id, options.processes);
  }
  return wrong;
}

// The even ranks and the odd ones get communicators of their own, while the whole one lives and is used again.
size_t split(const Options& options, World& world) {
  expect(options.gpus == 1 && options.processes % 2 == 0, "split wants one GPU in each of an even number of processes");
  std::vector<Rank> all = make_ranks(options, world, 0);
  ncclComm_t half = nullptr;
  WEFT_OK(ncclCommSplit(all[0].communicator(), options.process % 2, options.process, &half, nullptr));
  int size = 0;
  WEFT_OK(ncclCommCount(half, &size));
  expect(size == options.processes / 2, "half of the ranks are in each communicator");
  size_t wrong = 0;
  {
    std::vector<Rank> halves;
    halves.emplace_back(options.process / 2, 0, half, options.buffer_bytes(), options.registered);
    wrong += run_all(options, halves, size);
    wrong += run_all(options, all, options.ranks());
  }
  return wrong + run_all(options, all, options.ranks());
}

// The last rank does not join a collective. The others give up on it; with `dies` when NCCL tells that it is gone.
size_t abort_collective(const Options& options, World& world, bool dies) {
  std::vector<Rank> ranks = make_ranks(options, world, 0);
  const size_t wrong = run_all(options, ranks, options.ranks());
  meet(world, 0, options.processes);
  if (options.process == options.processes - 1) {
    // Dies only when the others are in the collective.
    wait_until([&] { return world.arrived[1] >= options.processes - 1; });
    if (dies) raise(SIGKILL);
  } else {
    for (const Rank& rank : ranks) {
      WEFT_OK(ncclAllReduce(rank.in(), rank.out(), options.max_bytes / 4, ncclFloat, ncclSum, rank.communicator(),
                            rank.stream()));
    }
    ++world.arrived[1];
    if (dies) {
      ncclResult_t error = ncclSuccess;
      wait_until([&] {
        WEFT_OK(ncclCommGetAsyncError(ranks[0].communicator(), &error));
        return error != ncclSuccess && error != ncclInProgress;
      });
      printf("rank %d sees: %s\n", ranks[0].rank(), ncclGetErrorString(error));
    } else {
      expect(cudaStreamQuery(ranks[0].stream()) == cudaErrorNotReady, "the collective waits for the rank");
    }
  }
  for (Rank& rank : ranks) {
    WEFT_OK(ncclCommAbort(rank.communicator()));
    rank.forget_communicator();
    WEFT_OK(cudaStreamSynchronize(rank.stream()));
  }
  return wrong;
}

}  // namespace

int run_scenario(const Options& options, World& world) {
  size_t wrong = 0;
  if (options.scenario == "collectives") {
    wrong = collectives(options, world);
  } else if (options.scenario == "recreate") {
    wrong = recreate(options, world);
  } else if (options.scenario == "split") {
    wrong = split(options, world);
  } else if (options.scenario == "abort") {
    wrong = abort_collective(options, world, false);
  } else if (options.scenario == "kill") {
    wrong = abort_collective(options, world, true);
  } else {
    fail("no such scenario", options.scenario.c_str());
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace weft::lab
