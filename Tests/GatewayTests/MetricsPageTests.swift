import GatewayService
import ParseProtocol
import ProcessKit
import Testing

/// The text formats of metrics: Prometheus' own and OpenMetrics.
@Suite struct MetricsPageTests {
    private static let mails = Metric("shop_mails", .counter, "Mails.")
    private static let queue = Metric("shop_queue_jobs", .gauge, "Jobs, \"old\" and new \\ in a\nqueue.")
    private static let duration = Metric("shop_duration_seconds", .histogram, "Time.")

    private static func lines(_ page: MetricsPage) -> [String] {
        #expect(page.text.hasSuffix("\n"))
        return page.text.split(separator: "\n").map(String.init)
    }

    @Test func aMetricHasOneHelpAndOneTypeAndItsSamplesStandTogether() {
        var page = MetricsPage(.prometheus)
        page.add(Self.mails, 3, [(name: "outcome", value: "sent")])
        page.add(Self.queue, 1.5)
        page.add(Self.mails, 1, [(name: "outcome", value: "failed"), (name: "process", value: "mail-1")])
        #expect(
            Self.lines(page) == [
                "# HELP shop_mails_total Mails.", "# TYPE shop_mails_total counter",
                #"shop_mails_total{outcome="sent"} 3"#, #"shop_mails_total{outcome="failed",process="mail-1"} 1"#,
                #"# HELP shop_queue_jobs Jobs, "old" and new \\ in a\nqueue."#, "# TYPE shop_queue_jobs gauge",
                "shop_queue_jobs 1.5",
            ])
    }

    @Test func openMetricsNamesTheCounterWithoutItsSuffixAndEnds() {
        var page = MetricsPage(.openMetrics)
        page.add(Self.mails, 3)
        page.add(Self.queue, -2)
        #expect(
            Self.lines(page) == [
                "# HELP shop_mails Mails.", "# TYPE shop_mails counter", "shop_mails_total 3",
                #"# HELP shop_queue_jobs Jobs, \"old\" and new \\ in a\nqueue."#, "# TYPE shop_queue_jobs gauge",
                "shop_queue_jobs -2", "# EOF",
            ])
        #expect(MetricsPage(.openMetrics).text == "# EOF\n")
        #expect(MetricsPage(.prometheus).text.isEmpty)
    }

    @Test func labelValuesAreEscaped() {
        var page = MetricsPage(.prometheus)
        page.add(Self.queue, 0, [(name: "name", value: "a\"b\\c\nd é {}")])
        #expect(Self.lines(page).last == #"shop_queue_jobs{name="a\"b\\c\nd é {}"} 0"#)
    }

    @Test(
        arguments: [
            (0, "0"), (12, "12"), (0.25, "0.25"), (1e15, "1000000000000000"), (.infinity, "+Inf"), (.nan, "NaN"),
        ] as [(Double, String)])
    func numbersAreWrittenAsPrometheusReadsThem(_ value: Double, _ text: String) {
        var page = MetricsPage(.prometheus)
        page.add(Self.queue, value)
        #expect(Self.lines(page).last == "shop_queue_jobs \(text)")
    }

    private static func row(_ microseconds: [Double], trace: String? = nil) -> ResponseTimes.Row {
        let times = ResponseTimes(rows: 2)
        for one in microseconds { times.record(1, microseconds: one, trace: trace) }
        return times.rows[1]
    }

    @Test func aHistogramCountsUpToTheEndOfEachBucket() throws {
        var page = MetricsPage(.prometheus)
        page.add(Self.duration, Self.row([20, 200, 201, 5000, 60_000_000]), [(name: "route", value: "/a")])
        let lines = Self.lines(page)
        let buckets = lines.filter { $0.hasPrefix("shop_duration_seconds_bucket") }
        #expect(buckets.count == ResponseTimes.exported.count + 1)
        #expect(buckets.first == #"shop_duration_seconds_bucket{route="/a",le="0.0002"} 2"#)
        #expect(buckets.dropFirst().first == #"shop_duration_seconds_bucket{route="/a",le="0.0004"} 3"#)
        #expect(buckets.contains(#"shop_duration_seconds_bucket{route="/a",le="0.0064"} 4"#))
        #expect(buckets.dropLast().last == #"shop_duration_seconds_bucket{route="/a",le="13.1072"} 4"#)
        #expect(buckets.last == #"shop_duration_seconds_bucket{route="/a",le="+Inf"} 5"#)
        #expect(lines.contains(#"shop_duration_seconds_count{route="/a"} 5"#))
        let sum = try #require(lines.first { $0.hasPrefix("shop_duration_seconds_sum") })
        #expect(sum.split(separator: " ").last.flatMap { Double($0) } == 60.005421)
        #expect(lines.filter { $0.hasPrefix("# TYPE") } == ["# TYPE shop_duration_seconds histogram"])
    }

    @Test func onlyOpenMetricsHasExemplars() throws {
        let row = Self.row([300, 310], trace: "abc-1")
        for (form, isExpected) in [(MetricsPage.Form.prometheus, false), (.openMetrics, true)] {
            var page = MetricsPage(form)
            page.add(Self.duration, row)
            let marked = Self.lines(page).filter { $0.contains("trace_id") }
            guard isExpected else {
                #expect(marked.isEmpty)
                continue
            }
            let line = try #require(marked.first)
            #expect(marked.count == 1)
            // The second request came soon after the first one.
            #expect(
                line.hasPrefix(#"shop_duration_seconds_bucket{le="0.0004"} 2 # {trace_id="abc-1"} 0.0003 "#), "\(line)")
            #expect((line.split(separator: " ").last.flatMap { Double($0) } ?? 0) > 1_700_000_000)
        }
    }

    @Test func anExemplarIsReplacedAfterFiveSeconds() {
        let times = ResponseTimes(rows: 1), start = ContinuousClock.now
        for (seconds, trace) in [(0, "abc-1"), (4, "abc-2"), (6, "abc-3"), (10, "abc-4")] {
            times.record(0, microseconds: 300, trace: trace, now: start + .seconds(seconds))
        }
        #expect(times.rows[0].exemplars.compactMap { $0?.trace } == ["abc-3"])
    }

    @Test func eachFineBucketIsInTheSmallestExportedOneThatHoldsIt() {
        for bucket in 0...ResponseTimes.bounds.count {
            let expected = ResponseTimes.exported.firstIndex { bucket <= $0 }
            #expect(ResponseTimes.exportedIndex(ofBucket: bucket) == expected ?? ResponseTimes.exported.count)
        }
    }

    @Test func theFormIsOpenMetricsOnlyWhenTheClientNamesIt() {
        typealias Form = MetricsPage.Form
        let prometheus = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
        #expect(Form(accept: prometheus) == .openMetrics)
        for other in [nil, "", "*/*", "text/plain", "application/openmetrics-text;q=0"] {
            #expect(Form(accept: other) == .prometheus)
        }
        #expect(Form.prometheus.contentType.hasPrefix("text/plain; version=0.0.4"))
        #expect(Form.openMetrics.contentType.hasPrefix("application/openmetrics-text; version=1.0.0"))
    }
}
