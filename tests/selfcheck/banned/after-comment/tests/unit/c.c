/* it's
 * "open */ char c = '"', *s = "a\"b/*"; // strcat(
/**/ int x = strcpy (a, b);
