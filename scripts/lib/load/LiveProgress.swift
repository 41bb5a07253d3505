import Foundation

/// Progress output during a run: one line that is rewritten each second on a terminal, otherwise a new line every ten
/// seconds.
enum LiveProgress {
    private static let isTerminal = isatty(STDERR_FILENO) == 1
    private static let pause = 10

    /// Prints until the task is cancelled.
    static func watch(_ driver: Driver) async {
        for round in 1... {
            do { try await Task.sleep(for: .seconds(1)) } catch { return }
            // The previous second: most of its requests have been answered.
            guard isTerminal || round % pause == 0, let second = driver.record.second(Int(driver.now) - 1) else {
                continue
            }
            let figures = second.tally.figures, crowd = driver.crowd
            let line = String(
                format: "%5ld s  %6ld/s due  %6ld/s finished  p50 %.1f ms  p99 %.1f ms  %ld errors  %ld shoppers",
                Int(driver.now), second.due, second.finished, figures.p50, figures.p99, figures.errors,
                crowd.shoppers)
            write(line + (crowd.waiting > 0 ? "  \(crowd.waiting) waiting" : ""), isFinal: false)
        }
    }

    /// Prints the result of a phase.
    static func show(_ result: PhaseResult) {
        let verdict = result.problems.isEmpty ? "kept" : "broken: " + result.problems.joined(separator: ", ")
        let figures = result.figures
        let times = String(format: "p50 %.1f ms, p99 %.1f ms", figures.p50, figures.p99)
        write("\(result.phase.name): \(times), \(figures.errors) errors; promise \(verdict)", isFinal: true)
    }

    private static func write(_ line: String, isFinal: Bool) {
        let text = isTerminal ? "\r\(line)\u{1B}[K\(isFinal ? "\n" : "")" : line + "\n"
        FileHandle.standardError.write(Data(text.utf8))
    }
}
