import MessageBus
import Messages
import ParseProtocol
import ProcessKit
import ServiceKit

/// A run of a job that cloud code defines: `cloud` runs it and is asked how far it is.
struct CodeJobRun: Sendable {
    /// The objectId of its `_JobStatus`.
    let id: String
    let name: String
    let parameters: JSON
    let bus: BusEndpoint

    /// Waits for the end of the job.
    /// - Parameters:
    ///   - isFirst: whether nobody can have begun it before.
    ///   - note: keeps what the job says of its progress.
    ///   - isStopped: whether somebody wants its end.
    /// - Returns: the text that it ended with; nil for none.
    /// - Throws: `.scriptFailed` (141) with the reason why it failed, `JobStopped` when it was never begun,
    ///   `CancellationError` while it goes on.
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
                try await Task.sleep(for: pause)
                // What cannot be read or written now is no end of what goes on in `cloud`: it is looked at again.
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
            var request = try BusRequest(CloudCalls.job, message)
            // For the replica that runs the code; without a key, so that it is never repeated.
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

/// Somebody ended the job.
struct JobStopped: Error {}
