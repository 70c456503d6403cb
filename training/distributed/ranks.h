// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>

#include <string>

namespace transmute {
inline namespace v0 {

/// This process's place among several that train together, and the address through which they find each other. By
/// default it trains alone.
struct RankOptions {
  int rank = 0;        ///< from 0; rank 0 validates, logs, and writes the run folder
  int size = 1;        ///< number of processes
  int local_rank = 0;  ///< rank among this machine's processes; also the number of its GPU
  int local_size = 1;  ///< number of processes on this machine, which share its cores

  std::string address = "127.0.0.1";  ///< address of rank 0's machine
  int port = 29500;                   ///< port on which rank 0 listens
  /// A secret shared by all ranks. Nobody without it can read or write the messages in their rendezvous store. Empty:
  /// no protection.
  std::string secret;
  /// If a rank is silent for this long, it is considered lost and all others end. Also the time for which ranks wait
  /// for each other at the start.
  double timeout_seconds = 60;
  std::string origin;  ///< the variables that set these options, for messages; empty: none
};

/// The environment variable of RankOptions::secret.
constexpr const char* kSecretVariable = "TRANSMUTE_RANK_SECRET";

/// Reads the environment set by torchrun (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE), mpirun (OMPI_COMM_WORLD_…,
/// or PMI_… with MPI_LOCALRANKID), srun (SLURM_…) or another launcher that sets PMI_…, whichever comes first in this
/// order, and for all of them MASTER_ADDR, MASTER_PORT and TRANSMUTE_RANK_SECRET. Without a launcher: one process.
/// @throws std::invalid_argument naming a variable that is missing or invalid.
TRANSMUTE_API RankOptions ranks_from_environment();

}  // namespace v0
}  // namespace transmute
