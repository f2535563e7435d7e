/* SPDX-License-Identifier: MIT */
#if NOT_THERE
#endif
