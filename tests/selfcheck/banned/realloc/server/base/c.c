void *p = realloc(1, 2);
