void *p = strncpy(1, 2);
