// For LD_PRELOAD: adds the seconds in the file $STEP_FILE to a process's wall clock. The host's clock stays.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    long result = syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && clock == CLOCK_REALTIME) {
        const char *path = getenv("STEP_FILE");
        int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (file >= 0) {
            char text[16] = {0};
            if (read(file, text, sizeof text - 1) > 0) time->tv_sec += atoi(text);
            close(file);
        }
    }
    return (int)result;
}
