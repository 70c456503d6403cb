// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/distributed/ranks.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/parsed_number.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

namespace transmute {
inline namespace v0 {

namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = name == nullptr ? nullptr : std::getenv(name);
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

std::optional<int> number(const char* name, int least, int most) {
  const auto text = variable(name);
  if (!text) return std::nullopt;
  const auto value = parsed_number<int>(*text);
  if (!value || *value < least || *value > most)
    throw std::invalid_argument(fmt::format("the environment says {}={}, which should be a whole number from {} to {}",
                                            name, *text, least, most));
  return value;
}

// The names that one launcher gives to the same four values.
struct Names {
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
  bool needs_local_rank = false;  // used only if the other one is set too
};

constexpr Names kLaunchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    // These come before Slurm's: processes that mpirun starts within a job inherit the variables of the job's script,
    // which are rank 0's. srun sets PMI's as well, but not the local ones.
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", true},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", nullptr},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
};
constexpr int kMaxRanks = 1 << 16;
constexpr int kMaxPort = 65535;
constexpr size_t kLeastSecret = 16, kMostSecret = 256;

// The number of tasks on each node. Slurm lists them in order: "2(x3),1" means 2, 2, 2 and 1. 1 if the text cannot be
// parsed.
int slurm_tasks_of_this_node() {
  std::istringstream counts(variable("SLURM_STEP_TASKS_PER_NODE").value_or(""));
  int nodes_before = number("SLURM_NODEID", 0, kMaxRanks).value_or(kMaxRanks);
  for (std::string item; std::getline(counts, item, ',');) {
    int tasks = 0, nodes = 1;
    if (std::sscanf(item.c_str(), "%d(x%d)", &tasks, &nodes) < 1 || tasks < 1 || nodes < 1) return 1;
    if (nodes_before < nodes) return tasks;
    nodes_before -= nodes;
  }
  return 1;
}

// torchrun's own store occupies the port and speaks the protocol of its own version of torch; ours takes the next port.
int port_of_environment(int otherwise) {
  const int port = number("MASTER_PORT", 1, kMaxPort - 1).value_or(otherwise);
  return variable("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True" ? port + 1 : port;
}

std::string secret_of_environment() {
  const std::string secret = variable(kSecretVariable).value_or("");
  const bool is_printable = std::all_of(secret.begin(), secret.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (secret.empty() || (is_printable && secret.size() >= kLeastSecret && secret.size() <= kMostSecret)) return secret;
  throw std::invalid_argument(
      fmt::format("{} needs {} to {} printable characters without spaces, the same for all ranks; for example what "
                  "\"openssl rand -hex 16\" prints",
                  kSecretVariable, kLeastSecret, kMostSecret));
}

}  // namespace

RankOptions ranks_from_environment() {
  for (const Names& names : kLaunchers) {
    if (names.needs_local_rank && !variable(names.local_rank)) continue;
    const auto rank = number(names.rank, 0, kMaxRanks);
    const auto size = number(names.size, 1, kMaxRanks);
    if (!rank || !size) continue;
    RankOptions options;
    options.rank = *rank;
    options.size = *size;
    options.origin = fmt::format("{}={} and {}={}", names.rank, *rank, names.size, *size);
    if (options.rank >= options.size)
      throw std::invalid_argument(fmt::format("the environment says {}; ranks are counted from 0", options.origin));
    options.local_rank = number(names.local_rank, 0, kMaxRanks).value_or(0);
    const bool is_on_one_node = number("SLURM_NNODES", 1, kMaxRanks).value_or(2) == 1;
    options.local_size =
        number(names.local_size, 1, kMaxRanks).value_or(is_on_one_node ? *size : slurm_tasks_of_this_node());
    // Two jobs of Slurm may share a machine.
    const int job = number("SLURM_JOB_ID", 0, std::numeric_limits<int>::max()).value_or(0);
    options.port = port_of_environment(RankOptions().port + job % 1000);
    options.secret = secret_of_environment();
    if (const auto address = variable("MASTER_ADDR")) {
      options.address = *address;
    } else if (options.size > 1 && options.local_size != options.size) {
      throw std::invalid_argument(
          fmt::format("the environment says {}, but not on which machine rank 0 is: set MASTER_ADDR to its name or "
                      "address for every rank (srun and mpirun -x pass it on)",
                      options.origin));
    }
    return options;
  }
  if (const auto rank = variable("RANK"))
    throw std::invalid_argument(
        fmt::format("the environment says RANK={}, but not of how many: set WORLD_SIZE, or unset RANK", *rank));
  if (number("WORLD_SIZE", 1, kMaxRanks).value_or(1) > 1)
    throw std::invalid_argument(
        "the environment says WORLD_SIZE, but not which of them this process is: set RANK, or unset WORLD_SIZE");
  return {};
}

}  // namespace v0
}  // namespace transmute
