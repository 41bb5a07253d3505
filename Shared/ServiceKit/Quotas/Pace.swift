/// The things that clients add at a pace: a bucketful at once, which then comes back evenly. The names are those of
/// `SATCHEL_QUOTAS` and of the table in docs/settings.md.
public enum Pace: Int, CaseIterable, Sendable {
    /// New classes, and new fields of classes that clients made.
    case classes, fields
    /// New fields of classes that are part of Satchel, which everybody's objects share; a relation counts as ten.
    case sharedFields
    /// New objects of any class, and the bytes of objects that are saved, as they were sent.
    case objects, objectBytes
    case files, fileBytes
    /// App events, and their bytes.
    case events, eventBytes
    case crashReports
    case installations
    /// New users, anonymous ones among them.
    case users
    /// Bags that are begun.
    case carts
    case reviews

    /// The group of clients whose additions are counted together.
    public enum Zone: String, CaseIterable, Sendable {
        /// The client's IPv4 address, or the /64 of an IPv6 one.
        case ip
        /// The signed-in user; nobody is counted who is not signed in.
        case user
        case global
    }

    /// So many in so many seconds, and so many at once after a pause.
    public struct Rate: Hashable, Sendable {
        /// Additions in `seconds`, and the most at once; at least 1.
        public let count: Int
        /// Seconds in which `count` additions come back; at least 1.
        public let seconds: Int

        /// A rate; both numbers are at least 1.
        public init(count: Int, seconds: Int) {
            self.count = count
            self.seconds = seconds
        }
    }

    /// The rates that hold without a setting. An address may be an office, a school or a provider's gateway with
    /// thousands of phones behind it, and a test suite of an SDK makes hundreds of everything in a minute; a user is
    /// one person.
    var standard: [Zone: Rate] {
        let (hour, day) = (3600, 86_400)
        return switch self {
        case .classes: [.ip: Rate(count: 300, seconds: 10 * hour), .global: Rate(count: 500, seconds: 10 * hour)]
        case .fields: [.ip: Rate(count: 3000, seconds: 10 * hour), .global: Rate(count: 6000, seconds: 10 * hour)]
        case .sharedFields: [.ip: Rate(count: 100, seconds: day), .global: Rate(count: 150, seconds: day)]
        case .objects: [.ip: Rate(count: 30_000, seconds: hour), .user: Rate(count: 10_000, seconds: hour)]
        case .objectBytes: [.ip: Rate(count: 256 << 20, seconds: hour), .user: Rate(count: 128 << 20, seconds: hour)]
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
        }
    }

    var name: String { String(describing: self) }

    init?(name: some StringProtocol) {
        guard let pace = Pace.allCases.first(where: { $0.name == name }) else { return nil }
        self = pace
    }

    /// The counted things, as a refusal names them.
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
        }
    }
}
