import Foundation
import ObjectStore
import ParseProtocol
import ProcessKit
import ServiceKit
import Synchronization
import TestSupport
import Testing

/// The decisions of quotas, without a clock or a disk.
@Suite struct QuotaTests {
    private final class Clock: Sendable {
        private let value = Mutex<Int64>(0)
        func advance(seconds: Int64) { value.withLock { $0 += seconds * 1_000_000_000 } }
        var now: Int64 { value.withLock(\.self) }
    }

    private static func quotas(_ text: String, _ clock: Clock = Clock(), isClosed: Bool = false) throws -> Quotas {
        var settings = try QuotaSettings(text)
        settings.isSchemaClosed = isClosed
        return Quotas(settings, dataDirectory: nil) { clock.now }
    }

    private static func client(_ userId: String? = nil, at network: String = "7f000001") -> Caller {
        Caller(userId: userId, network: network)
    }

    private static let admin = Caller(userId: "boss", roles: ["admins"], isOperator: true, network: "7f000001")

    private static func code(_ body: () throws -> Void) -> Int? {
        do {
            try body()
            return nil
        } catch {
            return (error as? ParseError)?.code.rawValue
        }
    }

    @Test func aPaceIsUsedUpAndComesBackEvenly() throws {
        let clock = Clock()
        let quotas = try Self.quotas("files=3/60s per ip;files=100/60s per user;files=100/60s per global", clock)
        let ann = Self.client("ann")
        for _ in 0..<3 { try quotas.take(of: .files, by: ann) }
        do {
            try quotas.take(of: .files, by: ann)
            Issue.record("A fourth was taken.")
        } catch let error as ParseError {
            #expect(error.code == .requestLimitExceeded)
            #expect(error.retryAfterSeconds == 21)
        }
        #expect(Self.code { try quotas.take(of: .files, by: Self.client("bob")) } == 155, "The same address.")
        #expect(Self.code { try quotas.take(of: .files, by: Self.client("bob", at: "7f000002")) } == nil)
        #expect(Self.code { try quotas.take(of: .events, by: ann) } == nil, "Another pace.")
        clock.advance(seconds: 20)
        #expect(Self.code { try quotas.take(of: .files, by: ann) } == nil)
        #expect(Self.code { try quotas.take(of: .files, by: ann) } == 155)
    }

    @Test func aWideNetworkHasFourTimesAsMuchAsANearOne() throws {
        let quotas = try Self.quotas("users=2000/3600s per ip;users=50000/3600s per global")
        // 25 /64s of one /48.
        var made = 0
        for near in 0..<25 {
            let caller = Self.client(at: "20010db8000a00\(near + 10)")
            for _ in 0..<2000 where Self.code({ try quotas.take(of: .users, by: caller) }) == nil { made += 1 }
        }
        #expect(made == 8000)
        #expect(Self.code { try quotas.take(of: .users, by: Self.client(at: "20010db8000b0010")) } == nil)
    }

    @Test func theLastQuarterOfWhatAllHaveIsForEstablishedCustomers() throws {
        let quotas = try Self.quotas("objectBytes=1000/3600s per global;objectBytes=1000/3600s per ip")
        let known = Caller(userId: "ann", isEstablished: true, network: "c6336407")
        for number in 0..<3 { try quotas.take(250, of: .objectBytes, by: Self.client(at: "cb00710\(number)")) }
        #expect(Self.code { try quotas.take(of: .objectBytes, by: Self.client("bob", at: "0a000001")) } == 155)
        try quotas.take(250, of: .objectBytes, by: known)
        #expect(Self.code { try quotas.take(of: .objectBytes, by: known) } == 155, "All of it is used.")
    }

    @Test func aGlobalRateThatIsNearlyUsedUpIsAnAlarmUntilItComesBack() throws {
        let clock = Clock()
        let quotas = try Self.quotas("objectBytes=1000/1000s per global;events=10/60s per ip", clock)
        try quotas.take(500, of: .objectBytes, by: Self.client())
        for _ in 0..<10 { try quotas.take(of: .events, by: Self.client()) }
        #expect(quotas.alarm.isEmpty)
        try quotas.take(100, of: .objectBytes, by: Self.client())
        #expect(quotas.alarm == "Clients have used most of SATCHEL_QUOTAS per global: objectBytes.")
        clock.advance(seconds: 10)
        #expect(quotas.alarm.isEmpty)
    }

    /// For a repeated job, whose additions were already counted.
    @Test func whatIsUncountedTakesNothingAndKeepsItsCeilings() throws {
        let quotas = try Self.quotas("objects=1/60s per global;classesMax=3")
        let again = try #require(quotas.uncounted as? Quotas)
        for _ in 0..<3 { try again.take(of: .objects, by: Self.client("ann")) }
        #expect(!again.admits(3, below: .classesMax, by: Self.client("ann")))
        #expect(Self.code { try quotas.take(of: .objects, by: Self.client("ann")) } == nil)
        #expect(Self.code { try quotas.take(of: .objects, by: Self.client("ann")) } == 155)
        try again.take(of: .objects, by: Self.client("ann"))
    }

    @Test func operatorsAreNotCounted() throws {
        let quotas = try Self.quotas("objects=1/60s per global;classesMax=0;fieldsMax=0", isClosed: true)
        for caller in [Caller.master, Self.admin] {
            for _ in 0..<9 {
                try quotas.take(of: .objects, by: caller)
                try quotas.addClass("A", count: 999, by: caller)
                try quotas.addFields(added(50, of: "A"), by: caller)
            }
        }
        #expect(Self.code { try quotas.take(of: .objects, by: Self.client()) } == nil, "Nothing was used up.")
    }

    @Test func aRefusalUsesNothingUp() throws {
        let clock = Clock()
        let quotas = try Self.quotas("objects=2/60s per ip;objectBytes=100/60s per ip;objects=off", clock)
        let ann = Self.client("ann")
        try quotas.take([(.objects, 1), (.objectBytes, 90)], by: ann)
        for _ in 0..<5 { #expect(Self.code { try quotas.take([(.objects, 1), (.objectBytes, 20)], by: ann) } == 155) }
        #expect(Self.code { try quotas.take([(.objects, 1), (.objectBytes, 10)], by: ann) } == nil)
        clock.advance(seconds: 60)
        #expect(Self.code { try quotas.take([(.objectBytes, 5000)], by: ann) } == nil, "More than all is all.")
        #expect(Self.code { try quotas.take([(.objectBytes, 1)], by: ann) } == 155)
    }

    @Test func manyBytesAreCountedExactly() {
        var buckets = RateBuckets(count: 10 << 30, window: .seconds(86_400))
        for _ in 0..<1024 {
            #expect(buckets.wait(for: 1, tokens: 10 << 20, at: 7) == 0)
            buckets.take(from: 1, tokens: 10 << 20, at: 7)
        }
        #expect(buckets.wait(for: 1, tokens: 1 << 20, at: 7) > 0)
        #expect(buckets.wait(for: 1, tokens: 10 << 20, at: 7 + 85 * 1_000_000_000) == 0)
        var fast = RateBuckets(count: 1 << 40, window: .seconds(1))
        fast.take(from: 1, tokens: .max, at: 0)
        #expect(fast.wait(for: 1, tokens: .max, at: 1_000_000_000) == 0)
        #expect(fast.wait(for: 1, tokens: 1 << 39, at: 0) > 0)
    }

    private func added(
        _ count: Int, relations: Int = 0, of name: String, isBuiltIn: Bool = false, learnt: Int = 0, had: Int = 0
    ) -> AddedFields {
        AddedFields(
            className: name, isBuiltIn: isBuiltIn, count: count, relations: relations, learnt: learnt,
            learntRelations: had)
    }

    @Test func whatAllShareGrowsSlowly() throws {
        let quotas = try Self.quotas("sharedFields=40/60s per ip")
        func code(_ fields: AddedFields) -> Int? { Self.code { try quotas.addFields(fields, by: Self.client()) } }
        #expect(code(added(25, of: "_User", isBuiltIn: true)) == 116)
        #expect(code(added(3, relations: 3, of: "_User", isBuiltIn: true)) == 116)
        #expect(code(added(1, relations: 1, of: "_User", isBuiltIn: true, learnt: 8, had: 8)) == 116)
        #expect(code(added(2, of: "_User", isBuiltIn: true, learnt: 199)) == 116)
        #expect(code(added(14, relations: 2, of: "_User", isBuiltIn: true)) == nil, "12 and twice 10.")
        #expect(code(added(9, of: "_User", isBuiltIn: true)) == 155)
        #expect(code(added(8, of: "_User", isBuiltIn: true)) == nil)
        #expect(code(added(300, relations: 9, of: "Note")) == nil, "Its own class is the app's.")
        #expect(code(added(1, of: "Note", learnt: 800)) == 116)
    }

    @Test func aClosedSchemaStaysAsItIs() throws {
        let quotas = try Self.quotas("", isClosed: true)
        #expect(Self.code { try quotas.addClass("A", count: 1, by: Self.client("ann")) } == 119)
        #expect(Self.code { try quotas.addFields(added(1, of: "A"), by: Self.client("ann")) } == 119)
    }

    @Test(arguments: [
        "files", "files=", "files=1", "files=1/1s", "files=1/1 per ip", "files=0/1s per ip", "files=1/0s per ip",
        "files=1/1s per session", "bananas=1/1s per ip", "files=1/99999999s per ip", "favoritesMax=-1",
        "favoritesMax=1/1s per ip", "files=9999999999999999/1s per ip", "off=1", "files=on", "files=1/1s per ip=2",
    ])
    func aQuotaThatMeansNothingIsRefused(text: String) {
        #expect(throws: StartupProblem.self) { try QuotaSettings(text) }
    }

    @Test func settingsChangeOnlyWhatTheyName() throws {
        let settings = try QuotaSettings(" files=9/60s per user ;events=off; favoritesMax=3;")
        #expect(settings.rates[.files]?[.user] == QuotaKind.Rate(count: 9, seconds: 60))
        #expect(settings.rates[.files]?[.ip] == QuotaSettings().rates[.files]?[.ip])
        #expect(settings.rates[.events]?.isEmpty == true)
        #expect(settings.ceiling(.favoritesMax) == 3)
        #expect(settings.ceiling(.itemsMax) == 500)
        #expect(try QuotaSettings("off").rates.isEmpty)
    }

    /// docs/reference/settings.md lists the defaults. Every name and figure of the code must be there.
    @Test func theTableOfQuotasIsTheCodes() throws {
        let text = try String(contentsOfFile: checkoutDirectory + "/docs/reference/settings.md", encoding: .utf8)
        let lines = text.split(separator: "\n")
        for pace in QuotaKind.allCases {
            let rates = QuotaSettings().rates[pace] ?? [:]
            func cell(_ zone: QuotaKind.Zone) -> String { rates[zone].map { "\($0.count)/\($0.seconds)s" } ?? "" }
            let row = "| `\(pace)` | \(cell(.ip)) | \(cell(.user)) | \(cell(.global)) |".replacing("|  |", with: "| |")
                .replacing("|  |", with: "| |")
            #expect(lines.contains { $0.hasPrefix(row) }, "\(row)")
        }
        for ceiling in ClientLimit.allCases {
            let row = lines.first { $0.hasPrefix("| `") && $0.contains("`\(ceiling.rawValue)`") }
            #expect(row?.contains("\(QuotaSettings().ceiling(ceiling))") == true, "\(ceiling)")
        }
    }
}
