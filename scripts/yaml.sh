# SPDX-License-Identifier: Apache-2.0
# For scripts that source it.
yaml() { # yaml <text>: as a YAML scalar, whatever is in it
  local text=${1//\\/\\\\}
  printf '"%s"' "${text//\"/\\\"}"
}
