import Foundation
import MessageBus
import Messages
import ParseProtocol

extension ParseError {
    /// A service's error, received from the bus.
    public init(_ failure: BusFailure) {
        self.init(
            Code(rawValue: Int(failure.failure.code)), failure.failure.message,
            details: failure.failure.details.isEmpty ? nil : try? JSON(parsing: failure.failure.details))
        if failure.failure.retryAfter > 0 { retryAfterSeconds = Int(failure.failure.retryAfter) }
    }
}

extension BusFailure {
    /// An error in its form on the bus.
    public init(_ error: ParseError) {
        self.init(
            Failure.with {
                $0.code = Int32(clamping: error.code.rawValue)
                $0.message = error.message
                $0.retriable = error.code == .serviceUnavailable
                if let details = error.details { $0.details = Data(details.serialized) }
                if let seconds = error.retryAfterSeconds { $0.retryAfter = UInt32(clamping: seconds) }
            })
    }
}
