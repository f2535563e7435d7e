char *p = json_dumps(json, 0);
