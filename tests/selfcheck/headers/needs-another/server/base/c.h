size_t c_size(void);
