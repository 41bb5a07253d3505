/// A part of a process that runs until its end is asked for.
package protocol ProcessPart: Sendable {
    /// Runs the part.
    /// - Parameter end: asked for when nothing that needs the part runs any more. The part then ends by itself; so it
    ///   does when its task is cancelled.
    /// - Throws: what ends the process with an error.
    func run(until end: ProcessEnd) async throws
}

/// The parts that a process consists of, from its beginning to its end.
package enum ProcessParts {
    /// A part that ended although nobody had asked for it.
    package struct EndedByItself: Error, CustomStringConvertible {
        /// The part's type.
        package let part: String

        /// A sentence for the log.
        package var description: String { "\(part) ended by itself." }
    }

    /// Runs parts, each of which may need those before it: they begin together, and end one after the other, the last
    /// one first. Each has ended before the next one is asked to.
    /// - Parameter end: asked for when all shall end.
    /// - Throws: what a part throws, and `EndedByItself`; the others are cancelled then, and have ended.
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
