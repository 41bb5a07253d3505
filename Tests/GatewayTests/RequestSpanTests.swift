import GatewayService
import ParseProtocol
import Testing

/// Which requests have a span, and who decides whether it is recorded.
@Suite struct RequestSpanTests {
    private static let sampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    private static let unsampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"

    @Test func withoutHeaderAndCollectorThereIsNone() {
        #expect(RequestSpan(header: nil, samples: nil, honoursSampledFlag: { true }) == nil)
        #expect(RequestSpan(header: "hostile", samples: nil, honoursSampledFlag: { true }) == nil)
    }

    @Test func withoutCollectorTheClientsSpanIsPassedOn() {
        #expect(
            RequestSpan(header: Self.sampled, samples: nil, honoursSampledFlag: { true })?.context.text == Self.sampled)
        #expect(
            RequestSpan(header: Self.sampled, samples: nil, honoursSampledFlag: { false })?.context.text
                == Self.unsampled)
    }

    @Test func onlyTheMasterKeyDecidesForItself() throws {
        for (header, honoursSampledFlag, share, isSampled) in [
            (Self.sampled, true, false, true), (Self.unsampled, true, true, false),
            (Self.sampled, false, false, false), (Self.sampled, false, true, true),
            (Self.unsampled, false, true, true),
        ] {
            let span = try #require(
                RequestSpan(header: header, samples: { share }, honoursSampledFlag: { honoursSampledFlag }))
            #expect(span.context.isSampled == isSampled)
            #expect(span.context.traceId == "4bf92f3577b34da6a3ce929d0e0e4736")
            #expect(span.context.spanId != "00f067aa0ba902b7")
            #expect(span.parent == TraceContext(header))
        }
    }

    @Test func anInvalidHeaderIsReplaced() throws {
        let span = try #require(RequestSpan(header: "00-0-0-01", samples: { true }, honoursSampledFlag: { true }))
        #expect(span.parent == nil)
        #expect(span.context.isSampled)
    }
}
