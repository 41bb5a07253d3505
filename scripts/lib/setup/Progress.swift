import Foundation

func writeLine(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
}

/// One line of progress: rewritten in place on a terminal, a new line every five seconds in a log.
struct Progress {
    private let label: String
    private let total: Int
    private let start = ContinuousClock.now
    private let isTerminal = isatty(STDOUT_FILENO) == 1
    private var lastShown = ContinuousClock.now

    init(_ label: String, total: Int) {
        self.label = label
        self.total = total
        if isTerminal { show(0) }
    }

    mutating func update(_ done: Int) {
        let now = ContinuousClock.now
        guard now - lastShown >= (isTerminal ? .milliseconds(100) : .seconds(5)) else { return }
        lastShown = now
        show(done)
    }

    /// Ends the line with the number of new objects; the others existed before.
    func finish(new: Int) {
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let rate = seconds > 1 && new > 0 ? ", \(Int(Double(new) / seconds)) per second" : ""
        write("\(padded) \(total) (\(new) new\(rate))", ends: true)
    }

    private func show(_ done: Int) {
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let rate = seconds > 1 ? ", \(Int(Double(done) / seconds)) per second" : ""
        write("\(padded) \(done) of \(total)\(rate)", ends: false)
    }

    private var padded: String { label.padding(toLength: 14, withPad: " ", startingAt: 0) }

    private func write(_ text: String, ends: Bool) {
        // "\u{1B}[K" clears the rest of a longer earlier text.
        let line = isTerminal ? "\r\(text)\u{1B}[K\(ends ? "\n" : "")" : "\(text)\n"
        FileHandle.standardOutput.write(Data(line.utf8))
    }
}
