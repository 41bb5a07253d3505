/// The additions of clients with a quota: a token bucket that refills evenly. `SATCHEL_QUOTAS` and the table in
/// docs/reference/settings.md use these names.
public enum QuotaKind: Int, CaseIterable, Sendable {
    /// New classes, and new fields of classes that clients created.
    case classes, fields
    /// New fields of Satchel's own classes, whose objects all clients share; a relation counts as ten.
    case sharedFields
    /// New objects of any class, and the bytes of saved objects as sent.
    case objects, objectBytes
    case files, fileBytes
    /// App events, and their bytes.
    case events, eventBytes
    case crashReports
    case installations
    /// New users, including anonymous ones.
    case users
    /// New bags.
    case carts
    case reviews
    /// Receipts of purchases; each one causes a request to the App Store.
    case receipts
    /// Shrunk pictures that had to be made.
    case pictures

    /// The clients whose additions are counted together.
    public enum Zone: String, CaseIterable, Sendable {
        /// The client's IPv4 address, or the /64 network of an IPv6 address. The enclosing /24 or /48 has four times
        /// the quota (`ClientNetwork.wideFactor`).
        case ip
        /// The signed-in user; requests without a user are not counted.
        case user
        /// All clients together. The last quarter of the byte quotas is reserved for established clients
        /// (`Caller.isEstablished`).
        case global
    }

    /// Whether the last quarter of the global quota is reserved for established customers.
    var keepsReserve: Bool { self == .objectBytes || self == .fileBytes || self == .eventBytes }

    /// A token bucket: its size and refill time.
    public struct Rate: Hashable, Sendable {
        /// Size of the bucket, which refills in `seconds`; at least 1.
        public let count: Int
        /// Seconds in which an empty bucket refills; at least 1.
        public let seconds: Int

        /// A rate; both numbers are at least 1.
        public init(count: Int, seconds: Int) {
            self.count = count
            self.seconds = seconds
        }
    }

    /// The default quotas. One address may serve an office, a school or thousands of phones behind a provider's
    /// gateway, and the test suite of an SDK creates hundreds of everything per minute; a user is one person.
    var standard: [Zone: Rate] {
        let (hour, day) = (3600, 86_400)
        return switch self {
        case .classes: [.ip: Rate(count: 300, seconds: 10 * hour), .global: Rate(count: 500, seconds: 10 * hour)]
        case .fields: [.ip: Rate(count: 3000, seconds: 10 * hour), .global: Rate(count: 6000, seconds: 10 * hour)]
        case .sharedFields: [.ip: Rate(count: 100, seconds: day), .global: Rate(count: 150, seconds: day)]
        case .objects: [.ip: Rate(count: 30_000, seconds: hour), .user: Rate(count: 10_000, seconds: hour)]
        case .objectBytes:
            [
                .ip: Rate(count: 256 << 20, seconds: hour), .user: Rate(count: 128 << 20, seconds: hour),
                .global: Rate(count: 4 << 30, seconds: day),
            ]
        case .files: [.ip: Rate(count: 1000, seconds: hour), .user: Rate(count: 200, seconds: hour)]
        case .fileBytes:
            [
                .ip: Rate(count: 512 << 20, seconds: hour), .user: Rate(count: 100 << 20, seconds: hour),
                .global: Rate(count: 10 << 30, seconds: day),
            ]
        case .events: [.ip: Rate(count: 10_000, seconds: hour), .user: Rate(count: 2000, seconds: hour)]
        case .eventBytes:
            [
                .ip: Rate(count: 8 << 20, seconds: hour), .user: Rate(count: 1 << 20, seconds: hour),
                .global: Rate(count: 256 << 20, seconds: day),
            ]
        case .crashReports: [.ip: Rate(count: 600, seconds: 600)]
        case .installations: [.ip: Rate(count: 2000, seconds: hour), .user: Rate(count: 50, seconds: day)]
        case .users: [.ip: Rate(count: 2000, seconds: hour), .global: Rate(count: 50_000, seconds: hour)]
        case .carts: [.ip: Rate(count: 2000, seconds: hour), .user: Rate(count: 100, seconds: hour)]
        case .reviews: [.ip: Rate(count: 500, seconds: hour), .user: Rate(count: 60, seconds: hour)]
        case .receipts: [.ip: Rate(count: 60, seconds: 600), .user: Rate(count: 30, seconds: 600)]
        case .pictures: [.ip: Rate(count: 3000, seconds: 600)]
        }
    }

    var name: String { String(describing: self) }

    init?(name: some StringProtocol) {
        guard let pace = QuotaKind.allCases.first(where: { $0.name == name }) else { return nil }
        self = pace
    }

    /// The name of the counted things in an error text.
    var noun: String {
        switch self {
        case .classes: "new classes"
        case .fields: "new fields"
        case .sharedFields: "new fields of Satchel's own classes"
        case .objects: "new objects"
        case .objectBytes: "bytes of objects"
        case .files: "files"
        case .fileBytes: "bytes of files"
        case .events: "events"
        case .eventBytes: "bytes of events"
        case .crashReports: "crash reports"
        case .installations: "new installations"
        case .users: "new users"
        case .carts: "new bags"
        case .reviews: "reviews"
        case .receipts: "receipts"
        case .pictures: "new picture sizes"
        }
    }
}
