void *p = malloc(1, 2);
