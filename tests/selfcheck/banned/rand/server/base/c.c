void *p = rand(1, 2);
