void *p = scanf(1, 2);
