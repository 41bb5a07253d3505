import Glibc

/// Gives memory back that a process no longer uses. Left alone, glibc keeps it: blocks up to 32 MiB come to be cut from
/// heaps, of which there are eight per core, and a heap only shrinks from its end.
public enum ProcessMemory {
    /// Larger blocks are mappings of their own, which go back the moment they are freed. Setting it keeps glibc from
    /// raising it.
    private static let mappedBytesMin: Int32 = 256 << 10
    /// Free bytes at the end of a heap that are kept for what comes next. With less, a page of a shop is given back and
    /// asked for again with each request, at a page fault each; what lies longer goes back with the trimming.
    private static let trimmedBytesMin: Int32 = 8 << 20

    /// Heaps of a process: enough that threads seldom wait for one, few enough that what each keeps is little.
    private static let heapsMax: Int32 = 8

    /// `<malloc.h>`, which Swift's Glibc leaves out.
    private static let (trimThreshold, mapThreshold, arenaMax): (Int32, Int32, Int32) = (-1, -3, -8)

    /// Sets the allocator up and starts the thread that trims it. To be called once, before anything else runs.
    public static func keepSmall() {
        set(mapThreshold, mappedBytesMin)
        set(trimThreshold, trimmedBytesMin)
        set(arenaMax, heapsMax)
        var thread = pthread_t()
        let result = pthread_create(
            &thread, nil,
            { _ in
                ProcessMemory.trimForEver()
                return nil
            }, nil)
        if result == 0 { pthread_detach(thread) }
    }

    private static func set(_ parameter: Int32, _ value: Int32) {
        // Absent in other C libraries, which have no such habits.
        guard let symbol = dlsym(nil, "mallopt") else { return }
        typealias Function = @convention(c) (Int32, Int32) -> Int32
        _ = unsafeBitCast(symbol, to: Function.self)(parameter, value)
    }

    private static func trimForEver() {
        guard let symbol = dlsym(nil, "malloc_trim") else { return }
        typealias Function = @convention(c) (Int) -> Int32
        let trim = unsafeBitCast(symbol, to: Function.self)
        var schedule = TrimSchedule()
        while true {
            sleep(TrimSchedule.intervalSeconds)
            guard schedule.isDue(residentBytes: residentBytes, cpuMicroseconds: cpuMicroseconds) else { continue }
            // Also what lies free between blocks in use, of every heap.
            _ = trim(0)
            schedule.trimmed(residentBytes: residentBytes)
        }
    }

    /// Memory of this process that is in RAM, in bytes; 0 where the system does not say (proc_pid_statm(5)).
    public static var residentBytes: Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, Int32(line.count), file) != nil else { return 0 }
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let fields = text.split(separator: " ")
        guard fields.count > 1, let pages = Int(fields[1]) else { return 0 }
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }

    private static var cpuMicroseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000 + time.tv_nsec / 1000
    }
}

/// The times at which it is worth looking through the heaps for free pages. Pure: it is asked every few seconds.
package struct TrimSchedule {
    /// Seconds between two questions.
    package static let intervalSeconds: UInt32 = 2
    /// Growth since the last time that is worth it.
    private static let growthBytes = 2 << 20
    /// A process that worked less than this share of one core is quiet: nobody waits while its heaps are locked.
    private static let quietShare = 0.25
    /// A process that is never quiet is trimmed nevertheless, every minute.
    private static let patience = 30

    private var restingBytes = 0
    private var lastCPU = 0
    private var busyIntervals = 0

    package init() {}

    /// - Parameters:
    ///   - residentBytes: memory of the process now.
    ///   - cpuMicroseconds: processor time of the process since it began.
    package mutating func isDue(residentBytes: Int, cpuMicroseconds: Int) -> Bool {
        defer { lastCPU = cpuMicroseconds }
        guard residentBytes > restingBytes + Self.growthBytes else {
            restingBytes = min(restingBytes, residentBytes)
            busyIntervals = 0
            return false
        }
        let share = Double(cpuMicroseconds - lastCPU) / Double(Int(Self.intervalSeconds) * 1_000_000)
        guard share > Self.quietShare, busyIntervals < Self.patience else { return true }
        busyIntervals += 1
        return false
    }

    package mutating func trimmed(residentBytes: Int) {
        restingBytes = residentBytes
        busyIntervals = 0
    }
}
