#  include "b.h"
