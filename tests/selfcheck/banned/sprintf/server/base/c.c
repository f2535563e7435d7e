void *p = sprintf(1, 2);
