#include "base/a.h"

void *q = mbox_new(1, false);
