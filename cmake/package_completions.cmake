# SPDX-License-Identifier: Apache-2.0
# Run by CPack on what it is about to pack: completions for zsh move to where Debian has those of packages.
set(share "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/runtime/usr/share")
if(EXISTS "${share}/zsh/site-functions")
  file(RENAME "${share}/zsh/site-functions" "${share}/zsh/vendor-completions")
endif()
