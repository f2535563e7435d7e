#include "lib/twinbox.h"
