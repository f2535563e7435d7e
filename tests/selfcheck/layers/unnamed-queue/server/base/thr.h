#define THR_TABLE(X) \
	X(THR_MAIN, "main")
