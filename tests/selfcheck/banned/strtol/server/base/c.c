void *p = strtol(1, 2);
