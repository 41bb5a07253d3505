import ProcessKit

/// The bounds of what clients may add: the standards, with what `SATCHEL_QUOTAS` changes of them.
public struct QuotaSettings: Sendable {
    /// The rates of each pace by zone; none where it is off.
    public private(set) var rates: [Pace: [Pace.Zone: Pace.Rate]]
    /// The ceilings alone.
    var withoutRates: QuotaSettings {
        var settings = self
        settings.rates = [:]
        return settings
    }
    /// The ceilings, as numbers of things or of bytes.
    public private(set) var ceilings: [Ceiling: Int]
    /// `SATCHEL_CLIENT_SCHEMA`: `paced`, or `closed`, then clients add neither classes nor fields.
    public var isSchemaClosed = false

    /// A month: what comes back more slowly would have to survive restarts.
    private static let secondsMax = 31 * 86_400
    /// A terabyte.
    private static let countMax = 1 << 40

    /// The standards.
    public init() {
        rates = Dictionary(uniqueKeysWithValues: Pace.allCases.map { ($0, $0.standard) })
        ceilings = Dictionary(uniqueKeysWithValues: Ceiling.allCases.map { ($0, $0.standard) })
    }

    /// - Parameter text: changes between semicolons: `files=50/3600s per user`, `events=off`, `favoritesMax=100`; or
    ///   `off` alone, which ends all paces.
    /// - Throws: `StartupProblem` that shows what means nothing.
    public init(_ text: String) throws {
        self.init()
        for part in text.split(separator: ";") where !part.allSatisfy({ $0 == " " }) { try change(String(part)) }
    }

    /// The ceiling, which is the standard unless the operator set another.
    public func ceiling(_ ceiling: Ceiling) -> Int { ceilings[ceiling] ?? ceiling.standard }

    private mutating func change(_ text: String) throws {
        let problem = StartupProblem(
            "SATCHEL_QUOTAS: \"\(text)\" is no quota, such as files=50/3600s per user or itemsMax=100.")
        let sides = text.split(separator: "=", omittingEmptySubsequences: false)
        let name = sides[0].filter { $0 != " " }
        if sides.count == 1, name == "off" {
            rates = [:]
            return
        }
        guard sides.count == 2 else { throw problem }
        let words = sides[1].split(separator: " ")
        if let ceiling = Ceiling(rawValue: name) {
            guard words.count == 1, let count = Int(words[0]), (0...Self.countMax).contains(count) else {
                throw problem
            }
            ceilings[ceiling] = count
            return
        }
        guard let pace = Pace(name: name) else { throw problem }
        if words == ["off"] {
            rates[pace] = [:]
            return
        }
        guard words.count == 3, words[1] == "per", let zone = Pace.Zone(rawValue: String(words[2])) else {
            throw problem
        }
        let rate = words[0].split(separator: "/", omittingEmptySubsequences: false)
        guard rate.count == 2, rate[1].last == "s", let count = Int(rate[0]), let seconds = Int(rate[1].dropLast()),
            (1...Self.countMax).contains(count), (1...Self.secondsMax).contains(seconds)
        else { throw problem }
        rates[pace, default: [:]][zone] = Pace.Rate(count: count, seconds: seconds)
    }
}
