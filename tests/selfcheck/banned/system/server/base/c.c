void *p = system(1, 2);
