/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include "base/rc.h"
enum rc f(void) MUST_USE; void g(void); void g(void) { f(); }
