import Glibc

/// What this process takes of its host, besides memory.
enum ProcessUse {
    /// Open files, sockets and pipes; 0 if unknown.
    static var openFiles: Int {
        guard let folder = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(folder) }
        var entries = 0
        while readdir(folder) != nil { entries += 1 }
        // `.`, `..` and the folder itself.
        return max(0, entries - 3)
    }

    /// The limit of `openFiles`; 0 if unknown.
    static var openFilesMax: UInt64 {
        var limits = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0 else { return 0 }
        return UInt64(limits.rlim_cur)
    }

    /// Processor time since the start, in seconds.
    static var processorSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1_000_000_000
    }
}
