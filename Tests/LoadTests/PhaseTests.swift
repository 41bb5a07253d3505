import Load
import Testing

/// The planned start times of requests. They are fixed before the first request.
@Suite struct PhaseTests {
    @Test func aConstantRateStartsRequestsAtEqualDistances() {
        let phase = Phase("constant", from: 200, seconds: 3)
        #expect(phase.count == 600)
        for number in 0..<phase.count { #expect(abs(phase.start(of: number) - Double(number) / 200) < 1e-9) }
    }

    @Test(arguments: [(0.0, 100.0), (50, 800), (800, 50), (100, 0)])
    func aRampHasTheRateOfEachMoment(from: Double, to: Double) {
        let phase = Phase("ramp", from: from, to: to, seconds: 20)
        let starts = (0..<phase.count).map { phase.start(of: $0) }
        #expect(abs(Double(starts.count) - (from + to) * 10) <= 1)
        #expect(starts.first == 0)
        #expect(starts.last ?? 21 <= 20)
        #expect(zip(starts, starts.dropFirst()).allSatisfy { $0 < $1 })
        for second in 0..<20 {
            let inSecond = starts.filter { Int($0) == second }.count
            #expect(abs(Double(inSecond) - phase.rate(at: Double(second) + 0.5)) <= 2, "second \(second)")
        }
    }

    @Test func aPlanBeginsWithAWarmUpThatIsNotJudged() {
        var wish = LoadPlan.Wish(rate: 10, seconds: 30, warmUpSeconds: 5)
        wish.steps = [100, 200]
        let phases = LoadPlan(wish).phases
        #expect(phases.map(\.name) == ["warm-up", "100/s", "200/s"])
        #expect(phases.map(\.isMeasured) == [false, true, true])
        #expect(phases.map(\.to) == [100, 100, 200])
        wish.ramp = (50, 150)
        wish.warmUpSeconds = 0
        #expect(LoadPlan(wish).phases == [Phase("ramp 50 to 150/s", from: 50, to: 150, seconds: 30)])
    }
}
