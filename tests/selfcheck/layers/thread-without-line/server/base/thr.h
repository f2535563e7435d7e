#define THR_TABLE(X) \
	X(THR_MAIN, "main") \
	X(THR_PUSH, "push")
