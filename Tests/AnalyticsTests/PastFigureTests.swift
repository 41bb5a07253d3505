import AnalyticsService
import ParseProtocol
import ProcessKit
import ServiceSupport
import Testing

/// The history of the suite's figures: minutes are folded into hours, gateways are added up, and old rows go.
@Suite struct PastFigureTests {
    private let sandbox: SandboxStore
    /// An hour begins.
    private static let start = Timestamp(milliseconds: 1_900_800_000_000)

    init() async throws { sandbox = try await SandboxStore(analyticsPlan) }

    private static func after(_ minutes: Int64) -> Timestamp {
        Timestamp(milliseconds: start.milliseconds + minutes * 60_000)
    }

    private func keep(
        _ values: [SuiteFigure: Int64], times: [Int: Int64] = [:], of gateway: String = "gateway-1", minute: Int64
    ) async throws {
        let row = FigureRow(times: times, values: values)
        let now = Self.after(minute)
        try await sandbox.store.write { try PastFigures.keep(row, of: gateway, at: now, in: $0) }
    }

    private func rows(_ span: PastFigures.Span, minutes: Int64, at minute: Int64) async throws -> [FigureRow] {
        let now = Self.after(minute)
        let answer = try await sandbox.store.read { try PastFigures.all(span, minutes: minutes, now: now, $0) }
        #expect(answer["step"]?.intValue == span.rawValue * 60)
        return (answer["points"]?.arrayValue ?? []).compactMap { $0["figures"].flatMap { FigureRow($0) } }
    }

    @Test func anHourHasTheSumOfCountsAndTheLargestOfOthers() async throws {
        try await keep([.failed: 2, .memory: 100, .outbox: 7], times: [3: 5, 9: 1], minute: 0)
        try await keep([.failed: 1, .memory: 300, .outbox: 0], times: [3: 1], minute: 59)
        try await keep([.failed: 4, .memory: 200], times: [4: 1], minute: 60)
        #expect(try await rows(.minute, minutes: 90, at: 60).map { $0.values[.failed] } == [2, 1, 4])
        let hours = try await rows(.hour, minutes: 180, at: 60)
        #expect(
            hours == [
                FigureRow(times: [3: 6, 9: 1], values: [.failed: 3, .memory: 300, .outbox: 7]),
                FigureRow(times: [4: 1], values: [.failed: 4, .memory: 200]),
            ])
        #expect(hours.map(\.requests) == [7, 1])
    }

    @Test func gatewaysAreAddedUpExceptInWhatAllOfThemSee() async throws {
        let figures: [SuiteFigure: Int64] = [.failed: 1, .live: 3, .memory: 10, .servicesMemory: 90, .mailsFailed: 2]
        try await keep(figures, times: [1: 4], minute: 0)
        try await keep(figures, times: [1: 1, 2: 2], of: "gateway-2", minute: 0)
        let both: [SuiteFigure: Int64] = [.failed: 2, .live: 6, .memory: 20, .servicesMemory: 90, .mailsFailed: 2]
        #expect(try await rows(.minute, minutes: 5, at: 0) == [FigureRow(times: [1: 5, 2: 2], values: both)])
    }

    @Test func twoRowsOfAMinuteAreAddedAsAfterARestart() async throws {
        for _ in 0..<2 { try await keep([.refused: 1, .waiting: 5], minute: 0) }
        let both = FigureRow(times: [:], values: [.refused: 2, .waiting: 5])
        #expect(try await rows(.minute, minutes: 5, at: 0) == [both])
        #expect(try await rows(.hour, minutes: 60, at: 0).map { $0.values[.refused] } == [2])
    }

    @Test func minutesAreKeptForADayAndHoursForThirtyDays() async throws {
        let day: Int64 = 24 * 60
        for minute in [0, 1, 60, day - 1, day, day + 1] { try await keep([.failed: 1], minute: minute) }
        #expect(try await sandbox.count("SELECT count(*) FROM pastFigures WHERE span = 1") == 4)
        #expect(try await sandbox.count("SELECT count(*) FROM pastFigures WHERE span = 60") == 4)
        try await keep([.failed: 1], minute: 30 * day)
        #expect(try await sandbox.count("SELECT count(*) FROM pastFigures WHERE span = 1") == 1)
        #expect(try await sandbox.count("SELECT count(*) FROM pastFigures WHERE span = 60") == 4)
    }

    /// A clock that was in 2099 for a while.
    @Test func rowsOfTheFutureGo() async throws {
        try await keep([.failed: 7], minute: 40_000_000)
        try await keep([.failed: 1], minute: 0)
        for span in PastFigures.Span.allCases {
            #expect(try await rows(span, minutes: 60, at: 0).map { $0.values[.failed] } == [1])
        }
    }

    @Test func aMinuteHasABoundedNumberOfGateways() async throws {
        for number in 1...64 { try await keep([.failed: 1], of: "gateway-\(number)", minute: 0) }
        try await keep([.failed: 1], of: "gateway-64", minute: 0)
        await #expect(throws: ParseError.self) { try await keep([.failed: 1], of: "gateway-65", minute: 0) }
    }

    @Test(
        arguments: [
            [:], ["times": []], ["times": ["x": 1]], ["times": ["200": 1]], ["times": ["1": -1]], ["times": ["1": 0.5]],
            ["times": [:], "failed": "1"], ["times": [:], "failed": -1],
            ["times": [:], "failed": 9_000_000_000_000_000],
        ] as [JSON])
    func whatIsNoRowIsRefused(_ json: JSON) { #expect(FigureRow(json) == nil) }

    @Test func aRowSurvivesTheWayAndKeepsWithinItsBounds() throws {
        let row = FigureRow(times: [0: 1, 78: 2, 5: 0], values: [.outboxAge: 3, .live: 0])
        #expect(FigureRow(try JSON(parsing: row.json.serialized)) == row)
        #expect(row.times[5] == nil)
        #expect(FigureRow(["times": [:], "newerFigure": "x", "live": 1])?.values == [.live: 1])
        var sum = FigureRow(times: [0: 1 << 50], values: [.failed: 1 << 50])
        for _ in 0..<3 { sum.follow(sum) }
        #expect(sum.times[0] == 1 << 50)
        #expect(sum.values[.failed] == 1 << 50)
    }
}
