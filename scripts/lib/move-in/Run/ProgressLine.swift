import Foundation

/// The progress of one class on standard error: on a terminal one line that is rewritten at most once a second,
/// elsewhere a plain line at the end.
struct ProgressLine: Sendable {
    private let label: String
    private let start = ContinuousClock.now
    private var lastShown = ContinuousClock.now

    private static let isTerminal = isatty(STDERR_FILENO) == 1

    init(_ label: String) { self.label = label }

    mutating func update(_ result: ClassResult) {
        let now = ContinuousClock.now
        guard Self.isTerminal, now - lastShown >= .seconds(1) else { return }
        lastShown = now
        Self.write("\r\(text(result))\u{1B}[K")
    }

    func finish(_ result: ClassResult) {
        Self.write((Self.isTerminal ? "\r" : "") + text(result) + (Self.isTerminal ? "\u{1B}[K\n" : "\n"))
    }

    /// The line of a long operation that counts something else.
    static func show(_ text: String) { write(isTerminal ? "\r\(text)\u{1B}[K" : "\(text)\n") }

    /// Ends a line of `show`.
    static func end() { if isTerminal { write("\n") } }

    private func text(_ result: ClassResult) -> String {
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let rate = seconds >= 1 ? ", \(Int(Double(result.rows) / seconds)) rows/s" : ""
        return "\(label.padding(toLength: max(24, label.count), withPad: " ", startingAt: 0)) \(result.text)\(rate)"
    }

    private static func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}

extension ClassResult {
    /// The figures for people: `12 rows: 3 moved, 9 unchanged`.
    var text: String {
        var parts = ["\(moved) moved", "\(unchanged) unchanged"]
        if removed > 0 { parts.append("\(removed) removed") }
        if orphans > 0 { parts.append("\(orphans) without an owner left out") }
        if refused > 0 { parts.append("\(refused) refused") }
        return "\(rows) rows: " + parts.joined(separator: ", ")
    }
}
