import ParseProtocol

/// One notification for one device, as stored in the table of deliveries.
package struct Delivery: Sendable {
    package let id: Int64
    /// A UUID that is the same in every attempt; `apns-id` at APNs.
    package let name: String
    /// objectId of the `_PushStatus`; empty for a notification about an order.
    package let push: String
    package let installation: String
    package let deviceType: String
    package let token: String
    /// The app's own identifier, when the installation has one.
    package let appIdentifier: String?
    package let payload: PushPayload
    package let badge: Int64?
    package let utcOffset: Int64?
    package let attempts: Int
    package let madeAt: Timestamp
    /// Nil: never expires.
    package let expiresAt: Timestamp?
    package let isCancelled: Bool

    package init(
        id: Int64, name: String, push: String, installation: String, deviceType: String, token: String,
        appIdentifier: String?, payload: PushPayload, badge: Int64?, utcOffset: Int64?, attempts: Int,
        madeAt: Timestamp, expiresAt: Timestamp?, isCancelled: Bool
    ) {
        self.id = id
        self.name = name
        self.push = push
        self.installation = installation
        self.deviceType = deviceType
        self.token = token
        self.appIdentifier = appIdentifier
        self.payload = payload
        self.badge = badge
        self.utcOffset = utcOffset
        self.attempts = attempts
        self.madeAt = madeAt
        self.expiresAt = expiresAt
        self.isCancelled = isCancelled
    }
}

/// A provider's answer to one attempt.
package enum ProviderAnswer: Sendable, Hashable {
    case accepted
    /// An answer with a status other than 200.
    case refused(status: Int, reason: String, retryAfter: Duration?)
    /// No complete answer: the device may or may not have the notification.
    case none(String)
    /// This provider cannot reach this type of device.
    case unsupported(String)
}

/// A service that delivers notifications to devices.
package protocol PushProvider: Sendable {
    /// Makes one attempt. All attempts of a delivery have the same name, so that the provider can recognise repeats.
    func send(_ delivery: Delivery) async -> ProviderAnswer
}
