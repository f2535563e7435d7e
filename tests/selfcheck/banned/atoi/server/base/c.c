void *p = atoi(1, 2);
