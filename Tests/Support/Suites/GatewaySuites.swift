import ParseProtocol

/// Suites whose gateway has every guard enabled. The first test that needs one starts it; it stops when the process
/// ends.
package enum GatewaySuites {
    package static let readOnlyKey = "reader-\(Names.random(12))"
    package static let maintenanceKey = "keeper-\(Names.random(12))"
    package static let restKey = "rest-\(Names.random(12))"
    package static let windowsKey = "windows-\(Names.random(12))"

    /// Has every key but client keys, and limits and request ids. Trusts loopback as a proxy, so that tests choose the
    /// client addresses.
    package static var guarded: Suite { get async throws { try await guardedStart.value } }
    private static let guardedStart = Task {
        try await Suite.start(settings: [
            "SATCHEL_READ_ONLY_MASTER_KEY": readOnlyKey, "SATCHEL_MAINTENANCE_KEY": maintenanceKey,
            "SATCHEL_TRUSTED_PROXIES": "127.0.0.1, 10.9.0.0/16",
            "SATCHEL_ALLOW_ORIGINS": "https://shop.example,http://localhost:3000",
            "SATCHEL_IDEMPOTENCY_PATHS": "classes/Once*,functions/.*,users",
            "SATCHEL_SKIP_MAX": "50", "SATCHEL_LIMIT_MAX": "20", "SATCHEL_BODY_BYTES_MAX": "200000",
            "SATCHEL_RATE_LIMITS": """
            functions/nearestStores=3/600s per ip; POST installations=4/600s per ip; login=3/600s per user;
            events/Tap=3/600s per user; events/All=6/600s per global; functions/bag=3/600s per session;
            classes/Busy*=2/1s per ip with master
            """.replacingNewlines,
        ])
    }

    /// Has client keys, a short list of routes for clients, and a maintenance key that no test may use. Trusts no
    /// proxy.
    package static var closed: Suite { get async throws { try await closedStart.value } }
    private static let closedStart = Task {
        try await Suite.start(settings: [
            "SATCHEL_REST_KEY": restKey, "SATCHEL_WINDOWS_KEY": windowsKey,
            "SATCHEL_MAINTENANCE_KEY": maintenanceKey, "SATCHEL_MAINTENANCE_KEY_IPS": "203.0.113.0/24",
            "SATCHEL_CLIENT_ROUTES": "classes/Open*,batch,users",
        ])
    }

    /// A header that gives a client of `guarded` an address that no other test uses.
    package static func somewhere() -> (String, String) {
        ("X-Forwarded-For", "100.\(Int.random(in: 64...127)).\(Int.random(in: 0...255)).\(Int.random(in: 1...254))")
    }
}

extension String {
    fileprivate var replacingNewlines: String { split(separator: "\n").joined(separator: " ") }
}
