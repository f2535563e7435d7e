#include "../base/a.h"
