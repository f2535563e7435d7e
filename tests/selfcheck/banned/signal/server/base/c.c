void *p = signal(1, 2);
