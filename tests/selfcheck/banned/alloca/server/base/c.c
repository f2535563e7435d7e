void *p = alloca(1, 2);
