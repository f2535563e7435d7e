void *p = localtime(1, 2);
