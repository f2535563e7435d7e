#include "base/a_internal.h"
