import Load
import Testing

/// The statistics of a load run, and their charts.
@Suite struct FigureTests {
    @Test func percentilesAreThoseOfTheTimes() {
        var tally = Tally()
        for number in 1...1000 { tally.add(number > 995 ? .failed("late") : .answered, after: Double(number) / 1000) }
        tally.add(.refused, after: 0.001)
        let figures = tally.figures
        #expect(figures.requests == 1001)
        #expect(figures.errors == 5)
        #expect(figures.refused == 1)
        #expect(abs(figures.p50 - 500) < 2)
        #expect(abs(figures.p99 - 990) < 2)
        #expect(abs(figures.p999 - 999) < 2)
        #expect(abs(figures.longest - 1000) < 2)
        #expect(Tally().figures == Figures())
    }

    @Test func timesBeyondTheScaleCountAsItsEnd() {
        var times = Times()
        times.add(seconds: 1e9)
        times.add(seconds: -1)
        #expect(times.count == 2)
        #expect(times.longest >= 119_900)
    }

    @Test func aPromiseIsBrokenByTimesAndByErrors() {
        let bounds = Bounds(p99Milliseconds: 100, errorShare: 0.001)
        var figures = Figures()
        #expect(!bounds.problems(of: figures).isEmpty, "nothing was asked")
        (figures.requests, figures.p99) = (10_000, 100)
        #expect(bounds.problems(of: figures).isEmpty)
        figures.errors = 11
        #expect(bounds.problems(of: figures).count == 1)
        figures.p99 = 100.5
        #expect(bounds.problems(of: figures).count == 2)
    }

    @Test func axesNameRoundValuesInTheirRange() {
        let axis = Axis([3, 870], from: 0)
        #expect(axis.ticks == [0, 200, 400, 600, 800])
        #expect(axis.place(0) == 0)
        #expect(axis.place(870) == 1)
        #expect(Axis([5, 5, 5], from: nil).ticks.count > 1)
        #expect(Axis([], from: nil).place(1) >= 0)
        let decades = Axis(decades: [0, 42], least: 0.1)
        #expect(decades.ticks.map(Axis.label) == ["0.1", "1", "10", "100"])
        #expect(abs(decades.place(1) - 1.0 / 3) < 1e-9)
        #expect(decades.place(0) == 0)
    }

    @Test func aPlotIsWholeAndHarmless() {
        let plot = Plot(
            "Times <b>", x: "seconds", series: [.init("p99 & more", [(0, 1), (1, 20)]), .init("nothing", [])])
        #expect(plot.html.contains("<figcaption>Times &lt;b&gt;</figcaption>"))
        #expect(plot.html.contains("p99 &amp; more"))
        #expect(!plot.html.contains("nothing"))
        #expect(plot.html.contains("<polyline"))
        #expect(Plot("Empty", x: "seconds", series: []).html.isEmpty)
    }
}
