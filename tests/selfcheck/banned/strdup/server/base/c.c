void *p = strdup(1, 2);
