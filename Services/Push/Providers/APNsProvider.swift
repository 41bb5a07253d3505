import Outbound
import ParseProtocol

/// Apple's push service over HTTP/2
/// (https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns).
struct APNsProvider: PushProvider {
    private let client: OutboundClient
    private let token: APNsToken
    private let url: String
    /// Nil: uses each installation's own app identifier.
    private let topic: String?

    /// APNs answers within a second; after ten the connection is dead.
    private static let timeout = Duration.seconds(10)
    private static let appleTypes: Set<String> = ["ios", "osx", "tvos", "watchos"]
    private static let reasonBytesMax = 40

    init(client: OutboundClient, token: APNsToken, url: String, topic: String?) {
        self.client = client
        self.token = token
        self.url = url
        self.topic = topic
    }

    func send(_ delivery: Delivery) async -> ProviderAnswer {
        guard Self.appleTypes.contains(delivery.deviceType) else { return .unsupported("NoProviderForDeviceType") }
        guard let topic = topic ?? delivery.appIdentifier, Self.isPlain(topic) else { return .unsupported("NoTopic") }
        // The token becomes part of the path.
        guard Self.isPlain(delivery.token) else {
            return .refused(status: 400, reason: "BadDeviceToken", retryAfter: nil)
        }
        let (answer, used) = await attempt(delivery, topic)
        guard answer == .refused(status: 403, reason: "ExpiredProviderToken", retryAfter: nil), let used else {
            return answer
        }
        // The clocks differ, or the token's hour is over: retry once with a new token.
        token.expire(used)
        return await attempt(delivery, topic).answer
    }

    private func attempt(_ delivery: Delivery, _ topic: String) async -> (answer: ProviderAnswer, token: String?) {
        guard let bearer = try? token.current() else { return (.none("NoToken"), nil) }
        var headers: [(name: String, value: String)] = [
            ("authorization", "bearer \(bearer)"), ("apns-id", delivery.name), ("apns-topic", topic),
            ("apns-push-type", delivery.payload.isBackground ? "background" : "alert"),
            ("apns-priority", delivery.payload.isBackground ? "5" : "10"),
        ]
        if let end = delivery.expiresAt { headers.append(("apns-expiration", "\(end.milliseconds / 1000)")) }
        // A notification that is repeated after a crash replaces the first one on the device.
        let collapse = delivery.payload.collapseId ?? (delivery.push.isEmpty ? delivery.name : delivery.push)
        if !collapse.utf8.contains(where: { $0 < 32 || $0 > 126 }) { headers.append(("apns-collapse-id", collapse)) }
        var request = OutboundRequest(
            .post, "\(url)/3/device/\(delivery.token)", headers: headers,
            body: delivery.payload.apns(badge: delivery.badge), timeout: Self.timeout)
        request.version = .http2
        request.isRepeatable = true  // A device shows two notifications of one collapse id as one.
        request.answerBytesMax = 4096
        do throws(OutboundFailure) {
            return (Self.answer(try await client.send(request)), bearer)
        } catch {
            return (.none(error.reason.rawValue), bearer)
        }
    }

    private static func answer(_ response: OutboundResponse) -> ProviderAnswer {
        guard response.status != 200 else { return .accepted }
        let said = (try? JSON(parsing: response.body))?["reason"]?.stringValue
        // The provider's reason becomes a key in the counts, so it must be an identifier.
        let reason = said.flatMap { Names.isIdentifier($0) && $0.utf8.count <= reasonBytesMax ? $0 : nil }
        let seconds = response.headers["retry-after"].flatMap(Int.init).map { max(0, min($0, 86_400)) }
        return .refused(
            status: response.status, reason: reason ?? "Status\(response.status)",
            retryAfter: seconds.map { .seconds($0) })
    }

    /// Letters, digits, `-`, `.` and `_`: no character with a meaning in paths or headers.
    private static func isPlain(_ text: String) -> Bool {
        (1...200).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 48...57, 65...90, 97...122, 45, 46, 95: true
                default: false
                }
            }
    }
}
