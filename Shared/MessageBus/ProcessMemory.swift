import Glibc

/// Returns unused memory of the process to the system. By default glibc keeps it: it allocates even blocks of up to 32
/// MiB from heaps, of which there are eight per core, and a heap shrinks only at its end.
public enum ProcessMemory {
    /// Larger blocks get their own mappings, which are unmapped when freed. Setting the threshold also stops glibc from
    /// raising it.
    private static let mappedBytesMin: Int32 = 256 << 10
    /// Free bytes kept at the end of a heap. With less, the memory for a shop's page would be returned and requested
    /// again with each request, at a cost of page faults. Trimming returns memory that stays unused.
    private static let trimmedBytesMin: Int32 = 8 << 20

    /// Limit of heaps: enough that threads seldom wait for a heap, few enough to limit the unused memory in each.
    private static let heapsMax: Int32 = 8

    /// Constants of `<malloc.h>`, which Swift's Glibc module lacks.
    private static let (trimThreshold, mapThreshold, arenaMax): (Int32, Int32, Int32) = (-1, -3, -8)

    /// Configures the allocator and starts the thread that trims it. To be called once, before other threads start.
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
        // Absent in other C libraries, which do not need it.
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
            // Also returns free pages between used blocks, in all heaps.
            _ = trim(0)
            schedule.trimmed(residentBytes: residentBytes)
        }
    }

    /// Resident memory of this process in bytes; 0 if unknown (proc_pid_statm(5)).
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

/// Decides when to search the heaps for free pages. Pure; called every few seconds.
package struct TrimSchedule {
    /// Seconds between two calls.
    package static let intervalSeconds: UInt32 = 2
    /// Growth since the last trim that justifies another one.
    private static let growthBytes = 2 << 20
    /// Below this fraction of a core the process is quiet, so that locking its heaps delays no request.
    private static let quietShare = 0.25
    /// Intervals after which a process that is never quiet is trimmed nevertheless (one minute).
    private static let patience = 30

    private var restingBytes = 0
    private var lastCPU = 0
    private var busyIntervals = 0

    package init() {}

    /// - Parameters:
    ///   - residentBytes: the current resident memory of the process.
    ///   - cpuMicroseconds: the processor time of the process since its start.
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
