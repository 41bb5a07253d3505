import MessageBus
import Messages
import ParseProtocol
import ProcessKit
import ServiceKit

/// A run of a job that cloud code defines: `cloud` runs it, and the service polls its progress.
struct CodeJobRun: Sendable {
    /// The objectId of its `_JobStatus`.
    let id: String
    let name: String
    let parameters: JSON
    let bus: BusEndpoint

    /// Waits for the end of the job.
    /// - Parameters:
    ///   - isFirst: true when no earlier attempt can have started it.
    ///   - note: stores the job's progress message.
    ///   - isStopped: whether an operator asked the job to stop.
    /// - Returns: the job's final message; nil for none.
    /// - Throws: `.scriptFailed` (141) with the reason of a failure, `JobStopped` when an operator stopped it before
    ///   its start, `JobNotStarted` when the service stops before its start, `CancellationError` while it may run.
    func run(
        isFirst: Bool, note: @Sendable (String) async throws -> Void, isStopped: @Sendable () async throws -> Bool
    ) async throws -> String? {
        var watch = CodeJobWatch(isFirst: isFirst)
        var step = watch.start()
        var said = ""
        while true {
            switch step {
            case .succeeded(let text): return text.isEmpty ? nil : text
            case .failed(let text): throw ParseError(.scriptFailed, text)
            case .ask(let begins, let pause):
                do { try await Task.sleep(for: pause) } catch { throw begins ? JobNotStarted() : error }
                // A failed read or write here does not mean that the job ended in `cloud`; the next round tries again.
                let stops = (try? await isStopped()) ?? false
                if begins && stops { throw JobStopped() }
                let answer = await ask(begins: begins, stops: stops)
                if case .state(let state) = answer, state.phase == .running, state.message != said,
                    (try? await note(state.message)) != nil
                {
                    said = state.message
                }
                step = watch.next(after: answer)
            }
        }
    }

    private func ask(begins: Bool, stops: Bool) async -> CodeJobWatch.Answer {
        let message = CodeJob.with {
            $0.id = id
            $0.name = name
            $0.begins = begins
            $0.stops = stops
        }
        do {
            var request = try BusRequest(CloudCalls.job, message, for: nil)
            // Addressed to the replica that runs the code. Sent without a key, so that it is never repeated.
            request.writes = true
            request.principal = .satchel
            if begins { request.documents = [parameters.serialized] }
            return .state(try CodeJobState(serializedBytes: try await bus.call(request).body))
        } catch let failure as BusFailure {
            let error = ParseError(failure)
            switch error.code {
            case .serviceUnavailable, .requestLimitExceeded: return .notCarriedOut
            case .timeout: return .unknown
            default: return .refused(error.message)
            }
        } catch {
            return .unknown
        }
    }
}

/// An operator stopped the job.
struct JobStopped: Error {}

/// The service stops before it has started the job.
struct JobNotStarted: Error {}
