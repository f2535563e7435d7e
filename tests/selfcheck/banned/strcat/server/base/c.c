void *p = strcat(1, 2);
