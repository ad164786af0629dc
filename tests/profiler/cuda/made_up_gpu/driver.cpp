// Nothing: a driver that is there (libcuda.so.1).
