/*
 * Prints, as one JSON object, what this machine's headers make of the names in wsh's table (src/platform/table.ts):
 * { "system": …, "constants": { NAME: number or null }, "layouts": { STRUCT: { "bytes": …, "fields": … } or null } }.
 * A name that the headers lack is null. packaging/probe/constants.ts compiles it, runs it and compares.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <termios.h>
#include <time.h>
#ifdef __APPLE__
#include <libproc.h>
#include <limits.h>
#include <sys/proc.h>
#include <sys/proc_info.h>
#include <sys/sysctl.h>
#include <sys/syslimits.h>
#define SYSTEM "darwin"
#else
#include <linux/limits.h>
#include <sys/mman.h>
#define SYSTEM "linux"
#endif

static const char *separator = "";

static void constant(const char *name, unsigned long value) {
  printf("%s\"%s\":%lu", separator, name, value);
  separator = ",";
}

static void missing(const char *name) {
  printf("%s\"%s\":null", separator, name);
  separator = ",";
}

static void begin(const char *name, size_t bytes) {
  printf("%s\"%s\":{\"bytes\":%zu,\"fields\":{", separator, name, bytes);
  separator = "";
}

static void field(const char *name, size_t offset, size_t bytes) {
  printf("%s\"%s\":{\"offset\":%zu,\"bytes\":%zu}", separator, name, offset, bytes);
  separator = ",";
}

static void end(void) {
  printf("}}");
  separator = ",";
}

/* As 32 bits, so that requests with the highest bit set are not extended. */
#define NUMBER(name) constant(#name, (unsigned long)(unsigned int)(name))
#define FIELD(type, name, member) field(name, offsetof(type, member), sizeof(((type *)0)->member))

static void constants(void) {
  NUMBER(TIOCGWINSZ);
  NUMBER(TIOCSWINSZ);
  NUMBER(FIONREAD);
  NUMBER(ICANON);
  NUMBER(OPOST);
  NUMBER(ONLCR);
  NUMBER(ECHO);
  NUMBER(TCSANOW);
  NUMBER(TCIFLUSH);
  NUMBER(F_SETFD);
  NUMBER(F_GETFL);
  NUMBER(F_SETFL);
  NUMBER(F_SETOWN);
#ifdef F_SETSIG
  NUMBER(F_SETSIG);
#else
  missing("F_SETSIG");
#endif
  NUMBER(F_DUPFD_CLOEXEC);
  NUMBER(FD_CLOEXEC);
  NUMBER(O_ASYNC);
  NUMBER(LOCK_SH);
  NUMBER(LOCK_EX);
  NUMBER(LOCK_NB);
  NUMBER(POLLIN);
  NUMBER(POLLOUT);
  NUMBER(AF_UNIX);
  NUMBER(SOCK_STREAM);
#ifdef O_PATH
  NUMBER(O_PATH);
#else
  missing("O_PATH");
#endif
#ifdef SOCK_NONBLOCK
  NUMBER(SOCK_NONBLOCK);
  NUMBER(SOCK_CLOEXEC);
#else
  missing("SOCK_NONBLOCK");
  missing("SOCK_CLOEXEC");
#endif
  NUMBER(SOL_SOCKET);
#ifdef SO_PEERCRED
  NUMBER(SO_PEERCRED);
#else
  missing("SO_PEERCRED");
#endif
#ifdef LOCAL_PEERPID
  NUMBER(SOL_LOCAL);
  NUMBER(LOCAL_PEERPID);
#else
  missing("SOL_LOCAL");
  missing("LOCAL_PEERPID");
#endif
  NUMBER(RLIMIT_NOFILE);
#ifdef MFD_CLOEXEC
  NUMBER(MFD_CLOEXEC);
#else
  missing("MFD_CLOEXEC");
#endif
#ifdef RLIMIT_LOCKS
  NUMBER(RLIMIT_LOCKS);
#else
  missing("RLIMIT_LOCKS");
#endif
#ifdef RLIMIT_RTTIME
  NUMBER(RLIMIT_RTTIME);
#else
  missing("RLIMIT_RTTIME");
#endif
  NUMBER(ENOENT);
  NUMBER(ECONNREFUSED);
  NUMBER(SIGURG);
#ifdef __APPLE__
  NUMBER(PROC_PGRP_ONLY);
  NUMBER(PROC_TTY_ONLY);
  NUMBER(PROC_PIDTBSDINFO);
  NUMBER(PROC_PIDTASKINFO);
  NUMBER(PROC_PIDVNODEPATHINFO);
  NUMBER(CTL_KERN);
  NUMBER(KERN_PROCARGS2);
  NUMBER(SSTOP);
  NUMBER(SZOMB);
  NUMBER(ARG_MAX);
  NUMBER(MAX_CANON);
#else
  missing("PROC_PGRP_ONLY");
  missing("PROC_TTY_ONLY");
  missing("PROC_PIDTBSDINFO");
  missing("PROC_PIDTASKINFO");
  missing("PROC_PIDVNODEPATHINFO");
  missing("CTL_KERN");
  missing("KERN_PROCARGS2");
  missing("SSTOP");
  missing("SZOMB");
  missing("ARG_MAX");
  missing("MAX_CANON");
#endif
}

static void layouts(void) {
  begin("termios", sizeof(struct termios));
  FIELD(struct termios, "c_oflag", c_oflag);
  FIELD(struct termios, "c_lflag", c_lflag);
  end();
  begin("winsize", sizeof(struct winsize));
  FIELD(struct winsize, "ws_row", ws_row);
  FIELD(struct winsize, "ws_col", ws_col);
  end();
  begin("sockaddr_un", sizeof(struct sockaddr_un));
  FIELD(struct sockaddr_un, "sun_family", sun_family);
  FIELD(struct sockaddr_un, "sun_path", sun_path);
  end();
  begin("pollfd", sizeof(struct pollfd));
  FIELD(struct pollfd, "fd", fd);
  FIELD(struct pollfd, "events", events);
  FIELD(struct pollfd, "revents", revents);
  end();
  begin("rlimit", sizeof(struct rlimit));
  FIELD(struct rlimit, "rlim_cur", rlim_cur);
  FIELD(struct rlimit, "rlim_max", rlim_max);
  end();
  begin("timespec", sizeof(struct timespec));
  FIELD(struct timespec, "tv_sec", tv_sec);
  FIELD(struct timespec, "tv_nsec", tv_nsec);
  end();
  begin("timeval", sizeof(struct timeval));
  FIELD(struct timeval, "tv_sec", tv_sec);
  FIELD(struct timeval, "tv_usec", tv_usec);
  end();
#ifdef __APPLE__
  missing("ucred");
  begin("proc_bsdinfo", sizeof(struct proc_bsdinfo));
  FIELD(struct proc_bsdinfo, "pbi_status", pbi_status);
  FIELD(struct proc_bsdinfo, "pbi_pid", pbi_pid);
  FIELD(struct proc_bsdinfo, "pbi_ppid", pbi_ppid);
  FIELD(struct proc_bsdinfo, "pbi_comm", pbi_comm);
  FIELD(struct proc_bsdinfo, "pbi_name", pbi_name);
  FIELD(struct proc_bsdinfo, "pbi_pgid", pbi_pgid);
  FIELD(struct proc_bsdinfo, "e_tdev", e_tdev);
  FIELD(struct proc_bsdinfo, "e_tpgid", e_tpgid);
  FIELD(struct proc_bsdinfo, "pbi_start_tvsec", pbi_start_tvsec);
  FIELD(struct proc_bsdinfo, "pbi_start_tvusec", pbi_start_tvusec);
  end();
  begin("proc_taskinfo", sizeof(struct proc_taskinfo));
  FIELD(struct proc_taskinfo, "pti_threadnum", pti_threadnum);
  FIELD(struct proc_taskinfo, "pti_numrunning", pti_numrunning);
  end();
  begin("proc_vnodepathinfo", sizeof(struct proc_vnodepathinfo));
  FIELD(struct proc_vnodepathinfo, "pvi_cdir.vip_path", pvi_cdir.vip_path);
  end();
#else
  begin("ucred", sizeof(struct ucred));
  FIELD(struct ucred, "pid", pid);
  end();
  missing("proc_bsdinfo");
  missing("proc_taskinfo");
  missing("proc_vnodepathinfo");
#endif
}

int main(void) {
  printf("{\"system\":\"%s\",\"constants\":{", SYSTEM);
  constants();
  printf("},\"layouts\":{");
  separator = "";
  layouts();
  printf("}}\n");
  return 0;
}
