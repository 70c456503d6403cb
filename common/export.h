/* SPDX-License-Identifier: Apache-2.0 */
/* TRANSMUTE_API marks what the shared library exports; all other symbols are hidden. Also for C. */
#ifndef TRANSMUTE_COMMON_EXPORT_H
#define TRANSMUTE_COMMON_EXPORT_H

#define TRANSMUTE_API __attribute__((visibility("default")))

#endif
