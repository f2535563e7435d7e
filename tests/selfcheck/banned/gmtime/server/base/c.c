void *p = gmtime(1, 2);
