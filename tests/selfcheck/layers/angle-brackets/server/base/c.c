#include <store/store.h>
