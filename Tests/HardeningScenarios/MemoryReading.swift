import Foundation
import TestSupport

/// Megabytes of a process as the kernel counts them.
struct MemoryReading {
    let resident: Int
    /// The part of it that is no pages of files.
    let own: Int
    /// The most there ever was.
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

/// Processor time that a process has used.
struct ProcessorReading {
    let seconds: Double

    init(_ suite: Suite, _ replica: String) throws {
        guard let pid = suite.processId(of: replica) else {
            throw NeverHappened("\(replica) does not run.")
        }
        let text = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        // What follows the name in brackets: utime and stime are the 12th and 13th, in ticks of 10 ms (proc(5)).
        let fields = text.drop { $0 != ")" }.split(separator: " ")
        guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else {
            throw NeverHappened("\(text) is no line of proc(5).")
        }
        seconds = (user + system) / 100
    }
}
