import MessageBus
import Synchronization

/// The warnings of a service's parts, combined for the gateways and shown by `/health`.
public final class ServiceWarnings: Sendable {
    private let bus: BusEndpoint
    private let texts = Mutex<[String: String]>([:])

    init(_ bus: BusEndpoint) { self.bus = bus }

    /// - Parameter text: empty when the part has no warning.
    public func set(_ text: String, of part: String) {
        texts.withLock { texts in
            guard texts[part] ?? "" != text else { return }
            texts[part] = text.isEmpty ? nil : text
            bus.setWarning(texts.sorted { $0.key < $1.key }.map(\.value).joined(separator: "; "))
        }
    }
}
