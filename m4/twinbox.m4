# SPDX-License-Identifier: MIT
# Compiler and linker flags that cannot be dropped silently: each is tried with
# -Werror, and IF-UNKNOWN runs if the compiler does not know it.  (A loop
# variable must never be called f: m4_foreach_w would replace it in autoconf's
# own text, too.)

# TWINBOX_ADD_FLAG(VARIABLE, FLAG, [IF-UNKNOWN])
AC_DEFUN([TWINBOX_ADD_FLAG], [
  AS_VAR_PUSHDEF([cv], [twinbox_cv_flag_$2])
  AC_CACHE_CHECK([whether $CC accepts $2], [cv], [
    twinbox_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror $2"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <string.h>]])],
      [AS_VAR_SET([cv], [yes])], [AS_VAR_SET([cv], [no])])
    CFLAGS=$twinbox_save_CFLAGS])
  AS_VAR_IF([cv], [yes], [$1="$$1 $2"], [$3])
  AS_VAR_POPDEF([cv])])

# TWINBOX_ADD_LDFLAG(VARIABLE, FLAG, [IF-UNKNOWN])
AC_DEFUN([TWINBOX_ADD_LDFLAG], [
  AS_VAR_PUSHDEF([cv], [twinbox_cv_ldflag_$2])
  AC_CACHE_CHECK([whether $CC links with $2], [cv], [
    twinbox_save_CFLAGS=$CFLAGS
    twinbox_save_LDFLAGS=$LDFLAGS
    CFLAGS="$CFLAGS -fPIE"
    LDFLAGS="$LDFLAGS -Wl,--fatal-warnings $2"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <string.h>]])],
      [AS_VAR_SET([cv], [yes])], [AS_VAR_SET([cv], [no])])
    CFLAGS=$twinbox_save_CFLAGS
    LDFLAGS=$twinbox_save_LDFLAGS])
  AS_VAR_IF([cv], [yes], [$1="$$1 $2"], [$3])
  AS_VAR_POPDEF([cv])])
