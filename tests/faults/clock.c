/* A clock of the day that is wrong by as many seconds as the file $WRONG_CLOCK says, for LD_PRELOAD.
   Monotonic clocks stay, as when somebody sets the time. The kernel, which is asked to wake a
   thread at a time of the day, has the right clock, so that such times are corrected. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* Of absolute times only those of the day are this long after their beginning. */
static const time_t FIRST_OF_A_DAY = 1000000000;

static long wrong(void) {
    char text[32] = {0};
    const char *path = getenv("WRONG_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return 0;
    long seconds = read(file, text, sizeof text - 1) > 0 ? atol(text) : 0;
    close(file);
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *found) {
    int result = syscall(SYS_clock_gettime, clock, found);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        found->tv_sec += wrong();
    return result;
}

int gettimeofday(struct timeval *found, void *zone) {
    int result = syscall(SYS_gettimeofday, found, zone);
    if (result == 0) found->tv_sec += wrong();
    return result;
}

time_t time(time_t *found) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (found) *found = now.tv_sec;
    return now.tv_sec;
}

int timespec_get(struct timespec *found, int base) {
    return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, found) == 0 ? base : 0;
}

static struct timespec corrected(const struct timespec *until) {
    struct timespec found = *until;
    if (found.tv_sec > FIRST_OF_A_DAY) found.tv_sec -= wrong();
    return found;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until) {
    static int (*next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    if (!next) next = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (!next) next = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    struct timespec right = corrected(until);
    return next(condition, mutex, &right);
}

int cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *until) {
    static int (*next)(cnd_t *, mtx_t *, const struct timespec *);
    if (!next) next = dlsym(RTLD_NEXT, "cnd_timedwait");
    struct timespec right = corrected(until);
    return next(condition, mutex, &right);
}

int sem_timedwait(sem_t *semaphore, const struct timespec *until) {
    static int (*next)(sem_t *, const struct timespec *);
    if (!next) next = dlsym(RTLD_NEXT, "sem_timedwait");
    struct timespec right = corrected(until);
    return next(semaphore, &right);
}
