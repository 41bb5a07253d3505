import Foundation
import Messages
import ParseProtocol

/// Carries out writes with an `Idempotency-Key` once. Catalog stores their responses (`KeyedAnswers`), so that every
/// gateway finds them.
struct KeyedWrites: Sendable {
    let services: ServiceClient
    let links: FileLinks

    enum KeyClaim: Sendable {
        /// This request carries out the write.
        case run(WriteKeys)
        /// An earlier request carried it out, or the key belongs to another write.
        case answered(ParseResponse)
    }

    /// Claims the key of a write. Waits while another request carries the write out.
    /// - Throws: `.serviceUnavailable` (2) when the other request takes too long, and the errors of catalog.
    func claimKey(
        of write: KeyedWrite, for principal: Principal, trace: String
    ) async throws(ParseError) -> KeyClaim {
        let start = ContinuousClock.now
        var pause = Self.pauseMin
        while true {
            let state = try await claim(write, for: principal, trace)
            switch state.outcome {
            case .run: return .run(WriteKeys(seed: state.seed))
            case .answered: return .answered(try write.replayed(Array(state.answer)))
            case .other: return .answered(ParseResponse(status: 422, Self.otherRequest.body))
            case .running:
                guard ContinuousClock.now - start < Self.waitMax, (try? await Task.sleep(for: pause)) != nil else {
                    throw Self.running
                }
                pause = min(pause * 2, Self.pauseMax)
            case .unknown, .UNRECOGNIZED: throw .internalError
            }
        }
    }

    /// Renews the claim until it is cancelled.
    func renewal(of write: KeyedWrite, for principal: Principal, trace: String) -> Task<Void, Never> {
        Task {
            while (try? await Task.sleep(for: Self.renewalPause)) != nil {
                _ = try? await claim(write, for: principal, trace)
            }
        }
    }

    /// Stores the response of a run before the client gets it. After a response that asks for a retry, the next request
    /// with the key runs again.
    /// - Returns: the response for the client.
    func finish(
        _ write: KeyedWrite, _ answer: ParseResponse, for principal: Principal, trace: String
    ) async -> ParseResponse {
        var answer = answer
        if answer.error == nil, answer.headers[.contentType] == nil {
            answer.body = links.linked(answer.body)
            answer.headers[.contentType] = KeyedWrite.json
        }
        let isRetriable = answer.status >= 500 || answer.retryAfterSeconds != nil || answer.error?.code == .timeout
        let isWhole = answer.stream == nil && answer.final == nil
        let stored = isRetriable || !isWhole ? nil : try? write.sealed(answer)
        let message = EndWrite.with {
            $0.key = write.key
            $0.run = write.run
            $0.answer = Data(stored ?? [])
            $0.retriable = isRetriable
        }
        do throws(ParseError) {
            let state = try await services.write(
                CatalogCalls.endWrite, message, for: principal, in: CallContext(trace: trace)
            ).message
            switch state.outcome {
            case .run: return answer
            case .answered: return try write.replayed(Array(state.answer))
            default: throw Self.running
            }
        } catch {
            // The response was not stored, so a repeated request could get another one.
            return isRetriable ? answer : ParseResponse(Self.running)
        }
    }

    private func claim(
        _ write: KeyedWrite, for principal: Principal, _ trace: String
    ) async throws(ParseError) -> WriteState {
        let message = BeginWrite.with {
            $0.key = write.key
            $0.request = write.request
            $0.run = write.run
        }
        return try await services.write(
            CatalogCalls.beginWrite, message, for: principal, in: CallContext(trace: trace)
        ).message
    }

    private static let otherRequest = ParseError(
        .validationError, "This Idempotency-Key was used for another request; use a new key for this one.")
    private static let running = ParseError(
        .serviceUnavailable, "A request with this Idempotency-Key is still running; try again.")

    private static let pauseMin = Duration.milliseconds(25)
    private static let pauseMax = Duration.milliseconds(500)
    /// Longer than the slowest functions.
    private static let waitMax = Duration.seconds(32)
    /// Catalog ends a claim that was not renewed for ten seconds.
    private static let renewalPause = Duration.seconds(3)
}
