void *p = strcpy(1, 2);
