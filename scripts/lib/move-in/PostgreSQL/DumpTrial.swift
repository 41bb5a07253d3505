import ParseProtocol
import Synchronization

/// Reads a dump that is in memory, for the fuzzer, which sees no other part of the tool.
package enum DumpTrial {
    package struct Outcome: Sendable {
        package var rows: [JSON] = []
        package var refusals: [String] = []
        /// What ended the reading.
        package var error: String?
    }

    private final class Sink: RowSink {
        let outcome = Mutex(Outcome())

        func take(_ rows: [MovedRow]) { outcome.withLock { $0.rows += rows.map { JSON.object($0.fields) } } }
        func refuse(_ refusal: RefusedRow) { outcome.withLock { $0.refusals.append(refusal.reason) } }
    }

    /// - Throws: any error but `MoveInError`.
    package static func read(_ bytes: [UInt8]) async throws -> Outcome {
        let sink = Sink()
        do {
            let server = try DumpedServer(DumpSource(path: "dump.sql", form: .memory(bytes)))
            for moved in server.classes() { try await server.read(moved.name, since: nil, into: sink) }
        } catch let error as MoveInError {
            sink.outcome.withLock { $0.error = error.description }
        }
        return sink.outcome.withLock { $0 }
    }
}
