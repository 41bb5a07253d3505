import Glibc

/// A thread on which time, random numbers and the order of tasks come from a seed.
///
/// While a thread is virtual, tasks that begin or continue on it wait in a list, `step` runs one of them, and clocks
/// move only when all tasks wait. To that end this module replaces functions of the C library and of the Swift runtime
/// for the whole process (`Replacements.swift`); on other threads the replacements call the originals.
///
/// All code that runs on the thread must stay there: a task that continues on another thread is lost to it.
package final class VirtualThread {
    private enum Work {
        case job(UnsafeMutableRawPointer)
        case call(UnsafeMutableRawPointer?, VirtualCall)
        case body(() -> Void)
    }

    /// A heap moves its elements often, so they are numbers only.
    private struct Timer {
        let at: UInt64
        /// The place of its work in `works`.
        let number: Int

        func isBefore(_ other: Timer) -> Bool { at == other.at ? number < other.number : at < other.at }
    }

    private struct Timers {
        private var heap: [Timer] = []

        mutating func add(_ timer: Timer) {
            heap.append(timer)
            var place = heap.count - 1
            while place > 0, timer.isBefore(heap[(place - 1) / 2]) {
                heap.swapAt(place, (place - 1) / 2)
                place = (place - 1) / 2
            }
        }

        mutating func removeFirst() -> Timer? {
            guard let first = heap.first, let last = heap.popLast() else { return nil }
            guard !heap.isEmpty else { return first }
            heap[0] = last
            var place = 0
            while true {
                var least = place
                for child in [2 * place + 1, 2 * place + 2] where child < heap.count {
                    if heap[child].isBefore(heap[least]) { least = child }
                }
                guard least != place else { return first }
                heap.swapAt(place, least)
                place = least
            }
        }
    }

    /// The wall clock at the start, 2026-01-01T00:00:00Z, in seconds.
    package static let startSeconds: UInt64 = 1_767_225_600
    private static let bootNanoseconds: UInt64 = 1_000_000_000_000

    /// Nanoseconds since the start.
    package var elapsed: UInt64 { now - Self.bootNanoseconds }
    /// The monotonic clock in nanoseconds.
    private(set) var now = bootNanoseconds
    /// Runs ready work in its order instead of a random one.
    package var isOrderly = false
    private var ready: [Work] = []
    private var timers = Timers()
    /// The work of each timer; nil once it has begun.
    private var works: [Work?] = []
    private var order: SplitMix64
    private var numbers: SplitMix64

    package init(seed: UInt64) {
        order = SplitMix64(seed ^ 0x6F72_6465_72)
        numbers = SplitMix64(seed ^ 0x6E75_6D62_6572_73)
    }

    /// Makes the calling thread virtual, until `end`. One thread of the process at a time.
    package func begin() { Replacements.begin(self) }

    package func end() { Replacements.end() }

    /// Whether tasks, clocks and sleeps of this thread are under control. It runs a small task.
    package func isInControl() -> Bool {
        let start = ContinuousClock.now
        nonisolated(unsafe) var slept: Duration?
        Task {
            try? await Task.sleep(for: .seconds(3))
            slept = ContinuousClock.now - start
        }
        while step() {}
        return slept == .seconds(3)
    }

    /// Runs one piece of work.
    /// - Returns: false when there is none.
    package func step() -> Bool {
        if ready.isEmpty {
            guard let timer = timers.removeFirst() else { return false }
            now = max(now, timer.at)
            if let work = works[timer.number].take() { perform(work) }
        } else {
            let isFirst = isOrderly || ready.count == 1
            perform(ready.remove(at: isFirst ? 0 : Int(order.next() % UInt64(ready.count))))
        }
        return true
    }

    /// Runs `body` after a time.
    package func after(milliseconds: Double, _ body: @escaping () -> Void) {
        add(.body(body), at: now + UInt64(max(0, milliseconds) * 1_000_000))
    }

    /// Moves all clocks forward: the machine was suspended.
    package func jump(seconds: UInt64) { now += seconds * 1_000_000_000 }

    // MARK: What the replacements call

    func enqueue(_ job: UnsafeMutableRawPointer) { ready.append(.job(job)) }

    func call(_ context: UnsafeMutableRawPointer?, _ function: @escaping VirtualCall, at time: UInt64) {
        add(.call(context, function), at: time)
    }

    func random() -> UInt64 { numbers.next() }

    // MARK: -

    private func perform(_ work: Work) {
        switch work {
        case .job(let job): Replacements.run(job)
        case .call(let context, let function): function(context)
        case .body(let body): body()
        }
    }

    private func add(_ work: Work, at time: UInt64) {
        timers.add(Timer(at: time, number: works.count))
        works.append(work)
    }
}

/// A seeded random generator: https://prng.di.unimi.it/splitmix64.c.
package struct SplitMix64: Sendable {
    private var state: UInt64

    package init(_ seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
