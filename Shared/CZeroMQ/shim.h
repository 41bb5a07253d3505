// ZeroMQ's C interface. Swift cannot import the ZMQ_* error macros that depend on errno, so it reads zmq_errno().
#include <zmq.h>
#include <sys/eventfd.h>
