#pragma once

#include <functional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Which of several processes that train together this one is, and where they meet. By default it trains alone.
struct RankOptions {
  int rank = 0;        ///< from 0; rank 0 validates, logs, and writes the run folder
  int size = 1;        ///< processes in all
  int local_rank = 0;  ///< among those of this machine, which is the number of the GPU that it takes
  int local_size = 1;  ///< processes on this machine, which share its cores

  std::string address = "127.0.0.1";  ///< of rank 0's machine
  int port = 29500;                   ///< where rank 0 listens
  /// A rank that gave no sign of life for so long is lost, and all others end. Also how long ranks wait for each other
  /// at the start.
  double timeout_seconds = 60;
  std::string origin;  ///< which variables said so, for messages; empty: none did
};

/// What torchrun (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE), mpirun (OMPI_COMM_WORLD_…, PMI_…) or srun (SLURM_…)
/// put into the environment, the first of these that is there; MASTER_ADDR and MASTER_PORT for all of them. One process
/// where there is none.
/// @throws std::invalid_argument naming a variable that is missing or makes no sense.
RankOptions ranks_from_environment();

/// Runs a program once for each of `count` ranks on this machine, with RANK and its companions in the environment and
/// a free port of the loopback interface to meet at, and waits for all. Ranks do not outlive the calling thread.
///
/// `command` is the program and its arguments. A `stop_signal` other than 0 is passed on to all, once. Where a rank
/// fails, the others are told which, and are killed where they do not end within `timeout_seconds` and a little.
/// @returns 0, or the exit code of the first rank that did not end with 0: 128 + n where signal n ended it, which of
/// several that end together counts as the first.
/// @throws std::invalid_argument where `count` is less than 1, std::runtime_error where no process can be made.
int run_local_ranks(int count, const std::vector<std::string>& command, double timeout_seconds,
                    const std::function<int()>& stop_signal);

}  // namespace v0
}  // namespace transmute
