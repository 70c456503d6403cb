// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>

#include <string>

namespace transmute {
inline namespace v0 {

/// Which of several processes that train together this one is, and where they meet. By default it trains alone.
struct RankOptions {
  int rank = 0;        ///< from 0; rank 0 validates, logs, and writes the run folder
  int size = 1;        ///< processes in all
  int local_rank = 0;  ///< among those of this machine, which is the number of the GPU that it takes
  int local_size = 1;  ///< processes on this machine, which share its cores

  std::string address = "127.0.0.1";  ///< address of rank 0's machine
  int port = 29500;                   ///< where rank 0 listens
  /// Known to all ranks and to nobody else: whoever does not know it can neither read nor write their messages at the
  /// meeting point. Empty: everybody can.
  std::string secret;
  /// A rank that gave no sign of life for so long is lost, and all others end. Also how long ranks wait for each other
  /// at the start.
  double timeout_seconds = 60;
  std::string origin;  ///< which variables said so, for messages; empty: none did
};

/// The variable that has RankOptions::secret.
constexpr const char* kSecretVariable = "TRANSMUTE_RANK_SECRET";

/// What torchrun (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE), mpirun (OMPI_COMM_WORLD_…, PMI_…) or srun (SLURM_…)
/// put into the environment, the first of these that is there; MASTER_ADDR, MASTER_PORT and TRANSMUTE_RANK_SECRET for
/// all of them. One process where there is none.
/// @throws std::invalid_argument naming a variable that is missing or makes no sense.
TRANSMUTE_API RankOptions ranks_from_environment();

}  // namespace v0
}  // namespace transmute
