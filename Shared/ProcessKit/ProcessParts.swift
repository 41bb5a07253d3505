/// A part of a process that runs until its end is requested.
package protocol ProcessPart: Sendable {
    /// Runs the part.
    /// - Parameter end: requested when no other running part needs this one. The part then returns; it also returns
    ///   when its task is cancelled.
    /// - Throws: an error that ends the process.
    func run(until end: ProcessEnd) async throws
}

/// Runs the parts of a process from start to end.
package enum ProcessParts {
    /// The error for a part that returned although its end was not requested.
    package struct EndedByItself: Error, CustomStringConvertible {
        /// The part's type.
        package let part: String

        /// A sentence for the log.
        package var description: String { "\(part) ended by itself." }
    }

    /// Runs parts, each of which may need the ones before it. They start together and end one after the other, last to
    /// first; each has ended before the end of the next one is requested.
    /// - Parameter end: requested when all parts shall end.
    /// - Throws: errors of a part, and `EndedByItself`. The other parts are then cancelled and have ended.
    package static func run(_ parts: [any ProcessPart], until end: ProcessEnd) async throws {
        let ends = parts.map { _ in ProcessEnd() }
        try await withThrowingTaskGroup(of: Int?.self) { group in
            for (index, part) in parts.enumerated() {
                group.addTask {
                    try await part.run(until: ends[index])
                    return index
                }
            }
            group.addTask {
                await end.wait()
                return nil
            }
            var running = parts.count
            var isEnding = false
            for try await ended in group {
                if let ended {
                    guard isEnding, ended == running - 1 else {
                        throw EndedByItself(part: "\(type(of: parts[ended]))")
                    }
                    running -= 1
                }
                isEnding = true
                if running > 0 { ends[running - 1].ask() }
            }
        }
    }
}
