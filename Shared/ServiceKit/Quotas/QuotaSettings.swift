import ProcessKit

/// The quotas and limits of clients: the defaults, changed by `SATCHEL_QUOTAS`.
public struct QuotaSettings: Sendable {
    /// The quotas by zone; empty for a kind that is switched off.
    public private(set) var rates: [QuotaKind: [QuotaKind.Zone: QuotaKind.Rate]]
    /// The same limits without quotas.
    var withoutRates: QuotaSettings {
        var settings = self
        settings.rates = [:]
        return settings
    }
    /// The limits, as counts or bytes.
    public private(set) var ceilings: [ClientLimit: Int]
    /// `SATCHEL_CLIENT_SCHEMA`: `paced`, or `closed`; if closed, clients can add neither classes nor fields.
    public var isSchemaClosed = false

    /// A month. A slower refill would have to survive restarts.
    private static let secondsMax = 31 * 86_400
    /// A terabyte.
    private static let countMax = 1 << 40

    /// The defaults.
    public init() {
        rates = Dictionary(uniqueKeysWithValues: QuotaKind.allCases.map { ($0, $0.standard) })
        ceilings = Dictionary(uniqueKeysWithValues: ClientLimit.allCases.map { ($0, $0.standard) })
    }

    /// - Parameter text: changes separated by semicolons: `files=50/3600s per user`, `events=off`, `favoritesMax=100`;
    ///   or `off` alone, which disables all quotas.
    /// - Throws: `StartupProblem` that quotes the invalid part.
    public init(_ text: String) throws {
        self.init()
        for part in text.split(separator: ";") where !part.allSatisfy({ $0 == " " }) { try change(String(part)) }
    }

    /// The operator's limit, or else the default.
    public func ceiling(_ ceiling: ClientLimit) -> Int { ceilings[ceiling] ?? ceiling.standard }

    private mutating func change(_ text: String) throws {
        let problem = StartupProblem(
            "SATCHEL_QUOTAS: \"\(text)\" is not a quota, such as files=50/3600s per user or itemsMax=100.")
        let sides = text.split(separator: "=", omittingEmptySubsequences: false)
        let name = sides[0].filter { $0 != " " }
        if sides.count == 1, name == "off" {
            rates = [:]
            return
        }
        guard sides.count == 2 else { throw problem }
        let words = sides[1].split(separator: " ")
        if let ceiling = ClientLimit(rawValue: name) {
            guard words.count == 1, let count = Int(words[0]), (0...Self.countMax).contains(count) else {
                throw problem
            }
            ceilings[ceiling] = count
            return
        }
        guard let pace = QuotaKind(name: name) else { throw problem }
        if words == ["off"] {
            rates[pace] = [:]
            return
        }
        guard words.count == 3, words[1] == "per", let zone = QuotaKind.Zone(rawValue: String(words[2])) else {
            throw problem
        }
        let rate = words[0].split(separator: "/", omittingEmptySubsequences: false)
        guard rate.count == 2, rate[1].last == "s", let count = Int(rate[0]), let seconds = Int(rate[1].dropLast()),
            (1...Self.countMax).contains(count), (1...Self.secondsMax).contains(seconds)
        else { throw problem }
        rates[pace, default: [:]][zone] = QuotaKind.Rate(count: count, seconds: seconds)
    }
}
