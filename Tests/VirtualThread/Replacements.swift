import Glibc
import Synchronization

// The functions of other libraries that are replaced. The dynamic linker prefers a definition in the executable to one
// in a library. This module imports nothing of Satchel, because the compiler could otherwise inline a call of a
// replaced function beside its replacement.

typealias VirtualCall = @convention(c) (UnsafeMutableRawPointer?) -> Void

enum Replacements {
    /// The virtual thread; 0 for none. It alone reads `current`.
    private static let thread = Atomic<UInt>(0)
    nonisolated(unsafe) private static var virtual: VirtualThread?

    /// The calling thread's virtual one.
    static var current: VirtualThread? { thread.load(ordering: .relaxed) == UInt(pthread_self()) ? virtual : nil }

    static func begin(_ new: VirtualThread) {
        precondition(isHooked, "The Swift runtime has no hook for tasks.")
        Original.hashing?.storeBytes(of: true, toByteOffset: 16, as: Bool.self)
        for (place, _) in Original.throwHooks { place.storeBytes(of: 0, as: UInt.self) }
        virtual = new
        thread.store(UInt(pthread_self()), ordering: .relaxed)
    }

    static func end() {
        thread.store(0, ordering: .relaxed)
        virtual = nil
        for (place, hook) in Original.throwHooks { place.storeBytes(of: hook, as: UInt.self) }
    }

    /// Runs a task until it waits, as the runtime's pool does: on no particular executor.
    static func run(_ job: UnsafeMutableRawPointer) { Original.runJob(job, 0, 0) }

    private typealias Enqueue = @convention(c) (UnsafeMutableRawPointer) -> Void
    /// The runtime's calling convention passes two pointers as C's does.
    private typealias EnqueueHook = @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void

    /// Tasks that become ready go through this hook of the runtime (swift_task_enqueueGlobal_hook).
    private static let isHooked: Bool = {
        guard let place = dlsym(nil, "swift_task_enqueueGlobal_hook") else { return false }
        let hook: EnqueueHook = { job, original in
            if let thread = Replacements.current { return thread.enqueue(job) }
            unsafeBitCast(original, to: Enqueue.self)(job)
        }
        place.assumingMemoryBound(to: EnqueueHook?.self).pointee = hook
        return true
    }()
}

/// The functions as their libraries define them.
private enum Original {
    typealias ClockGetTime = @convention(c) (Int32, UnsafeMutablePointer<timespec>?) -> Int32
    typealias Random = @convention(c) (UnsafeMutableRawPointer?, Int) -> Void
    typealias After = @convention(c) (UInt64, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, VirtualCall) -> Void
    typealias RunJob = @convention(c) (UnsafeMutableRawPointer, UInt, UInt) -> Void

    nonisolated(unsafe) static let clockGetTime = function("clock_gettime", ClockGetTime.self)
    nonisolated(unsafe) static let random = function("swift_stdlib_random", Random.self)
    nonisolated(unsafe) static let after = function("dispatch_after_f", After.self)
    nonisolated(unsafe) static let runJob = function("swift_job_run", RunJob.self)
    /// Two seeds of eight bytes, and whether every table uses them without its address. It is set once and stays: it
    /// only concerns tables made later.
    nonisolated(unsafe) static let hashing = dlsym(nil, "_swift_stdlib_Hashing_parameters")
    /// Swift Testing keeps the stack of each thrown error by these hooks: each cancelled sleep would cost a walk of its
    /// stack. During a simulation only the stacks of errors that fail a test are missing.
    nonisolated(unsafe) static let throwHooks: [(place: UnsafeMutableRawPointer, hook: UInt)] = [
        dlsym(nil, "_swift_willThrow"), dlsym(nil, "_swift_willThrowTypedImpl"),
    ].compactMap(\.self).map { (place: $0, hook: $0.load(as: UInt.self)) }

    /// The next definition after the executable's own (RTLD_NEXT).
    private static func function<Function>(_ name: String, _ type: Function.Type) -> Function {
        guard let address = dlsym(UnsafeMutableRawPointer(bitPattern: -1), name) else {
            fatalError("\(name) is missing.")
        }
        return unsafeBitCast(address, to: type)
    }
}

/// Clocks: `ContinuousClock`, `Timestamp`, `SystemClock`, Foundation's `Date`.
@_cdecl("clock_gettime")
public func virtualClockGetTime(_ clock: Int32, _ time: UnsafeMutablePointer<timespec>?) -> Int32 {
    guard let thread = Replacements.current, let time else { return Original.clockGetTime(clock, time) }
    let isWall = clock == 0 || clock == 5
    let nanoseconds = thread.now
    let seconds = (isWall ? VirtualThread.startSeconds : 0) + nanoseconds / 1_000_000_000
    time.pointee = timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds % 1_000_000_000))
    return 0
}

/// Random numbers of `SystemRandomNumberGenerator`, where the compiler inlined it.
@_cdecl("swift_stdlib_random")
public func virtualRandom(_ buffer: UnsafeMutableRawPointer?, _ count: Int) {
    guard let thread = Replacements.current, let buffer else { return Original.random(buffer, count) }
    var place = 0
    while place < count {
        withUnsafeBytes(of: thread.random()) { bytes in
            let part = min(bytes.count, count - place)
            buffer.advanced(by: place).copyMemory(from: bytes.baseAddress ?? UnsafeRawPointer(buffer), byteCount: part)
            place += part
        }
    }
}

/// `Task.sleep`: the default executor asks libdispatch. Times of the monotonic clock have the highest bit.
@_cdecl("dispatch_after_f")
public func virtualDispatchAfter(
    _ time: UInt64, _ queue: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?,
    _ work: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void
) {
    guard let thread = Replacements.current else { return Original.after(time, queue, context, work) }
    thread.call(context, work, at: time & ~(1 << 63))
}
