import Foundation
import TestSupport

/// Memory of a process in megabytes, as the kernel counts it.
struct MemoryReading {
    let resident: Int
    /// The part that is not file-backed.
    let own: Int
    /// The peak so far.
    let peak: Int

    init(_ suite: Suite, _ replica: String) throws {
        guard let pid = suite.processId(of: replica) else {
            throw NeverHappened("\(replica) does not run.")
        }
        let text = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        func megabytes(_ name: String) -> Int {
            let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
            return (line?.split { !$0.isNumber }.first.flatMap { Int($0) } ?? 0) / 1024
        }
        resident = megabytes("VmRSS:")
        own = megabytes("RssAnon:")
        peak = megabytes("VmHWM:")
    }
}

/// Processor time used by a process.
struct ProcessorReading {
    let seconds: Double

    init(_ suite: Suite, _ replica: String) throws {
        guard let pid = suite.processId(of: replica) else {
            throw NeverHappened("\(replica) does not run.")
        }
        let text = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        // The fields after the name in brackets: utime and stime are the 12th and 13th, in ticks of 10 ms (proc(5)).
        let fields = text.drop { $0 != ")" }.split(separator: " ")
        guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else {
            throw NeverHappened("\(text) is no line of proc(5).")
        }
        seconds = (user + system) / 100
    }
}
