import ParseProtocol
import Testing

/// The header `traceparent` (W3C Trace Context, level 1), and spans in OTLP's JSON.
@Suite struct TraceContextTests {
    private static let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    @Test func aHeaderIsReadAndWritten() throws {
        let context = try #require(TraceContext(Self.header))
        #expect(context.traceId == "4bf92f3577b34da6a3ce929d0e0e4736")
        #expect(context.spanId == "00f067aa0ba902b7")
        #expect(context.isSampled)
        #expect(context.text == Self.header)
        #expect(context.sampled(false).text == String(Self.header.dropLast(2)) + "00")
    }

    @Test(arguments: [
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03", "01"),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-fe", "00"),
        ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "01"),
        ("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what the future holds", "01"),
    ])
    func laterVersionsAndFlagsAreUnderstood(header: String, flags: String) throws {
        #expect(try #require(TraceContext(header)).text == String(Self.header.dropLast(2)) + flags)
    }

    @Test(arguments: [
        "", "00", "x", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 ",
        " 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0G",
        "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        header + "," + header,
        "00-４bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    ])
    func anInvalidHeaderCountsAsMissing(header: String) {
        #expect(TraceContext(header) == nil)
    }

    @Test func newTracesAndSpansHaveTheirOwnIds() throws {
        let (one, two) = (TraceContext(isSampled: true), TraceContext(isSampled: false))
        #expect(one.traceId != two.traceId)
        #expect(one.isSampled && !two.isSampled)
        let child = one.child(isSampled: true)
        #expect(child.traceId == one.traceId && child.spanId != one.spanId)
        #expect(TraceContext(child.text) == child)
    }

    @Test func spansAreEncodedForCollectors() throws {
        let parent = try #require(TraceContext(Self.header))
        let span = TraceSpan(
            "GET /classes/{className}", .server, parent.child(isSampled: true), of: parent, nanoseconds: 1_500_000,
            ["http.response.status_code": 500, "http.route": "/classes/{className}"], isError: true)
        let body = try JSON(parsing: TraceSpan.export([span], of: ["service.name": "gateway"]).serialized)
        let resource = body["resourceSpans"]?.arrayValue?.first
        #expect(
            resource?["resource"] == [
                "attributes": [["key": "service.name", "value": ["stringValue": "gateway"]]]
            ])
        let sent = try #require(
            resource?["scopeSpans"]?.arrayValue?.first?["spans"]?.arrayValue?.first?.objectValue)
        #expect(sent["traceId"] == .string(parent.traceId))
        #expect(sent["parentSpanId"] == .string(parent.spanId))
        #expect(sent["name"] == "GET /classes/{className}")
        #expect(sent["kind"] == 2)
        #expect(sent["status"] == ["code": 2])
        #expect(
            sent["attributes"] == [
                ["key": "http.response.status_code", "value": ["intValue": "500"]],
                ["key": "http.route", "value": ["stringValue": "/classes/{className}"]],
            ])
        let times = ["startTimeUnixNano", "endTimeUnixNano"].compactMap { sent[$0]?.stringValue.flatMap(UInt64.init) }
        try #require(times.count == 2)
        #expect(times[1] - times[0] == 1_500_000)
    }

    @Test func aFullQueueDropsAndCounts() {
        let queue = SpanQueue(spansMax: 3)
        let context = TraceContext(isSampled: true)
        for _ in 0..<5 { queue.add(TraceSpan("s", .internal, context, of: nil, nanoseconds: 1)) }
        #expect(queue.dropped == 2)
        #expect(queue.take(atMost: 2).count == 2)
        #expect(queue.take(atMost: 2).count == 1)
        #expect(queue.take(atMost: 2).isEmpty)
        queue.add(TraceSpan("s", .internal, context, of: nil, nanoseconds: 1))
        #expect(queue.dropped == 2)
    }

    @Test func nothingIsRecordedWithoutACollector() {
        #expect(RunningSpan("s", .internal, of: TraceContext(Self.header)) == nil)
    }
}
