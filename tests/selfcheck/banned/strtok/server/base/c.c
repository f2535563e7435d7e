void *p = strtok(1, 2);
